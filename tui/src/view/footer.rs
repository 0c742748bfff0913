//! The last row: what is typed, what was done, else the keys that matter here.

use ratatui_core::layout::Rect;

use super::canvas::{Canvas, columns};
use super::theme::Role;
use crate::keys::{Act, KEYMAP};
use crate::model::{Model, Overlay};

/// The keys that are worth a place, the most useful first, and what they are called in one word.
const HINTS: [(Act, &str); 13] = [
    (Act::Help, "help"),
    (Act::Quit, "quit"),
    (Act::Filter, "filter"),
    (Act::Command, "command"),
    (Act::Detail, "detail"),
    (Act::Logs, "logs"),
    (Act::Describe, "describe"),
    (Act::Yaml, "yaml"),
    (Act::Delete, "delete"),
    (Act::Zoom, "zoom"),
    (Act::Freeze, "freeze"),
    (Act::Theme, "theme"),
    (Act::Reconcile, "reconcile"),
];

/// Draws it.
pub(super) fn draw(canvas: &mut Canvas<'_>, area: Rect, model: &Model) {
    let cursor = canvas.glyphs.pick("▏", "_");
    let mut line = canvas.line(area, 0);
    line.skip(1);
    match &model.ui.overlay {
        Overlay::Filter { .. } => {
            let fits = format!("{} fit", model.rows.len());
            line.put("/", Role::Accent)
                .put(&model.ui.filter.text, Role::Text)
                .put(cursor, Role::Accent);
            line.right(&[
                (&fits, Role::Dim),
                ("   enter keeps, esc leaves ", Role::Dim),
            ]);
            return;
        }
        Overlay::Command { text } => {
            line.put(":", Role::Accent)
                .put(text, Role::Text)
                .put(cursor, Role::Accent);
            line.right(&[("tab completes, esc leaves ", Role::Dim)]);
            return;
        }
        Overlay::None | Overlay::Help { .. } | Overlay::Confirm(_) | Overlay::Text { .. } => {}
    }
    if let Some((done, _)) = &model.ui.note {
        line.put(&done.text, if done.well { Role::Good } else { Role::Warn });
        return;
    }
    for (act, word) in HINTS {
        let Some(key) = KEYMAP
            .iter()
            .find(|binding| binding.act == act)
            .and_then(|one| one.keys.first())
        else {
            continue;
        };
        let changes = matches!(act, Act::Reconcile | Act::Delete);
        let forbidden = changes && model.live.context.read_only.is_some();
        let label = key.label();
        if forbidden || columns(&label) + columns(word) + 3 > line.left() {
            continue;
        }
        line.put(&label, Role::Accent)
            .skip(1)
            .put(word, Role::Dim)
            .skip(3);
    }
}
