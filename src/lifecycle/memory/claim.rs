//! The right to send a create that no key guards, and what it made. Read by [`crate::lifecycle::basic`] alone.

use crate::domain::Incarnation;
use crate::lifecycle::object::{Object, Recorded, Tried};

/// Whose turn it is to send a create that nobody could find out about afterwards.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claim {
    /// Nobody has sent a create under the present intent that may have made something.
    clear: bool,
    /// The same, before the last create was sent.
    clear_before: bool,
    /// The first intent of this incarnation was sent by us, and is not acknowledged.
    intended: Option<Incarnation>,
    /// What `status.operation` says once a write of ours that is not acknowledged has arrived.
    awaited: Option<Tried>,
    /// What it said last.
    tried: Tried,
    /// What a create was answered with.
    made: Option<Recorded>,
}

impl Claim {
    /// Whether nobody has sent a create under the present intent that may have made something.
    #[must_use]
    pub fn is_clear(&self) -> bool {
        self.clear
    }

    /// What a create of ours was answered with.
    #[must_use]
    pub fn made(&self) -> Option<&Recorded> {
        self.made.as_ref()
    }

    /// Takes note of a version. Where somebody else noted an attempt, the claim is theirs.
    pub(super) fn saw(&mut self, object: &Object, own: bool) {
        if !own && object.tried != self.tried && self.awaited != Some(object.tried) {
            self.clear = false;
        }
        self.tried = object.tried;
        let least = object.incarnation();
        self.made.take_if(|made| made.incarnation < least);
    }

    /// The intent is of another incarnation now.
    pub(super) fn other_incarnation(&mut self, incarnation: Option<Incarnation>) {
        self.clear = incarnation.is_some() && incarnation == self.intended;
        self.clear_before = false;
    }

    /// We are about to write the first intent of this incarnation.
    pub fn intending(&mut self, incarnation: Incarnation) {
        self.intended = Some(incarnation);
    }

    pub(super) fn intent_acknowledged(&mut self, first: bool) {
        self.clear |= first;
        self.intended = None;
    }

    /// We are about to write a status that says this of creates.
    pub fn telling(&mut self, tried: Tried) {
        self.awaited = Some(tried);
    }

    /// We are about to note an attempt, after which the next create is ours. `clear`: as it is before.
    pub fn noting(&mut self, clear: bool) {
        self.clear = clear;
    }

    pub(super) fn write_refused(&mut self) {
        (self.intended, self.awaited) = (None, None);
    }

    pub(super) fn sending_create(&mut self) {
        self.clear_before = self.clear;
        self.clear = false;
    }

    /// The create certainly made nothing: all is as before it was sent.
    pub fn nothing_made(&mut self) {
        self.clear = self.clear_before;
    }

    /// The create was answered with an instance.
    pub fn made_one(&mut self, made: Recorded) {
        self.made = Some(made);
    }
}
