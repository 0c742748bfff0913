//! Keys while something lies over the panes.

use super::command;
use crate::filter::Filter;
use crate::keys::Key;
use crate::model::{Confirm, Effect, Model, Overlay};

/// Longest text that can be typed.
const TYPED: usize = 200;

/// Takes a key.
pub(super) fn press(model: &mut Model, key: Key) -> Vec<Effect> {
    match std::mem::replace(&mut model.ui.overlay, Overlay::None) {
        Overlay::None => {}
        Overlay::Help { scroll } => {
            if let Some(scroll) = scrolled(scroll, key) {
                model.ui.overlay = Overlay::Help { scroll };
            }
        }
        Overlay::Text {
            title,
            lines,
            scroll,
        } => {
            if let Some(scroll) = scrolled(scroll, key) {
                let scroll = scroll.min(lines.len().saturating_sub(1));
                model.ui.overlay = Overlay::Text {
                    title,
                    lines,
                    scroll,
                };
            }
        }
        Overlay::Filter { before } => filter(model, before, key),
        Overlay::Command { text } => return command(model, text, key),
        Overlay::Confirm(confirm) => return confirmed(model, confirm, key),
    }
    Vec::new()
}

/// Where a text is after a key; `None` when the key closes it.
fn scrolled(scroll: usize, key: Key) -> Option<usize> {
    match key {
        Key::Up | Key::Char('k') => Some(scroll.saturating_sub(1)),
        Key::Down | Key::Char('j') => Some(scroll.saturating_add(1)),
        Key::PageUp | Key::Ctrl('b') => Some(scroll.saturating_sub(20)),
        Key::PageDown | Key::Ctrl('f') | Key::Char(' ') => Some(scroll.saturating_add(20)),
        Key::Home | Key::Char('g') => Some(0),
        Key::End | Key::Char('G') => Some(usize::MAX / 2),
        Key::Esc | Key::Enter | Key::Char('q' | '?' | 'd' | 'y' | 'h') => None,
        _other => Some(scroll),
    }
}

/// The filter holds while it is typed; Esc puts back the one before.
fn filter(model: &mut Model, before: Filter, key: Key) {
    model.stale = true;
    match key {
        Key::Enter => {}
        Key::Esc => model.ui.filter = before,
        other => {
            let text = typed(&model.ui.filter.text, other);
            model.ui.filter = Filter::parse(&text);
            model.ui.overlay = Overlay::Filter { before };
        }
    }
}

fn command(model: &mut Model, text: String, key: Key) -> Vec<Effect> {
    match key {
        Key::Esc => Vec::new(),
        Key::Enter => command::run(model, &text),
        Key::Backspace if text.is_empty() => Vec::new(),
        Key::Tab => {
            let text = command::completed(&text);
            model.ui.overlay = Overlay::Command { text };
            Vec::new()
        }
        other => {
            let text = typed(&text, other);
            model.ui.overlay = Overlay::Command { text };
            Vec::new()
        }
    }
}

fn confirmed(model: &mut Model, mut confirm: Confirm, key: Key) -> Vec<Effect> {
    match key {
        Key::Esc => return Vec::new(),
        Key::Enter if !confirm.on_delete => return Vec::new(),
        Key::Enter if confirm.is_ready() => {
            // What went meanwhile needs no deletion.
            let there =
                |target: &crate::message::Target| model.live.machines.contains_key(&target.uid);
            let targets: Vec<_> = confirm.targets.into_iter().filter(there).collect();
            model.ui.marked.clear();
            if targets.is_empty() {
                model.say("they are gone already", true);
                return Vec::new();
            }
            return vec![Effect::Delete(targets)];
        }
        Key::Left | Key::Right | Key::Tab | Key::BackTab => confirm.on_delete = !confirm.on_delete,
        Key::Backspace => {
            confirm.typed.pop();
        }
        Key::Char(c) if c.is_ascii_digit() && confirm.typed.len() < 9 => confirm.typed.push(c),
        _other => {}
    }
    model.ui.overlay = Overlay::Confirm(confirm);
    Vec::new()
}

fn typed(text: &str, key: Key) -> String {
    let mut text = text.to_owned();
    match key {
        Key::Char(c) if text.len() < TYPED => text.push(c),
        Key::Backspace => {
            text.pop();
        }
        Key::Ctrl('u') => text.clear(),
        Key::Ctrl('w') => {
            let kept = text.trim_end().rfind(' ').map_or(0, |at| at + 1);
            text.truncate(kept);
        }
        _other => {}
    }
    text
}
