//! One machine: what it is, what is being done about it, and how its conditions changed over time.

use ratatui_core::layout::Rect;

use super::canvas::Canvas;
use super::theme::Role;
use crate::age::{Stamp, age, span};
use crate::message::{Condition, Machine};
use crate::model::{Model, Pane};
use crate::world::World;

/// Lines that it may have.
pub(crate) const LINES: usize = 64;

/// Draws the selected machine.
pub(super) fn draw(canvas: &mut Canvas<'_>, area: Rect, model: &Model) {
    let Some(machine) = model.selected() else {
        canvas
            .line(area, 0)
            .skip(2)
            .put("no machine is selected", Role::Dim);
        return;
    };
    let world = model.world();
    let timeline = u16::try_from(machine.conditions.len())
        .unwrap_or(u16::MAX)
        .saturating_add(1);
    let scroll = u16::try_from(model.ui.scroll[Pane::Detail.index()]).unwrap_or(u16::MAX);
    let most = timeline
        .saturating_mul(2)
        .saturating_add(4)
        .saturating_sub(area.height);
    let mut cursor = Cursor {
        area,
        row: 0,
        hidden: scroll.min(most),
    };
    facts(canvas, &mut cursor, machine, world);
    work(canvas, &mut cursor, machine, world);
    if machine.conditions.is_empty() {
        if let Some(row) = cursor.next() {
            canvas.line(area, row).skip(2).put(
                "no conditions yet: the operator has not looked at it",
                Role::Dim,
            );
        }
        return;
    }
    axis(canvas, &mut cursor, machine, world);
    for condition in &machine.conditions {
        bar(canvas, &mut cursor, machine, condition, world);
    }
    for condition in &machine.conditions {
        let Some(row) = cursor.next() else { return };
        let mut line = canvas.line(area, row);
        line.skip(2).cell(&condition.kind, 14, Role::Dim);
        line.put(&condition.reason, Role::Text).skip(1);
        line.put(&condition.message, Role::Dim);
    }
}

/// Rows that are used one after another; the first ones may be scrolled away.
struct Cursor {
    area: Rect,
    row: u16,
    hidden: u16,
}

impl Cursor {
    fn next(&mut self) -> Option<u16> {
        if self.hidden > 0 {
            self.hidden -= 1;
            // A row that no area has.
            return Some(u16::MAX);
        }
        let row = self.row;
        self.row += 1;
        (row < self.area.height).then_some(row)
    }
}

fn facts(canvas: &mut Canvas<'_>, cursor: &mut Cursor, machine: &Machine, world: &World) {
    let Some(row) = cursor.next() else { return };
    let (mark, role) = canvas.glyphs.phase(machine.shown_phase());
    let mut line = canvas.line(cursor.area, row);
    line.skip(2)
        .put(&machine.namespace, Role::Dim)
        .put("/", Role::Dim);
    line.put(&machine.name, Role::Title).skip(2);
    line.put(mark, role)
        .skip(1)
        .put(machine.shown_phase(), role)
        .skip(2);
    let size = format!("{} CPU, {}", machine.cpu, machine.memory);
    line.put(&size, Role::Text).skip(2);
    line.put(&machine.image, Role::Dim).skip(2);
    line.put("at ", Role::Dim)
        .put(&machine.provider, Role::Text)
        .skip(2);
    for text in [&machine.id, &machine.address] {
        if !text.is_empty() {
            line.put(text, Role::Accent).skip(2);
        }
    }
    let made = format!("made {} ago", age(world.now, machine.created));
    line.put(&made, Role::Dim);
}

/// What is being done about it right now.
fn work(canvas: &mut Canvas<'_>, cursor: &mut Cursor, machine: &Machine, world: &World) {
    let key = machine.key();
    let queued = world.queued(&key);
    if machine.operation.is_none() && queued.is_none() {
        return;
    }
    let Some(row) = cursor.next() else { return };
    let mut line = canvas.line(cursor.area, row);
    line.skip(2);
    if let Some(operation) = &machine.operation {
        let times = if operation.attempts == 1 {
            "once"
        } else {
            "times"
        };
        let tried = match operation.attempts {
            1 => times.to_owned(),
            attempts => format!("{attempts} {times}"),
        };
        line.put(&format!("{} tried {tried}", operation.kind), Role::Warn);
        if let Some(next) = operation.next {
            let wait = next.seconds_since(world.now).max(0.0);
            line.put(&format!(", again in {}", span(wait)), Role::Warn);
        }
        if !operation.reason.is_empty() {
            line.put(&format!(": {}", operation.reason), Role::Warn);
        }
        line.skip(3);
    }
    if let Some((entry, at)) = queued {
        let since = world.now.seconds_since(at).max(0.0);
        let text = match entry.state.as_str() {
            "running" => format!("a pass runs for {}", span(entry.seconds + since)),
            "ready" => format!("waits in the queue for {}", span(entry.seconds + since)),
            _delayed => format!("next pass in {}", span((entry.seconds - since).max(0.0))),
        };
        line.put(&text, Role::Busy);
        if entry.failures > 0 {
            line.put(
                &format!(", {} failures in a row", entry.failures),
                Role::Warn,
            );
        }
    }
}

/// Columns before the bar of a condition.
const BEFORE: u16 = 2 + 15 + 8;

fn axis(canvas: &mut Canvas<'_>, cursor: &mut Cursor, machine: &Machine, world: &World) {
    let Some(row) = cursor.next() else { return };
    let mut line = canvas.line(cursor.area, row);
    line.skip(BEFORE).put(&machine.created.clock(), Role::Dim);
    let now = world.now.clock();
    line.right(&[(&now, Role::Dim), (" ", Role::Dim)]);
}

fn bar(
    canvas: &mut Canvas<'_>,
    cursor: &mut Cursor,
    machine: &Machine,
    condition: &Condition,
    world: &World,
) {
    let Some(row) = cursor.next() else { return };
    let glyphs = canvas.glyphs;
    let mut line = canvas.line(cursor.area, row);
    line.skip(2).cell(&condition.kind, 14, Role::Text);
    let (_, role) = shape(glyphs, &condition.status);
    line.cell(&condition.status, 7, role);
    let width = line.left().saturating_sub(1);
    let begin = machine.created;
    let length = world.now.seconds_since(begin).max(1.0);
    for column in 0..width {
        // The moment in the middle of the column.
        let part = (f64::from(column) + 0.5) / f64::from(width);
        let at = Stamp(begin.0.saturating_add((part * length * 1000.0) as i64));
        let (symbol, role) = shape(glyphs, status_at(world, machine, condition, at));
        line.put(symbol, role);
    }
}

/// How a status is drawn; each has its own density.
fn shape(glyphs: super::theme::Glyphs, status: &str) -> (&'static str, Role) {
    match status {
        "True" => (glyphs.pick("█", "#"), Role::Good),
        "False" => (glyphs.pick("░", "-"), Role::Dim),
        "Unknown" => (glyphs.pick("▒", "?"), Role::Warn),
        _not_known => (glyphs.pick("·", "."), Role::Faint),
    }
}

/// The status at a moment: as it is now since it last changed; before that only what was seen.
fn status_at<'a>(world: &'a World, machine: &Machine, now: &'a Condition, at: Stamp) -> &'a str {
    if at >= now.since {
        return &now.status;
    }
    let turns = world.turns.get(&machine.uid).into_iter().flatten();
    let mut later = turns.filter(|turn| turn.kind == now.kind && turn.at > at);
    later.next().map_or("", |turn| turn.from.as_str())
}
