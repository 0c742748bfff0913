//! The first row, and the phases below it: how everything is, at a glance.

use ratatui_core::layout::Rect;

use super::canvas::{Canvas, columns};
use super::theme::Role;
use crate::age::{age, span};
use crate::message::{Health, Source};
use crate::model::Model;
use crate::world::{Leader, World};

/// Draws the first row.
pub(super) fn header(canvas: &mut Canvas<'_>, area: Rect, model: &Model) {
    let world = model.world();
    let context = &world.context;
    let mut line = canvas.line(area, 0);
    line.skip(1).put("vmctl dash", Role::Title).skip(2);
    line.put(&context.label, Role::Accent);
    if let Some(namespace) = &model.ui.namespace {
        line.skip(2)
            .put("namespace ", Role::Dim)
            .put(namespace, Role::Text);
    }
    let mut right: Vec<(String, Role)> = sources(model.present(), line.left() > 60);
    if context.read_only.is_some() {
        right.push(("   READ-ONLY".to_owned(), Role::Warn));
    }
    if model.frozen.is_some() {
        right.push((format!("   FROZEN {}", world.now.clock()), Role::Warn));
    }
    right.push((" ".to_owned(), Role::Dim));
    let right: Vec<(&str, Role)> = right
        .iter()
        .map(|(text, role)| (text.as_str(), *role))
        .collect();
    line.right(&right);
}

/// Sources that are not live, worst first; one word while all of them are.
fn sources(world: &World, roomy: bool) -> Vec<(String, Role)> {
    let mut waiting = false;
    let mut lost = Vec::new();
    for (source, standing) in &world.sources {
        match &standing.health {
            Health::Live => {}
            Health::Waiting => waiting = true,
            Health::Lost { .. } => {
                let since = age(world.now, standing.good.unwrap_or(standing.since));
                lost.push((format!("{} lost {since}", short(source)), Role::Bad));
            }
            Health::Absent { .. } => lost.push((format!("no {}", short(source)), Role::Warn)),
        }
    }
    lost.dedup();
    match (lost.is_empty(), waiting || world.sources.is_empty()) {
        (true, false) => vec![("live".to_owned(), Role::Good)],
        (true, true) => vec![("connecting".to_owned(), Role::Busy)],
        (false, _) if roomy => joined(lost),
        (false, _) => lost.into_iter().take(1).collect(),
    }
}

fn joined(parts: Vec<(String, Role)>) -> Vec<(String, Role)> {
    let mut all = Vec::new();
    for part in parts.into_iter().take(4) {
        if !all.is_empty() {
            all.push((" · ".to_owned(), Role::Dim));
        }
        all.push(part);
    }
    all
}

fn short(source: &Source) -> &'static str {
    match source {
        Source::Api => "API server",
        Source::Machines => "machines",
        Source::Configs => "provider configs",
        Source::Events => "events",
        Source::Metrics(_) => "metrics",
        Source::State(_) => "queue state",
        Source::Logs => "logs",
    }
}

/// Draws the phases: a bar where there is room for it, and their numbers.
pub(super) fn phases(canvas: &mut Canvas<'_>, area: Rect, model: &Model) {
    let world = model.world();
    let phases = world.phases();
    if area.height > 1 {
        bar(canvas, area, &phases);
    }
    let glyphs = canvas.glyphs;
    let row = u16::from(area.height > 1);
    let mut line = canvas.line(area, row);
    let total = world.machines.len();
    let noun = if total == 1 { " machine" } else { " machines" };
    line.skip(1)
        .put(&total.to_string(), Role::Title)
        .put(noun, Role::Dim);
    for (phase, count) in &phases {
        let (mark, role) = glyphs.phase(phase);
        let text = format!("{phase} {count}");
        if columns(&text) + 6 > line.left() {
            line.put(glyphs.pick(" …", " ~"), Role::Dim);
            break;
        }
        line.skip(3).put(mark, role).skip(1).put(phase, Role::Text);
        line.skip(1).put(&count.to_string(), Role::Title);
    }
    line.skip(2);
    let leader = leader(world);
    let (live, known) = world.replicas();
    let replicas = match known {
        0 => String::new(),
        known => format!("   {live}/{known} replicas"),
    };
    let role = if live < known { Role::Warn } else { Role::Dim };
    let parts = [
        (leader.0.as_str(), leader.1),
        (replicas.as_str(), role),
        (" ", Role::Dim),
    ];
    let width: u16 = parts.iter().map(|(text, _)| columns(text)).sum();
    if width < line.left() {
        line.right(&parts);
    } else {
        line.right(&[(leader.0.as_str(), leader.1), (" ", Role::Dim)]);
    }
}

/// A bar as wide as the screen, in which each phase that occurs has at least one cell.
fn bar(canvas: &mut Canvas<'_>, area: Rect, phases: &[(&str, usize)]) {
    let glyphs = canvas.glyphs;
    let mut line = canvas.line(area, 0);
    line.skip(1);
    let width = usize::from(line.left().saturating_sub(1));
    let total: usize = phases.iter().map(|(_, count)| count).sum();
    if total == 0 {
        let ground = glyphs.pick("─", "-").repeat(width);
        line.put(&ground, Role::Faint);
        return;
    }
    let (mut counted, mut drawn) = (0, 0);
    for (place, (phase, count)) in phases.iter().enumerate() {
        counted += count;
        let after = phases.len() - 1 - place;
        let until = (width * counted / total)
            .max(drawn + 1)
            .min(width.saturating_sub(after));
        let (_, role) = glyphs.phase(phase);
        line.put(&glyphs.bar(phase).repeat(until.saturating_sub(drawn)), role);
        drawn = until.max(drawn);
    }
}

/// Who leads, in words.
pub(super) fn leader(world: &World) -> (String, Role) {
    let late = world.lease.as_ref().map(|lease| {
        let since = world.now.max(lease.at).seconds_since(lease.renewed);
        (since, f64::from(lease.duration_secs) / 2.0)
    });
    let renewed = match late {
        Some((since, bearable)) if since > bearable => format!(", renewed {} ago", span(since)),
        Some(_) | None => String::new(),
    };
    let role = if renewed.is_empty() {
        Role::Text
    } else {
        Role::Warn
    };
    match world.leader() {
        Leader::Unknown => ("leader not known yet".to_owned(), Role::Dim),
        Leader::Nobody { expired: None } => ("nobody leads".to_owned(), Role::Bad),
        Leader::Nobody {
            expired: Some(seconds),
        } => (format!("nobody leads for {}", span(seconds)), Role::Bad),
        Leader::Holder(holder) | Leader::Agreed(holder) => {
            (format!("{holder} leads{renewed}"), role)
        }
        Leader::Unconfirmed(holder) => (
            format!("{holder} holds the Lease, does not lead"),
            Role::Warn,
        ),
        Leader::Disputed(names) => (format!("{} say they lead", names.join(" and ")), Role::Bad),
    }
}

/// Everything in one line, for screens that have room for nothing else.
pub(super) fn one_line(canvas: &mut Canvas<'_>, area: Rect, model: &Model) {
    let world = model.world();
    let glyphs = canvas.glyphs;
    let mut line = canvas.line(area, 0);
    line.put(&world.machines.len().to_string(), Role::Title)
        .put(" VMs", Role::Dim);
    for (phase, count) in world.phases() {
        let (mark, role) = glyphs.phase(phase);
        line.skip(1)
            .put(mark, role)
            .put(&count.to_string(), Role::Text);
    }
    let hint = "larger than 40x10 shows more";
    canvas.line(area, 1).put(hint, Role::Dim);
}
