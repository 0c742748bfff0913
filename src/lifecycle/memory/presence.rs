//! When an object's instance was made, last looked for, and first missed.

use std::time::Duration;

use super::Memory;
use crate::domain::{InstancePhase, Moment};

/// Whether the instance that an object knows of is where it should be, as far as this process saw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Presence {
    /// When a create of this process was answered with it.
    made: Option<Moment>,
    /// When the last look for it began that did not fail.
    looked: Option<Moment>,
    /// Since when looks show that it is not there.
    missing: Option<Moment>,
    /// Since when it is being prepared, as far as this process saw: the provider's clock is another one than ours.
    preparing: Option<Moment>,
}

impl Presence {
    /// Since when looks show that it is not there. Outlives versions of the object, unlike the looks themselves:
    /// whoever counts losses must not lose one because somebody edits a label.
    #[must_use]
    pub fn missing(&self) -> Option<Moment> {
        self.missing
    }

    /// When the last look for it began that did not fail: a failure shows nothing.
    #[must_use]
    pub fn looked(&self) -> Option<Moment> {
        self.looked
    }

    /// It was made by a create that was answered now.
    pub fn made(&mut self, now: Moment) {
        *self = Self {
            made: Some(now),
            looked: Some(now),
            missing: None,
            preparing: None,
        };
    }

    /// It was shown in this phase.
    pub fn shows(&mut self, phase: &InstancePhase, now: Moment) {
        if *phase == InstancePhase::Provisioning {
            self.preparing.get_or_insert(now);
        } else {
            self.preparing = None;
        }
    }

    /// Since when this process sees it being prepared.
    #[must_use]
    pub fn preparing(&self) -> Option<Moment> {
        self.preparing
    }

    /// It was looked for and is there, or something that cannot be told from it. `began`: what was shown is no older.
    pub fn is_there(&mut self, began: Moment) {
        (self.looked, self.missing) = (Some(began), None);
    }

    /// It was looked for and is not there.
    pub fn is_missing(&mut self, (began, ended): (Moment, Moment)) {
        self.looked = Some(began);
        self.missing.get_or_insert(ended);
    }

    /// The next incarnation is begun: what was missing is given up.
    pub(super) fn given_up(&mut self) {
        *self = Self::default();
    }
}

impl Memory {
    /// How far apart two looks must be at least for an absence to count, so that the second is made when the instance
    /// is `grace` old. Where this process did not make it, its age is not known, and the pair itself lasts so long.
    #[must_use]
    pub fn grace(&self, grace: Duration, now: Moment) -> Duration {
        let first = self.look.unwrap_or(now);
        match self.presence.made {
            Some(made) => (made + grace).since(first),
            None => grace,
        }
    }
}
