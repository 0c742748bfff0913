//! What an inventory knows: instances of this cluster by id and by owner, and as of when. No clock, no waiting.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::domain::{ClusterId, Instance, InstanceId, InstancePhase, Moment, Owner, OwnerTag, Uid};
use crate::provider::Changes;

/// Instances with this cluster's tags; others are not kept, so that memory is bounded by our own objects.
#[derive(Debug)]
pub(super) struct Index {
    cluster: ClusterId,
    instances: HashMap<InstanceId, Arc<Instance>>,
    of: HashMap<Uid, HashSet<InstanceId>>,
    in_transition: usize,
    /// What is here was so at this moment, or later; `None` before the first complete list.
    as_of: Option<Moment>,
    revision: Option<u64>,
}

/// A list or an answer of the feed is of an earlier revision than one before it: the provider lost its state, and
/// nothing that it said before counts.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Backwards;

impl Index {
    /// An index of nothing.
    pub(super) fn new(cluster: ClusterId) -> Self {
        Self {
            cluster,
            instances: HashMap::new(),
            of: HashMap::new(),
            in_transition: 0,
            as_of: None,
            revision: None,
        }
    }

    /// Whether an instance is one that is kept.
    pub(super) fn keeps(&self, instance: &Instance) -> bool {
        self.owner(instance).is_some()
    }

    /// As of when it is true.
    pub(super) fn as_of(&self) -> Option<Moment> {
        self.as_of
    }

    /// The revision that changes are to be asked after.
    pub(super) fn revision(&self) -> Option<u64> {
        self.revision
    }

    /// How many instances are kept.
    pub(super) fn len(&self) -> usize {
        self.instances.len()
    }

    /// How many of them are on their way to another phase.
    pub(super) fn in_transition(&self) -> usize {
        self.in_transition
    }

    /// The instance of this id, if it is the owner's and the only one that the owner has.
    pub(super) fn only(&self, owner: &Owner, id: &InstanceId) -> Option<&Arc<Instance>> {
        let instance = self.instances.get(id)?;
        let alone = self.of.get(&owner.uid)?.len() == 1;
        (alone && instance.belongs_to(owner)).then_some(instance)
    }

    /// Whether the instance of this id is there and the owner's.
    pub(super) fn has(&self, owner: &Owner, id: &InstanceId) -> bool {
        let instance = self.instances.get(id);
        instance.is_some_and(|instance| instance.belongs_to(owner))
    }

    /// The uids that own instances.
    pub(super) fn owners(&self) -> HashSet<Uid> {
        self.of.keys().cloned().collect()
    }

    /// An owner's instances that are not being deleted.
    pub(super) fn staying(&self, uid: &Uid) -> impl Iterator<Item = &InstanceId> {
        let ids = self.of.get(uid).into_iter().flatten();
        ids.filter(|id| {
            let instance = self.instances.get(*id);
            instance.is_some_and(|one| one.phase != InstancePhase::Deleting)
        })
    }

    /// Takes a complete list that shows the account as it was at `as_of` or later. Gives the owners of whatever is
    /// different, none the first time: nobody was told anything before.
    pub(super) fn replace(
        &mut self,
        list: Vec<Instance>,
        revision: Option<u64>,
        as_of: Moment,
    ) -> Result<HashSet<Uid>, Backwards> {
        if revision < self.revision {
            return Err(Backwards);
        }
        let first = self.as_of.is_none();
        let listed: HashSet<InstanceId> = list.iter().map(|one| one.id.clone()).collect();
        let mut changed = HashSet::new();
        for instance in list {
            self.put(instance, &mut changed);
        }
        let gone: Vec<InstanceId> = self.instances.keys().cloned().collect();
        for id in gone.iter().filter(|id| !listed.contains(id)) {
            changed.extend(self.take(id));
        }
        (self.revision, self.as_of) = (revision, Some(as_of));
        Ok(if first { HashSet::new() } else { changed })
    }

    /// Takes an answer of the feed to "what changed after `since`". Gives the owners of whatever is different.
    pub(super) fn apply(
        &mut self,
        changes: Changes,
        as_of: Moment,
    ) -> Result<HashSet<Uid>, Backwards> {
        if Some(changes.revision) < self.revision {
            return Err(Backwards);
        }
        let mut changed = HashSet::new();
        for id in &changes.deletions {
            changed.extend(self.take(id));
        }
        for instance in changes.upserts {
            self.put(instance, &mut changed);
        }
        (self.revision, self.as_of) = (Some(changes.revision), Some(as_of));
        Ok(changed)
    }

    /// Forgets everything; gives the owners of all that was known.
    pub(super) fn forget(&mut self) -> HashSet<Uid> {
        let empty = Self::new(self.cluster.clone());
        let before = std::mem::replace(self, empty);
        before.of.into_keys().collect()
    }

    fn owner<'a>(&self, instance: &'a Instance) -> Option<&'a OwnerTag> {
        let tag = instance.owner.as_ref();
        tag.filter(|tag| tag.cluster == self.cluster)
    }

    fn put(&mut self, instance: Instance, changed: &mut HashSet<Uid>) {
        let before = self.instances.get(&instance.id);
        if before.is_some_and(|before| **before == instance) {
            return;
        }
        let is_new = before.is_none();
        changed.extend(self.take(&instance.id));
        let Some(uid) = self.owner(&instance).map(|tag| tag.uid.clone()) else {
            return;
        };
        // One that is just being made tells nothing that the answer to its create does not.
        if !(is_new && instance.phase == InstancePhase::Provisioning) {
            changed.insert(uid.clone());
        }
        let ids = self.of.entry(uid).or_default();
        ids.insert(instance.id.clone());
        self.in_transition += usize::from(is_in_transition(&instance.phase));
        self.instances
            .insert(instance.id.clone(), Arc::new(instance));
    }

    /// Takes an instance out; gives its owner.
    fn take(&mut self, id: &InstanceId) -> Option<Uid> {
        let instance = self.instances.remove(id)?;
        self.in_transition -= usize::from(is_in_transition(&instance.phase));
        let uid = self.owner(&instance)?.uid.clone();
        if let Some(ids) = self.of.get_mut(&uid) {
            ids.remove(id);
            if ids.is_empty() {
                self.of.remove(&uid);
            }
        }
        Some(uid)
    }
}

fn is_in_transition(phase: &InstancePhase) -> bool {
    match phase {
        InstancePhase::Provisioning
        | InstancePhase::Starting
        | InstancePhase::Stopping
        | InstancePhase::Resizing
        | InstancePhase::Deleting => true,
        InstancePhase::Running
        | InstancePhase::Stopped
        | InstancePhase::Failed
        | InstancePhase::Other(_) => false,
    }
}

#[cfg(test)]
mod tests;
