//! What happens to an object that arrives: pruned, stored, told.

use super::object::{Arrival, Object, broken_fingerprint};
use super::{Event, Listener, Wake, Watch};
use crate::domain::key::ObjectKey;
use kube::Resource;
use serde::de::DeserializeOwned;
use std::fmt::Debug;

impl<K, L> Watch<K, L>
where
    K: Resource + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    K::DynamicType: Default,
    L: Listener<K>,
{
    pub(super) fn end_list(&mut self) {
        for (key, object) in self.writer.end_list() {
            self.listener.on_event(Event::Removed(object));
            self.listener.wake(&key, Wake::Changed);
        }
        self.went_back = false;
        self.status.list_done(self.clock.now());
        self.listener.on_event(Event::Listed);
        if self.writer.mark_listed() {
            tracing::info!(
                kind = self.status.kind(),
                objects = self.writer.store().len(),
                "first list complete"
            );
        }
    }

    pub(super) fn apply(&mut self, key: ObjectKey, arrival: Arrival<K>, created: bool) {
        let added = if created {
            Event::Created
        } else {
            Event::Added
        };
        let new = self.pruned(arrival);
        if !self.keeps(&new) {
            self.let_go(&key, new);
            return;
        }
        let first_list = !self.writer.store().is_listed();
        let Some(old) = self.writer.insert(key.clone(), new.clone()) else {
            self.listener.on_event(added(new));
            self.listener.wake(
                &key,
                if first_list {
                    Wake::Listed
                } else {
                    Wake::Changed
                },
            );
            return;
        };
        let same_uid = old.meta().uid == new.meta().uid;
        let same_version = old.meta().resource_version == new.meta().resource_version;
        if same_uid && same_version && !self.went_back {
            // A list that tells what we know already.
            return;
        }
        let woken = !same_uid || self.went_back || self.fingerprint(&old) != self.fingerprint(&new);
        if same_uid {
            self.listener.on_event(Event::Changed { old, new });
        } else {
            // Deleted and made again in a gap of the watch.
            self.listener.on_event(Event::Removed(old));
            self.listener.on_event(added(new));
        }
        if woken {
            self.listener.wake(&key, Wake::Changed);
        }
    }

    pub(super) fn remove(&mut self, arrival: Arrival<K>) {
        let last = self.pruned(arrival);
        let key = last.key();
        // The event's object is the newest version; what the store held may be older.
        let known = self.writer.remove(&key);
        if known.is_some() {
            self.listener.on_event(Event::Removed(last));
            self.listener.wake(&key, Wake::Changed);
        } else if self.dropped && self.keeps(&last) {
            // It concerned nobody when it was last told of; now somebody may wait for it.
            self.listener.wake(&key, Wake::Changed);
        }
    }

    fn keeps(&self, object: &Object<K>) -> bool {
        match object {
            Object::Sound(object) => self.listener.keeps(object),
            Object::Broken(_) => true,
        }
    }

    /// It does not concern anybody any more, or never did.
    fn let_go(&mut self, key: &ObjectKey, last: Object<K>) {
        self.dropped = true;
        if self.writer.remove(key).is_some() {
            self.listener.on_event(Event::Removed(last));
            self.listener.wake(key, Wake::Changed);
        }
    }

    pub(super) fn pruned(&self, mut arrival: Arrival<K>) -> Object<K> {
        let meta = arrival.meta_mut();
        meta.managed_fields = None;
        if let Some(annotations) = &mut meta.annotations {
            annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
        }
        match &mut arrival {
            Arrival::Sound(object) => self.listener.prune(object),
            Arrival::Broken(broken) => {
                let (namespace, name) = (
                    broken.metadata.namespace.as_deref(),
                    broken.metadata.name.as_deref(),
                );
                let (kind, error) = (self.status.kind(), &broken.error);
                tracing::warn!(
                    kind,
                    namespace,
                    name,
                    error,
                    "object does not fit this version of the operator"
                );
                self.observer.broken(kind);
            }
        }
        arrival.into_object()
    }

    pub(super) fn fingerprint(&self, object: &Object<K>) -> (bool, u64) {
        match object {
            Object::Sound(object) => (true, self.listener.fingerprint(object)),
            Object::Broken(object) => (false, broken_fingerprint(&object.metadata)),
        }
    }
}
