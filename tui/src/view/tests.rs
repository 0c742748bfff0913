//! Every view at every size, and pictures of some, in text and style.

use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;

use proptest::prelude::*;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier};

use super::*;
use crate::age::Stamp;
use crate::fixtures::{busy, machine, press, told, type_text};
use crate::keys::{KEYMAP, Key};
use crate::message::{Condition, Config, Event, Lease, LogLine, Machine, Message, Operation};
use crate::terminal::Screen;
use crate::update::update;
use theme::{Glyphs, Palette};

fn drawn(model: &mut Model, width: u16, height: u16) -> Buffer {
    update(model, Message::Resize { width, height });
    model.settle();
    let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
    view(model, &mut buffer);
    buffer
}

/// A buffer as text, then its styles: a letter for each, row by row, and what the letters mean.
fn picture(buffer: &Buffer) -> String {
    let area = *buffer.area();
    let mut styles: Vec<(Color, Color, Modifier)> = Vec::new();
    let mut text = plain(buffer);
    text.push_str("\n\n");
    for y in 0..area.height {
        let mut row = String::new();
        for x in 0..area.width {
            let cell = &buffer[(x, y)];
            let style = (cell.fg, cell.bg, cell.modifier);
            let place = styles
                .iter()
                .position(|one| *one == style)
                .unwrap_or_else(|| {
                    styles.push(style);
                    styles.len() - 1
                });
            row.push(char::from(b"abcdefghijklmnopqrstuvwxyz"[place.min(25)]));
        }
        let _ = writeln!(text, "{row}");
    }
    for (letter, (fg, bg, modifier)) in ('a'..='z').zip(styles) {
        let _ = writeln!(text, "{letter}: {fg:?} on {bg:?} {modifier:?}");
    }
    text
}

/// Compares with the kept picture; `UPDATE_PICTURES=1` keeps the new one.
fn kept(name: &str, buffer: &Buffer) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("src/view/golden")
        .join(format!("{name}.txt"));
    let new = picture(buffer);
    if std::env::var_os("UPDATE_PICTURES").is_some() {
        std::fs::write(&path, &new).unwrap();
    }
    let old = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        old == new,
        "{name} looks different; UPDATE_PICTURES=1 keeps this:\n{new}"
    );
}

#[test]
fn pictures_are_as_they_were_kept() {
    for (width, height) in [(120, 40), (80, 24), (40, 10), (39, 10)] {
        kept(
            &format!("busy-{width}x{height}"),
            &drawn(&mut busy(), width, height),
        );
    }
    for (name, keys) in [
        ("detail", vec![Key::Char('P'), Key::Char('I'), Key::Enter]),
        ("help", vec![Key::Char('?')]),
        (
            "question",
            vec![Key::Char(' '), Key::Char(' '), Key::Ctrl('d')],
        ),
        ("logs", vec![Key::Char('5')]),
    ] {
        let mut model = busy();
        press(&mut model, &keys);
        kept(&format!("{name}-100x30"), &drawn(&mut model, 100, 30));
    }
    let mut light = busy();
    light.ui.palette = Palette::Light;
    kept("light-120x40", &drawn(&mut light, 120, 40));
    let mut mono = busy();
    mono.ui.palette = Palette::Mono;
    mono.ui.glyphs = Glyphs::Ascii;
    let buffer = drawn(&mut mono, 80, 24);
    assert!(plain(&buffer).is_ascii());
    kept("mono-ascii-80x24", &buffer);
    kept(
        "empty-80x24",
        &drawn(&mut told(vec![Message::Listed]), 80, 24),
    );
}

#[test]
fn what_is_lost_is_dimmed_and_its_age_told_never_blanked() {
    let mut model = busy();
    for source in [Source::Api, Source::Machines] {
        update(
            &mut model,
            Message::Source {
                source,
                health: Health::Lost {
                    why: "connection refused".to_owned(),
                },
                at: crate::fixtures::after(1),
            },
        );
    }
    update(
        &mut model,
        Message::Tick {
            now: crate::fixtures::after(42),
        },
    );
    let text = plain(&drawn(&mut model, 120, 40));
    assert!(
        text.contains("as of 42s ago") && text.contains("API server lost 42s"),
        "{text}"
    );
    assert!(text.contains("web-12"), "{text}");
}

#[test]
fn the_help_tells_every_key_and_every_command() {
    let help: String = overlay::help()
        .iter()
        .map(|(left, right)| format!("{left} {right}\n"))
        .collect();
    for binding in KEYMAP {
        assert!(help.contains(binding.help), "{}", binding.help);
        for key in binding.keys {
            assert!(help.contains(&key.label()), "{}", key.label());
        }
    }
    for (name, text) in crate::update::COMMANDS {
        assert!(
            help.contains(&format!(":{name} ")) && help.contains(text),
            "{name}"
        );
    }
}

#[test]
fn nothing_is_written_when_nothing_has_changed() {
    let mut model = busy();
    update(
        &mut model,
        Message::Resize {
            width: 120,
            height: 40,
        },
    );
    let mut screen = Screen::new(120, 40);
    assert!(!screen.frame(&mut model).unwrap().is_empty());
    assert_eq!(screen.frame(&mut model).unwrap(), b"");
    screen.forget();
    assert!(!screen.frame(&mut model).unwrap().is_empty());
}

