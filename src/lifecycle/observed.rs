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
    /// The first complete list of this provider is under way and will tell of this object's instance: no look yet.
    /// Known per pass.
    pub awaited: bool,
    /// Whether a create without an answer is repeated where nobody can tell what came of it.
    pub allow_unsafe_create: bool,
    /// So many missing instances at once are confirmed to be lost.
    pub confirmed_loss: Option<u32>,
    /// How many VMs of this ProviderConfig are missing. Known per pass, where this object's is.
    pub losses: Losses,
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

/// VMs of a ProviderConfig whose instances are missing at the provider, counted over a round of looks at all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Live VMs whose instance is known.
    pub users: usize,
    /// Those of them whose last look showed nothing.
    pub missing: usize,
    /// Those that were not looked at yet in this round.
    pub unlooked: usize,
    /// The provider went back to an earlier state: what it does not show proves nothing.
    pub doubted: bool,
}

impl Losses {
    /// Whether so many are missing that the provider, and not the VMs, is the likelier cause: two or more, and a
    /// fifth of all.
    #[must_use]
    pub fn is_mass(&self) -> bool {
        Self::is_many(self.missing, self.users) || self.doubted && self.missing > 0
    }

    /// Whether those that were not looked at could make it so.
    #[must_use]
    pub fn may_become_mass(&self) -> bool {
        self.unlooked > 0 && Self::is_many(self.missing + self.unlooked, self.users)
    }

    fn is_many(missing: usize, users: usize) -> bool {
        missing >= 2 && missing * 5 >= users
    }
}

impl Config {
    /// Whether instances can be found by owner although creating is not safe.
    #[must_use]
    pub fn finds(&self) -> bool {
        self.capabilities.list && self.capabilities.tag_filter
    }

    /// Whether a mass loss is suspected, and nobody confirmed as much.
    #[must_use]
    pub fn holds_losses(&self) -> bool {
        let confirmed = self.confirmed_loss.and_then(|n| usize::try_from(n).ok());
        self.losses.is_mass() && confirmed.is_none_or(|n| self.losses.missing > n)
    }

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
