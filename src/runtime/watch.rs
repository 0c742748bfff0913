//! Keeps a copy of every object of one kind, and tells of each version that arrives.
//!
//! ```text
//!        ┌──────────── list, page by page ─► diff against the store ─► Listed ────────┐
//!        │                                                                            ▼
//!      410, 12 refusals ◄──────────── watch (55 s, bookmarks) ◄── resumed from the last version,
//!      a version of the future                                    after a failure if it is still known
//! ```
//!
//! A loop over the plain list and watch calls, not kube's `watcher`, because that one hides what has to be seen here:
//! it has no time-out on a list, says nothing while it reconnects (so a quiet kind looks dead), resumes a watch that
//! ends at once without any pause, never lists again after an HTTP 410, and resets every back-off before a list that
//! then fails. Not kube's reflector store either: it copies each object, forgets the version it replaces, and has
//! no place for an object that cannot be decoded.
//!
//! One task per kind, each with its own back-off: a sick watch slows no other.

mod arrive;
mod backoff;
mod history;
mod object;
mod run;
mod status;
mod store;

use crate::domain::key::ObjectKey;
pub use object::{Arrival, Broken, Object, Watched};
pub use run::{Options, Watch};
pub use status::{Failure, Observer, Unobserved, WatchStatus};
use std::sync::Arc;
pub use store::Store;

/// What arrived. The store holds the new state already when the listener hears of it.
#[derive(Clone, Debug)]
pub enum Event<K> {
    /// The watch saw an object being created: this is its first version.
    Created(Object<K>),
    /// An object that we did not know, or not under this uid, in the version that a list shows: it may have been
    /// there for long, and been changed since.
    Added(Object<K>),
    /// Another version of an object. Every version that the API server sends is told, our own writes too.
    Changed {
        /// The version before.
        old: Object<K>,
        /// The version now.
        new: Object<K>,
    },
    /// The object is gone; its last version. After a gap in the watch it may never have been seen going.
    Removed(Object<K>),
    /// The store is about to be brought up to a new list, because versions were missed: what arrives until
    /// [`Event::Listed`] may jump over some.
    ListingAgain,
    /// The list under way shows an older state than was known before, because the API server's data were restored. What
    /// it does not hold any more nobody has deleted, and versions start anew: every object that it holds is told, also
    /// where its version is the one that was known.
    WentBack,
    /// A list is complete: what the store holds is what the API server held a moment ago. Every `Added` before the
    /// first `Listed` was there already when this process started.
    Listed,
}

/// Why a key is woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// It stood in the first list: nobody waits for it.
    Listed,
    /// It came, went or changed in what its fingerprint covers.
    Changed,
}

/// Who hears of what arrives. Called in the order of arrival, from the task of the watch: must not block.
pub trait Listener<K>: Send + Sync + 'static {
    /// Drops what is never read, before the object is stored. By default `managedFields` and the copy that
    /// `kubectl apply` keeps are dropped already.
    fn prune(&self, _object: &mut K) {}

    /// Whether the object concerns anybody; asked at each version. What does not is neither stored nor told of, so that
    /// memory does not grow with other people's objects.
    fn keeps(&self, _object: &K) -> bool {
        true
    }

    /// What must differ for a change to wake the key: everything a pass reads, nothing that it writes.
    fn fingerprint(&self, object: &K) -> u64;

    /// Something arrived.
    fn on_event(&self, event: Event<K>);

    /// The key has something to do. Follows the event that caused it.
    fn wake(&self, key: &ObjectKey, why: Wake);
}

impl<K, L: Listener<K>> Listener<K> for Arc<L> {
    fn prune(&self, object: &mut K) {
        self.as_ref().prune(object);
    }

    fn keeps(&self, object: &K) -> bool {
        self.as_ref().keeps(object)
    }

    fn fingerprint(&self, object: &K) -> u64 {
        self.as_ref().fingerprint(object)
    }

    fn on_event(&self, event: Event<K>) {
        self.as_ref().on_event(event);
    }

    fn wake(&self, key: &ObjectKey, why: Wake) {
        self.as_ref().wake(key, why);
    }
}

#[cfg(test)]
mod tests;
