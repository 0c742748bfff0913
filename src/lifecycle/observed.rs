//! Everything that a decision is made from, as one value.

use std::time::Duration;

use jiff::Timestamp;

use super::children::Children;
use super::memory::Memory;
use super::object::Object;
use super::policy::LOOK_MARGIN;
use super::sighting::Sighting;
use crate::domain::{Capabilities, Moment, ProviderError, Reason};

/// One pass's view of the world.
#[derive(Debug)]
pub struct Observed<'a> {
    /// The object: the store's version, or the answer of our own write where the store lags.
    pub object: &'a Object,
    /// Its ProviderConfig, or why there is none to use.
    pub config: &'a Result<Config, ConfigProblem>,
    /// What the provider showed.
    pub sighting: &'a Sighting,
    /// What this process remembers of the uid.
    pub memory: &'a Memory,
    /// The objects that it owns; `None` before it is known which are there.
    pub children: Option<&'a Children>,
    /// Now, monotonic: what decisions count with.
    pub now: Moment,
    /// Now, by the wall clock: shown to people, never decided by.
    pub wall: Timestamp,
}

/// What decisions read of a ProviderConfig that can be used.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Its name.
    pub name: String,
    /// Whether it is being deleted: no new instance is begun with it.
    pub terminating: bool,
    /// Whether it carries our finalizer, so that it cannot vanish under an intent.
    pub protected: bool,
    /// Whether it is paused, with all its VMs.
    pub paused: bool,
    /// Whether the inventory of this provider shows this object's instance and will wake it when that changes.
    /// Known per pass; false where the pass looked itself.
    pub watched: bool,
    /// Time-out of one provider call; no request takes effect later than this after it was sent.
    pub timeout: Duration,
    /// How old the knowledge of a steady VM may get.
    pub poll: Duration,
    /// What the provider offers, read with these very credentials.
    pub capabilities: Capabilities,
}

/// Why a ProviderConfig cannot be used.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigProblem {
    /// The reason for the condition.
    pub reason: Reason,
    /// In words: what is wrong and what to do.
    pub message: String,
    /// The failed probe, where a provider was asked.
    pub error: Option<ProviderError>,
}

impl Config {
    /// Whether creating is safe here: keys and finds are offered, and a key lives long enough that a doubt in
    /// deletion can be settled and looked after twice before the settling is believed no longer.
    #[must_use]
    pub fn safe_create(&self) -> bool {
        let pair = self.timeout + self.capabilities.list_lag + LOOK_MARGIN;
        self.capabilities.safe_create() && self.key_lifetime() / 2 > pair
    }

    /// How long the provider remembers an idempotency key; zero where it does not.
    #[must_use]
    pub fn key_lifetime(&self) -> Duration {
        self.capabilities.key_lifetime.unwrap_or_default()
    }
}
