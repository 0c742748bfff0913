//! The screen of `vmctl dash`: a pure [`Model`], the [`Message`]s that change it, and the view that draws it.
//!
//! Nothing here waits, asks a server or reads a clock: time comes in with messages, and what is to be done outside
//! goes out as [`Effect`]s. So a recording of messages is a recording of everything. The one exception is
//! [`terminal`], which talks to a terminal.

mod age;
mod facts;
mod filter;
#[cfg(test)]
mod fixtures;
mod keys;
mod message;
mod model;
pub mod numbers;
mod record;
mod summary;
mod svg;
mod table;
pub mod terminal;
mod threshold;
mod update;
mod view;
mod world;

pub use age::Stamp;
pub use keys::Key;
pub use message::{
    Condition, Config, Context, Done, Event, Health, Lease, LogLine, Machine, Message, Operation,
    Outlet, QueueLine, ReplicaState, Source, Target, What,
};
pub use model::{Effect, Model, Options, Pane};
pub use record::{Line, Replay, read_line, write_line};
pub use summary::summary;
pub use svg::svg;
pub use threshold::{Threshold, Verdict};
pub use update::update;
pub use view::theme::{Glyphs, Palette};
pub use view::{plain, view};
pub use world::{Leader, World};
