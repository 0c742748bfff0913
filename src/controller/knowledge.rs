//! What this process knows of every VirtualMachine: the store's version, the overlay of our own writes, and the
//! memory of each uid. One lock, held for moments, never across a wait.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::view::View;
use crate::domain::{Moment, ObjectKey, Uid};
use crate::lifecycle::{Arrival, Departed, Memory, Policy};

/// Everything known, by key and by departed uid.
#[derive(Debug, Default)]
pub struct Knowledge {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    objects: HashMap<ObjectKey, Entry>,
    departed: HashMap<Uid, DepartedEntry>,
}

/// One object that is there.
#[derive(Debug)]
struct Entry {
    /// The newest version that the watch delivered.
    stored: Arc<View>,
    /// The answer of our last write, while the store is older.
    overlay: Option<Overlay>,
    memory: Memory,
    /// When the next full look (for doubles and higher incarnations) is due.
    full_look_at: Moment,
}

#[derive(Debug)]
struct Overlay {
    view: Arc<View>,
    /// From then on a live read decides.
    until: Moment,
}

/// One object that vanished while an instance may be left.
#[derive(Clone, Debug)]
pub struct DepartedEntry {
    /// What is known of it.
    pub departed: Departed,
    /// The memory of its uid.
    pub memory: Memory,
}

/// What a pass starts from.
#[derive(Clone, Debug)]
pub struct Known {
    /// The version to decide on.
    pub view: Arc<View>,
    /// The memory of its uid, as it is now.
    pub memory: Memory,
    /// Whether a live read has to decide first: the store did not catch up with our own write in time.
    pub doubtful: bool,
    /// Whether the full look is due.
    pub full_look: bool,
}

impl Knowledge {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic in a pass is isolated; what it left here is as good as after a crash of that pass.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known of a key.
    #[must_use]
    pub fn get(&self, key: &ObjectKey, now: Moment) -> Option<Known> {
        let inner = self.lock();
        let entry = inner.objects.get(key)?;
        let overlay = entry.overlay.as_ref();
        Some(Known {
            view: Arc::clone(overlay.map_or(&entry.stored, |o| &o.view)),
            memory: entry.memory.clone(),
            doubtful: overlay.is_some_and(|o| now >= o.until),
            full_look: now >= entry.full_look_at,
        })
    }

    /// Whether this version is the answer of our own last write to the object, which the store is about to catch up
    /// with: nothing in it is news.
    #[must_use]
    pub fn awaits(&self, key: &ObjectKey, version: &str) -> bool {
        let inner = self.lock();
        let overlay = inner.objects.get(key).and_then(|e| e.overlay.as_ref());
        overlay.is_some_and(|overlay| overlay.view.object.version == version)
    }

    /// The watch delivered a version. Gives the uid that this shows to have departed, if any.
    pub fn arrived(&self, policy: &Policy, view: View, arrival: Arrival) -> Option<Uid> {
        let mut inner = self.lock();
        let key = view.object.key.clone();
        let departed = match inner.objects.get(&key) {
            Some(entry) if entry.stored.object.uid != view.object.uid => inner.vanish(policy, &key),
            Some(_) | None => None,
        };
        let entry = inner.objects.entry(key).or_insert_with(|| Entry {
            stored: Arc::new(view.clone()),
            overlay: None,
            memory: Memory::default(),
            full_look_at: Moment::START,
        });
        entry.store(policy, view, arrival);
        departed
    }

    /// The watch, or a live read, shows that the object of this uid is gone. Gives its uid if it departed.
    pub fn vanished(&self, policy: &Policy, key: &ObjectKey, uid: &Uid) -> Option<Uid> {
        let mut inner = self.lock();
        let entry = inner.objects.get(key)?;
        (entry.stored.object.uid == *uid)
            .then(|| inner.vanish(policy, key))
            .flatten()
    }

    /// A live read: it stands in for the store, as our own write does, but is not our own.
    /// Gives the uid that this shows to have departed, if any.
    pub fn read_live(
        &self,
        policy: &Policy,
        key: &ObjectKey,
        view: Option<View>,
        now: Moment,
    ) -> Option<Uid> {
        let Some(view) = view else {
            let uid = self.lock().objects.get(key)?.stored.object.uid.clone();
            return self.vanished(policy, key, &uid);
        };
        let mut inner = self.lock();
        let known = inner.objects.get_mut(key);
        match known {
            Some(entry) if entry.stored.object.uid == view.object.uid => {
                entry.memory.saw(policy, &view.object, Arrival::Seen);
                entry.lay_over(policy, view, now);
                None
            }
            Some(_) | None => {
                drop(inner);
                self.arrived(policy, view, Arrival::Seen)
            }
        }
    }

    /// Our own write to `uid` was acknowledged with this version.
    pub fn wrote(&self, policy: &Policy, view: View, now: Moment) {
        let mut inner = self.lock();
        if let Some(entry) = inner.objects.get_mut(&view.object.key)
            && entry.stored.object.uid == view.object.uid
            && !is_older(&view, &entry.stored)
        {
            entry.memory.saw(policy, &view.object, Arrival::OwnWrite);
            entry.lay_over(policy, view, now);
        }
    }

