//! What this process knows of every VirtualMachine: the store's version, the overlay of our own writes, and the
//! memory of each uid. One lock, held for moments, never across a wait.

mod entry;
mod history;
mod losses;
mod quota;
mod users;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use entry::{Entry, is_older};
use users::Users;

use super::view::View;
use crate::domain::{Instance, InstanceId, Moment, ObjectKey, Uid};
use crate::lifecycle::{Arrival, Departed, Memory, Policy};

/// Everything known, by key and by departed uid.
#[derive(Debug, Default)]
pub struct Knowledge {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    objects: HashMap<ObjectKey, Entry>,
    /// Of the stored versions.
    users: Users,
    departed: HashMap<Uid, DepartedEntry>,
    /// Whether an object may be short of quota: each deletion asks who is, and hardly ever anybody.
    short_of_quota: bool,
}

/// One object that vanished while an instance may be left.
#[derive(Clone, Debug)]
pub struct DepartedEntry {
    /// What is known of it.
    pub departed: Departed,
    /// The memory of its uid.
    pub memory: Memory,
    /// Whether the watch has told of it, or never will. Until then a live read alone showed that it is gone, and that may be because
    /// the API server's data were restored to before it was made: then nobody has deleted it.
    pub told: bool,
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
    /// The instance that a call of this process showed last, and its revision.
    pub seen: Option<(InstanceId, u64)>,
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
            seen: entry.seen.clone(),
        })
    }

    /// The store's version alone, whatever we wrote since: what a planted bug decides on.
    pub(super) fn stored(&self, key: &ObjectKey) -> Option<Arc<View>> {
        let inner = self.lock();
        Some(Arc::clone(&inner.objects.get(key)?.stored))
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
        // A live read showed that it is gone, and the watch lags: what was known of it stays known.
        if inner.departed.contains_key(&view.object.uid) {
            return Some(inner.predecessor(policy, view));
        }
        let key = view.object.key.clone();
        let departed = match inner.objects.get_mut(&key) {
            // The watch lags behind a live read that showed the next object of this name already.
            Some(entry) if entry.is_of_another(&view) && is_older(&view, entry.newest()) => {
                entry.doubt();
                return Some(inner.predecessor(policy, view));
            }
            Some(entry) if entry.is_of_another(&view) => inner.vanish(policy, &key, true),
            Some(_) | None => None,
        };
        inner.refers(&view);
        inner.entry(&view).store(policy, view, arrival);
        departed
    }

    /// The watch shows that the object of this uid is gone. Gives its uid if it departed, now or before by a live read.
    pub fn vanished(&self, policy: &Policy, key: &ObjectKey, uid: &Uid) -> Option<Uid> {
        let mut inner = self.lock();
        if let Some(entry) = inner.departed.get_mut(uid) {
            entry.told = true;
            return Some(uid.clone());
        }
        inner.vanish_if(policy, key, uid, true)
    }

    /// Uid and newest version known of a key: what a live read is compared with when its answer comes.
    #[must_use]
    pub fn newest(&self, key: &ObjectKey) -> Option<(Uid, String)> {
        let inner = self.lock();
        let object = &inner.objects.get(key)?.newest().object;
        Some((object.uid.clone(), object.version.clone()))
    }

    /// A live read, begun when `before` was the newest known: it stands in for the store, as our own write does, but
    /// is not our own. An answer that the watch has overtaken meanwhile says nothing.
    /// Gives the uid that this shows to have departed, if any.
    pub fn read_live(
        &self,
        policy: &Policy,
        key: &ObjectKey,
        before: Option<&(Uid, String)>,
        view: Option<View>,
        now: Moment,
    ) -> Option<Uid> {
        let mut inner = self.lock();
        let overtaken = inner.objects.get(key).is_some_and(|entry| {
            let object = &entry.newest().object;
            before.is_none_or(|(uid, version)| object.uid != *uid || object.version != *version)
        });
        let Some(view) = view else {
            let (uid, _) = before?;
            return inner.vanish_if(policy, key, uid, false);
        };
        match inner.objects.get_mut(key) {
            Some(entry) if overtaken && is_older(&view, entry.newest()) => None,
            Some(entry) if !entry.is_of_another(&view) => {
                entry.memory.saw(policy, &view.object, Arrival::Seen);
                entry.lay_over(policy, view, now);
                None
            }
            Some(_) => {
                let departed = inner.vanish(policy, key, false);
                inner.insert(policy, view, now);
                departed
            }
            // What is gone from the store while the read was under way is gone.
            None if before.is_some() => None,
            None => {
                inner.insert(policy, view, now);
                None
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
        let inner = &mut *inner;
        if let Some(entry) = inner.objects.get_mut(key)
            && entry.stored.object.uid == *uid
        {
            let result = change(&mut entry.memory);
            inner.short_of_quota |= entry.is_short_of_quota();
            return result;
        }
        match inner.departed.get_mut(uid) {
            Some(entry) => {
                let result = change(&mut entry.memory);
                entry.departed.sign |= entry.memory.sign();
                // The watch showed the end before our removal of the finalizer was answered.
                if entry.memory.released() {
                    inner.departed.remove(uid);
                }
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

    /// A call showed this instance of an object; without a revision nothing can be compared with it.
    pub fn saw_instance(&self, key: &ObjectKey, uid: &Uid, instance: &Instance) {
        let mut inner = self.lock();
        let entry = inner.objects.get_mut(key);
        if let Some(entry) = entry.filter(|entry| entry.stored.object.uid == *uid) {
            entry.seen = instance
                .revision
                .map(|revision| (instance.id.clone(), revision));
        }
    }

    /// Those of the uids that no object bears, present or departed.
    #[must_use]
    pub fn without_object(&self, mut uids: HashSet<Uid>) -> HashSet<Uid> {
        let inner = self.lock();
        for entry in inner.objects.values() {
            uids.remove(&entry.stored.object.uid);
            // A live read may show the next object of the name before the watch does.
            uids.remove(&entry.newest().object.uid);
        }
        uids.retain(|uid| !inner.departed.contains_key(uid));
        uids
    }

    /// A departed uid.
    #[must_use]
    pub fn departed(&self, uid: &Uid) -> Option<DepartedEntry> {
        self.lock().departed.get(uid).cloned()
    }

    /// Our removal of the finalizer was acknowledged; the watch may have told that the object is gone before.
    pub fn finalizer_removed(&self, key: &ObjectKey, uid: &Uid) {
        self.remember(key, uid, Memory::finalizer_removed);
        self.forget_departed(uid);
    }

    /// A departed uid is done with, or its object turned out to be there.
    pub fn forget_departed(&self, uid: &Uid) {
        self.lock().departed.remove(uid);
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
    /// Takes in what a live read showed of a name that nothing is known of.
    fn insert(&mut self, policy: &Policy, view: View, now: Moment) {
        let entry = self.entry(&view);
        entry.memory.saw(policy, &view.object, Arrival::Seen);
        // The store may still deliver older versions: until it is as new, this one stands in for it.
        entry.lay_over(policy, view, now);
    }

    /// The entry of an object, made where there is none. An event of before a live read that showed the object gone
    /// brings it back: the memory of a uid is one, and keeps its signs.
    fn entry(&mut self, view: &View) -> &mut Entry {
        let back = self.departed.remove(&view.object.uid);
        let key = view.object.key.clone();
        if !self.objects.contains_key(&key) {
            self.users.add(view);
        }
        self.objects.entry(key).or_insert_with(|| Entry {
            memory: back.map(|entry| entry.memory).unwrap_or_default(),
            ..Entry::new(view)
        })
    }

    /// An object refers to one ProviderConfig all its life, unless somebody has got round the rule that says so.
    fn refers(&mut self, view: &View) {
        if let Some(entry) = self.objects.get(&view.object.key)
            && entry.stored.object.provider_ref != view.object.provider_ref
        {
            self.users.remove(&entry.stored);
            self.users.add(view);
        }
    }

    /// A version of an object of which a live read showed already that it is gone: nobody here saw how, so it
    /// departed. Should it be there after all, the departed key's own live read finds that out.
    fn predecessor(&mut self, policy: &Policy, view: View) -> Uid {
        let last = view.object;
        let uid = last.uid.clone();
        let before = self.departed.remove(&uid);
        let told = before.as_ref().is_some_and(|entry| entry.told);
        let mut memory = before.map(|entry| entry.memory).unwrap_or_default();
        memory.saw(policy, &last, Arrival::Seen);
        let departed = Departed {
            sign: memory.sign(),
            last,
        };
        let entry = DepartedEntry {
            departed,
            memory,
            told,
        };
        self.departed.insert(uid.clone(), entry);
        uid
    }

    fn vanish_if(
        &mut self,
        policy: &Policy,
        key: &ObjectKey,
        uid: &Uid,
        told: bool,
    ) -> Option<Uid> {
        let entry = self.objects.get(key)?;
        (entry.stored.object.uid == *uid)
            .then(|| self.vanish(policy, key, told))
            .flatten()
    }

    /// Takes the entry out; keeps it as departed where an instance may be left. `told`: by the watch.
    fn vanish(&mut self, policy: &Policy, key: &ObjectKey, told: bool) -> Option<Uid> {
        let mut entry = self.objects.remove(key)?;
        self.users.remove(&entry.stored);
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
        let entry = DepartedEntry {
            departed,
            memory: entry.memory,
            told: told || !entry.watched,
        };
        self.departed.insert(uid.clone(), entry);
        Some(uid)
    }
}

#[cfg(test)]
mod tests;
