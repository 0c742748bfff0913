//! What this process knows about one uid and no object shows: looks, own writes, doubts, rights.
//!
//! Everything here is lost in a crash, and every rule holds without it; it saves waiting and writes. Kept per
//! uid, never per name: an object made again under the same name starts with an empty memory.

mod answers;
mod claim;
mod failures;
mod presence;

use std::time::Duration;

pub use claim::Claim;
pub use failures::Failure;
pub use presence::Presence;

use super::children::ChildMemory;
use super::object::Object;
use super::policy::{Planted, Policy};
use crate::domain::{Incarnation, Instance, InstanceId, Moment, ProviderError};

/// What is remembered of one uid.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Seen being added in this term without a sign of an intent, and no version since but our own writes.
    born: bool,
    /// A sign of an intent was in some version that we saw, or we sent an intent or a create ourselves.
    sign: bool,
    /// Our removal of the finalizer was acknowledged.
    released: bool,
    /// The last version seen.
    version: String,
    /// The incarnation that the facts below are about.
    incarnation: Option<Incarnation>,
    /// End of the first empty look of a pair.
    look: Option<Moment>,
    /// The look that the last version ended: it counts again if that version turns out to be our own write.
    look_before: Option<Moment>,
    /// When our last acknowledged guarded write was *sent*; `None` after a write with an unknown answer.
    own_write: Option<Moment>,
    /// Until when a create may be sent without a find: half the key's lifetime after we wrote the intent.
    blind_until: Option<Moment>,
    /// We wrote this incarnation's intent and have sent no create for it.
    first: bool,
    /// A create of ours has an unknown result.
    in_doubt: bool,
    /// The answer to a create proved that an earlier one arrived: what is absent now is lost.
    raise: bool,
    /// The generation for which the provider refused the create for good.
    refused: Option<i64>,
    /// That refusal.
    refusal: Option<ProviderError>,
    /// A refusal of any kind answered the last settling create: it may not have used the key up.
    settled_by_refusal: bool,
    /// In deletion: until when the create in doubt counts as settled.
    settled_until: Option<Moment>,
    /// When we last wrote an intent.
    intended_at: Option<Moment>,
    /// The last find showed more than one instance.
    doubles: bool,
    /// Instances whose deletion the provider has accepted, and whether more than once.
    deleted: Vec<(InstanceId, bool)>,
    /// The last failure, and how many in a row.
    failure: Option<Failure>,
    /// How many passes failed in a row before the present one, as the queue counts them.
    failed_passes: u32,
    /// The objects that it owns.
    children: ChildMemory,
    /// Creates without keys.
    claim: Claim,
    /// Where its instance is.
    presence: Presence,
}

/// How a version of the object came to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// The watch says ADDED while we lead.
    Added,
    /// The watch, a list or a live read shows it.
    Seen,
    /// It is the answer to our own write.
    OwnWrite,
}

/// How sure an absence is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sureness {
    /// The second look may begin at this moment.
    LookAgainAt(Moment),
    /// Two complete looks, far enough apart, showed nothing.
    Confirmed,
}

impl Memory {
    /// What is remembered of the objects that it owns.
    #[must_use]
    pub fn children(&self) -> &ChildMemory {
        &self.children
    }

    /// The same, to add to it.
    pub fn children_mut(&mut self) -> &mut ChildMemory {
        &mut self.children
    }

    /// The right to send a create that no key guards.
    #[must_use]
    pub fn claim(&self) -> &Claim {
        &self.claim
    }

    /// The same, to change it.
    pub fn claim_mut(&mut self) -> &mut Claim {
        &mut self.claim
    }

    /// Where its instance is.
    #[must_use]
    pub fn presence(&self) -> &Presence {
        &self.presence
    }

    /// The same, to add to it.
    pub fn presence_mut(&mut self) -> &mut Presence {
        &mut self.presence
    }