#[test]
fn text_of_others_drives_nothing() {
    let mut evil = machine(1, "Running");
    evil.name = "\u{1b}[2J\u{202e}evil\u{7}".to_owned();
    let mut model = told(vec![Message::Machines { list: vec![evil] }]);
    update(
        &mut model,
        Message::Resize {
            width: 120,
            height: 40,
        },
    );
    let bytes = Screen::new(120, 40).frame(&mut model).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    assert!(text.contains("evil") && !text.contains('\u{202e}') && !text.contains('\u{7}'));
    assert_eq!(text.matches("\u{1b}[2J").count(), 1);
}

#[test]
fn every_view_fits_every_size() {
    let mut models = vec![busy(), told(vec![]), hostile()];
    let mut with = |keys: &[Key], text: &str| {
        for mut model in [busy(), hostile()] {
            press(&mut model, keys);
            type_text(&mut model, text);
            models.push(model);
        }
    };
    for pane in '1'..='6' {
        with(&[Key::Char(pane)], "");
        with(&[Key::Char(pane), Key::Char('z'), Key::Char('w')], "");
    }
    with(&[Key::Char('?'), Key::PageDown], "");
    with(&[Key::Char('/')], "web");
    with(&[Key::Char(':')], "theme");
    with(&[Key::Ctrl('d')], "1");
    with(&[Key::Char(' '), Key::Char(' '), Key::Ctrl('d')], "");
    with(&[Key::Char('f')], "");
    let sizes = [
        0, 1, 2, 3, 9, 10, 11, 13, 24, 29, 30, 31, 39, 40, 59, 60, 70, 109, 110, 220,
    ];
    for model in &mut models {
        for width in sizes {
            for height in sizes.iter().copied().filter(|height| *height <= 70) {
                drawn(model, width, height);
            }
        }
    }
}

/// Everything that must not happen, at once.
fn hostile() -> Model {
    let long = "ü日本".repeat(100);
    let mut list: Vec<Machine> = (0..5).map(|number| machine(number, &long)).collect();
    list.push(Machine::default());
    list.push(Machine {
        uid: "far".to_owned(),
        created: Stamp(i64::MIN),
        operation: Some(Operation {
            attempts: u32::MAX,
            next: Some(Stamp(i64::MAX)),
            ..Operation::default()
        }),
        conditions: vec![
            Condition {
                since: Stamp(i64::MAX),
                ..Condition::default()
            };
            40
        ],
        ..machine(7, "")
    });
    let mut messages = hostile_scrapes(&long);
    messages.extend([
        Message::Machines { list },
        Message::Config(Config {
            name: long.clone(),
            reason: long.clone(),
            ..Config::default()
        }),
        Message::Lease(Lease {
            holder: long.clone(),
            renewed: Stamp(i64::MIN),
            ..Lease::default()
        }),
        Message::Event(Event {
            object: long.clone(),
            message: long.clone(),
            count: u32::MAX,
            ..Event::default()
        }),
        Message::Logs {
            lines: vec![LogLine {
                text: long,
                at: Stamp(i64::MAX),
                ..LogLine::default()
            }],
            dropped: u64::MAX,
        },
        Message::Tick {
            now: Stamp(i64::MAX),
        },
    ]);
    told(messages)
}

fn hostile_scrapes(replica: &str) -> Vec<Message> {
    let numbers = ["NaN", "+Inf", "-Inf", "-1", "1e308", "0"];
    numbers
        .iter()
        .enumerate()
        .map(|(index, value)| Message::Scrape {
            replica: replica.to_owned(),
            at: Stamp(1000 * index as i64),
            text: crate::fixtures::Counted {
                start: 1.0,
                leading: true,
                ready: 1e300,
                passes: 1e300,
                errors: 1.0,
                creates: [1e300; 3],
            }
            .text()
            .replace("1.5", value),
        })
        .collect()
}

fn any_message() -> impl Strategy<Value = Message> {
    let stamp = prop_oneof![Just(0), Just(i64::MIN), Just(i64::MAX), any::<i64>()].prop_map(Stamp);
    let key = prop_oneof![
        any::<char>().prop_map(Key::Char),
        proptest::sample::select(
            KEYMAP
                .iter()
                .flat_map(|binding| binding.keys.iter().copied())
                .collect::<Vec<_>>()
        ),
    ];
    let phase = proptest::sample::select(vec!["Running", "Failed", "", "?", "Deleting"]);
    prop_oneof![
        4 => key.prop_map(|key| Message::Key { key }),
        1 => stamp.clone().prop_map(|now| Message::Tick { now }),
        2 => (0..8_usize, phase).prop_map(|(number, phase)| Message::Machines { list: vec![machine(number, phase)] }),
        2 => (0..8_usize).prop_map(|number| Message::Gone { uid: format!("uid-{number:05}") }),
        1 => ("[a-z{}=\" 0-9.\n]{0,80}", stamp).prop_map(|(text, at)| Message::Scrape { replica: "a".to_owned(), at, text }),
        1 => (0..230_u16, 0..80_u16).prop_map(|(width, height)| Message::Resize { width, height }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Lists shrink while dialogs are open, times jump, anything is typed: it is drawn, and the table keeps its order.
    #[test]
    fn whatever_happens_can_be_drawn(messages in proptest::collection::vec(any_message(), 0..60)) {
        let mut model = busy();
        for message in messages {
            update(&mut model, message);
            let (width, height) = model.ui.size;
            model.settle();
            let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
            view(&model, &mut buffer);
            let in_order = |rows: &[Arc<Machine>]| model.ui.sort.compare(&rows[0], &rows[1]).is_lt();
            prop_assert!(model.rows.windows(2).all(in_order));
            prop_assert_eq!(model.selected().is_some(), !model.rows.is_empty());
        }
    }
}
