//! What lies over the panes: help, questions, texts.

use ratatui_core::layout::Rect;

use super::canvas::{Canvas, columns};
use super::theme::Role;
use crate::keys::{Chapter, KEYMAP, Key};
use crate::model::{Confirm, Model, Overlay};
use crate::update::COMMANDS;

/// Most machines that a question names one by one.
const NAMED: usize = 8;

/// Draws what lies over the panes, if anything does.
pub(super) fn draw(canvas: &mut Canvas<'_>, area: Rect, model: &Model) {
    match &model.ui.overlay {
        // Both are typed in the last row.
        Overlay::None | Overlay::Filter { .. } | Overlay::Command { .. } => {}
        Overlay::Help { scroll } => {
            let inner = frame(
                canvas,
                area,
                (76, u16::MAX),
                "Keys",
                "esc closes, j and k move",
            );
            lines(canvas, inner, &help(), *scroll);
        }
        Overlay::Text {
            title,
            lines: text,
            scroll,
        } => {
            let inner = frame(
                canvas,
                area,
                (u16::MAX, u16::MAX),
                title,
                "esc closes, j and k move",
            );
            let text: Vec<(String, String)> = text
                .iter()
                .map(|line| (String::new(), line.clone()))
                .collect();
            lines(canvas, inner, &text, *scroll);
        }
        Overlay::Confirm(confirm) => question(canvas, area, model, confirm),
    }
}

/// The help: keys by chapter, then commands.
pub(super) fn help() -> Vec<(String, String)> {
    let chapters = [
        (Chapter::Move, "Move"),
        (Chapter::Look, "Look"),
        (Chapter::Machine, "The selected machine"),
        (Chapter::General, "General"),
    ];
    let mut lines = Vec::new();
    for (chapter, title) in chapters {
        lines.push((title.to_owned(), String::new()));
        for binding in KEYMAP.iter().filter(|binding| binding.chapter == chapter) {
            let keys: Vec<String> = binding.keys.iter().map(|key| Key::label(*key)).collect();
            lines.push((format!("  {}", keys.join(" ")), binding.help.to_owned()));
        }
        lines.push((String::new(), String::new()));
    }
    lines.push(("Commands".to_owned(), String::new()));
    for (name, help) in COMMANDS {
        lines.push((format!("  :{name}"), (*help).to_owned()));
    }
    lines
}

fn lines(canvas: &mut Canvas<'_>, area: Rect, text: &[(String, String)], scroll: usize) {
    let most = text.len().saturating_sub(usize::from(area.height));
    for (row, (left, right)) in (0..area.height).zip(text.iter().skip(scroll.min(most))) {
        let mut line = canvas.line(area, row);
        if right.is_empty() {
            line.put(left, Role::Title);
        } else if left.is_empty() {
            line.put(right, Role::Text);
        } else {
            line.cell(left, 16, Role::Accent).put(right, Role::Text);
        }
    }
}

fn question(canvas: &mut Canvas<'_>, area: Rect, model: &Model, confirm: &Confirm) {
    let world = model.present();
    let many = confirm.targets.len();
    let rows = many.min(NAMED) + usize::from(many > NAMED) + 5 + usize::from(many > 1);
    let rows = u16::try_from(rows).unwrap_or(u16::MAX);
    let title = if many == 1 {
        "Delete this machine?".to_owned()
    } else {
        format!("Delete {many} machines?")
    };
    let inner = frame(
        canvas,
        area,
        (64, rows + 2),
        &title,
        "tab moves, enter takes, esc leaves",
    );
    let mut row = 0;
    canvas
        .line(inner, row)
        .put("in ", Role::Dim)
        .put(&world.context.label, Role::Accent);
    row += 1;
    for target in confirm.targets.iter().take(NAMED) {
        let there = world.machines.contains_key(&target.uid);
        let mut line = canvas.line(inner, row);
        line.skip(2)
            .put(&target.namespace, Role::Dim)
            .put("/", Role::Dim)
            .put(&target.name, Role::Text);
        if !there {
            line.put(", gone already", Role::Dim);
        }
        row += 1;
    }
    if many > NAMED {
        let more = format!("and {} more", many - NAMED);
        canvas.line(inner, row).skip(2).put(&more, Role::Dim);
        row += 1;
    }
    let what = "Each goes at its cloud too. That cannot be undone.";
    canvas.line(inner, row).put(what, Role::Warn);
    row += 1;
    if many > 1 {
        let mut line = canvas.line(inner, row);
        line.put(&format!("type {many} to allow it: "), Role::Dim);
        line.put(&confirm.typed, Role::Title)
            .put(canvas_cursor(model), Role::Accent);
        row += 1;
    }
    buttons(canvas, inner, row + 1, model, confirm);
}

