//! Keys outside dialogs.

use super::dialog;
use crate::keys::{Act, Key, act};
use crate::message::{Target, What};
use crate::model::{Confirm, Effect, Model, Overlay, Pane};
use crate::table::Column;
use crate::view::layout;

/// Takes a key.
pub(super) fn press(model: &mut Model, key: Key) -> Vec<Effect> {
    model.ui.note = None;
    // These three are never typed into anything.
    match key {
        Key::Ctrl('c') => return vec![Effect::Quit],
        Key::Ctrl('z') => return vec![Effect::Suspend],
        Key::Ctrl('l') => return vec![Effect::Redraw],
        _other => {}
    }
    if model.ui.overlay != Overlay::None {
        return dialog::press(model, key);
    }
    let Some(act) = act(key) else {
        model.say(
            format!("{} does nothing; ? shows the keys", key.label()),
            false,
        );
        return Vec::new();
    };
    perform(model, act)
}

/// Does what a key, or a command, stands for.
pub(super) fn perform(model: &mut Model, act: Act) -> Vec<Effect> {
    let page = layout::table_rows(model).max(2) - 1;
    match act {
        Act::Up => step(model, -1),
        Act::Down => step(model, 1),
        Act::PageUp => step(model, -(page as isize)),
        Act::PageDown => step(model, page as isize),
        Act::First => step(model, isize::MIN),
        Act::Last => step(model, isize::MAX),
        Act::Pane(index) => focus(model, index),
        Act::NextPane => focus(model, (model.ui.focus.index() + 1) % Pane::ALL.len()),
        Act::PreviousPane => {
            let last = Pane::ALL.len() - 1;
            focus(model, (model.ui.focus.index() + last) % Pane::ALL.len());
        }
        Act::Zoom => model.ui.zoom = !model.ui.zoom,
        Act::Wide => model.ui.wide = !model.ui.wide,
        Act::Theme => model.ui.palette = model.ui.palette.next(),
        Act::Freeze => freeze(model),
        Act::Everything => model.ui.everything = !model.ui.everything,
        Act::Filter => {
            let before = model.ui.filter.clone();
            model.ui.overlay = Overlay::Filter { before };
        }
        Act::Command => {
            model.ui.overlay = Overlay::Command {
                text: String::new(),
            }
        }
        Act::Help => model.ui.overlay = Overlay::Help { scroll: 0 },
        Act::SortName => sort(model, Column::Name),
        Act::SortPhase => sort(model, Column::Phase),
        Act::SortAge => sort(model, Column::Age),
        Act::SortTries => sort(model, Column::Tries),
        Act::SortLeft => step_sort(model, -1),
        Act::SortRight => step_sort(model, 1),
        Act::SortTurn => sort(model, model.ui.sort.column),
        Act::Detail => focus(model, Pane::Detail.index()),
        Act::Logs => of_selected(model, Pane::Logs),
        Act::Events => of_selected(model, Pane::Events),
        Act::Back => back(model),
        Act::Mark => mark(model),
        Act::Describe | Act::Yaml | Act::Edit | Act::Reconcile | Act::Delete => {
            return on_machine(model, act);
        }
        Act::Redraw => return vec![Effect::Redraw],
        Act::Suspend => return vec![Effect::Suspend],
        Act::Quit => return vec![Effect::Quit],
    }
    Vec::new()
}

/// Acts that need a machine, and those that need the right to change one.
fn on_machine(model: &mut Model, act: Act) -> Vec<Effect> {
    let Some(target) = model.selected().map(|machine| machine.target()) else {
        model.say("no machine is selected", false);
        return Vec::new();
    };
    if matches!(act, Act::Edit | Act::Reconcile | Act::Delete)
        && let Some(why) = &model.live.context.read_only
    {
        let text = format!("read-only: {why}");
        model.say(text, false);
        return Vec::new();
    }
    match act {
        Act::Describe => vec![Effect::Show(What::Describe, target)],
        Act::Yaml => vec![Effect::Show(What::Yaml, target)],
        Act::Edit => vec![Effect::Edit(target)],
        Act::Reconcile => {
            let targets = marked_or(model, target);
            model.ui.marked.clear();
            vec![Effect::Reconcile(targets)]
        }
        _delete => {
            model.ui.overlay = Overlay::Confirm(Confirm {
                targets: marked_or(model, target),
                on_delete: false,
                typed: String::new(),
            });
            Vec::new()
        }
    }
}

fn marked_or(model: &Model, selected: Target) -> Vec<Target> {
    let marked = &model.ui.marked;
    if marked.is_empty() {
        vec![selected]
    } else {
        marked.values().cloned().collect()
    }
}

fn step(model: &mut Model, by: isize) {
    let pane = model.ui.focus;
    match pane {
        Pane::Machines | Pane::Queue | Pane::Provider => {
            let row = if by == isize::MIN {
                0
            } else {
                model.ui.row.saturating_add_signed(by)
            };
            model.select(row);
        }
        // What is last is what is new: down goes back to it.
        Pane::Events | Pane::Logs => {
            let most = layout::feed_lines(model, pane);
            let scroll = &mut model.ui.scroll[pane.index()];
            *scroll = if by == isize::MIN {
                most
            } else {
                scroll.saturating_add_signed(by.saturating_neg()).min(most)
            };
        }
        Pane::Detail => {
            let scroll = &mut model.ui.scroll[pane.index()];
            let to = if by == isize::MIN {
                0
            } else {
                scroll.saturating_add_signed(by)
            };
            *scroll = to.min(layout::DETAIL_LINES);
        }
    }
}

fn focus(model: &mut Model, index: usize) {
    if let Some(pane) = Pane::ALL.get(index) {
        model.ui.focus = *pane;
    }
}

fn of_selected(model: &mut Model, pane: Pane) {
    model.ui.everything = false;
    model.ui.scroll[pane.index()] = 0;
    focus(model, pane.index());
}

fn sort(model: &mut Model, column: Column) {
    model.ui.sort.by(column);
    model.stale = true;
}

fn step_sort(model: &mut Model, step: isize) {
    model.ui.sort.step(step);
    model.stale = true;
}

fn freeze(model: &mut Model) {
    model.frozen = match model.frozen.take() {
        Some(_) => None,
        None => Some(Box::new(model.live.clone())),
    };
    model.stale = true;
}

fn mark(model: &mut Model) {
    let Some(target) = model.selected().map(|machine| machine.target()) else {
        return;
    };
    if model.ui.marked.remove(&target.uid).is_none() {
        model.ui.marked.insert(target.uid.clone(), target);
    }
    step(model, 1);
}

/// One step back: marks, zoom, filter, focus, in this order.
fn back(model: &mut Model) {
    let ui = &mut model.ui;
    if !ui.marked.is_empty() {
        ui.marked.clear();
    } else if ui.zoom {
        ui.zoom = false;
    } else if ui.focus != Pane::Machines {
        ui.focus = Pane::Machines;
    } else if !ui.filter.is_empty() {
        ui.filter = Default::default();
        model.stale = true;
    }
}
