//! The one place that reads time.

use super::failpoint;
use crate::domain::time::Moment;
use jiff::Timestamp;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Where time comes from. Decisions take it as a value; only the edges hold a clock.
pub trait Clock: Send + Sync + 'static {
    /// Monotonic time: for intervals, deadlines and ages.
    fn now(&self) -> Moment;

    /// Wall-clock time: for what people read (conditions, events, the Lease), never for a decision.
    fn wall(&self) -> Timestamp;
}

/// Waits until `clock` says `until`.
///
/// Looks up twice a second: tokio's timers stand still while the machine is suspended, the clock does not, and a
/// deadline that passed meanwhile must be noticed at once. Cancel safe.
#[expect(
    clippy::disallowed_methods,
    reason = "this is how everybody else waits"
)]
pub async fn wait_until(clock: &dyn Clock, until: Moment) {
    loop {
        let left = until.since(clock.now());
        if left.is_zero() {
            return;
        }
        tokio::time::sleep(left.min(LONGEST_SLEEP)).await;
    }
}

const LONGEST_SLEEP: Duration = Duration::from_millis(500);

/// The machine's clocks.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl<T: Clock + ?Sized> Clock for std::sync::Arc<T> {
    fn now(&self) -> Moment {
        self.as_ref().now()
    }

    fn wall(&self) -> Timestamp {
        self.as_ref().wall()
    }
}

impl Clock for SystemClock {
    /// `CLOCK_BOOTTIME`, because it goes on while the machine is suspended: a leader that slept for an hour
    /// must find its term over. `CLOCK_MONOTONIC` would stand still.
    fn now(&self) -> Moment {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let secs = u64::try_from(time.tv_sec).unwrap_or(0);
        let nanos = u64::try_from(time.tv_nsec).unwrap_or(0);
        Moment::from_secs(secs) + Duration::from_nanos(nanos)
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one place that reads the wall clock"
    )]
    fn wall(&self) -> Timestamp {
        failpoint::wall_clock(Timestamp::now())
    }
}

/// A clock that moves only when told to, for tests and models.
#[derive(Debug)]
pub struct ManualClock {
    state: Mutex<(Moment, Timestamp)>,
}

impl ManualClock {
    /// A clock that stands at `now` and, on the wall, at `wall`.
    pub fn new(now: Moment, wall: Timestamp) -> Self {
        Self {
            state: Mutex::new((now, wall)),
        }
    }

    /// Moves both times forward by `by`.
    pub fn advance(&self, by: Duration) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.0 = state.0 + by;
        // A wall clock at the end of its range stays there.
        state.1 = state.1.checked_add(by).unwrap_or(Timestamp::MAX);
    }

    /// Sets the monotonic time; the wall clock stays.
    pub fn set(&self, now: Moment) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).0 = now;
    }

    /// Sets the wall clock, also backwards as an administrator can; the monotonic time stays.
    pub fn set_wall(&self, wall: Timestamp) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).1 = wall;
    }
}

impl Default for ManualClock {
    /// One hour after the start, so that a test can look back; on the wall the start of 2026.
    fn default() -> Self {
        let wall = Timestamp::from_second(1_767_225_600).unwrap_or(Timestamp::UNIX_EPOCH);
        Self::new(Moment::from_secs(3600), wall)
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Moment {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).0
    }

    fn wall(&self) -> Timestamp {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).1
    }
}

/// A clock that follows the timers of the tokio runtime, so it stands still and jumps with a paused one.
///
/// Tests under paused time use it; with the real timers use [`SystemClock`], which also counts suspended time.
#[derive(Clone, Copy, Debug)]
pub struct TokioClock {
    start: tokio::time::Instant,
}

impl TokioClock {
    /// A clock that starts one hour after its start.
    pub fn new() -> Self {
        Self {
            start: tokio::time::Instant::now(),
        }
    }
}

impl Default for TokioClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for TokioClock {
    fn now(&self) -> Moment {
        Moment::from_secs(3600) + self.start.elapsed()
    }

    fn wall(&self) -> Timestamp {
        let start = Timestamp::from_second(1_767_225_600).unwrap_or(Timestamp::UNIX_EPOCH);
        start
            .checked_add(self.start.elapsed())
            .unwrap_or(Timestamp::MAX)
    }
}

#[cfg(test)]
mod tests;
