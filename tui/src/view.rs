//! The view: draws a model, and changes nothing.

mod canvas;
mod chart;
pub(crate) mod detail;
pub(crate) mod feed;
mod footer;
mod header;
pub(crate) mod layout;
mod machines;
mod overlay;
mod provider;
mod queue;
pub(crate) mod theme;

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use crate::age::age;
use crate::message::{Health, Source};
use crate::model::{Model, Pane};
use canvas::Canvas;
use theme::Role;

/// Draws a model that was settled on the whole buffer, whatever its size.
pub fn view(model: &Model, buffer: &mut Buffer) {
    let area = *buffer.area();
    let layout = layout::layout(model, area.width, area.height);
    let mut canvas = Canvas::new(buffer, model.ui.palette, model.ui.glyphs);
    if layout.one_line {
        header::one_line(&mut canvas, area, model);
        return;
    }
    header::header(&mut canvas, layout.header, model);
    header::phases(&mut canvas, layout.phases, model);
    for (pane, place) in &layout.panes {
        draw_pane(&mut canvas, *place, model, *pane, layout.narrow);
    }
    footer::draw(&mut canvas, layout.footer, model);
    let body = Rect {
        y: layout.header.bottom(),
        height: layout.footer.y.saturating_sub(layout.header.bottom()),
        ..area
    };
    overlay::draw(&mut canvas, body, model);
}

/// A buffer as plain text, without spaces at the ends of lines and without empty lines at the end.
#[must_use]
pub fn plain(buffer: &Buffer) -> String {
    let area = *buffer.area();
    let mut text = String::new();
    for y in area.y..area.bottom() {
        let mut line = String::new();
        let mut x = area.x;
        while x < area.right() {
            let Some(cell) = buffer.cell((x, y)) else {
                break;
            };
            line.push_str(cell.symbol());
            x += canvas::columns(cell.symbol()).max(1);
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text
}

fn draw_pane(canvas: &mut Canvas<'_>, area: Rect, model: &Model, pane: Pane, narrow: bool) {
    title(canvas, area, model, pane);
    let inside = Rect {
        y: area.y.saturating_add(1),
        height: area.height.saturating_sub(1),
        ..area
    };
    let stale = lost_since(model, pane).is_some();
    canvas.stale = stale;
    match pane {
        Pane::Machines => machines::draw(canvas, inside, model, narrow),
        Pane::Queue => queue::draw(canvas, inside, model),
        Pane::Provider => provider::draw(canvas, inside, model),
        Pane::Events => feed::draw_events(canvas, inside, model),
        Pane::Logs => feed::draw_logs(canvas, inside, model),
        Pane::Detail => detail::draw(canvas, inside, model),
    }
    canvas.stale = false;
}

/// Number, name, and a rule to the end with what matters at the right.
fn title(canvas: &mut Canvas<'_>, area: Rect, model: &Model, pane: Pane) {
    let focused = model.ui.focus == pane;
    let rule = canvas.glyphs.pick("─", "-");
    let mark = if focused {
        canvas.glyphs.pick("▸", ">")
    } else {
        " "
    };
    let mut line = canvas.line(area, 0);
    line.put(mark, Role::Accent);
    line.put(&(pane.index() + 1).to_string(), Role::Dim).skip(1);
    line.put(pane.title(), if focused { Role::Title } else { Role::Text })
        .skip(1);
    let mut right: Vec<(String, Role)> = Vec::new();
    if let Some(since) = lost_since(model, pane) {
        right.push((format!("as of {since} ago"), Role::Bad));
    } else {
        right.push((note(model, pane), Role::Dim));
    }
    if let Some((text, role)) = right.first().filter(|(text, _)| !text.is_empty()) {
        let width = canvas::columns(text);
        let left = line.left();
        if left > width + 4 {
            let fill = rule.repeat(usize::from(left - width - 2));
            line.put(&fill, Role::Faint).skip(1).put(text, *role);
            return;
        }
    }
    line.fill(rule, Role::Faint);
}

/// How old what a pane shows is, where it no longer comes in.
fn lost_since(model: &Model, pane: Pane) -> Option<String> {
    let world = model.world();
    let source = match pane {
        Pane::Machines | Pane::Detail => Source::Machines,
        Pane::Events => Source::Events,
        Pane::Logs => Source::Logs,
        Pane::Queue | Pane::Provider => return numbers_lost(model),
    };
    let standing = world.sources.get(&source)?;
    match standing.health {
        Health::Lost { .. } => Some(age(world.now, standing.good.unwrap_or(standing.since))),
        Health::Live | Health::Waiting | Health::Absent { .. } => None,
    }
}

fn numbers_lost(model: &Model) -> Option<String> {
    let world = model.world();
    world.no_numbers()?;
    let heard = world
        .numbers
        .replicas()
        .filter_map(|(_, one)| one.heard())
        .max()?;
    Some(age(world.now, heard))
}

/// What stands at the right of a title.
fn note(model: &Model, pane: Pane) -> String {
    let world = model.world();
    match pane {
        Pane::Machines => {
            let (shown, all) = (model.rows.len(), world.machines.len());
            let marked = match model.ui.marked.len() {
                0 => String::new(),
                marked => format!("{marked} marked, "),
            };
            if model.ui.filter.is_empty() {
                format!("{marked}{shown}")
            } else {
                format!("{marked}/{} {shown} of {all}", model.ui.filter.text)
            }
        }
        Pane::Queue => match world.leading() {
            Some((_, levels)) if levels.leading == Some(false) => "nobody leads".to_owned(),
            Some((name, _)) if world.replicas().1 > 1 => format!("of {name}"),
            Some(_) | None => "of the leader".to_owned(),
        },
        Pane::Provider => "the last minute".to_owned(),
        Pane::Events => feed::scope(model),
        Pane::Logs if world.dropped > 0 => {
            format!("{}, {} left out", feed::scope(model), world.dropped)
        }
        Pane::Logs => feed::scope(model),
        Pane::Detail => String::new(),
    }
}

/// Says what a pane lacks, and why.
fn why(canvas: &mut Canvas<'_>, area: Rect, what: &str, why: Option<&str>) {
    canvas
        .line(area, 0)
        .skip(2)
        .put(&format!("no {what}:"), Role::Dim);
    let mut row = 1;
    let mut line = canvas.line(area, row);
    line.skip(2);
    for word in why.unwrap_or("not known yet").split_whitespace() {
        if line.left() < canvas::columns(word) + 1 {
            row += 1;
            line = canvas.line(area, row);
            line.skip(2);
        }
        line.put(word, Role::Text).skip(1);
    }
}

#[cfg(test)]
mod tests;
