//! Keys, and what they do. The help is made from this table, so it cannot lie.

use serde::{Deserialize, Serialize};

/// A key as a terminal sends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Key {
    /// A character, upper case with shift.
    Char(char),
    /// A character with control.
    Ctrl(char),
    /// Enter.
    Enter,
    /// Escape.
    Esc,
    /// Tab.
    Tab,
    /// Shift and tab.
    BackTab,
    /// Backspace.
    Backspace,
    /// Arrow up.
    Up,
    /// Arrow down.
    Down,
    /// Arrow left.
    Left,
    /// Arrow right.
    Right,
    /// Page up.
    PageUp,
    /// Page down.
    PageDown,
    /// Home.
    Home,
    /// End.
    End,
}

/// What a key does outside dialogs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    Up,
    Down,
    PageUp,
    PageDown,
    First,
    Last,
    Pane(usize),
    NextPane,
    PreviousPane,
    Zoom,
    Wide,
    Freeze,
    Theme,
    Filter,
    Command,
    Mark,
    SortName,
    SortPhase,
    SortAge,
    SortTries,
    SortLeft,
    SortRight,
    SortTurn,
    Everything,
    Describe,
    Yaml,
    Logs,
    Events,
    Detail,
    Edit,
    Reconcile,
    Delete,
    Back,
    Help,
    Redraw,
    Suspend,
    Quit,
}

/// Where in the help an entry stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chapter {
    Move,
    Look,
    Machine,
    General,
}

/// Keys, what they do, and how the help says it.
pub(crate) struct Binding {
    pub(crate) keys: &'static [Key],
    pub(crate) act: Act,
    pub(crate) chapter: Chapter,
    pub(crate) help: &'static str,
}

const fn bind(keys: &'static [Key], act: Act, chapter: Chapter, help: &'static str) -> Binding {
    Binding {
        keys,
        act,
        chapter,
        help,
    }
}

/// The keymap.
pub(crate) const KEYMAP: &[Binding] = {
    use Chapter::{General, Look, Machine, Move};
    use Key::{
        BackTab, Char, Ctrl, Down, End, Enter, Esc, Home, Left, PageDown, PageUp, Right, Tab, Up,
    };
    &[
        bind(&[Up, Char('k')], Act::Up, Move, "up"),
        bind(&[Down, Char('j')], Act::Down, Move, "down"),
        bind(&[PageUp, Ctrl('b')], Act::PageUp, Move, "a page up"),
        bind(&[PageDown, Ctrl('f')], Act::PageDown, Move, "a page down"),
        bind(&[Home, Char('g')], Act::First, Move, "first"),
        bind(&[End, Char('G')], Act::Last, Move, "last"),
        bind(&[Tab], Act::NextPane, Move, "next pane"),
        bind(&[BackTab], Act::PreviousPane, Move, "previous pane"),
        bind(&[Char('1')], Act::Pane(0), Move, "machines"),
        bind(&[Char('2')], Act::Pane(1), Move, "queue and reconciles"),
        bind(&[Char('3')], Act::Pane(2), Move, "provider"),
        bind(&[Char('4')], Act::Pane(3), Move, "events"),
        bind(&[Char('5')], Act::Pane(4), Move, "logs"),
        bind(&[Char('6')], Act::Pane(5), Move, "detail"),
        bind(
            &[Char('/')],
            Act::Filter,
            Look,
            "filter: text, !text, phase=Failed, label app=web",
        ),
        bind(&[Char('N')], Act::SortName, Look, "sort by name"),
        bind(&[Char('P')], Act::SortPhase, Look, "sort by phase"),
        bind(&[Char('A')], Act::SortAge, Look, "sort by age"),
        bind(&[Char('T')], Act::SortTries, Look, "sort by tries"),
        bind(
            &[Left, Char('<')],
            Act::SortLeft,
            Look,
            "sort by the column to the left",
        ),
        bind(
            &[Right, Char('>')],
            Act::SortRight,
            Look,
            "sort by the column to the right",
        ),
        bind(&[Char('I')], Act::SortTurn, Look, "turn the order round"),
        bind(&[Char('w')], Act::Wide, Look, "all columns"),
        bind(&[Char('z')], Act::Zoom, Look, "one pane alone"),
        bind(&[Char('f')], Act::Freeze, Look, "freeze what is shown"),
        bind(
            &[Char('a')],
            Act::Everything,
            Look,
            "events and logs of all, or of one",
        ),
        bind(
            &[Char('t')],
            Act::Theme,
            Look,
            "dark, light, without colour",
        ),
        bind(
            &[Enter, Char('v')],
            Act::Detail,
            Machine,
            "detail with its timeline",
        ),
        bind(&[Char('d')], Act::Describe, Machine, "describe"),
        bind(&[Char('y')], Act::Yaml, Machine, "YAML"),
        bind(&[Char('l')], Act::Logs, Machine, "its logs"),
        bind(&[Char('E')], Act::Events, Machine, "its events"),
        bind(&[Char('e')], Act::Edit, Machine, "edit"),
        bind(
            &[Char('R')],
            Act::Reconcile,
            Machine,
            "reconcile it now, or all marked",
        ),
        bind(&[Char(' ')], Act::Mark, Machine, "mark"),
        bind(
            &[Ctrl('d')],
            Act::Delete,
            Machine,
            "delete it, or all marked; asks",
        ),
        bind(&[Char(':')], Act::Command, General, "command"),
        bind(&[Char('?'), Char('h')], Act::Help, General, "help"),
        bind(&[Esc], Act::Back, General, "back"),
        bind(&[Ctrl('l')], Act::Redraw, General, "draw anew"),
        bind(&[Ctrl('z')], Act::Suspend, General, "to the background"),
        bind(&[Char('q'), Ctrl('c')], Act::Quit, General, "quit"),
    ]
};

/// What a key does.
pub(crate) fn act(key: Key) -> Option<Act> {
    let found = KEYMAP.iter().find(|binding| binding.keys.contains(&key));
    found.map(|binding| binding.act)
}

impl Key {
    /// How the help writes it.
    pub(crate) fn label(self) -> String {
        match self {
            Self::Char(' ') => "space".to_owned(),
            Self::Char(c) => c.to_string(),
            Self::Ctrl(c) => format!("^{c}"),
            Self::Enter => "enter".to_owned(),
            Self::Esc => "esc".to_owned(),
            Self::Tab => "tab".to_owned(),
            Self::BackTab => "shift-tab".to_owned(),
            Self::Backspace => "backspace".to_owned(),
            Self::Up => "up".to_owned(),
            Self::Down => "down".to_owned(),
            Self::Left => "left".to_owned(),
            Self::Right => "right".to_owned(),
            Self::PageUp => "pgup".to_owned(),
            Self::PageDown => "pgdn".to_owned(),
            Self::Home => "home".to_owned(),
            Self::End => "end".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_key_means_two_things() {
        let mut seen = HashSet::new();
        for binding in KEYMAP {
            assert!(!binding.keys.is_empty() && !binding.help.is_empty());
            for key in binding.keys {
                assert!(seen.insert(*key), "{key:?} is bound twice");
            }
        }
    }
}
