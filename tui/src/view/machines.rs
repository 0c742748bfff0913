//! The table of machines.

use ratatui_core::layout::Rect;

use super::canvas::{Canvas, columns};
use super::theme::Role;
use crate::age::age;
use crate::message::Machine;
use crate::model::Model;
use crate::table::Column;
use crate::world::World;

/// Draws the table; a narrow one has three columns.
pub(super) fn draw(canvas: &mut Canvas<'_>, area: Rect, model: &Model, narrow: bool) {
    if model.rows.is_empty() {
        empty(canvas, area, model);
        return;
    }
    let shown = chosen(model, area.width, narrow);
    headings(canvas, area, model, &shown);
    let world = model.world();
    let page = usize::from(area.height.saturating_sub(1));
    let rows = model.rows.iter().enumerate().skip(model.ui.top).take(page);
    for (place, (index, machine)) in (1..area.height).zip(rows) {
        let selected = index == model.ui.row;
        let marked = model.ui.marked.contains_key(&machine.uid);
        let mark = match (marked, selected) {
            (true, _) => canvas.glyphs.pick("◆ ", "+ "),
            (false, true) => canvas.glyphs.pick("▌ ", "> "),
            (false, false) => "  ",
        };
        let glyphs = canvas.glyphs;
        let mut line = canvas.line(area, place);
        line.put(mark, if marked { Role::Warn } else { Role::Accent });
        for (column, width) in &shown {
            let (text, role) = cell(*column, machine, world, glyphs);
            if is_number(*column) {
                line.number(&text, *width, role);
            } else {
                line.cell(&text, *width, role);
            }
        }
        if selected {
            let row = Rect {
                y: area.y + place,
                height: 1,
                ..area
            };
            let style = canvas.palette.selected();
            canvas.paint(row, style);
        }
    }
}

fn empty(canvas: &mut Canvas<'_>, area: Rect, model: &Model) {
    let world = model.world();
    let text = if world.listed && world.machines.is_empty() {
        "no machines yet: vmctl create vm web-1 --image ubuntu-22.04 --cpu 2 --memory 4Gi"
    } else if world.machines.is_empty() {
        "waiting for the list of machines"
    } else {
        "no machine fits the filter; esc takes it away"
    };
    canvas.line(area, 1).skip(2).put(text, Role::Dim);
}

fn headings(canvas: &mut Canvas<'_>, area: Rect, model: &Model, shown: &[(Column, u16)]) {
    let sort = model.ui.sort;
    let (up, down) = (canvas.glyphs.pick("↑", "^"), canvas.glyphs.pick("↓", "v"));
    let mut line = canvas.line(area, 0);
    line.skip(2);
    for (column, width) in shown {
        let (text, role) = if *column == sort.column {
            let arrow = if sort.turned { down } else { up };
            (format!("{}{arrow}", column.heading()), Role::Accent)
        } else {
            (column.heading().to_owned(), Role::Dim)
        };
        if is_number(*column) {
            line.number(&text, *width, role);
        } else {
            line.cell(&text, *width, role);
        }
    }
}

/// Which columns are shown in a width, and how wide each is. Names get what they need, the reason what is left.
fn chosen(model: &Model, width: u16, narrow: bool) -> Vec<(Column, u16)> {
    let one_namespace = model.ui.namespace.is_some() && !model.ui.wide;
    let longest = |of: fn(&Machine) -> &str, least: u16, most: u16| {
        let page = model.rows.iter().skip(model.ui.top).take(200);
        let longest = page.map(|machine| columns(of(machine))).max();
        longest.unwrap_or(0).clamp(least, most)
    };
    // While nothing is in back-off, their place is better used.
    let tried = model.rows.iter().any(|one| one.operation.is_some());
    let tried = if tried { 3 } else { 9 };
    let widths = [
        (Column::Name, longest(|one| &one.name, 9, 32), 0),
        (Column::Phase, 14, 0),
        (Column::Ready, 5, if narrow { 9 } else { 1 }),
        (Column::Age, 5, if narrow { 0 } else { 1 }),
        (Column::Trouble, longest(Machine::trouble, 4, 22), 2),
        (Column::Tries, 5, tried),
        (Column::Next, 5, tried),
        (
            Column::Namespace,
            longest(|one| &one.namespace, 9, 20),
            if one_namespace { 9 } else { 4 },
        ),
        (Column::Cpu, 4, 4),
        (Column::Memory, 6, 4),
        (
            Column::Provider,
            longest(|one| &one.provider, 8, 16),
            if model.ui.wide { 5 } else { 7 },
        ),
        (
            Column::Address,
            longest(|one| &one.address, 8, 39),
            if model.ui.wide { 5 } else { 8 },
        ),
    ];
    let mut left = width.saturating_sub(2);
    let mut kept: Vec<(Column, u16)> = Vec::new();
    let mut order: Vec<_> = widths.iter().filter(|(_, _, rank)| *rank < 9).collect();
    order.sort_by_key(|(_, _, rank)| *rank);
    for (column, width, _) in order {
        if *width < left {
            left -= width + 1;
            kept.push((*column, *width));
        } else if kept.is_empty() {
            kept.push((*column, left));
            left = 0;
        }
    }
    kept.sort_by_key(|(column, _)| Column::ALL.iter().position(|one| one == column));
    if let Some((_, width)) = kept
        .iter_mut()
        .find(|(column, _)| *column == Column::Trouble)
    {
        *width += left;
    }
    kept
}

fn is_number(column: Column) -> bool {
    matches!(
        column,
        Column::Cpu | Column::Memory | Column::Age | Column::Tries | Column::Next
    )
}

fn cell(
    column: Column,
    machine: &Machine,
    world: &World,
    glyphs: super::theme::Glyphs,
) -> (String, Role) {
    let text = |text: &str| (text.to_owned(), Role::Text);
    let dim = |text: &str| (text.to_owned(), Role::Dim);
    match column {
        Column::Namespace => dim(&machine.namespace),
        Column::Name => text(&machine.name),
        Column::Phase => {
            let phase = machine.shown_phase();
            let (mark, role) = glyphs.phase(phase);
            (format!("{mark} {phase}"), role)
        }
        Column::Ready => match machine.ready() {
            "yes" => ("yes".to_owned(), Role::Good),
            other => dim(other),
        },
        Column::Cpu => text(&machine.cpu.to_string()),
        Column::Memory => text(&machine.memory),
        Column::Provider => dim(&machine.provider),
        Column::Address => dim(&machine.address),
        Column::Age => dim(&age(world.now, machine.created)),
        Column::Tries => match &machine.operation {
            Some(operation) if operation.attempts > 0 => {
                (operation.attempts.to_string(), Role::Warn)
            }
            Some(_) | None => text(""),
        },
        Column::Next => match machine.operation.as_ref().and_then(|one| one.next) {
            Some(next) if next > world.now => (age(next, world.now), Role::Warn),
            Some(_) => ("now".to_owned(), Role::Warn),
            None => text(""),
        },
        Column::Trouble => {
            let role = match machine.shown_phase() {
                "Failed" | "Lost" => Role::Bad,
                _other => Role::Dim,
            };
            (machine.trouble().to_owned(), role)
        }
    }
}