    /// Takes note of a version of the object.
    pub fn saw(&mut self, policy: &Policy, object: &Object, arrival: Arrival) {
        let new = self.version != object.version;
        if self.version.is_empty() {
            self.born = arrival == Arrival::Added && !object.shows_intent();
        } else if new && arrival != Arrival::OwnWrite {
            // Our own writes are guarded by the version before: an unbroken chain of them hides nobody else's.
            self.born = false;
        }
        self.born &= !object.shows_intent();
        // Looks belong to one version: what another writer did in between may have sent a create.
        if new && arrival != Arrival::OwnWrite && !policy.planted(Planted::LooksKept) {
            self.look_before = self.look.take();
        }
        // The watch may deliver our own write before its answer arrives.
        if !new && arrival == Arrival::OwnWrite && self.look.is_none() {
            self.look = self.look_before.take();
        }
        self.sign |= object.shows_intent();
        let incarnation = object.intent().map(|intent| intent.incarnation);
        if new {
            self.claim.saw(object, arrival == Arrival::OwnWrite);
        }
        if self.incarnation != incarnation {
            self.forget_incarnation();
            let by = object.intent().and_then(|intent| intent.by.as_ref());
            let ours = by.is_some() && by == policy.process.as_ref();
            self.claim.other_incarnation(incarnation, ours);
            if self.incarnation.is_some_and(|old| incarnation > Some(old)) {
                self.presence.given_up();
            }
            self.incarnation = incarnation;
        }
        self.version.clone_from(&object.version);
    }

    /// A version older than one that we know already: it can still show a sign.
    pub fn saw_older(&mut self, object: &Object) {
        self.sign |= object.shows_intent();
    }

    /// Versions may have been missed: nobody can say any more that none but ours came since it was added.
    pub fn missed_versions(&mut self) {
        self.born = false;
    }

    fn forget_incarnation(&mut self) {
        self.first = false;
        self.in_doubt = false;
        self.raise = false;
        self.refused = None;
        self.refusal = None;
        self.settled_by_refusal = false;
        self.settled_until = None;
        self.blind_until = None;
    }

    /// An empty look from `began` to `ended` at this version, `gap` being the distance that this case needs.
    /// A look during which another version arrived does not count.
    pub fn looked_in_vain(
        &mut self,
        policy: &Policy,
        version: &str,
        (began, ended): (Moment, Moment),
        gap: Duration,
    ) -> Sureness {
        if self.version != version && !policy.planted(Planted::LooksKept) {
            return Sureness::LookAgainAt(ended);
        }
        match self.look {
            Some(first) if began >= first + gap => Sureness::Confirmed,
            Some(first) => Sureness::LookAgainAt(first + gap),
            None if policy.planted(Planted::OneLook) => Sureness::Confirmed,
            None => {
                self.look = Some(ended);
                Sureness::LookAgainAt(ended + gap)
            }
        }
    }

    /// Forgets the first look: something was seen, or an effect made it worthless.
    pub fn forget_looks(&mut self) {
        self.look = None;
        self.look_before = None;
    }

    /// A find by owner was made, and showed these beside the instance that counts.
    pub fn found(&mut self, others: &[Instance]) {
        self.doubles = !others.is_empty();
    }

    /// Whether the last find showed more than one instance: then each look finds, so that they stay in sight.
    #[must_use]
    pub fn doubles(&self) -> bool {
        self.doubles
    }

    /// When the second look may begin, if the first was taken.
    #[must_use]
    pub fn look_again_at(&self, gap: Duration) -> Option<Moment> {
        self.look.map(|first| first + gap)
    }

    /// We are about to send an intent: from now on its create counts as possible, whatever the answer.
    pub fn sending_intent(&mut self, now: Moment) {
        self.sign = true;
        self.intended_at = Some(now);
        self.own_write = None;
    }

    /// Our intent, sent at `sent`, was acknowledged. `first`: nobody can have sent a create for it before.
    pub fn intent_acknowledged(&mut self, sent: Moment, first: bool, key_lifetime: Duration) {
        self.forget_looks();
        self.own_write = Some(sent);
        self.first = first;
        self.claim.intent_acknowledged(first);
        self.blind_until = first.then_some(sent + key_lifetime / 2);
    }

