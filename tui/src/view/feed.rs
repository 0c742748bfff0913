//! Events and logs: what happens, the latest at the bottom.

use std::sync::Arc;

use ratatui_core::layout::Rect;

use super::canvas::Canvas;
use super::theme::Role;
use super::why;
use crate::message::{Event, Health, LogLine, Source};
use crate::model::{Model, Pane};
use crate::world::World;

/// Events that are shown: of everything, or of the selected machine.
pub(crate) fn events(model: &Model) -> Vec<&Arc<Event>> {
    let of = selected(model);
    let fits = |event: &&Arc<Event>| of.as_ref().is_none_or(|(uid, _)| event.object_uid == *uid);
    model.world().events.iter().filter(fits).collect()
}

/// Lines of logs that are shown.
pub(crate) fn logs(model: &Model) -> Vec<&Arc<LogLine>> {
    let of = selected(model);
    let fits = |line: &&Arc<LogLine>| of.as_ref().is_none_or(|(_, key)| line.key == *key);
    model.world().logs.iter().filter(fits).collect()
}

/// Uid and key of the machine that feeds are limited to.
fn selected(model: &Model) -> Option<(String, String)> {
    if model.ui.everything {
        return None;
    }
    model
        .selected()
        .map(|machine| (machine.uid.clone(), machine.key()))
}

/// Of what a feed tells, for its title.
pub(super) fn scope(model: &Model) -> String {
    match selected(model) {
        Some((_, key)) => format!("of {key}"),
        None => "of everything".to_owned(),
    }
}

/// Draws events.
pub(super) fn draw_events(canvas: &mut Canvas<'_>, area: Rect, model: &Model) {
    let events = events(model);
    if events.is_empty() {
        let lacking = absent(model.world(), &Source::Events);
        nothing(canvas, area, "events", lacking, model);
        return;
    }
    let warning = canvas.glyphs.pick("▲", "!");
    for (row, event) in visible(&events, area.height, model.ui.scroll[Pane::Events.index()]) {
        let warns = event.kind == "Warning";
        let mut line = canvas.line(area, row);
        line.skip(2).put(&event.at.clock(), Role::Dim).skip(1);
        line.put(if warns { warning } else { " " }, Role::Warn)
            .skip(1);
        line.cell(&event.object, 18, Role::Text);
        line.put(&event.reason, if warns { Role::Warn } else { Role::Good })
            .skip(1);
        if event.count > 1 {
            line.put(&format!("×{} ", event.count), Role::Dim);
        }
        line.put(&event.message, Role::Dim);
    }
}

/// Draws logs.
pub(super) fn draw_logs(canvas: &mut Canvas<'_>, area: Rect, model: &Model) {
    let logs = logs(model);
    if logs.is_empty() {
        let lacking = absent(model.world(), &Source::Logs);
        nothing(canvas, area, "log lines", lacking, model);
        return;
    }
    let many = model.world().replicas().1 > 1;
    for (row, entry) in visible(&logs, area.height, model.ui.scroll[Pane::Logs.index()]) {
        let role = match entry.level.as_str() {
            "ERROR" => Role::Bad,
            "WARN" => Role::Warn,
            _other => Role::Dim,
        };
        let mut line = canvas.line(area, row);
        line.skip(2).put(&entry.at.clock(), Role::Dim).skip(1);
        line.cell(&entry.level, 5, role);
        if many {
            line.cell(&entry.replica, 10, Role::Dim);
        }
        if !entry.key.is_empty() {
            let name = entry.key.rsplit('/').next().unwrap_or_default();
            line.cell(name, 14, Role::Accent);
        }
        line.put(&entry.text, Role::Text);
    }
}

/// The part of a feed that is seen: its end, or so many lines before it.
fn visible<T>(feed: &[T], rows: u16, scroll: usize) -> impl Iterator<Item = (u16, &T)> {
    let end = feed.len() - scroll.min(feed.len().saturating_sub(1)).min(feed.len());
    let begin = end.saturating_sub(usize::from(rows));
    (0..rows).zip(feed.get(begin..end).unwrap_or_default())
}

fn absent(world: &World, source: &Source) -> Option<String> {
    match &world.sources.get(source)?.health {
        Health::Live => None,
        Health::Waiting => Some("waiting for them".to_owned()),
        Health::Lost { why } | Health::Absent { why } => Some(why.clone()),
    }
}

fn nothing(
    canvas: &mut Canvas<'_>,
    area: Rect,
    what: &str,
    lacking: Option<String>,
    model: &Model,
) {
    match lacking {
        Some(_) => why(canvas, area, what, lacking.as_deref()),
        None => {
            let text = match selected(model) {
                Some((_, key)) => format!("no {what} of {key}; a shows those of everything"),
                None => format!("no {what} yet"),
            };
            canvas.line(area, 0).skip(2).put(&text, Role::Dim);
        }
    }
}
