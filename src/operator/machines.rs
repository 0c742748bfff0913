//! The loop over VirtualMachines, wired: watch → queue → workers.

use std::collections::HashSet;
use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use kube::Api;
use serde_json::{Value, json};
use tracing::Span;

use super::configs::Configs;
use super::connect::Cloud;
use super::{CANARY, Parts, Task};
use crate::api::{ANNOTATION_PREFIX, FINALIZER, VirtualMachine};
use crate::controller::configs::{ConfigBook, Wakes};
use crate::controller::kube::{KubeCluster, view_of};
use crate::controller::{ChildIndex, Reconciler, Target};
use crate::domain::{ObjectKey, Uid};
use crate::lifecycle::Requeue;
use crate::runtime::clock::{Clock, wait_until};
use crate::runtime::queue::WorkQueue;
use crate::runtime::schedule::{Job, Lane, Options as Waits, Outcome, Tenant, Whereabouts};
use crate::runtime::watch::{Event, Listener, Object, Options as Watching, Wake, Watch, Watched};
use crate::runtime::workers::{Options, Pass, Reconcile, Workers};
use crate::telemetry::health::Checks;

/// The loop's name in metrics.
const NAME: &str = "virtualmachine";
/// Longest pass (5 min): longer than the longest chain of calls in it, so that a slow answer is still seen.
const PASS_LIMIT: Duration = Duration::from_mins(5);
/// A canary that is under way for this long says that no worker turns: longer than a pass may take.
const STUCK: Duration = Duration::from_mins(6);

type Loop = Reconciler<KubeCluster, Arc<ConfigBook<Cloud>>, Arc<dyn Clock>>;

impl Tenant for Target {
    fn tenant(&self) -> &str {
        match self {
            Self::Object(key) => &key.namespace,
            Self::Departed { namespace, .. } => namespace,
        }
    }
}

/// Queue and loop of VirtualMachines.
#[derive(Clone)]
pub(super) struct Machines {
    reconciler: Arc<Loop>,
    queue: WorkQueue<Target>,
    /// Whether the first list is complete.
    listed: Arc<AtomicBool>,
    /// Told the namespace whenever nothing of an object is left to do.
    finished: Arc<OnceLock<Finished>>,
}

type Finished = Box<dyn Fn(&str) + Send + Sync>;

impl Machines {
    pub(super) fn new(parts: &Parts) -> Self {
        let queue = WorkQueue::new(
            Waits::default(),
            fastrand::Rng::new(),
            Arc::clone(&parts.clock),
            parts.queues.observer(NAME),
        );
        parts.queues.watch(NAME, &queue);
        let reconciler = Reconciler::new(
            parts.cluster.clone(),
            Arc::clone(&parts.book),
            Arc::clone(&parts.clock),
            parts.policy.clone(),
        );
        Self {
            reconciler: Arc::new(reconciler),
            queue,
            listed: Arc::default(),
            finished: Arc::default(),
        }
    }

    /// Whom to tell the namespace whenever nothing of an object is left to do. Set once.
    pub(super) fn on_finished(&self, tell: impl Fn(&str) + Send + Sync + 'static) {
        let first = self.finished.set(Box::new(tell)).is_ok();
        debug_assert!(first, "one listener");
    }

    pub(super) fn queue(&self) -> WorkQueue<Target> {
        self.queue.clone()
    }

    /// How many objects show each phase.
    pub(super) fn phases(&self) -> impl Iterator<Item = (Option<crate::api::Phase>, usize)> {
        self.reconciler.knowledge().phases().into_iter()
    }

    /// The watch, as a task.
    pub(super) fn watches(&self, parts: &Parts, configs: &Configs, ready: &Checks) -> Vec<Task> {
        let listener = MachineListener {
            machines: self.clone(),
            configs: configs.clone(),
            own: AtomicBool::new(false),
        };
        let watch = Watch::new(
            Api::all(parts.client.clone()),
            Watching::default(),
            listener,
            Arc::clone(&parts.clock),
            fastrand::Rng::new(),
            parts.watches.clone(),
        );
        let status = watch.status();
        parts.watches.watch(Arc::clone(&status));
        ready.add("virtualmachines-listed", move || {
            status
                .is_listed()
                .then_some(())
                .ok_or_else(|| "not yet".to_owned())
        });
        vec![Box::pin(watch.run())]
    }

    /// Takes up the duties of a leader.
    pub(super) fn start(&self, parts: &Parts) -> Workers<Target> {
        self.reconciler.lead();
        let concurrency = parts.settings.concurrency;
        Workers::start(
            self.queue.clone(),
            Options {
                concurrency,
                pass_limit: PASS_LIMIT,
            },
            Arc::new(self.clone()),
            Arc::clone(&parts.clock),
            parts.passes.observer(NAME, concurrency),
        )
    }

    /// Sends canaries for ever.
    pub(super) async fn canaries(&self, parts: &Parts) -> Infallible {
        loop {
            self.queue.send_canary();
            wait_until(parts.clock.as_ref(), parts.clock.now() + CANARY).await;
        }
    }

    pub(super) fn liveness(&self, live: &Checks) {
        let queue = self.queue.clone();
        live.add("workers-turn", move || {
            let age = queue.canary_age();
            if age > STUCK {
                Err(format!("no worker has taken a key for {} s", age.as_secs()))
            } else {
                Ok(())
            }
        });
    }

    /// Which owned objects are there.
    pub(super) fn owned(&self) -> &ChildIndex {
        self.reconciler.owned()
    }

    /// An owned object is not as it was; its owner may be gone.
    pub(super) fn wake_owner(&self, owner: ObjectKey) {
        if self.reconciler.knowledge().newest(&owner).is_some() {
            self.queue.cut_short(Target::Object(owner));
        }
    }