    /// The ProviderConfig changed: what it refused for good may be accepted now.
    pub fn config_changed(&mut self) {
        self.refused = None;
        self.refusal = None;
    }

    /// We are about to send a guarded write: until it is acknowledged, none of ours stands.
    pub fn sending_write(&mut self) {
        self.own_write = None;
    }

    /// A guarded write of ours, sent at `sent`, was acknowledged.
    pub fn write_acknowledged(&mut self, sent: Moment) {
        self.own_write = Some(sent);
    }

    /// Puts back what stood before a write that was certainly not applied.
    pub fn write_refused(&mut self, before: Option<Moment>) {
        self.own_write = before;
    }

    /// When the last acknowledged guarded write was sent.
    #[must_use]
    pub fn own_write(&self) -> Option<Moment> {
        self.own_write
    }

    /// We are about to send a create.
    pub fn sending_create(&mut self, now: Moment, key_lifetime: Duration) {
        self.sign = true;
        self.first = false;
        self.in_doubt = true;
        self.claim.sending_create(self.incarnation);
        self.forget_looks();
        self.blind_until.get_or_insert(now + key_lifetime / 2);
    }

    /// Our removal of the finalizer was acknowledged.
    pub fn finalizer_removed(&mut self) {
        self.released = true;
    }

    /// Whether a create of ours or of a predecessor may be under way although we know no id.
    #[must_use]
    pub fn create_in_doubt(&self, now: Moment) -> bool {
        !self.first && self.settled_until.is_none_or(|until| now >= until)
    }

    /// Whether the key of the current incarnation is known to be used up, by an answer to this process.
    #[must_use]
    pub fn key_used_up(&self, now: Moment) -> bool {
        !self.settled_by_refusal
            && self.refused.is_none()
            && self.settled_until.is_some_and(|until| now < until)
    }

    /// Whether a create may be sent now without looking first.
    #[must_use]
    pub fn may_create_blind(&self, policy: &Policy, now: Moment) -> bool {
        let in_time = policy.planted(Planted::BlindForEver)
            || self.blind_until.is_some_and(|until| now < until);
        in_time && (self.first || self.in_doubt) && !self.raise
    }

    /// Whether our last acknowledged write is young enough to send a create after it.
    #[must_use]
    pub fn own_write_stands(&self, policy: &Policy, now: Moment) -> bool {
        policy.planted(Planted::NoWriteBeforeCreate)
            || self
                .own_write
                .is_some_and(|sent| now < sent + policy.own_write_valid)
    }

    /// Whether the object vanishing now leaves a departed key. Called when it vanished.
    #[must_use]
    pub fn departs(&self, policy: &Policy, last: &Object) -> bool {
        if policy.planted(Planted::StrippedIsNoIntent) {
            return !self.released && last.finalizer && last.intent().is_some();
        }
        !self.released && (self.sign || !self.born)
    }

    /// Seen being added in this term, and nothing happened to it since.
    #[must_use]
    pub fn born(&self) -> bool {
        self.born
    }
    /// Whether any version that we saw, or anything that we sent, says that an instance may exist.
    #[must_use]
    pub fn sign(&self) -> bool {
        self.sign
    }
    /// Whether our removal of the finalizer was acknowledged.
    #[must_use]
    pub fn released(&self) -> bool {
        self.released
    }
    /// Whether an answer proved that an earlier create arrived.
    #[must_use]
    pub fn must_raise(&self) -> bool {
        self.raise
    }
    /// The generation that the provider refused for good.
    #[must_use]
    pub fn refused(&self) -> Option<i64> {
        self.refused
    }
    /// The refusal itself; later failures of looks do not replace it.
    #[must_use]
    pub fn refusal(&self) -> Option<&ProviderError> {
        self.refusal.as_ref()
    }
    /// Whether a create of ours has an unknown result.
    #[must_use]
    pub fn in_doubt(&self) -> bool {
        self.in_doubt
    }
    /// When we last wrote an intent.
    #[must_use]
    pub fn intended_at(&self) -> Option<Moment> {
        self.intended_at
    }
}

#[cfg(test)]
mod tests;