    /// Changes the memory of a uid, present or departed.
    pub fn remember<T: Default>(
        &self,
        key: &ObjectKey,
        uid: &Uid,
        change: impl FnOnce(&mut Memory) -> T,
    ) -> T {
        let mut inner = self.lock();
        if let Some(entry) = inner.objects.get_mut(key)
            && entry.stored.object.uid == *uid
        {
            return change(&mut entry.memory);
        }
        match inner.departed.get_mut(uid) {
            Some(entry) => {
                let result = change(&mut entry.memory);
                entry.departed.sign |= entry.memory.sign();
                result
            }
            None => T::default(),
        }
    }

    /// A full look was made; the next is due at `at`.
    pub fn full_look_made(&self, key: &ObjectKey, at: Moment) {
        if let Some(entry) = self.lock().objects.get_mut(key) {
            entry.full_look_at = at;
        }
    }

    /// A departed uid.
    #[must_use]
    pub fn departed(&self, uid: &Uid) -> Option<DepartedEntry> {
        self.lock().departed.get(uid).cloned()
    }

    /// A departed uid is done with, or its object turned out to be there.
    pub fn forget_departed(&self, uid: &Uid) {
        self.lock().departed.remove(uid);
    }

    /// Names of the VirtualMachines that refer to a ProviderConfig, and the departed uids that still need it.
    #[must_use]
    pub fn users_of(&self, namespace: &str, config: &str) -> (Vec<ObjectKey>, Vec<Uid>) {
        let inner = self.lock();
        let uses = |view: &View| {
            view.object.key.namespace.as_ref() == namespace && view.object.provider_ref == config
        };
        let keys = inner
            .objects
            .iter()
            .filter(|(_, entry)| uses(&entry.stored))
            .map(|(key, _)| key.clone())
            .collect();
        let uids = inner
            .departed
            .iter()
            .filter(|(_, entry)| {
                let last = &entry.departed.last;
                last.key.namespace.as_ref() == namespace && last.provider_ref == config
            })
            .map(|(uid, _)| uid.clone())
            .collect();
        (keys, uids)
    }

    /// After a re-list or when versions went backwards, no own write stands in for the store without a live read.
    pub fn doubt_overlays(&self) {
        for entry in self.lock().objects.values_mut() {
            if let Some(overlay) = &mut entry.overlay {
                overlay.until = Moment::START;
            }
        }
    }

    /// How many objects show each phase; the empty one stands for none.
    #[must_use]
    pub fn phases(&self) -> HashMap<Option<crate::api::Phase>, usize> {
        let mut counts = HashMap::new();
        for entry in self.lock().objects.values() {
            *counts.entry(entry.stored.status.phase).or_default() += 1;
        }
        counts
    }
}

impl Inner {
    /// Takes the entry out; keeps it as departed where an instance may be left.
    fn vanish(&mut self, policy: &Policy, key: &ObjectKey) -> Option<Uid> {
        let mut entry = self.objects.remove(key)?;
        let newest = entry.overlay.map_or(entry.stored, |overlay| overlay.view);
        let last = newest.object.clone();
        if !entry.memory.departs(policy, &last) {
            return None;
        }
        // What was looked at before it vanished says nothing about what was sent since.
        if !policy.planted(crate::lifecycle::policy::Planted::LooksKept) {
            entry.memory.forget_looks();
        }
        let uid = last.uid.clone();
        let departed = Departed {
            sign: entry.memory.sign(),
            last,
        };
        let memory = entry.memory;
        self.departed
            .insert(uid.clone(), DepartedEntry { departed, memory });
        Some(uid)
    }
}

impl Entry {
    fn store(&mut self, policy: &Policy, view: View, arrival: Arrival) {
        match &self.overlay {
            Some(overlay) if is_older(&view, &overlay.view) => {
                self.memory.saw_older(&view.object);
            }
            Some(overlay) => {
                let own = overlay.view.object.version == view.object.version;
                let arrival = if own { Arrival::OwnWrite } else { arrival };
                self.memory.saw(policy, &view.object, arrival);
                self.overlay = None;
            }
            None => self.memory.saw(policy, &view.object, arrival),
        }
        self.stored = Arc::new(view);
    }

    fn lay_over(&mut self, policy: &Policy, view: View, now: Moment) {
        self.overlay = Some(Overlay {
            view: Arc::new(view),
            until: now + policy.overlay_valid,
        });
    }
}

/// Whether a version is older than another of the same object. Kubernetes promises that resourceVersions of one
/// kind compare as numbers; where they are none, what arrives later counts as newer.
fn is_older(view: &View, than: &View) -> bool {
    let number = |view: &View| view.object.version.parse::<u64>();
    match (number(view), number(than)) {
        (Ok(one), Ok(other)) => one < other,
        (Ok(_) | Err(_), Ok(_) | Err(_)) => false,
    }
}

#[cfg(test)]
mod tests;
