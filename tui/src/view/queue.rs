//! The queue of the leader, and the passes of all replicas.

use ratatui_core::layout::Rect;

use super::canvas::Canvas;
use super::chart::chart;
use super::theme::Role;
use super::why;
use crate::age::{Stamp, count, rate, span};
use crate::model::Model;
use crate::numbers::{Bins, Counter, Levels};
use crate::world::World;

/// Seconds of a column.
pub(super) const COLUMN: f64 = 5.0;
/// Most columns: what is kept is no older.
const COLUMNS: u16 = 180;
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
    let bins = Bins::until(
        world.now,
        COLUMN,
        usize::from(area.width.saturating_sub(2).min(COLUMNS)),
    );
    let marks = marks(world, bins);
    let results = u16::try_from(RESULTS.len()).unwrap_or(0);
    let rows = area.height.saturating_sub(results + 2).clamp(1, 6);
    levels(canvas, area, world);
    let body = Rect {
        x: area.x.saturating_add(2),
        y: area.y.saturating_add(1),
        width: area.width.saturating_sub(2),
        height: rows.min(area.height.saturating_sub(1)),
    };
    let ready = world
        .numbers
        .levels(bins, |levels| leaders(levels, levels.ready));
    chart(canvas, body, &ready, &marks, Role::Accent);
    let below = Rect {
        y: body.bottom(),
        height: area.bottom().saturating_sub(body.bottom()),
        ..area
    };
    passes(canvas, below, world, &marks);
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

fn levels(canvas: &mut Canvas<'_>, area: Rect, world: &World) {
    let Some((_, levels)) = world.leading() else {
        return;
    };
    let mut line = canvas.line(area, 0);
    line.skip(2);
    let number = |value: Option<f64>| value.map_or("–".to_owned(), count);
    let busy = |value: Option<f64>| match value {
        Some(value) if value > 0.0 => Role::Title,
        Some(_) | None => Role::Dim,
    };
    line.put("ready ", Role::Dim)
        .put(&number(levels.ready), busy(levels.ready));
    let running = match (levels.active, levels.workers) {
        (Some(active), Some(workers)) => format!("{}/{}", count(active), count(workers)),
        (active, _) => number(active),
    };
    line.skip(3)
        .put("running ", Role::Dim)
        .put(&running, busy(levels.active));
    line.skip(3)
        .put("delayed ", Role::Dim)
        .put(&number(levels.delayed), busy(levels.delayed));
    let oldest = levels.oldest.map_or("–".to_owned(), span);
    let role = match levels.oldest {
        Some(seconds) if seconds >= 10.0 => Role::Warn,
        other => busy(other),
    };
    line.skip(3).put("oldest ", Role::Dim).put(&oldest, role);
    if levels.leading == Some(false) {
        line.skip(3).put("nobody leads", Role::Bad);
    }
}

fn passes(canvas: &mut Canvas<'_>, area: Rect, world: &World, marks: &[usize]) {
    let numbers = &world.numbers;
    let all = numbers.rate(world.now, |counter| matches!(counter, Counter::Passes(_)));
    let total = all.map_or("–".to_owned(), rate);
    let mut line = canvas.line(area, 0);
    line.skip(2)
        .put("passes/s ", Role::Dim)
        .put(&total, Role::Text);
    if let Some(last) = world.handovers.back()
        && !marks.is_empty()
    {
        let text = format!(
            "{} new leader {}",
            canvas.glyphs.pick("┊", "|"),
            last.at.clock()
        );
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
        line.skip(2).cell(label, 7, Role::Dim);
        line.number(&now.map_or("–".to_owned(), rate), 6, role);
        let width = line.left().saturating_sub(1);
        let place = Rect {
            x: area.right().saturating_sub(width),
            y: area.y.saturating_add(row),
            width,
            height: 1,
        };
        trend(
            canvas,
            place,
            world.now,
            |bins| numbers.rates(bins, wanted),
            if role == Role::Bad {
                role
            } else {
                Role::Accent
            },
        );
    }
}

/// A chart of one row.
pub(super) fn trend(
    canvas: &mut Canvas<'_>,
    place: Rect,
    now: Stamp,
    values: impl Fn(Bins) -> Vec<Option<f64>>,
    role: Role,
) {
    if place.width == 0 {
        return;
    }
    let bins = Bins::until(now, COLUMN, usize::from(place.width.min(COLUMNS)));
    chart(canvas, place, &values(bins), &[], role);
}
