//! How messages change the model.

mod command;
pub(crate) use command::COMMANDS;
mod dialog;
mod keys;

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
        Message::Machines { list } => {
            for machine in &list {
                place(model, machine);
            }
            model.live.take(Message::Machines { list });
        }
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

/// Where the new version of a machine stands in the table. Only what moves costs a new order: with thousands of
/// machines, most news leave every row where it is.
fn place(model: &mut Model, new: &Machine) {
    if model.frozen.is_some() || model.stale {
        model.stale |= model.frozen.is_none();
        return;
    }
    let Some(before) = model.live.machines.get(&new.uid) else {
        model.stale = true;
        return;
    };
    let (ui, now) = (&model.ui, model.live.now);
    let shown = ui.filter.holds(before, now);
    if shown != ui.filter.holds(new, now) || !ui.sort.same_place(before, new) {
        model.stale = true;
        return;
    }
    if let Ok(at) = model.rows.binary_search_by(|row| ui.sort.compare(row, new))
        && let Some(row) = model.rows.get_mut(at)
    {
        *row = std::sync::Arc::new(new.clone());
    }
}

#[cfg(test)]
mod tests;
