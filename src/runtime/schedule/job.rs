//! The words of the schedule.

use crate::domain::key::ObjectKey;
use std::time::Duration;

/// Whose share of the turns a key uses up.
pub trait Tenant {
    /// The tenant: for a namespaced object its namespace.
    fn tenant(&self) -> &str;
}

impl Tenant for ObjectKey {
    fn tenant(&self) -> &str {
        &self.namespace
    }
}

/// The two lanes. `High` is greater than `Low`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    /// The first list, resyncs and changes that touch every object: nobody waits for one of these.
    Low,
    /// Something happened to this key.
    High,
}

impl Lane {
    /// Both lanes, the one served first in front.
    pub const ALL: [Self; 2] = [Self::High, Self::Low];

    /// The lane as a label.
    pub const fn label(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Low => "low",
        }
    }
}

/// What came of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing more to do until something happens. Forgets earlier failures.
    Settled,
    /// Look again after this long, in the same lane; zero means at once, behind those who wait already.
    /// Forgets earlier failures.
    After(Duration),
    /// Go on after this long, in the same lane; zero means at once. Part of an unfinished piece of work: earlier
    /// failures are kept, so that a back-off grows although steps between its failures succeed.
    Again(Duration),
    /// Look again after about this long (up to [`Options::jitter`] earlier) in the low lane: the slow check of
    /// a key at rest. Forgets earlier failures.
    Resync(Duration),
    /// Failed: wait by the key's back-off, and not less than `at_least` (a provider's `Retry-After`).
    Failed {
        /// The least wait.
        at_least: Option<Duration>,
    },
    /// Failed, and trying again without a change is of no use: waits for an event, as [`Outcome::Settled`] does.
    Terminal,
}

/// A key to run now, from [`super::Schedule::take`]. Must be answered by [`super::Schedule::done`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job<K> {
    /// The key.
    pub key: K,
    /// The lane that it came from.
    pub lane: Lane,
    /// Passes of this key that failed in a row before this one.
    pub failures: u32,
    /// How long it was ready before it was taken; the wait for a timer does not count.
    pub waited: Duration,
}

/// How keys wait.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// The wait after the first failure. 1 s: client-go's 5 ms is meant for calls that cost nothing.
    pub backoff_first: Duration,
    /// The longest wait between failures. 5 min: how late a repaired provider may be noticed.
    pub backoff_most: Duration,
    /// Waits are shortened by a random part up to this, 0 to 1, so that keys that failed together do not come
    /// back together.
    pub jitter: f64,
    /// While both lanes have keys, each so many-th turn is the low lane's. At least 2.
    pub low_every: u32,
    /// While a tenant has hurried keys and others, each so many-th of its turns is one of the others'. At least 2.
    pub unhurried_every: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            backoff_first: Duration::from_secs(1),
            backoff_most: Duration::from_secs(300),
            jitter: 0.25,
            low_every: 8,
            unhurried_every: 4,
        }
    }
}

/// Totals since the start; they only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Times a key became ready.
    pub adds: u64,
    /// Times a key failed and was to be tried again.
    pub retries: u64,
}

/// Where a key is, as [`super::Schedule::snapshot`] tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whereabouts {
    /// Waits for its turn since this long.
    Ready(Duration),
    /// Waits for a timer that fires in this long; `true`: because it failed.
    Delayed(Duration, bool),
    /// Runs since this long.
    Running(Duration),
}

/// One key in [`super::Schedule::snapshot`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line<K> {
    /// The key.
    pub key: K,
    /// Its lane.
    pub lane: Lane,
    /// Where it is.
    pub whereabouts: Whereabouts,
    /// Failures in a row.
    pub failures: u32,
}
