//! Owned objects: which are there, and the writes of them.

mod body;
mod effect;
pub mod kube;
mod trace;

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::domain::{Moment, ObjectKey, Uid};
use crate::lifecycle::{ChildKind, Children, Held, Present};

pub use trace::{OwnedKind, Trace};

/// An object that bears the name of an owned one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The VirtualMachine that controls it, by name; `None` where none of ours does.
    pub owner: Option<OwnerName>,
    /// What its metadata show.
    pub present: Present,
}

/// A VirtualMachine as an owner reference names it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OwnerName {
    /// Namespace and name.
    pub key: ObjectKey,
    /// Its uid.
    pub uid: Uid,
}

/// Which owned objects are there, by the uid of their owner: what the watches show, and the answers of our own writes
/// until the watches are as new.
#[derive(Debug, Default)]
pub struct ChildIndex {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    owners: HashMap<Uid, HashMap<ChildKind, Slot>>,
    listed: [bool; OwnedKind::ALL.len()],
    /// Secrets are not watched: whose was looked at, and until when that counts.
    looked: Option<HashMap<Uid, Moment>>,
}

#[derive(Clone, Debug)]
struct Slot {
    present: Present,
    /// Until when our own answer counts without a word of the watch.
    until: Option<Moment>,
}

/// How long a look at a Secret that is not watched counts (10 min).
const LOOK_LASTS: Duration = Duration::from_mins(10);

/// How long the answer of our own write stands in for a watch that lags (5 s). After that the object counts as absent,
/// and making it anew finds out.
const OWN_ANSWER: Duration = Duration::from_secs(5);

impl ChildIndex {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Held for moments; what a panic left here is mended by the next event or write.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The owned objects of a VirtualMachine; `None` before every watch has listed.
    #[must_use]
    pub fn of(&self, owner: &Uid, now: Moment) -> Option<Children> {
        let inner = self.lock();
        if inner.listed.contains(&false) {
            return None;
        }
        if inner
            .looked
            .as_ref()
            .is_some_and(|looked| !looked.contains_key(owner))
        {
            return None;
        }
        let mut children = Children::default();
        for (kind, slot) in inner.owners.get(owner).into_iter().flatten() {
            if slot.until.is_none_or(|until| now < until) {
                children.set(*kind, Some(slot.present.clone()));
            }
        }
        Some(children)
    }

    /// Secrets are not watched: each is looked at by itself, see [`ChildIndex::look_is_due`].
    pub fn leave_secrets_unwatched(&self) {
        let mut inner = self.lock();
        inner.listed[OwnedKind::Secret.place()] = true;
        inner.looked.get_or_insert_default();
    }

    /// Whether somebody has to look whether the Secret of this VirtualMachine is there.
    #[must_use]
    pub fn look_is_due(&self, owner: &Uid, now: Moment) -> bool {
        let inner = self.lock();
        let looked = inner.looked.as_ref();
        looked.is_some_and(|looked| looked.get(owner).is_none_or(|until| now >= *until))
    }

    /// A live read shows the Secret of this VirtualMachine, or that none of its own is there.
    pub fn looked(&self, owner: &Uid, present: Option<Present>, now: Moment) {
        match present {
            Some(present) => self.answered(owner, ChildKind::Connection, present, now),
            None => self.absent(owner, ChildKind::Connection),
        }
        if let Some(looked) = &mut self.lock().looked {
            looked.insert(owner.clone(), now + LOOK_LASTS);
        }
    }

    /// A watch has listed everything of its kind.
    pub fn listed(&self, kind: OwnedKind) {
        self.lock().listed[kind.place()] = true;
    }

    /// A watch shows a version. Gives whether it tells anything but our own last write.
    pub fn arrived(&self, owner: &Uid, kind: ChildKind, present: Present) -> bool {
        let mut inner = self.lock();
        let slots = inner.owners.entry(owner.clone()).or_default();
        match slots.get_mut(&kind) {
            Some(slot) if slot.present.held == present.held => {
                slot.until = None;
                false
            }
            Some(slot) if slot.until.is_some() && is_older(&present.held, &slot.present.held) => {
                false
            }
            Some(_) | None => {
                let until = None;
                slots.insert(kind, Slot { present, until });
                true
            }
        }
    }

    /// A watch, or a live read, shows that this one is gone.
    pub fn vanished(&self, owner: &Uid, kind: ChildKind, held: &Held) {
        let mut inner = self.lock();
        let Some(slots) = inner.owners.get_mut(owner) else {
            return;
        };
        let newer = |slot: &Slot| {
            slot.present.held.uid != held.uid
                || (slot.until.is_some() && is_older(held, &slot.present.held))
        };
        if slots.get(&kind).is_some_and(|slot| !newer(slot)) {
            slots.remove(&kind);
        }
        if slots.is_empty() {
            inner.owners.remove(owner);
        }
    }

    /// The answer of our own write, or a live read.
    pub fn answered(&self, owner: &Uid, kind: ChildKind, present: Present, now: Moment) {
        let mut inner = self.lock();
        let slots = inner.owners.entry(owner.clone()).or_default();
        let known = slots.get(&kind);
        let overtaken = known.is_some_and(|slot| is_older(&present.held, &slot.present.held));
        // The watch may have been faster than the answer: then there is nothing to wait for.
        let seen = known.is_some_and(|slot| slot.present.held == present.held);
        if !overtaken {
            // Where no watch will tell, it counts until the next look.
            let told = kind != ChildKind::Connection || inner.looked.is_none();
            let until = (!seen && told).then(|| now + OWN_ANSWER);
            let slots = inner.owners.entry(owner.clone()).or_default();
            slots.insert(kind, Slot { present, until });
        }
    }

    /// Nothing bears the name of this one.
    pub fn absent(&self, owner: &Uid, kind: ChildKind) {
        let mut inner = self.lock();
        if let Some(slots) = inner.owners.get_mut(owner) {
            slots.remove(&kind);
        }
    }

    /// Versions start anew: an answer of our own that no watch has shown yet counts for nothing any more, and hides
    /// nothing that a watch shows from now on.
    pub fn forget_answers(&self) {
        let mut inner = self.lock();
        for slots in inner.owners.values_mut() {
            slots.retain(|_, slot| slot.until.is_none());
        }
    }

    /// The owner is gone.
    pub fn forget(&self, owner: &Uid) {
        let mut inner = self.lock();
        inner.owners.remove(owner);
        if let Some(looked) = &mut inner.looked {
            looked.remove(owner);
        }
    }
}

/// Whether one version is older than another; where they are no numbers, what comes later counts as newer.
fn is_older(one: &Held, than: &Held) -> bool {
    let number = |held: &Held| held.version.parse::<u64>();
    match (number(one), number(than)) {
        (Ok(one), Ok(other)) => one < other,
        (Ok(_) | Err(_), Ok(_) | Err(_)) => false,
    }
}

#[cfg(test)]
mod tests;
