//! Which objects refer to a ProviderConfig: an index, because every change of one asks for it.

use std::collections::{BTreeSet, HashMap};

use super::Knowledge;
use crate::controller::view::View;
use crate::domain::{ObjectKey, Uid};

/// Names of VirtualMachines by their ProviderConfig.
#[derive(Debug, Default)]
pub(super) struct Users(HashMap<ObjectKey, BTreeSet<ObjectKey>>);

impl Users {
    /// The object of this version is there.
    pub(super) fn add(&mut self, view: &View) {
        let key = view.object.key.clone();
        self.0.entry(config_of(view)).or_default().insert(key);
    }

    /// The object of this version is gone, or refers to another one from now on.
    pub(super) fn remove(&mut self, view: &View) {
        let config = config_of(view);
        if let Some(users) = self.0.get_mut(&config) {
            users.remove(&view.object.key);
            if users.is_empty() {
                self.0.remove(&config);
            }
        }
    }

    /// Whoever refers to it, in the order of names.
    pub(super) fn of(&self, namespace: &str, config: &str) -> impl Iterator<Item = &ObjectKey> {
        let users = self.0.get(&ObjectKey::new(namespace, config));
        users.into_iter().flatten()
    }

    /// Whether nothing is remembered.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Knowledge {
    /// Names of the VirtualMachines that refer to a ProviderConfig, and the departed uids that still need it.
    #[must_use]
    pub fn users_of(&self, namespace: &str, config: &str) -> (Vec<ObjectKey>, Vec<Uid>) {
        let inner = self.lock();
        let keys = inner.users.of(namespace, config).cloned().collect();
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

    /// A ProviderConfig changed: what was refused under it for good may be tried once more.
    pub fn config_changed(&self, namespace: &str, config: &str) {
        let inner = &mut *self.lock();
        for key in inner.users.of(namespace, config) {
            if let Some(entry) = inner.objects.get_mut(key) {
                entry.memory.config_changed();
            }
        }
    }
}

fn config_of(view: &View) -> ObjectKey {
    let object = &view.object;
    let namespace = std::sync::Arc::clone(&object.key.namespace);
    ObjectKey::new(namespace, object.provider_ref.as_str())
}