    /// An instance has gone: whoever has waited longest for a place in this namespace's accounts tries again.
    fn use_freed_quota(&self, namespace: &str) {
        let knowledge = self.reconciler.knowledge();
        if let Some(key) = knowledge.longest_short_of_quota(namespace) {
            self.queue.retry_early(Target::Object(key), Lane::High);
        }
    }

    fn follow_up(&self) {
        for target in self.reconciler.follow_ups() {
            self.queue.add(target, Lane::High);
        }
    }
}

impl Reconcile<Target> for Machines {
    fn span(&self, job: &Job<Target>, pass: u64) -> Span {
        match &job.key {
            Target::Object(key) => tracing::info_span!(
                "pass", namespace = %key.namespace, name = %key.name, pass,
                id = tracing::field::Empty
            ),
            Target::Departed { namespace, uid } => {
                tracing::info_span!("pass", %namespace, %uid, pass, id = tracing::field::Empty)
            }
        }
    }

    async fn reconcile(&self, job: &Job<Target>) -> Pass {
        let pass = self.reconciler.reconcile(&job.key).await;
        self.follow_up();
        // The watch may have told of the end before; a departed object ends without the watch.
        let departed = matches!(job.key, Target::Departed { .. });
        let ended = pass.action == "remove-finalizer";
        if let Some(tell) = self.finished.get()
            && (ended || departed && pass.requeue == Requeue::OnChange)
        {
            tell(job.key.tenant());
        }
        if ended || departed {
            self.use_freed_quota(job.key.tenant());
        }
        if let Some(id) = &pass.id {
            Span::current().record("id", id);
        }
        Pass {
            outcome: outcome(pass.requeue),
            summary: format!("{}: {}", pass.action, pass.reason),
            changed: !matches!(pass.action, "hold" | "none"),
        }
    }
}

/// When the queue is to hand the key out again.
pub(super) fn outcome(requeue: Requeue) -> Outcome {
    match requeue {
        Requeue::Now => Outcome::Again(Duration::ZERO),
        Requeue::After(wait) => Outcome::Again(wait),
        Requeue::Steady(wait) => Outcome::Resync(wait),
        Requeue::Retry(at_least) => Outcome::Failed { at_least },
        Requeue::OnChange => Outcome::Settled,
    }
}

impl Wakes for Machines {
    fn users(&self, key: &ObjectKey) -> Option<usize> {
        let (keys, uids) = self.users_of(key);
        let listed = self.listed.load(Ordering::SeqCst);
        listed.then_some(keys.len() + uids.len())
    }

    fn departed(&self, key: &ObjectKey) -> usize {
        self.users_of(key).1.len()
    }

    fn changed(&self, key: &ObjectKey) {
        let knowledge = self.reconciler.knowledge();
        knowledge.config_changed(&key.namespace, &key.name);
    }

    fn wake(&self, key: &ObjectKey) {
        let (keys, uids) = self.users_of(key);
        // Whoever waits after a failure may have failed for what has just been repaired.
        for key in keys {
            self.queue.retry_early(Target::Object(key), Lane::Low);
        }
        for uid in uids {
            let namespace = Arc::clone(&key.namespace);
            self.queue
                .retry_early(Target::Departed { namespace, uid }, Lane::Low);
        }
    }
}

impl Machines {
    /// Their instances are not as an inventory showed them before.
    pub(super) fn wake_owners(&self, uids: &HashSet<Uid>) {
        for key in self.reconciler.knowledge().keys_of(uids) {
            self.queue.cut_short(Target::Object(key));
        }
    }

    fn users_of(&self, key: &ObjectKey) -> (Vec<ObjectKey>, Vec<Uid>) {
        self.reconciler
            .knowledge()
            .users_of(&key.namespace, &key.name)
    }
}

/// What the watch tells.
struct MachineListener {
    machines: Machines,
    configs: Configs,
    /// Whether the version told last is our own write.
    own: AtomicBool,
}

impl MachineListener {
    fn arrived(&self, object: &Object<VirtualMachine>, created: bool) {
        let reconciler = &self.machines.reconciler;
        let view = view_of(object, &reconciler.policy().cluster);
        let own = reconciler
            .knowledge()
            .awaits(&view.object.key, &view.object.version);
        self.own.store(own, Ordering::Relaxed);
        self.follow(reconciler.arrived(view, created));
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
            Event::Removed(object) => {
                self.own.store(false, Ordering::Relaxed);
                let uid = Uid::new(object.meta().uid.as_deref().unwrap_or_default());
                let view = view_of(&object, &reconciler.policy().cluster);
                self.follow(reconciler.vanished(&object.key(), &uid));
                self.configs.user_went(&view);
            }
            Event::ListingAgain => reconciler.knowledge().doubt_overlays(),
            Event::Listed => self.machines.listed.store(true, Ordering::SeqCst),
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

/// The queue for the debug page.
pub(super) fn snapshot(queue: &WorkQueue<Target>) -> Value {
    let lines = queue.snapshot();
    let line = |line: &crate::runtime::schedule::Line<Target>| {
        let (state, seconds) = match line.whereabouts {
            Whereabouts::Ready(age) => ("ready", age.as_secs_f64()),
            Whereabouts::Delayed(left, _) => ("delayed", left.as_secs_f64()),
            Whereabouts::Running(age) => ("running", age.as_secs_f64()),
        };
        let key = match &line.key {
            Target::Object(key) => key.to_string(),
            Target::Departed { namespace, uid } => format!("{namespace}/departed:{uid}"),
        };
        json!({ "key": key, "state": state, "seconds": seconds, "failures": line.failures })
    };
    Value::Array(lines.iter().map(line).collect())
}
