//! Everything that can happen to the dashboard. A log of messages is the record format, so what is here is serialised:
//! fields may be added, with a default, and never change their meaning.

use serde::{Deserialize, Serialize};

use crate::age::Stamp;
pub use crate::facts::{
    Condition, Config, Context, Event, Lease, LogLine, Machine, Operation, Outlet, QueueLine,
    ReplicaState,
};
use crate::keys::Key;

/// Something has happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Message {
    /// Time has passed.
    Tick {
        /// What time it is.
        now: Stamp,
    },
    /// The terminal has another size.
    Resize {
        /// Columns.
        width: u16,
        /// Rows.
        height: u16,
    },
    /// A key was pressed.
    Key {
        /// Which.
        key: Key,
    },
    /// What the dashboard looks at.
    Context(Context),
    /// Machines are new or have changed.
    Machines {
        /// As they are now.
        list: Vec<Machine>,
    },
    /// A machine is gone.
    Gone {
        /// Its uid.
        uid: String,
    },
    /// Every machine that exists has been told.
    Listed,
    /// A ProviderConfig is new or has changed.
    Config(Config),
    /// A ProviderConfig is gone.
    ConfigGone {
        /// Its uid.
        uid: String,
    },
    /// The Lease of the operators as it was just read.
    Lease(Lease),
    /// A replica was scraped.
    Scrape {
        /// Which: its URL or the name of its pod.
        replica: String,
        /// When the answer came.
        at: Stamp,
        /// The metrics in Prometheus' text form, as they came.
        text: String,
    },
    /// A replica told its inner state.
    State {
        /// Which.
        replica: String,
        /// What it said.
        state: ReplicaState,
    },
    /// A replica is no longer looked for.
    ReplicaGone {
        /// Which.
        replica: String,
        /// When.
        at: Stamp,
    },
    /// An event is new or has happened again.
    Event(Event),
    /// Lines of logs, oldest first.
    Logs {
        /// They.
        lines: Vec<LogLine>,
        /// How many could not be kept up with.
        dropped: u64,
    },
    /// A source has become better or worse, or was heard again.
    Source {
        /// Which.
        source: Source,
        /// How it is.
        health: Health,
        /// Since when.
        at: Stamp,
    },
    /// Something that was asked for is done.
    Done(Done),
    /// A text that was asked for.
    Text {
        /// What it is.
        title: String,
        /// It.
        text: String,
    },
}

/// Where the dashboard has its knowledge from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Source {
    /// The API server at all.
    Api,
    /// The watch of VirtualMachines.
    Machines,
    /// The watch of ProviderConfigs.
    Configs,
    /// The watch of events.
    Events,
    /// Metrics of a replica; of any at all when the name is empty.
    Metrics(String),
    /// Inner state of a replica.
    State(String),
    /// Logs of the operator.
    Logs,
}

/// How a source is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "camelCase")]
pub enum Health {
    /// It is asked for the first time.
    Waiting,
    /// It tells what happens.
    Live,
    /// It is lost and tried again.
    Lost {
        /// Why.
        why: String,
    },
    /// There is none, and there will be none.
    Absent {
        /// Why, and what would help.
        why: String,
    },
}

/// An object that is meant: of this uid, and no other of the same name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// Its uid.
    pub uid: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// What of an object is to be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum What {
    /// The object as YAML.
    Yaml,
    /// What kubectl describes.
    Describe,
}

/// How something ended that was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    /// In words.
    pub text: String,
    /// Whether it went well.
    pub well: bool,
}
