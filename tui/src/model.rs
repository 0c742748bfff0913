//! The model: what is known, and how it is looked at.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::age::Stamp;
use crate::filter::Filter;
use crate::message::{Done, Machine, Target, What};
use crate::table::{self, Column, Sort};
use crate::view::layout;
use crate::view::theme::{Glyphs, Palette};
use crate::world::World;

/// How the dashboard begins.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Colours.
    pub palette: Palette,
    /// Characters.
    pub glyphs: Glyphs,
}

/// What is to be done outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// End.
    Quit,
    /// Go to the background.
    Suspend,
    /// Draw everything anew: something else has written on the terminal.
    Redraw,
    /// Have the operator look at these at once, whatever they wait for.
    Reconcile(Vec<Target>),
    /// Delete these, and no others of the same names.
    Delete(Vec<Target>),
    /// Show an object.
    Show(What, Target),
    /// Let the user edit an object.
    Edit(Target),
}

/// Panes, in the order of their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pane {
    /// The table.
    Machines,
    /// Queue and reconciles.
    Queue,
    /// Calls to providers.
    Provider,
    /// Events.
    Events,
    /// Logs.
    Logs,
    /// One machine.
    Detail,
}

/// What is known, and how it is looked at.
#[derive(Clone, Debug, Default)]
pub struct Model {
    pub(crate) live: World,
    pub(crate) frozen: Option<Box<World>>,
    pub(crate) ui: Ui,
    pub(crate) rows: Vec<Arc<Machine>>,
    /// Whether rows are to be arranged anew.
    pub(crate) stale: bool,
}

/// How it is looked at.
#[derive(Clone, Debug)]
pub(crate) struct Ui {
    pub(crate) size: (u16, u16),
    pub(crate) palette: Palette,
    pub(crate) glyphs: Glyphs,
    pub(crate) focus: Pane,
    pub(crate) zoom: bool,
    pub(crate) wide: bool,
    /// Events and logs of everything, not of the selected machine.
    pub(crate) everything: bool,
    /// Uid of the selected machine: a selection follows its object.
    pub(crate) selected: Option<String>,
    /// Where it is, for when it goes.
    pub(crate) row: usize,
    /// First row that is shown.
    pub(crate) top: usize,
    pub(crate) marked: BTreeMap<String, Target>,
    pub(crate) sort: Sort,
    pub(crate) filter: Filter,
    pub(crate) namespace: Option<String>,
    pub(crate) overlay: Overlay,
    /// Lines back from the end in events and logs, lines down in detail.
    pub(crate) scroll: [usize; Pane::ALL.len()],
    pub(crate) note: Option<(Done, Stamp)>,
}

/// What lies over the panes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Overlay {
    None,
    Help {
        scroll: usize,
    },
    /// The filter is being typed; what it was before.
    Filter {
        before: Filter,
    },
    Command {
        text: String,
    },
    Confirm(Confirm),
    Text {
        title: String,
        lines: Vec<String>,
        scroll: usize,
    },
}

/// A question whether to delete.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Confirm {
    pub(crate) targets: Vec<Target>,
    /// Whether the focus is on Delete; it begins on Cancel.
    pub(crate) on_delete: bool,
    /// What was typed, where the number of machines has to be.
    pub(crate) typed: String,
}

impl Pane {
    /// All of them.
    pub(crate) const ALL: [Self; 6] = [
        Self::Machines,
        Self::Queue,
        Self::Provider,
        Self::Events,
        Self::Logs,
        Self::Detail,
    ];

    /// Its place, which is its number less one.
    pub(crate) fn index(self) -> usize {
        match self {
            Self::Machines => 0,
            Self::Queue => 1,
            Self::Provider => 2,
            Self::Events => 3,
            Self::Logs => 4,
            Self::Detail => 5,
        }
    }

    /// Its title.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Machines => "Machines",
            Self::Queue => "Queue",
            Self::Provider => "Provider",
            Self::Events => "Events",
            Self::Logs => "Logs",
            Self::Detail => "Detail",
        }
    }
}

impl Default for Ui {
    fn default() -> Self {
        Self {
            size: (120, 40),
            palette: Palette::default(),
            glyphs: Glyphs::default(),
            focus: Pane::Machines,
            zoom: false,
            wide: false,
            everything: true,
            selected: None,
            row: 0,
            top: 0,
            marked: BTreeMap::new(),
            sort: Sort {
                column: Column::Name,
                turned: false,
            },
            filter: Filter::default(),
            namespace: None,
            overlay: Overlay::None,
            scroll: [0; Pane::ALL.len()],
            note: None,
        }
    }
}

impl Confirm {
    /// Whether the answer would be taken: where more than one is to go, their number must have been typed.
    pub(crate) fn is_ready(&self) -> bool {
        self.targets.len() == 1 || self.typed == self.targets.len().to_string()
    }
}

impl Model {
    /// A model that knows nothing yet.
    #[must_use]
    pub fn new(options: Options) -> Self {
        let mut model = Self::default();
        model.ui.palette = options.palette;
        model.ui.glyphs = options.glyphs;
        model
    }

    /// What is shown: the present, or the moment that was frozen.
    #[must_use]
    pub fn world(&self) -> &World {
        self.frozen.as_deref().unwrap_or(&self.live)
    }

    /// What is known now, frozen or not.
    #[must_use]
    pub fn present(&self) -> &World {
        &self.live
    }

    /// Brings the table up to date with what is known. To be called before drawing; cheap when nothing has moved.
    pub fn settle(&mut self) {
        if std::mem::take(&mut self.stale) {
            let ui = &self.ui;
            let world = self.frozen.as_deref().unwrap_or(&self.live);
            self.rows = table::arranged(world, &ui.filter, ui.namespace.as_deref(), ui.sort);
        }
        let selected = self.ui.selected.as_deref();
        let at = |row: usize| self.rows.get(row).map(|one| one.uid.as_str());
        if selected.is_none() || at(self.ui.row) != selected {
            let found = selected.and_then(|uid| self.rows.iter().position(|one| one.uid == uid));
            self.ui.row = found.unwrap_or(self.ui.row);
        }
        self.ui.row = self.ui.row.min(self.rows.len().saturating_sub(1));
        self.ui.selected = self.rows.get(self.ui.row).map(|one| one.uid.clone());
        let page = layout::table_rows(self).max(1);
        let (row, top) = (self.ui.row, self.ui.top);
        let last = self.rows.len().saturating_sub(page);
        self.ui.top = top.clamp((row + 1).saturating_sub(page), row).min(last);
    }

    /// The selected machine.
    pub(crate) fn selected(&self) -> Option<&Arc<Machine>> {
        let row = self.rows.get(self.ui.row)?;
        (self.ui.selected.as_deref() == Some(&row.uid)).then_some(row)
    }

    /// Selects the row at a place, or the last before it.
    pub(crate) fn select(&mut self, row: usize) {
        self.ui.row = row.min(self.rows.len().saturating_sub(1));
        self.ui.selected = self.rows.get(self.ui.row).map(|one| one.uid.clone());
    }

    /// A word to the user, for some seconds.
    pub(crate) fn say(&mut self, text: impl Into<String>, well: bool) {
        let text = text.into();
        self.ui.note = Some((Done { text, well }, self.live.now));
    }
}
