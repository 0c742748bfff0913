//! How messages change the model.

mod command;
pub(crate) use command::COMMANDS;
mod dialog;
mod keys;

use std::sync::Arc;

use crate::message::{Machine, Message};
use crate::model::{Effect, Model, Overlay};

/// How long a word to the user stays, in seconds.
const NOTE: f64 = 6.0;
/// Most lines of a text that is shown.
const LINES: usize = 20_000;

/// Changes the model as the message says, and tells what is to be done outside.
pub fn update(model: &mut Model, message: Message) -> Vec<Effect> {
    match message {
        Message::Key { key } => {
            model.settle();
            return keys::press(model, key);
        }
        Message::Resize { width, height } => model.ui.size = (width, height),
        Message::Done(done) => model.say(done.text, done.well),
        Message::Text { title, text } => {
            let lines = text.lines().take(LINES).map(str::to_owned).collect();
            model.ui.overlay = Overlay::Text {
                title,
                lines,
                scroll: 0,
            };
        }
        Message::Tick { now } => tick(model, Message::Tick { now }),
        Message::Machines { list } => machines(model, list),
        Message::Gone { uid } => {
            model.ui.marked.remove(&uid);
            model.live.take(Message::Gone { uid });
            model.stale |= model.frozen.is_none();
        }
        Message::Context(context) => {
            model.ui.namespace.clone_from(&context.namespace);
            model.live.take(Message::Context(context));
            model.stale = true;
        }
        fact => model.live.take(fact),
    }
    Vec::new()
}

fn tick(model: &mut Model, message: Message) {
    model.live.take(message);
    let now = model.live.now;
    if let Some((_, since)) = &model.ui.note
        && now.seconds_since(*since) > NOTE
    {
        model.ui.note = None;
    }
    model.stale |= model.ui.filter.ages() && model.frozen.is_none();
}

fn machines(model: &mut Model, list: Vec<Machine>) {
    let places: Vec<(usize, String)> = list
        .iter()
        .filter_map(|machine| Some((place(model, machine)?, machine.uid.clone())))
        .collect();
    model.live.take(Message::Machines { list });
    for (row, uid) in places {
        if let (Some(row), Some(machine)) = (model.rows.get_mut(row), model.live.machines.get(&uid))
        {
            *row = Arc::clone(machine);
        }
    }
}

/// The row of a machine whose new version stands where the old one stood. Only what moves costs a new order: with
/// thousands of machines, most news leave every row where it is.
fn place(model: &mut Model, new: &Machine) -> Option<usize> {
    if model.frozen.is_some() {
        return None;
    }
    let (ui, now) = (&model.ui, model.live.now);
    let stays = model.live.machines.get(&new.uid).is_some_and(|before| {
        ui.filter.holds(before, now) == ui.filter.holds(new, now) && ui.sort.same_place(before, new)
    });
    if !stays || model.stale {
        model.stale = true;
        return None;
    }
    let found = model.rows.binary_search_by(|row| ui.sort.compare(row, new));
    found.ok()
}

#[cfg(test)]
mod tests;
