//! Colours and characters. What colour says, a word or a character says too.

use ratatui_core::style::{Color, Modifier, Style};

/// Colours for a background.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Palette {
    /// For a dark background.
    #[default]
    Dark,
    /// For a light background.
    Light,
    /// Without colour.
    Mono,
}

/// Which characters a terminal can show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Glyphs {
    /// Blocks and circles.
    #[default]
    Unicode,
    /// ASCII alone.
    Ascii,
}

/// What a piece of text is, from which its style follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// What is read.
    Text,
    /// What matters less.
    Dim,
    /// Rules and grounds: decoration.
    Faint,
    /// Headings of panes.
    Title,
    /// Where the focus is; charts.
    Accent,
    /// As it should be.
    Good,
    /// Under way.
    Busy,
    /// To be watched.
    Warn,
    /// Wrong.
    Bad,
}

impl Palette {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Dark, Self::Light, Self::Mono];

    /// The next one.
    pub(crate) fn next(self) -> Self {
        match self {
            Self::Dark => Self::Light,
            Self::Light => Self::Mono,
            Self::Mono => Self::Dark,
        }
    }

    /// The one of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "dark" => Some(Self::Dark),
            "light" => Some(Self::Light),
            "mono" => Some(Self::Mono),
            _other => None,
        }
    }

    /// The style of a role.
    pub(crate) fn style(self, role: Role) -> Style {
        let style = match self.color(role) {
            Some(index) => Style::new().fg(Color::Indexed(index)),
            None => Style::new(),
        };
        match (self, role) {
            (_, Role::Title) => style.add_modifier(Modifier::BOLD),
            (Self::Mono, Role::Dim | Role::Faint) => style.add_modifier(Modifier::DIM),
            (Self::Mono, Role::Accent | Role::Warn) => style.add_modifier(Modifier::BOLD),
            (_, Role::Bad) => style.add_modifier(Modifier::BOLD),
            _plain => style,
        }
    }

    /// What lies under the selected row. Colours of its text stay as they are.
    pub(crate) fn selected(self) -> Style {
        match self {
            Self::Dark => Style::new().bg(Color::Indexed(236)),
            Self::Light => Style::new().bg(Color::Indexed(254)),
            Self::Mono => Style::new().add_modifier(Modifier::REVERSED),
        }
    }

    /// A place of the 256 colours, which every terminal shows alike; `None` for the terminal's own.
    pub(crate) fn color(self, role: Role) -> Option<u8> {
        match (self, role) {
            (Self::Mono, _) | (_, Role::Text | Role::Title) => None,
            (Self::Dark, Role::Dim) => Some(248),
            (Self::Dark, Role::Faint) => Some(239),
            (Self::Dark, Role::Accent) => Some(110),
            (Self::Dark, Role::Good) => Some(108),
            (Self::Dark, Role::Busy) => Some(116),
            (Self::Dark, Role::Warn) => Some(179),
            (Self::Dark, Role::Bad) => Some(174),
            (Self::Light, Role::Dim) => Some(241),
            (Self::Light, Role::Faint) => Some(251),
            (Self::Light, Role::Accent) => Some(25),
            (Self::Light, Role::Good) => Some(22),
            (Self::Light, Role::Busy) => Some(24),
            (Self::Light, Role::Warn) => Some(94),
            (Self::Light, Role::Bad) => Some(124),
        }
    }
}

impl Glyphs {
    /// A mark for a phase; each has its own shape.
    pub(crate) fn phase(self, phase: &str) -> (&'static str, Role) {
        let (unicode, ascii, role) = match phase {
            "Running" => ("●", "*", Role::Good),
            "Starting" => ("◑", ">", Role::Busy),
            "Provisioning" => ("◔", "+", Role::Busy),
            "Pending" => ("○", "o", Role::Dim),
            "Resizing" => ("◇", "%", Role::Busy),
            "Stopping" => ("◐", "<", Role::Busy),
            "Stopped" => ("■", "#", Role::Dim),
            "Deleting" => ("◌", "-", Role::Warn),
            "Failed" => ("✖", "X", Role::Bad),
            "Lost" => ("✕", "L", Role::Bad),
            _unknown => ("?", "?", Role::Warn),
        };
        (self.pick(unicode, ascii), role)
    }

    /// What a phase is drawn with in the bar.
    pub(crate) fn bar(self, phase: &str) -> &'static str {
        match phase {
            "Running" => self.pick("█", "*"),
            "Starting" | "Provisioning" | "Resizing" | "Stopping" => self.pick("▓", "+"),
            "Pending" | "Stopped" => self.pick("░", "."),
            "Deleting" => self.pick("▒", "-"),
            _bad => self.pick("▚", "X"),
        }
    }

    /// Levels of a chart's cell, from nothing to full.
    pub(crate) fn levels(self) -> [&'static str; 9] {
        match self {
            Self::Unicode => [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"],
            Self::Ascii => [" ", "_", "_", ".", ".", "-", "-", "=", "#"],
        }
    }

    /// One of two ways to write something.
    pub(crate) fn pick(self, unicode: &'static str, ascii: &'static str) -> &'static str {
        match self {
            Self::Unicode => unicode,
            Self::Ascii => ascii,
        }
    }
}

#[cfg(test)]
mod tests;
