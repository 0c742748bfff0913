//! Options of an election, and how it fails.

use crate::domain::time::Moment;
use std::time::Duration;
use thiserror::Error;

/// Times and names of an election.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Name of the Lease.
    pub name: String,
    /// Who we are: see [`identity()`].
    pub identity: String,
    /// How long others wait for a leader that is silent. 15 s.
    pub lease_duration: Duration,
    /// How long a leader goes on without a renewal. 10 s: less than the lease by more than any call lasts.
    pub renew_deadline: Duration,
    /// Time between tries. 2 s.
    pub retry_period: Duration,
    /// How much earlier than the deadline the last provider write may start. 1 s.
    pub write_margin: Duration,
}

impl Options {
    /// client-go's times for the Lease `name`.
    pub fn new(name: impl Into<String>, identity: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            identity: identity.into(),
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
            write_margin: Duration::from_secs(1),
        }
    }
}

/// An identity that no other process has: the pod's (or host's) name and a random part, because a restarted pod
/// keeps its name and must not take itself for its predecessor.
pub fn identity(host: &str, random: &mut fastrand::Rng) -> String {
    format!("{host}_{:016x}", random.u64(..))
}

/// Why one try to get or keep the Lease failed.
#[derive(Debug, Error)]
pub enum Error {
    /// The API server refused or could not be reached.
    #[error("{step} of lease {name} failed")]
    Call {
        /// `get`, `create` or `update`.
        step: &'static str,
        /// The Lease.
        name: String,
        /// What the client says.
        #[source]
        source: Box<kube::Error>,
    },
    /// No answer in time.
    #[error("{step} of lease {name} had no answer within {limit:?}")]
    TimedOut {
        /// `get`, `create` or `update`.
        step: &'static str,
        /// The Lease.
        name: String,
        /// The time-out.
        limit: Duration,
    },
}

impl Error {
    pub(super) fn code(&self) -> Option<u16> {
        match self {
            Self::Call { source, .. } => match source.as_ref() {
                kube::Error::Api(status) => Some(status.code),
                _ => None,
            },
            Self::TimedOut { .. } => None,
        }
    }
}

/// Leadership is over: whatever is under way is in doubt, and the process should exit at once.
#[derive(Debug, Error)]
pub enum Lost {
    /// No renewal succeeded in time.
    #[error("lease {name} was not renewed within {deadline:?}")]
    Deadline {
        /// The Lease.
        name: String,
        /// The renew deadline.
        deadline: Duration,
        /// Why the last try failed.
        #[source]
        last: Option<Error>,
    },
    /// Somebody else holds the Lease.
    #[error("lease {name} is held by {holder:?} now")]
    Taken {
        /// The Lease.
        name: String,
        /// Its holder.
        holder: String,
    },
}

/// Says that tries fail when that begins, and again each minute while it goes on.
#[derive(Debug, Default)]
pub(super) struct Complaint {
    last: Option<Moment>,
}

impl Complaint {
    pub(super) fn about(&mut self, error: &Error, now: Moment) {
        if self
            .last
            .is_none_or(|last| now.since(last) >= Duration::from_secs(60))
        {
            self.last = Some(now);
            tracing::warn!(
                error = error as &dyn std::error::Error,
                "cannot ask for leadership; trying on"
            );
        }
    }

    pub(super) fn over(&mut self) {
        self.last = None;
    }
}
