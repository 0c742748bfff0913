//! How this cloud behaves.

use std::time::Duration;

/// A duration that varies: `base` plus a part of `jitter`, uniformly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spread {
    /// The least.
    pub base: Duration,
    /// How much may be added.
    pub jitter: Duration,
}

/// How long an answer is held back.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Latency {
    /// Of an ordinary call.
    pub body: Spread,
    /// Of an unlucky call, instead of `body`.
    pub tail: Duration,
    /// Share of unlucky calls, 0–1.
    pub tail_share: f64,
}

/// A token bucket for each account.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// Calls per second, above 0.
    pub per_second: f64,
    /// Calls that may come at once, at least 1.
    pub burst: u32,
}

/// Everything that can be set about the cloud.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Only the three endpoints, no tags, no keys.
    pub basic: bool,
    /// From `Provisioning` to `Running`.
    pub provisioning: Spread,
    /// From `DELETE` to gone; zero makes deletion immediate (204).
    pub delete_delay: Duration,
    /// How far lists lag behind; zero for none.
    pub list_lag: Duration,
    /// How long answers take.
    pub latency: Latency,
    /// Calls per account; `None` for no limit.
    pub rate: Option<Rate>,
    /// Live VMs per account; `None` for no limit.
    pub quota: Option<u32>,
    /// How long an idempotency key is remembered.
    pub key_lifetime: Duration,
    /// Most items on a page, 1–1000, whatever the client asks for.
    pub page_cap: u32,
    /// How long a `continue` token is good for.
    pub continue_lifetime: Duration,
    /// How many of an account's latest changes the feed can go back.
    pub change_history: u64,
    /// How many deleted VMs an account remembers.
    pub tombstones: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            basic: false,
            provisioning: Spread {
                base: Duration::from_secs(5),
                jitter: Duration::ZERO,
            },
            delete_delay: Duration::ZERO,
            list_lag: Duration::ZERO,
            latency: Latency::default(),
            rate: None,
            quota: None,
            key_lifetime: Duration::from_secs(24 * 60 * 60),
            page_cap: 1000,
            continue_lifetime: Duration::from_secs(5 * 60),
            change_history: 100_000,
            tombstones: 100_000,
        }
    }
}

impl Spread {
    /// One draw.
    pub fn sample(&self, rng: &mut fastrand::Rng) -> Duration {
        if self.jitter.is_zero() {
            return self.base;
        }
        self.base.saturating_add(self.jitter.mul_f64(rng.f64()))
    }
}

impl Latency {
    /// One draw.
    pub fn sample(&self, rng: &mut fastrand::Rng) -> Duration {
        if self.tail_share > 0.0 && rng.f64() < self.tail_share {
            self.tail
        } else {
            self.body.sample(rng)
        }
    }
}
