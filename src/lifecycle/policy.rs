//! The numbers that decisions depend on, in one place, with where each comes from.

use std::time::Duration;

use crate::domain::{ClusterId, Network};

/// Added to the distance of a long pair of looks: the longest age of the write that goes before a create.
pub const LOOK_MARGIN: Duration = Duration::from_secs(5);

/// Settings of the loop. Times are lengths; nothing here is a point in time.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Identity of this cluster; goes into keys and tags.
    pub cluster: ClusterId,
    /// Tells this process from every other one, its predecessors included: what it writes into intents where it matters
    /// whose they are. `None`: no intent is known to be ours without an answer to its write.
    pub process: Option<String>,
    /// How old our own acknowledged write to an object may be when a create is sent (5 s). Together with
    /// [`Policy::look_margin`] it bounds how long after a look another leader's create can still start.
    pub own_write_valid: Duration,
    /// Added to the distance of a long pair of looks (5 s = `own_write_valid`).
    pub look_margin: Duration,
    /// Distance between observations while an instance is on its way (2 s, the guide's interval).
    pub transition_poll: Duration,
    /// How long a VM may be `Provisioning` before that is called slow (15 min).
    pub provisioning_deadline: Duration,
    /// An instance younger than this may be missing because the provider does not show it everywhere yet (30 s).
    pub creation_grace: Duration,
    /// How soon to ask again whether every VM of a ProviderConfig was looked at (5 s).
    pub round_again: Duration,
    /// A write of our intent onto an object that somebody keeps stripping happens at most this often (1 s).
    pub intend_again: Duration,
    /// How long the answer of our own write may stand in for a store that lags (5 s), before a live read decides.
    pub overlay_valid: Duration,
    /// An owned object that somebody keeps removing or editing is written at most this often, and how soon the
    /// watches of owned objects are asked again whether they are complete (1 s).
    pub children_again: Duration,
    /// The networks in which an instance's address must be to be told to others; none: any.
    pub instance_addresses: Vec<Network>,
    /// The queue's wait after the first failure (1 s), which each further one doubles …
    pub first_backoff: Duration,
    /// … up to this (5 min) …
    pub longest_backoff: Duration,
    /// … and which it shortens by a random part of up to one in so many (4), so that what failed together does not come
    /// back together.
    pub backoff_part: u32,
    /// Mutation under test; nothing reads it outside tests.
    #[cfg(test)]
    pub(crate) planted: Option<Planted>,
}

impl Policy {
    /// The numbers of the design for this cluster.
    #[must_use]
    pub fn new(cluster: ClusterId) -> Self {
        Self {
            cluster,
            process: None,
            own_write_valid: LOOK_MARGIN,
            look_margin: LOOK_MARGIN,
            transition_poll: Duration::from_secs(2),
            provisioning_deadline: Duration::from_mins(15),
            creation_grace: Duration::from_secs(30),
            round_again: Duration::from_secs(5),
            intend_again: Duration::from_secs(1),
            overlay_valid: Duration::from_secs(5),
            children_again: Duration::from_secs(1),
            instance_addresses: Vec::new(),
            first_backoff: Duration::from_secs(1),
            longest_backoff: Duration::from_mins(5),
            backoff_part: 4,
            #[cfg(test)]
            planted: None,
        }
    }

    /// The shortest time after which the queue brings back what has failed so many times in a row.
    #[must_use]
    pub fn least_backoff(&self, failures: u32) -> Duration {
        let doubled = 1u32
            .checked_shl(failures.saturating_sub(1))
            .unwrap_or(u32::MAX);
        let longest = self.first_backoff.saturating_mul(doubled);
        let longest = longest.min(self.longest_backoff);
        longest - longest / self.backoff_part.max(1)
    }

    /// Whether this bug is planted. Always false in a product build, so that the branch disappears.
    #[cfg(not(test))]
    pub(crate) const fn planted(&self, _bug: Planted) -> bool {
        false
    }
    /// Whether this bug is planted.
    #[cfg(test)]
    pub(crate) fn planted(&self, bug: Planted) -> bool {
        self.planted == Some(bug)
    }
}

/// Bugs that the simulator must find, each the removal of one rule. Bugs that can be planted from outside
/// (by a doctored cluster or provider) are not here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Planted {
    /// One empty look is taken for a proof.
    OneLook,
    /// Short pairs of looks where long ones are due.
    ShortLooks,
    /// Looks are kept when the object changes.
    LooksKept,
    /// A create in doubt is forgotten on deletion.
    DoubtDropped,
    /// A create is sent without our own write before it.
    NoWriteBeforeCreate,
    /// The right to create without a find does not end with the key.
    BlindForEver,
    /// A stripped annotation is taken as: no intent was ever there.
    StrippedIsNoIntent,
    /// An instance of an older incarnation is recorded.
    OlderRecorded,
    /// The incarnation stays when an instance is lost.
    NotRaised,
    /// A create without an answer is repeated at a provider that knows no keys.
    DoubtRepeated,
    /// The store is believed, whatever we wrote since, and where it says that an object is gone.
    StaleStore,
    /// Losses are not counted before instances are made anew.
    LossesUncounted,
    /// The finalizer goes once a deletion was accepted, not once it is over.
    RemovalUnconfirmed,
}
