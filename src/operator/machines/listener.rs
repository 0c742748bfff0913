//! What the watches on VirtualMachines tell.

use std::sync::atomic::{AtomicBool, Ordering};

use super::Machines;
use crate::api::{ANNOTATION_PREFIX, FINALIZER, VirtualMachine};
use crate::controller::Target;
use crate::controller::kube::view_of;
use crate::domain::{ObjectKey, Uid};
use crate::operator::configs::Configs;
use crate::operator::scopes::FirstList;
use crate::runtime::schedule::Lane;
use crate::runtime::watch::{Event, Listener, Object, Wake, Watched};

/// Takes it to what is known, and to the queue.
pub(super) struct MachineListener {
    machines: Machines,
    configs: Configs,
    /// Whether the version told last is our own write.
    own: AtomicBool,
    /// Whether the list under way shows an older state than was known: what this process remembers of an object is of
    /// a history that is no more, and it begins with it as a new process would.
    went_back: AtomicBool,
    /// The namespace that it watches; `None` for all.
    scope: Option<String>,
    first_list: FirstList,
}

impl MachineListener {
    /// For the watch on one namespace, or on all.
    pub(super) fn new(
        machines: &Machines,
        configs: &Configs,
        scope: Option<String>,
        first_list: FirstList,
    ) -> Self {
        Self {
            machines: machines.clone(),
            configs: configs.clone(),
            own: AtomicBool::new(false),
            went_back: AtomicBool::new(false),
            scope,
            first_list,
        }
    }

    fn arrived(&self, object: &Object<VirtualMachine>, created: bool) {
        let reconciler = &self.machines.reconciler;
        let view = view_of(object, &reconciler.policy().cluster);
        if self.went_back.load(Ordering::Relaxed) {
            reconciler
                .knowledge()
                .forget(&view.object.key, &view.object.uid);
        }
        let own = reconciler
            .knowledge()
            .awaits(&view.object.key, &view.object.version);
        self.own.store(own, Ordering::Relaxed);
        self.follow(reconciler.arrived(view, created));
    }

    fn removed(&self, object: &Object<VirtualMachine>) {
        let reconciler = &self.machines.reconciler;
        self.own.store(false, Ordering::Relaxed);
        let uid = Uid::new(object.meta().uid.as_deref().unwrap_or_default());
        let view = view_of(object, &reconciler.policy().cluster);
        if self.went_back.load(Ordering::Relaxed) {
            let (key, id) = (&view.object.key, &view.object.recorded);
            tracing::warn!(
                namespace = %key.namespace, name = %key.name, %uid,
                id = id.as_ref().map(|recorded| recorded.id.as_str()),
                "object is not in the restored data of the API server; nobody deleted it, so its instance is left alone"
            );
            reconciler.owned().forget(&uid);
            reconciler.knowledge().forget(key, &uid);
        } else {
            self.follow(reconciler.vanished(&object.key(), &uid));
        }
        self.configs.user_went(&view);
    }

    fn follow(&self, target: Option<Target>) {
        if let Some(target) = target {
            self.machines.queue.add(target, Lane::High);
        }
    }
}

impl Listener<VirtualMachine> for MachineListener {
    fn fingerprint(&self, object: &VirtualMachine) -> u64 {
        Watched {
            finalizer: FINALIZER,
            annotation_prefix: ANNOTATION_PREFIX,
            labels: &[],
        }
        .fingerprint(&object.metadata)
    }

    fn on_event(&self, event: Event<VirtualMachine>) {
        let reconciler = &self.machines.reconciler;
        match event {
            Event::Created(object) => self.arrived(&object, true),
            Event::Added(object) => self.arrived(&object, false),
            Event::Changed { new, .. } => self.arrived(&new, false),
            Event::Removed(object) => self.removed(&object),
            Event::ListingAgain => reconciler.knowledge().doubt_overlays(),
            Event::WentBack => self.went_back.store(true, Ordering::Relaxed),
            Event::Listed => {
                let (knowledge, scope) = (reconciler.knowledge(), self.scope.as_deref());
                if self.went_back.swap(false, Ordering::Relaxed) {
                    knowledge.forget_untold(scope);
                } else {
                    knowledge.listed(scope);
                }
                if self.first_list.complete() {
                    self.machines.listed.store(true, Ordering::SeqCst);
                }
            }
        }
    }

    fn wake(&self, key: &ObjectKey, why: Wake) {
        // Our own writes tell us nothing; the pass that made them has said when to look again.
        if self.own.swap(false, Ordering::Relaxed) {
            return;
        }
        let target = Target::Object(key.clone());
        match why {
            Wake::Listed => self.machines.queue.add(target, Lane::Low),
            Wake::Changed => self.machines.queue.cut_short(target),
        }
    }
}
