//! The pure core: what is seen of one object goes in, what to do and what to tell comes out.
//!
//! No client, no clock, no waiting, no randomness, no log. Read in this order: [`object`] and [`memory`] (what is
//! known), [`mod@due`] (which look at the provider is needed), [`sighting`] (what it showed), [`mod@decide`] (the one
//! effect; [`children`] for the objects that a VM owns, [`basic`] for providers without keys), [`mod@report`] (what to
//! tell the user and when to come back),
//! [`event`] (which of it is an event). Beside them [`orphans`]: instances without an object.

pub mod basic;
pub mod children;
pub mod decide;
pub mod departed;
pub mod due;
pub mod event;
pub mod memory;
pub mod object;
pub mod observed;
pub mod orphans;
pub mod plan;
pub mod policy;
pub mod report;
pub mod sighting;

pub use children::{ChildKind, ChildWrite, Children, Content, Held, Obstacle, Present, Wishes};
pub use decide::decide;
pub use departed::{Departed, decide_departed};
pub use due::{Due, Find, due};
pub use event::Event;
pub use memory::{Arrival, Memory, Sureness};
pub use object::{IntentState, Object, Recorded, Tried};
pub use observed::{Config, ConfigProblem, Losses, Observed};
pub use plan::{Action, Plan};
pub use policy::Policy;
pub use report::{Outcome, Report, Requeue, report};
pub use sighting::{Answers, Current, Judged, Sighting};

#[cfg(test)]
pub(crate) mod fixtures;
