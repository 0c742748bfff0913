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
    /// The same two of earlier writes whose answers were lost: they may have arrived all the same.
    lost: (Option<Incarnation>, Option<Tried>),
    /// What it said last.
    tried: Tried,
    /// What a create was answered with.
    made: Option<Recorded>,
    /// A version that was seen bore a sign of an intent. What we sent and was refused is none.
    marked: bool,
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

    /// Whether any version that was seen bore a sign of an intent.
    #[must_use]
    pub fn is_marked(&self) -> bool {
        self.marked
    }

    /// Takes note of a version. Where somebody else noted an attempt, the claim is theirs.
    pub(super) fn saw(&mut self, object: &Object, own: bool) {
        let tried = Some(object.tried);
        let ours = own || self.awaited == tried || self.lost.1 == tried;
        if !ours && object.tried != self.tried {
            self.clear = false;
        }
        self.tried = object.tried;
        self.marked |= object.shows_intent();
        let least = object.incarnation();
        self.made.take_if(|made| made.incarnation < least);
    }

    /// The intent is of another incarnation now.
    pub(super) fn other_incarnation(&mut self, incarnation: Option<Incarnation>) {
        let ours = incarnation == self.intended || incarnation == self.lost.0;
        self.clear = incarnation.is_some() && ours;
        self.clear_before = false;
    }

    /// We are about to write the first intent of this incarnation.
    pub fn intending(&mut self, incarnation: Incarnation) {
        self.intended = Some(incarnation);
    }

    pub(super) fn intent_acknowledged(&mut self, first: bool) {
        self.clear |= first;
        (self.intended, self.lost.0) = (None, None);
    }

    /// We are about to write a status that says this of creates.
    pub fn telling(&mut self, tried: Tried) {
        self.awaited = Some(tried);
    }

    /// We are about to note an attempt, after which the next create is ours. `clear`: as it is before.
    pub fn noting(&mut self, clear: bool) {
        self.clear = clear;
    }

    /// The answer to our write was lost.
    pub fn answer_lost(&mut self) {
        let (intent, tried) = self.lost;
        self.lost = (
            self.intended.take().or(intent),
            self.awaited.take().or(tried),
        );
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
