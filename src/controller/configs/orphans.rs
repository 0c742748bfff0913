//! The sweep: looks for instances without an object, one round in each pass over a usable ProviderConfig. Reports, and
//! touches nothing.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::pass::ConfigReconciler;
use super::resolve::Connect;
use crate::api::ProviderConfig;
use crate::domain::{InstanceId, ObjectKey};
use crate::lifecycle::orphans::Suspects;

/// What sweeps found, by ProviderConfig.
#[derive(Debug, Default)]
pub struct Orphans {
    of: Mutex<HashMap<ObjectKey, Suspects>>,
}

impl Orphans {
    fn lock(&self) -> MutexGuard<'_, HashMap<ObjectKey, Suspects>> {
        self.of.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All orphans that are known now.
    #[must_use]
    pub fn total(&self) -> usize {
        let of = self.lock();
        of.values().map(|one| one.orphans().count()).sum()
    }

    /// The ProviderConfig is gone.
    pub(super) fn forget(&self, key: &ObjectKey) {
        self.lock().remove(key);
    }

    pub(in crate::controller) fn of(&self, key: &ObjectKey) -> Vec<InstanceId> {
        let of = self.lock();
        let suspects = of.get(key);
        suspects
            .map(|one| one.orphans().cloned().collect())
            .unwrap_or_default()
    }

    /// The number for the status, where it shows `old` now. None is shown where there never was one: a provider
    /// without orphans costs no write.
    pub(in crate::controller) fn shown(&self, key: &ObjectKey, old: Option<u32>) -> Option<u32> {
        let of = self.lock();
        let Some(suspects) = of.get(key) else {
            return old;
        };
        let count = suspects.count(old);
        (count > 0 || old.is_some()).then_some(count)
    }
}

impl<N: Connect> ConfigReconciler<N> {
    /// One round of the sweep, where there is a complete and fresh picture of both sides: the provider's first, the
    /// cluster's second, so that whatever was made meanwhile has its object already.
    pub(in crate::controller) async fn sweep(&self, key: &ObjectKey, config: &ProviderConfig) {
        let Some((inventory, _)) = self.book.followed(key) else {
            return;
        };
        let Some((as_of, owners)) = inventory.owners(self.clock.now()) else {
            return;
        };
        let Some(strangers) = self.wakes.without_object(owners) else {
            return;
        };
        let shown = inventory.instances_of(&strangers);
        let grace = Duration::from_secs(u64::from(config.spec.orphans.min_age_seconds));
        let ripe = {
            let mut of = self.orphans.lock();
            let suspects = of.entry(key.clone()).or_default();
            suspects.look(as_of, shown);
            suspects.ripe(grace)
        };
        if ripe.is_empty() {
            return;
        }
        let dead = match self.cluster.without_object(ripe).await {
            Ok(dead) => dead,
            Err(error) => {
                tracing::warn!(%error, "cannot list VirtualMachines to look for instances without one");
                return;
            }
        };
        let mut of = self.orphans.lock();
        let found = of.get_mut(key).map(|suspects| suspects.confirm(&dead));
        for id in found.into_iter().flatten() {
            tracing::warn!(%id, "instance without an object at the provider");
        }
    }
}
