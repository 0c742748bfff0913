use std::collections::HashSet;

use super::*;
use crate::svg::rgb;
use crate::world::PHASES;

/// Relative luminance as the accessibility guidelines define it.
fn luminance([red, green, blue]: [u8; 3]) -> f64 {
    let part = |level: u8| {
        let share = f64::from(level) / 255.0;
        if share <= 0.03928 {
            share / 12.92
        } else {
            ((share + 0.055) / 1.055).powf(2.4)
        }
    };
    0.2126 * part(red) + 0.7152 * part(green) + 0.0722 * part(blue)
}

fn contrast(one: [u8; 3], other: [u8; 3]) -> f64 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

#[test]
fn everything_that_is_read_stands_out_from_its_ground() {
    let roles = [
        Role::Dim,
        Role::Accent,
        Role::Good,
        Role::Busy,
        Role::Warn,
        Role::Bad,
    ];
    // The ground itself, and what lies under the selected row.
    for (palette, grounds) in [
        (Palette::Dark, [[0, 0, 0], rgb(236)]),
        (Palette::Light, [[255, 255, 255], rgb(254)]),
    ] {
        for (role, ground) in roles
            .iter()
            .flat_map(|role| grounds.map(|ground| (*role, ground)))
        {
            let color = palette.color(role).map(rgb).unwrap();
            let contrast = contrast(color, ground);
            assert!(
                contrast >= 4.5,
                "{palette:?} {role:?} on {ground:?}: {contrast:.2}"
            );
        }
    }
}

#[test]
fn without_colour_no_two_phases_look_alike() {
    for glyphs in [Glyphs::Unicode, Glyphs::Ascii] {
        let marks: HashSet<_> = PHASES.iter().map(|phase| glyphs.phase(phase).0).collect();
        assert_eq!(marks.len(), PHASES.len());
    }
}

#[test]
fn the_theme_without_colour_has_none() {
    for role in [
        Role::Text,
        Role::Dim,
        Role::Faint,
        Role::Title,
        Role::Accent,
        Role::Good,
        Role::Busy,
        Role::Warn,
        Role::Bad,
    ] {
        let style = Palette::Mono.style(role).patch(Palette::Mono.selected());
        assert_eq!((style.fg, style.bg), (None, None));
    }
}