fn buttons(canvas: &mut Canvas<'_>, inner: Rect, row: u16, model: &Model, confirm: &Confirm) {
    let selected = model.ui.palette.selected();
    let focus = canvas.glyphs.pick("▶", ">");
    let cancel = canvas.palette.style(Role::Title);
    let delete = if confirm.is_ready() {
        Role::Bad
    } else {
        Role::Dim
    };
    let delete = canvas.palette.style(delete);
    let mut line = canvas.line(inner, row);
    let label =
        |text: &str, focused: bool| format!("{} {text} ", if focused { focus } else { " " });
    let on = confirm.on_delete;
    let style = |style: ratatui_core::style::Style, focused| {
        if focused {
            style.patch(selected)
        } else {
            style
        }
    };
    line.styled(&label("Cancel", !on), style(cancel, !on))
        .skip(3);
    line.styled(&label("Delete", on), style(delete, on));
}

fn canvas_cursor(model: &Model) -> &'static str {
    model.ui.glyphs.pick("▏", "_")
}

/// A box in the middle, at most as large as the area. Returns what is inside.
fn frame(
    canvas: &mut Canvas<'_>,
    area: Rect,
    (width, height): (u16, u16),
    title: &str,
    hint: &str,
) -> Rect {
    let margin = if area.width > 60 && area.height > 16 {
        2
    } else {
        0
    };
    let width = width.min(area.width.saturating_sub(margin * 2));
    let height = height.min(area.height.saturating_sub(margin));
    let outer = Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height - height) / 2,
        width,
        height,
    };
    canvas.clear(outer);
    border(canvas, outer, title, hint);
    Rect {
        x: outer.x + 2.min(width),
        y: outer.y + 1.min(height),
        width: width.saturating_sub(4),
        height: height.saturating_sub(2),
    }
}

/// Rounded corners, a title above and a hint below.
fn border(canvas: &mut Canvas<'_>, outer: Rect, title: &str, hint: &str) {
    let Rect { width, height, .. } = outer;
    let glyphs = canvas.glyphs;
    let (flat, side) = (glyphs.pick("─", "-"), glyphs.pick("│", "|"));
    let corners = match glyphs {
        super::theme::Glyphs::Unicode => ["╭", "╮", "╰", "╯"],
        super::theme::Glyphs::Ascii => ["+"; 4],
    };
    let inside = usize::from(width.saturating_sub(2));
    let rule = flat.repeat(inside);
    let last = height.saturating_sub(1);
    for row in 1..last {
        canvas.line(outer, row).put(side, Role::Faint);
        canvas.dot(outer, (width.saturating_sub(1), row), side, Role::Faint);
    }
    canvas
        .line(outer, last)
        .put(corners[2], Role::Faint)
        .put(&rule, Role::Faint)
        .put(corners[3], Role::Faint);
    canvas
        .line(outer, 0)
        .put(corners[0], Role::Faint)
        .put(&rule, Role::Faint)
        .put(corners[1], Role::Faint);
    let top = Rect {
        width: width.saturating_sub(1),
        ..outer
    };
    canvas
        .line(top, 0)
        .skip(2)
        .put(" ", Role::Faint)
        .put(title, Role::Title)
        .put(" ", Role::Faint);
    if columns(hint) + 6 < width {
        canvas
            .line(top, last)
            .skip(2)
            .put(" ", Role::Faint)
            .put(hint, Role::Dim)
            .put(" ", Role::Faint);
    }
}
