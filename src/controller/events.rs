//! Events on their way to the API server: told without waiting, written by a task of its own, never in the way of the
//! loop.
//!
//! ```text
//! record ── tell ──► bounded queue ──► writer: new → create · repeated → series · too many → dropped
//!            full → dropped
//! ```
//!
//! An event may be lost: when the queue is full, when the API server refuses or does not answer, when the process
//! dies. Who is asked to stop writes what is queued, as long as there is time. What is dropped is counted. None is
//! written twice, because nobody retries.

mod kube;
mod metrics;
mod series;
mod writer;

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use tokio::sync::mpsc;

pub use self::kube::{KubeEvents, Reporter};
pub use metrics::EventMetrics;
pub use writer::{EventApi, EventWriter};

use crate::domain::{ObjectKey, Uid};
use crate::lifecycle::Event;
use crate::runtime::clock::Clock;
use metrics::Ending;

/// Events that may wait to be written (4,096, about a megabyte): those of a burst of 1,000 VMs.
const ROOM: usize = 4096;

/// Takes events. Never waits, never fails: what cannot be taken is dropped.
pub trait EventSink: fmt::Debug + Send + Sync + 'static {
    /// Takes the event of an object.
    fn tell(&self, about: Regarding, event: Event);
}

/// What an event is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Regarding {
    /// Its kind.
    pub kind: Kind,
    /// Its name. The event goes into the same namespace.
    pub key: ObjectKey,
    /// Its uid.
    pub uid: Uid,
}

/// The kinds that events are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// VirtualMachine.
    VirtualMachine,
    /// ProviderConfig.
    ProviderConfig,
}

/// An event in the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// What it is about.
    pub about: Regarding,
    /// What happened.
    pub event: Event,
    /// When, by the wall clock.
    pub at: Timestamp,
}

/// The end of the queue that is told. Clones share it.
#[derive(Clone)]
pub struct EventQueue {
    queue: mpsc::Sender<Told>,
    clock: Arc<dyn Clock>,
    metrics: EventMetrics,
}

impl EventQueue {
    /// A queue, and the task that empties it into `api`: see [`EventWriter::run`].
    pub fn new<A: EventApi>(
        api: A,
        clock: Arc<dyn Clock>,
        metrics: EventMetrics,
    ) -> (Self, EventWriter<A>) {
        Self::with_room(api, clock, metrics, ROOM)
    }

    fn with_room<A: EventApi>(
        api: A,
        clock: Arc<dyn Clock>,
        metrics: EventMetrics,
        room: usize,
    ) -> (Self, EventWriter<A>) {
        let (queue, told) = mpsc::channel(room);
        let writer = EventWriter::new(api, told, Arc::clone(&clock), metrics.clone());
        let queue = Self {
            queue,
            clock,
            metrics,
        };
        (queue, writer)
    }
}

impl EventSink for EventQueue {
    fn tell(&self, about: Regarding, event: Event) {
        let at = self.clock.wall();
        if self.queue.try_send(Told { about, event, at }).is_err() {
            self.metrics.count(Ending::Full);
        }
    }
}

impl fmt::Debug for EventQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EventQueue")
    }
}

/// Nobody listens.
impl EventSink for () {
    fn tell(&self, _: Regarding, _: Event) {}
}

impl Kind {
    /// The word in `kind`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::VirtualMachine => "VirtualMachine",
            Self::ProviderConfig => "ProviderConfig",
        }
    }
}

#[cfg(test)]
mod tests;
