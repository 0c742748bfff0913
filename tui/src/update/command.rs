//! Commands behind a colon.

use super::keys::perform;
use crate::filter::Filter;
use crate::keys::Act;
use crate::model::{Effect, Model};
use crate::table::Column;
use crate::view::theme::Palette;

/// The commands, and what they do; the help shows this table.
pub(crate) const COMMANDS: &[(&str, &str)] = &[
    ("vm", "machines"),
    ("queue", "queue and reconciles"),
    ("provider", "calls to providers"),
    ("events", "events"),
    ("logs", "logs"),
    ("detail", "the selected machine"),
    ("ns", "NAME or all: machines of a namespace"),
    ("filter", "WORDS: as behind /"),
    ("sort", "COLUMN: sort by it"),
    ("theme", "dark, light or mono"),
    (
        "reconcile",
        "look at the selected machine now, or at all marked",
    ),
    ("delete", "delete the selected machine, or all marked; asks"),
    ("freeze", "hold what is shown, or let it go on"),
    ("help", "keys and commands"),
    ("q", "quit"),
];

/// The command that a beginning can only mean, else the beginning itself.
pub(super) fn completed(text: &str) -> String {
    let mut fitting = COMMANDS.iter().filter(|(name, _)| name.starts_with(text));
    match (fitting.next(), fitting.next()) {
        (Some((name, _)), None) => format!("{name} "),
        _many => text.to_owned(),
    }
}

/// Does what a command says.
pub(super) fn run(model: &mut Model, text: &str) -> Vec<Effect> {
    let text = text.trim();
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    let rest = rest.trim();
    let act = match word {
        "" => return Vec::new(),
        "vm" | "vms" => Act::Pane(0),
        "queue" => Act::Pane(1),
        "provider" | "pc" | "pcfg" | "lat" => Act::Pane(2),
        "events" | "ev" => Act::Pane(3),
        "logs" | "log" => Act::Pane(4),
        "detail" => Act::Pane(5),
        "reconcile" => Act::Reconcile,
        "delete" => Act::Delete,
        "freeze" => Act::Freeze,
        "help" | "h" => Act::Help,
        "q" | "quit" | "q!" => Act::Quit,
        "ns" | "filter" | "sort" | "theme" => {
            set(model, word, rest);
            return Vec::new();
        }
        other => {
            model.say(format!("there is no command {other}; ? shows them"), false);
            return Vec::new();
        }
    };
    perform(model, act)
}

fn set(model: &mut Model, word: &str, value: &str) {
    model.stale = true;
    match word {
        "ns" => {
            let one = !matches!(value, "" | "all" | "*");
            model.ui.namespace = one.then(|| value.to_owned());
        }
        "filter" => model.ui.filter = Filter::parse(value),
        "sort" => {
            let found = Column::ALL
                .into_iter()
                .find(|column| column.heading().eq_ignore_ascii_case(value));
            match found {
                Some(column) => model.ui.sort.by(column),
                None => model.say(format!("there is no column {value}"), false),
            }
        }
        _theme => match Palette::named(value) {
            Some(palette) => model.ui.palette = palette,
            None => model.say("themes are dark, light and mono", false),
        },
    }
}
