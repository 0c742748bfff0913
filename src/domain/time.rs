//! A point in time that only ever moves forward.

use std::ops::{Add, Sub};
use std::time::Duration;

/// Nanoseconds since an arbitrary start (on Linux the boot of the machine, suspended time included).
///
/// Moments of one process may be compared with each other and with nothing else: they are no wall-clock time,
/// mean nothing to another process and are never stored. `u64` nanoseconds last for 584 years, so the
/// arithmetic saturates instead of failing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(u64);

impl Moment {
    /// The arbitrary start.
    pub const START: Self = Self(0);

    /// Later than every other moment: a limit that limits nothing.
    pub const END: Self = Self(u64::MAX);

    /// The moment `nanos` nanoseconds after the start.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// The moment `millis` milliseconds after the start.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// The moment `secs` seconds after the start.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1_000_000_000))
    }

    /// Nanoseconds since the start.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// How long after `earlier` this moment is; zero when it is not after it.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Moment {
    type Output = Self;

    fn add(self, rhs: Duration) -> Self {
        let nanos = u64::try_from(rhs.as_nanos()).unwrap_or(u64::MAX);
        Self(self.0.saturating_add(nanos))
    }
}

impl Sub<Duration> for Moment {
    type Output = Self;

    fn sub(self, rhs: Duration) -> Self {
        let nanos = u64::try_from(rhs.as_nanos()).unwrap_or(u64::MAX);
        Self(self.0.saturating_sub(nanos))
    }
}

#[cfg(test)]
mod tests;
