//! The watches of the objects that VirtualMachines own: metadata alone, and of our own objects alone.

use std::fmt::Debug;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::{Secret, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::Resource;

use super::Parts;
use super::machines::Machines;
use super::ports::Task;
use super::scopes::{FirstList, Scope};
use crate::api::{MANAGED_BY_LABEL, MANAGER_NAME};
use crate::controller::children::{OwnedKind, OwnerName, Trace};
use crate::domain::ObjectKey;
use crate::lifecycle::ChildKind;
use crate::runtime::watch::{Event, Listener, Object, Options as Watching, Wake, Watch};
use crate::telemetry::health::Checks;

/// The watches, as tasks.
pub(super) fn watches(parts: &Parts, machines: &Machines, ready: &Checks) -> Vec<Task> {
    let mut tasks = Vec::new();
    if parts.settings.watch_secrets {
        let secrets = OwnedKind::Secret;
        tasks.extend(watches_on::<Secret>(parts, machines, ready, secrets));
    } else {
        machines.owned().leave_secrets_unwatched();
    }
    tasks.extend(watches_on::<Service>(
        parts,
        machines,
        ready,
        OwnedKind::Service,
    ));
    let slices = OwnedKind::EndpointSlice;
    tasks.extend(watches_on::<EndpointSlice>(parts, machines, ready, slices));
    tasks
}

fn watches_on<K>(parts: &Parts, machines: &Machines, ready: &Checks, kind: OwnedKind) -> Vec<Task>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + 'static,
{
    let name = match kind {
        OwnedKind::Secret => "owned-secrets",
        OwnedKind::Service => "owned-services",
        OwnedKind::EndpointSlice => "owned-endpointslices",
    };
    let scopes = Scope::all(&parts.settings);
    let lists = FirstList::of(scopes.len());
    let watch = |(scope, first_list): (&Scope, FirstList)| -> Task {
        let options = Watching {
            scope: scope.name(),
            labels: Some(format!("{MANAGED_BY_LABEL}={MANAGER_NAME}")),
            ..Watching::default()
        };
        let listener = ChildListener {
            machines: machines.clone(),
            kind,
            news: Mutex::default(),
            first_list,
        };
        let watch = Watch::<Trace<K>, _>::new(
            scope.api(parts),
            options,
            listener,
            Arc::clone(&parts.clock),
            fastrand::Rng::new(),
            parts.watches.clone(),
        );
        parts.watches.watch(watch.status());
        scope.awaits(ready, name, watch.status());
        Box::pin(watch.run())
    };
    scopes.iter().zip(lists).map(watch).collect()
}

struct ChildListener {
    machines: Machines,
    kind: OwnedKind,
    /// Whom the event told last is news to.
    news: Mutex<Vec<ObjectKey>>,
    first_list: FirstList,
}

impl ChildListener {
    /// Owner and kind of an object of ours; a stranger's that bears our label is none.
    fn child<K: Resource<DynamicType = ()>>(
        &self,
        trace: &Trace<K>,
    ) -> Option<(OwnerName, ChildKind)> {
        let owner = trace.found().owner.clone()?;
        let name = trace.meta().name.as_deref()?;
        let child = self.kind.child(&owner.key.name, name)?;
        Some((owner, child))
    }

    fn arrived<K: Resource<DynamicType = ()>>(
        &self,
        object: &Object<Trace<K>>,
    ) -> Option<ObjectKey> {
        let trace = object.sound()?;
        let (owner, child) = self.child(trace)?;
        let present = trace.found().present.clone();
        let index = self.machines.owned();
        index
            .arrived(&owner.uid, child, present)
            .then_some(owner.key)
    }

    fn vanished<K: Resource<DynamicType = ()>>(
        &self,
        object: &Object<Trace<K>>,
    ) -> Option<ObjectKey> {
        let trace = object.sound()?;
        let (owner, child) = self.child(trace)?;
        let held = &trace.found().present.held;
        self.machines.owned().vanished(&owner.uid, child, held);
        Some(owner.key)
    }

    fn tell(&self, news: impl IntoIterator<Item = ObjectKey>) {
        let mut told = self.news.lock().unwrap_or_else(PoisonError::into_inner);
        told.extend(news);
    }
}

impl<K: Resource<DynamicType = ()> + 'static> Listener<Trace<K>> for ChildListener {
    fn fingerprint(&self, trace: &Trace<K>) -> u64 {
        // Everything but the version: what others add beside our fields is no news.
        let mut hasher = DefaultHasher::new();
        let found = trace.found();
        let present = &found.present;
        (&found.owner, &present.held.uid, &present.mark).hash(&mut hasher);
        (present.intact, present.ports, present.going).hash(&mut hasher);
        hasher.finish()
    }

    fn on_event(&self, event: Event<Trace<K>>) {
        self.news
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
        match event {
            Event::Created(object) | Event::Added(object) => self.tell(self.arrived(&object)),
            Event::Changed { old, new } => {
                let owner = |object: &Object<Trace<K>>| {
                    object.sound().and_then(|trace| trace.found().owner.clone())
                };
                // Given to another owner: its former one lost it.
                if owner(&old) != owner(&new) {
                    self.tell(self.vanished(&old));
                }
                self.tell(self.arrived(&new));
            }
            Event::Removed(object) => self.tell(self.vanished(&object)),
            Event::ListingAgain => {}
            Event::WentBack => self.machines.owned().forget_answers(),
            Event::Listed => {
                if self.first_list.complete() {
                    self.machines.owned().listed(self.kind);
                }
            }
        }
    }

    fn wake(&self, _key: &ObjectKey, why: Wake) {
        let news = std::mem::take(&mut *self.news.lock().unwrap_or_else(PoisonError::into_inner));
        // What stands in the first list is looked at with its owner, which the first list of those wakes.
        if why == Wake::Changed {
            for owner in news {
                self.machines.wake_owner(owner);
            }
        }
    }
}
