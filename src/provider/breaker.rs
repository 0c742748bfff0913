//! When to leave a provider in peace: after failures in a row, and as long as it asks for. Pure: no clock, no
//! randomness, nothing waits here.
//!
//! ```text
//!            N failures in a row             back-off over: one probe
//!   Closed ──────────────────────► Open ──────────────────────────► Probing
//!     ▲                             ▲                                 │  │
//!     │          an answer          └──────── failed, twice as long ──┘  │
//!     └──────────────────────────────────────────────────────────────────┘
//! ```

use std::time::Duration;

use crate::domain::time::Moment;
use crate::domain::{ErrorKind, ProviderError};

/// Numbers of the breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BreakerPolicy {
    /// Failures in a row that open it; 1 or more.
    pub failures: u32,
    /// The first wait before a probe.
    pub first_wait: Duration,
    /// The longest wait before a probe.
    pub longest_wait: Duration,
}

impl Default for BreakerPolicy {
    /// Five failures in a row: a short restart of the provider may open it, and the probe a second later
    /// closes it again. The waits are those of the queue's back-off.
    fn default() -> Self {
        Self {
            failures: 5,
            first_wait: Duration::from_secs(1),
            longest_wait: Duration::from_secs(300),
        }
    }
}

/// Where a breaker stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// Calls pass.
    Closed,
    /// Calls are held back until a wait is over.
    Open,
    /// One call tries whether the provider is back; the others are held back.
    Probing,
}

/// What a finished call says of the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It answered, be it with a refusal.
    Answered,
    /// It failed, or could not be reached in time.
    Failed,
    /// Neither: the answer was garbage, or nothing was sent.
    Unclear,
}

/// Whether a call may be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// It may.
    Pass(Era),
    /// A neutral read may, to see whether the provider is back. Must be reported or abandoned.
    Probe(Era),
    /// Nothing may for this long.
    Refused(Duration),
}

/// The stretch between two changes of the breaker: what began in an earlier one says nothing about this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Era(u64);

/// The breaker of one provider configuration.
#[derive(Debug)]
pub(super) struct Breaker {
    policy: BreakerPolicy,
    state: State,
    era: u64,
    /// How often it opened without a call of ordinary work succeeding in between; doubles the wait.
    opened: u32,
}

/// Until when the provider asked to be left alone.
#[derive(Debug, Default)]
pub(super) struct Pause {
    until: Option<Moment>,
}

#[derive(Debug)]
enum State {
    Closed { failures: u32 },
    Open { until: Moment },
    Probing,
}

impl Outcome {
    pub(super) fn of<T>(result: &Result<T, ProviderError>) -> Self {
        let Err(error) = result else {
            return Self::Answered;
        };
        match error.kind {
            ErrorKind::Unavailable | ErrorKind::TimedOut => Self::Failed,
            ErrorKind::Malformed
            | ErrorKind::EndpointNotAllowed
            | ErrorKind::NotLeading
            | ErrorKind::HeldBack
            | ErrorKind::TooLate => Self::Unclear,
            ErrorKind::Invalid
            | ErrorKind::KeyReused
            | ErrorKind::KeyInUse
            | ErrorKind::KeyOfDeleted
            | ErrorKind::Unauthorized
            | ErrorKind::Forbidden
            | ErrorKind::QuotaExceeded
            | ErrorKind::RateLimited
            | ErrorKind::Conflict
            | ErrorKind::Expired
            | ErrorKind::NotFound => Self::Answered,
        }
    }
}

impl Breaker {
    pub(super) fn new(policy: BreakerPolicy) -> Self {
        Self {
            policy,
            state: State::Closed { failures: 0 },
            era: 0,
            opened: 0,
        }
    }

    /// Asks for a call at `now`. Of the calls that ask when the wait is over, the first is the probe.
    pub(super) fn admit(&mut self, now: Moment) -> Admission {
        match self.state {
            State::Closed { .. } => Admission::Pass(Era(self.era)),
            State::Open { until } if now < until => Admission::Refused(until.since(now)),
            State::Open { .. } => {
                self.enter(State::Probing);
                Admission::Probe(Era(self.era))
            }
            State::Probing => Admission::Refused(self.policy.first_wait),
        }
    }

    /// How long nothing may be sent, asked without becoming the probe.
    pub(super) fn refuses(&self, now: Moment) -> Option<Duration> {
        match self.state {
            State::Closed { .. } => None,
            State::Open { until } => (now < until).then(|| until.since(now)),
            State::Probing => Some(self.policy.first_wait),
        }
    }

    /// Takes note of a finished call. `fraction` (0 to 1) shortens the wait by up to a quarter, so that
    /// operators that were cut off together do not come back together.
    pub(super) fn report(&mut self, era: Era, outcome: Outcome, now: Moment, fraction: f64) {
        if era.0 != self.era {
            return;
        }
        match (&mut self.state, outcome) {
            (State::Closed { failures }, Outcome::Failed) => {
                *failures += 1;
                if *failures >= self.policy.failures {
                    self.open(now, fraction);
                }
            }
            (State::Closed { failures }, Outcome::Answered) => {
                *failures = 0;
                self.opened = 0;
            }
            (State::Probing, Outcome::Failed) => self.open(now, fraction),
            // Garbage comes from something that answers; ordinary calls will tell their own story. The next
            // wait stays long until one of them succeeds.
            (State::Probing, Outcome::Answered | Outcome::Unclear) => {
                self.enter(State::Closed { failures: 0 });
            }
            (State::Closed { .. }, Outcome::Unclear) | (State::Open { .. }, _) => {}
        }
    }

    /// A probe that was given up before it ended: the next call may be one at once.
    pub(super) fn abandon(&mut self, era: Era, now: Moment) {
        if era.0 == self.era && matches!(self.state, State::Probing) {
            self.enter(State::Open { until: now });
        }
    }

    /// Whether ordinary calls are held back.
    pub(super) fn is_open(&self) -> bool {
        !matches!(self.state, State::Closed { .. })
    }

    /// Where it stands.
    pub(super) fn position(&self) -> Position {
        match self.state {
            State::Closed { .. } => Position::Closed,
            State::Open { .. } => Position::Open,
            State::Probing => Position::Probing,
        }
    }

    fn open(&mut self, now: Moment, fraction: f64) {
        let doubled = 1u32.checked_shl(self.opened).unwrap_or(u32::MAX);
        let wait = self.policy.first_wait.saturating_mul(doubled);
        let wait = wait.min(self.policy.longest_wait);
        let wait = wait.mul_f64(1.0 - fraction.clamp(0.0, 1.0) / 4.0);
        self.opened = self.opened.saturating_add(1);
        self.enter(State::Open { until: now + wait });
    }

    fn enter(&mut self, state: State) {
        self.state = state;
        self.era += 1;
    }
}

impl Pause {
    /// Begins or lengthens the pause; a shorter one does not end a longer one.
    pub(super) fn hold(&mut self, now: Moment, wait: Duration) {
        self.until = self.until.max(Some(now + wait));
    }

    /// What is left of it; zero when there is none.
    pub(super) fn left(&self, now: Moment) -> Duration {
        self.until.map_or(Duration::ZERO, |until| until.since(now))
    }
}

#[cfg(test)]
mod tests;
