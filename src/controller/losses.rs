//! Whether the instances that objects know of are where they should be, counted for each ProviderConfig.

use super::observe::Sight;
use super::{Clouds, Cluster, Reconciler};
use crate::domain::{Moment, Owner};
use crate::lifecycle::{Current, Losses, Sureness};
use crate::runtime::clock::Clock;

impl<C: Cluster, B: Clouds, T: Clock> Reconciler<C, B, T> {
    /// How many VMs of a ProviderConfig are missing, by looks and, where none was made since then, by its inventory.
    pub fn losses(&self, namespace: &str, config: &str, since: Moment) -> Losses {
        let (mut losses, unlooked) = self.knowledge.losses(namespace, config, since);
        let Some(inventory) = self.clouds.inventory(namespace, config) else {
            return losses;
        };
        losses.doubted = inventory.went_back();
        for (uid, id) in unlooked {
            let owner = Owner {
                cluster: self.policy.cluster.clone(),
                uid,
            };
            let shown = inventory.shows(&owner, &id, since);
            losses.unlooked -= usize::from(shown.is_some());
            losses.missing += usize::from(shown == Some(false));
        }
        losses
    }

    /// Takes note of what a look came to. Only a live object's own instance can be missing.
    pub(super) fn note_presence(&self, sight: &Sight<B::Cloud>, (began, ended): (Moment, Moment)) {
        let object = &sight.view.object;
        let known = object.known().is_some() && !object.deleting;
        let (key, uid) = (sight.key(), sight.uid());
        self.knowledge.remember(key, uid, |memory| {
            let presence = memory.presence_mut();
            match &sight.sighting.current {
                Current::Present(_) | Current::Unproven(_) => presence.is_there(began),
                Current::Absent(_) if known => presence.is_missing((began, ended)),
                Current::Unasked | Current::Absent(_) | Current::Unknown(_) => {}
            }
        });
    }

    /// Counts the losses of the ProviderConfig where this object's instance is one.
    pub(super) fn count_losses(&self, sight: &mut Sight<B::Cloud>) {
        let lost = sight.sighting.current == Current::Absent(Sureness::Confirmed)
            && sight.view.object.known().is_some()
            && !sight.view.object.deleting;
        let (key, uid) = (sight.key().clone(), sight.uid().clone());
        let Ok(config) = &mut sight.config else {
            return;
        };
        if lost {
            let since = self
                .knowledge
                .remember(&key, &uid, |memory| memory.presence().missing());
            let since = since.unwrap_or(sight.now);
            let name = &sight.view.object.provider_ref;
            config.losses = self.losses(&key.namespace, name, since);
        }
    }
}
