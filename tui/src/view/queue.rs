//! The queue of the leader, and the passes of all replicas.

use ratatui_core::layout::Rect;

use super::canvas::Canvas;
use super::chart::chart;
use super::theme::Role;
use super::why;
use crate::age::{count, rate, span};
use crate::model::Model;
use crate::numbers::{Bins, Counter, Levels};
use crate::world::World;

/// Seconds of a column.
pub(super) const COLUMN: f64 = 5.0;
/// Most columns: what is kept is no older.
const COLUMNS: u16 = 180;
/// A key that is ready for so long waits for something, in seconds.
const LONG: f64 = 10.0;
/// A change of leader is told for so long, in seconds.
const TOLD: f64 = 300.0;
/// Results of passes as controller-runtime names them, and as we do.
const RESULTS: [(&str, &str); 4] = [
    ("success", "done"),
    ("requeue_after", "later"),
    ("requeue", "again"),
    ("error", "failed"),
];

/// Draws both.
pub(super) fn draw(canvas: &mut Canvas<'_>, area: Rect, model: &Model) {
    let world = model.world();
    let lacking = world.no_numbers();
    if world.numbers.is_empty() {
        why(
            canvas,
            area,
            "queue depth and pass rates",
            lacking.as_deref(),
        );
        return;
    }
    let stale = std::mem::replace(&mut canvas.stale, lacking.is_some());
    let results = u16::try_from(RESULTS.len()).unwrap_or(0);
    // One row for each level where there is room, else all of them in one.
    let used = if area.height > results * 2 {
        levels(canvas, area, world);
        results + u16::from(area.height > results * 2 + 1)
    } else {
        levels_in_one(canvas, area, world);
        1
    };
    let below = Rect {
        y: area.y.saturating_add(used),
        height: area.height.saturating_sub(used),
        ..area
    };
    passes(canvas, below, world);
    canvas.stale = stale;
}

/// A level of a replica that leads, or that does not say whether it does.
fn leaders(levels: &Levels, value: Option<f64>) -> Option<f64> {
    value.filter(|_| levels.leading != Some(false))
}

/// Columns at which another one began to lead.
pub(super) fn marks(world: &World, bins: Bins) -> Vec<usize> {
    let changes = world.handovers.iter();
    changes.filter_map(|change| bins.index(change.at)).collect()
}

/// A level of the leader: what it is called, how it is read, and how it is written.
type Level = (
    &'static str,
    fn(&Levels) -> Option<f64>,
    fn(&Levels) -> String,
);

const LEVELS: [Level; 4] = [
    ("ready", |one| one.ready, |one| number(one.ready)),
    ("running", |one| one.active, running),
    ("delayed", |one| one.delayed, |one| number(one.delayed)),
    ("oldest", |one| one.oldest, oldest),
];

fn levels(canvas: &mut Canvas<'_>, area: Rect, world: &World) {
    let now = world
        .leading()
        .map(|(_, levels)| levels.clone())
        .unwrap_or_default();
    for (row, (label, of, written)) in (0..area.height).zip(LEVELS) {
        let mut line = canvas.line(area, row);
        line.skip(2).cell(label, 8, Role::Dim);
        line.number(&written(&now), 6, role(label, of(&now)));
        let place = rest(area, row, line.left());
        let values = |bins| {
            world
                .numbers
                .levels(bins, |levels| leaders(levels, of(levels)))
        };
        trend(canvas, place, world, values, Role::Accent);
    }
}

fn levels_in_one(canvas: &mut Canvas<'_>, area: Rect, world: &World) {
    let Some((_, now)) = world.leading() else {
        return;
    };
    let mut line = canvas.line(area, 0);
    line.skip(2);
    for (label, of, written) in LEVELS {
        line.put(label, Role::Dim).skip(1);
        line.put(&written(now), role(label, of(now))).skip(3);
    }
}

fn number(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), count)
}

fn oldest(levels: &Levels) -> String {
    levels.oldest.map_or("–".to_owned(), span)
}

fn running(levels: &Levels) -> String {
    match (levels.active, levels.workers) {
        (Some(active), Some(workers)) => format!("{}/{}", count(active), count(workers)),
        (active, _) => number(active),
    }
}

/// What is zero is quiet; what waits for long is not.
fn role(label: &str, value: Option<f64>) -> Role {
    match value {
        Some(seconds) if label == "oldest" && seconds >= LONG => Role::Warn,
        Some(value) if value > 0.0 => Role::Title,
        Some(_) | None => Role::Dim,
    }
}

/// What is left of a row behind its label.
pub(super) fn rest(area: Rect, row: u16, left: u16) -> Rect {
    let width = left.saturating_sub(1);
    Rect {
        x: area.right().saturating_sub(width.saturating_add(1)),
        y: area.y.saturating_add(row),
        width,
        height: u16::from(row < area.height),
    }
}

fn passes(canvas: &mut Canvas<'_>, area: Rect, world: &World) {
    let numbers = &world.numbers;
    let all = numbers.rate(world.now, |counter| matches!(counter, Counter::Passes(_)));
    let total = all.map_or("–".to_owned(), rate);
    let mut line = canvas.line(area, 0);
    line.skip(2)
        .put("passes/s ", Role::Dim)
        .put(&total, Role::Text);
    if let Some(last) = world.handovers.back()
        && world.now.seconds_since(last.at) < TOLD
    {
        let mark = canvas.glyphs.pick("┊", "|");
        let text = format!("{mark} new leader {}", last.at.clock());
        canvas
            .line(area, 0)
            .right(&[(&text, Role::Warn), (" ", Role::Dim)]);
    }
    for (row, (name, label)) in (1..area.height).zip(RESULTS) {
        let wanted =
            |counter: &Counter| matches!(counter, Counter::Passes(result) if result == name);
        let now = numbers.rate(world.now, wanted);
        let role = match (name, now) {
            ("error", Some(value)) if value > 0.0 => Role::Bad,
            _other => Role::Text,
        };
        let mut line = canvas.line(area, row);
        line.skip(2).cell(label, 8, Role::Dim);
        line.number(&now.map_or("–".to_owned(), rate), 6, role);
        let place = rest(area, row, line.left());
        let role = if role == Role::Bad {
            role
        } else {
            Role::Accent
        };
        let values = |bins| numbers.rates(bins, wanted);
        trend(canvas, place, world, values, role);
    }
}

/// A chart of one row.
pub(super) fn trend(
    canvas: &mut Canvas<'_>,
    place: Rect,
    world: &World,
    values: impl Fn(Bins) -> Vec<Option<f64>>,
    role: Role,
) {
    if place.width == 0 {
        return;
    }
    let bins = Bins::until(world.now, COLUMN, usize::from(place.width.min(COLUMNS)));
    chart(canvas, place, &values(bins), &marks(world, bins), role);
}
