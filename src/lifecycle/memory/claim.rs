//! The right to send a create that no key guards, and what it made. Read by [`crate::lifecycle::basic`] alone.

use crate::domain::Incarnation;
use crate::lifecycle::object::{Object, Recorded, Tried};

/// Whose turn it is to send a create that nobody could find out about afterwards.
///
/// A claim is the first intent of an incarnation, or an attempt that was noted after a refusal: a write that only one
/// process can have made. Whose an intent is stands in it; whose an attempt is only the answer to the write tells, so
/// one without an answer is nobody's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claim {
    /// Nobody has sent a create under the present intent that may have made something.
    clear: bool,
    /// The same, before the last create was sent.
    clear_before: bool,
    /// The highest incarnation that this process has sent a create of.
    posted: Option<Incarnation>,
    /// What `status.operation` said last.
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
        self.clear &= own || object.tried == self.tried;
        self.tried = object.tried;
        self.marked |= object.shows_intent();
        let least = object.incarnation();
        self.made.take_if(|made| made.incarnation < least);
    }

    /// The intent is of another incarnation now; `ours`: this process wrote it, as the first of that incarnation.
    pub(super) fn other_incarnation(&mut self, incarnation: Option<Incarnation>, ours: bool) {
        self.clear = ours && incarnation > self.posted;
        self.clear_before = false;
    }

    pub(super) fn intent_acknowledged(&mut self, first: bool) {
        self.clear |= first;
    }

    /// Our note of an attempt is acknowledged: the next create is ours. `clear`: as it was before.
    pub fn noted(&mut self, clear: bool) {
        self.clear = clear;
    }

    pub(super) fn sending_create(&mut self, incarnation: Option<Incarnation>) {
        self.posted = self.posted.max(incarnation);
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
