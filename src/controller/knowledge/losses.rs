//! What is known of all VMs of one ProviderConfig: how many are missing.

use std::sync::Arc;

use super::Knowledge;
use crate::domain::{InstanceId, Moment, ObjectKey, Uid};
use crate::lifecycle::{IntentState, Losses};

impl Knowledge {
    /// How many VMs of a ProviderConfig there are with a known instance, how many of those are missing, and which were
    /// not looked at since then. What is going, paused or another operator's does not count: nobody looks at it.
    #[must_use]
    pub fn losses(
        &self,
        namespace: &str,
        config: &str,
        since: Moment,
    ) -> (Losses, Vec<(Uid, InstanceId)>) {
        let (mut losses, mut unlooked) = (Losses::default(), Vec::new());
        let inner = self.lock();
        let users = inner.users.of(namespace, config);
        for entry in users.filter_map(|key| inner.objects.get(key)) {
            let object = &entry.newest().object;
            let held = matches!(object.intent, IntentState::OtherCluster(_));
            let Some(recorded) = object.known() else {
                continue;
            };
            if object.deleting || object.paused || held {
                continue;
            }
            losses.users += 1;
            let presence = entry.memory.presence();
            if presence.missing().is_some() {
                losses.missing += 1;
            } else if presence.looked().is_none_or(|looked| looked <= since) {
                losses.unlooked += 1;
                unlooked.push((object.uid.clone(), recorded.id.clone()));
            }
        }
        (losses, unlooked)
    }

    /// The ProviderConfig that an object refers to.
    #[must_use]
    pub fn config_of(&self, key: &ObjectKey) -> Option<ObjectKey> {
        let inner = self.lock();
        let object = &inner.objects.get(key)?.newest().object;
        let namespace = Arc::clone(&object.key.namespace);
        Some(ObjectKey::new(namespace, object.provider_ref.as_str()))
    }
}
