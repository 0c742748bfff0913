//! Which pane is where, for every size.

use ratatui_core::layout::Rect;

use super::{detail, feed};
use crate::model::{Model, Pane};

/// Most lines that detail may be scrolled by.
pub(crate) const DETAIL_LINES: usize = 200;
/// Rows of the lower pane on a small screen, its title included.
const LOWER: u16 = 8;

/// Where everything is. What has no room has no area.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) header: Rect,
    /// The bar of phases and, below it, their numbers.
    pub(super) phases: Rect,
    pub(super) panes: Vec<(Pane, Rect)>,
    pub(super) footer: Rect,
    /// Three columns are all that fits.
    pub(super) narrow: bool,
    /// Not even that.
    pub(super) one_line: bool,
}

/// Lays out a screen of that size.
pub(super) fn layout(model: &Model, width: u16, height: u16) -> Layout {
    let area = Rect::new(0, 0, width, height);
    if width < 40 || height < 10 {
        return Layout {
            one_line: true,
            ..Layout::default()
        };
    }
    let roomy = height >= 30;
    let header = Rect { height: 1, ..area };
    let phases = Rect {
        y: 1,
        height: if roomy { 3 } else { 1 },
        ..area
    };
    let footer = Rect {
        y: height - 1,
        height: 1,
        ..area
    };
    let body = Rect {
        y: phases.bottom(),
        height: footer.y.saturating_sub(phases.bottom()),
        ..area
    };
    Layout {
        header,
        phases,
        panes: panes(model, body, roomy),
        footer,
        narrow: width < 60,
        one_line: false,
    }
}

fn panes(model: &Model, body: Rect, roomy: bool) -> Vec<(Pane, Rect)> {
    let focus = model.ui.focus;
    if model.ui.zoom {
        return vec![(focus, body)];
    }
    if body.width >= 110 && roomy {
        return wide(model, body);
    }
    if body.width < 60 || body.height < 12 {
        return vec![(focus, body)];
    }
    let lower = lower(focus);
    let height = LOWER.min(body.height / 2).max(body.height / 3);
    let (above, below) = split_rows(body, body.height - height);
    vec![(Pane::Machines, above), (lower, below)]
}

/// Table at the left, numbers at the right, what happens below.
fn wide(model: &Model, body: Rect) -> Vec<(Pane, Rect)> {
    let below = (body.height / 4).clamp(7, 14);
    let (above, below) = split_rows(body, body.height - below);
    let right = (body.width * 9 / 20).clamp(50, 90);
    let (left, right) = split_columns(above, body.width - right);
    let queue = (right.height / 2).clamp(10, 12).min(right.height);
    let (queue, provider) = split_rows(right, queue);
    let pane = match model.ui.focus {
        Pane::Machines | Pane::Queue | Pane::Provider => Pane::Events,
        other => other,
    };
    vec![
        (Pane::Machines, left),
        (Pane::Queue, queue),
        (Pane::Provider, provider),
        (pane, below),
    ]
}

fn lower(focus: Pane) -> Pane {
    match focus {
        Pane::Machines => Pane::Queue,
        other => other,
    }
}

fn split_rows(area: Rect, at: u16) -> (Rect, Rect) {
    let at = at.min(area.height);
    let above = Rect { height: at, ..area };
    let below = Rect {
        y: area.y + at,
        height: area.height - at,
        ..area
    };
    (above, below)
}

/// Two columns stay free between the parts.
fn split_columns(area: Rect, at: u16) -> (Rect, Rect) {
    let at = at.min(area.width);
    let left = Rect {
        width: at.saturating_sub(2),
        ..area
    };
    let right = Rect {
        x: area.x + at,
        width: area.width - at,
        ..area
    };
    (left, right)
}

/// Rows of machines that the table shows at once.
pub(crate) fn table_rows(model: &Model) -> usize {
    let (width, height) = model.ui.size;
    let layout = layout(model, width, height);
    let table = layout
        .panes
        .iter()
        .find(|(pane, _)| *pane == Pane::Machines);
    // Its title and the headings.
    table.map_or(1, |(_, area)| usize::from(area.height.saturating_sub(2)))
}

/// Lines that a feed could be scrolled back by.
pub(crate) fn feed_lines(model: &Model, pane: Pane) -> usize {
    match pane {
        Pane::Events => feed::events(model).len(),
        Pane::Logs => feed::logs(model).len(),
        Pane::Machines | Pane::Queue | Pane::Provider => 0,
        Pane::Detail => detail::LINES,
    }
}
