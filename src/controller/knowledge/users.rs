//! Which objects refer to a ProviderConfig, and which one bears a uid: indices, because every change of a ProviderConfig, and
//! each of an instance that an inventory shows, asks for it.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::Knowledge;
use crate::controller::view::View;
use crate::domain::{ObjectKey, Uid};

/// Names of VirtualMachines by their ProviderConfig, and by their uid.
#[derive(Debug, Default)]
pub(super) struct Users {
    by_config: HashMap<ObjectKey, BTreeSet<ObjectKey>>,
    by_uid: HashMap<Uid, ObjectKey>,
}

impl Users {
    /// The object of this version is there.
    pub(super) fn add(&mut self, view: &View) {
        let (key, uid) = (view.object.key.clone(), view.object.uid.clone());
        let users = self.by_config.entry(config_of(view)).or_default();
        users.insert(key.clone());
        self.by_uid.insert(uid, key);
    }

    /// The object of this version is gone, or refers to another one from now on.
    pub(super) fn remove(&mut self, view: &View) {
        self.by_uid.remove(&view.object.uid);
        let config = config_of(view);
        if let Some(users) = self.by_config.get_mut(&config) {
            users.remove(&view.object.key);
            if users.is_empty() {
                self.by_config.remove(&config);
            }
        }
    }

    /// Whoever refers to it, in the order of names.
    pub(super) fn of(&self, namespace: &str, config: &str) -> impl Iterator<Item = &ObjectKey> {
        let users = self.by_config.get(&ObjectKey::new(namespace, config));
        users.into_iter().flatten()
    }

    /// Whether nothing is remembered.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.by_config.is_empty() && self.by_uid.is_empty()
    }
}

impl Knowledge {
    /// The names of the objects with these uids: as many steps as there are uids, whatever else there is.
    #[must_use]
    pub fn keys_of(&self, uids: &HashSet<Uid>) -> Vec<ObjectKey> {
        let by_uid = &self.lock().users.by_uid;
        uids.iter()
            .filter_map(|uid| by_uid.get(uid))
            .cloned()
            .collect()
    }

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
