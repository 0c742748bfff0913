//! How long a watch waits before it tries again.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(800);
const MOST: Duration = Duration::from_secs(30);

/// Doubles from 0.8 s to 30 s, client-go's times for a reflector, shortened by up to a quarter at random.
#[derive(Debug)]
pub(super) struct Backoff {
    failures: u32,
    random: fastrand::Rng,
}

impl Backoff {
    pub(super) fn new(random: fastrand::Rng) -> Self {
        Self {
            failures: 0,
            random,
        }
    }

    pub(super) fn reset(&mut self) {
        self.failures = 0;
    }

    pub(super) fn next(&mut self) -> Duration {
        let wait = FIRST.saturating_mul(1 << self.failures.min(16)).min(MOST);
        self.failures = self.failures.saturating_add(1);
        wait.mul_f64(1.0 - 0.25 * self.random.f64())
    }

    /// A number around `middle`, up to a tenth less.
    pub(super) fn jittered(&mut self, middle: Duration) -> Duration {
        middle.mul_f64(1.0 - 0.1 * self.random.f64())
    }
}
