//! The loop over VirtualMachines, wired: watch → queue → workers.

mod listener;

use std::collections::HashSet;
use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tracing::Span;

use listener::MachineListener;

use super::configs::Configs;
use super::connect::Cloud;
use super::ports::Task;
use super::scopes::{FirstList, Scope};
use super::{CANARY, Parts};
use crate::controller::configs::{ConfigBook, Wakes};
use crate::controller::kube::KubeCluster;
use crate::controller::{ChildIndex, Reconciler, Target};
use crate::domain::{Moment, ObjectKey, Reason, Uid};
use crate::lifecycle::{Losses, Requeue};
use crate::runtime::clock::{Clock, wait_until};
use crate::runtime::failpoint;
use crate::runtime::queue::WorkQueue;
use crate::runtime::schedule::{Job, Lane, Options as Waits, Outcome, Tenant};
use crate::runtime::watch::{Options as Watching, Watch};
use crate::runtime::workers::{Options, Pass, Reconcile, Workers};
use crate::telemetry::health::Checks;

/// The loop's name in metrics.
const NAME: &str = "virtualmachine";
/// A canary that is under way for this much longer than a pass may take says that no worker turns (1 min).
const STUCK_MARGIN: Duration = Duration::from_mins(1);

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
    /// Told the ProviderConfig of which a mass loss is suspected.
    suspected: Arc<OnceLock<Suspected>>,
}

type Finished = Box<dyn Fn(&str) + Send + Sync>;
type Suspected = Box<dyn Fn(ObjectKey) + Send + Sync>;

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
        )
        .telling(Arc::clone(&parts.events));
        Self {
            reconciler: Arc::new(reconciler),
            queue,
            listed: Arc::default(),
            finished: Arc::default(),
            suspected: Arc::default(),
        }
    }

    /// Whom to tell the namespace whenever nothing of an object is left to do. Set once.
    pub(super) fn on_finished(&self, tell: impl Fn(&str) + Send + Sync + 'static) {
        let first = self.finished.set(Box::new(tell)).is_ok();
        debug_assert!(first, "one listener");
    }

    /// Whom to tell of which ProviderConfig a mass loss is suspected. Set once.
    pub(super) fn on_suspected(&self, tell: impl Fn(ObjectKey) + Send + Sync + 'static) {
        let first = self.suspected.set(Box::new(tell)).is_ok();
        debug_assert!(first, "one listener");
    }

    pub(super) fn queue(&self) -> WorkQueue<Target> {
        self.queue.clone()
    }

    /// How many objects show each phase.
    pub(super) fn phases(&self) -> impl Iterator<Item = (Option<crate::api::Phase>, usize)> {
        self.reconciler.knowledge().phases().into_iter()
    }

    /// How many objects were let go of though an instance may be left.
    pub(super) fn orphaned(&self) -> u64 {
        self.reconciler.orphaned()
    }

    /// The watches, as tasks.
    pub(super) fn watches(&self, parts: &Parts, configs: &Configs, ready: &Checks) -> Vec<Task> {
        let scopes = Scope::all(&parts.settings);
        let lists = FirstList::of(scopes.len());
        let watch = |(scope, first_list): (&Scope, FirstList)| -> Task {
            let listener = MachineListener::new(self, configs, scope.name(), first_list);
            let watch = Watch::new(
                scope.api(parts),
                Watching {
                    scope: scope.name(),
                    ..Watching::default()
                },
                listener,
                Arc::clone(&parts.clock),
                fastrand::Rng::new(),
                parts.watches.clone(),
            );
            parts.watches.watch(watch.status());
            scope.awaits(ready, "virtualmachines", watch.status());
            Box::pin(watch.run())
        };
        scopes.iter().zip(lists).map(watch).collect()
    }

    /// Takes up the duties of a leader.
    pub(super) fn start(&self, parts: &Parts) -> Workers<Target> {
        self.reconciler.lead();
        let concurrency = parts.settings.concurrency;
        Workers::start(
            self.queue.clone(),
            Options {
                concurrency,
                pass_limit: parts.settings.pass_limit,
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

    pub(super) fn liveness(&self, live: &Checks, pass_limit: Duration) {
        let (queue, stuck) = (self.queue.clone(), pass_limit + STUCK_MARGIN);
        live.add("workers-turn", move || {
            let age = queue.canary_age();
            if age > stuck {
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
        failpoint::reach("pass");
        let pass = self.reconciler.turn(&job.key, job.failures).await;
        self.follow_up();
        // The watch may have told of the end before; a departed object ends without the watch.
        let departed = matches!(job.key, Target::Departed { .. });
        let ended = pass.action == "remove-finalizer";
        if let Some(tell) = self.finished.get()
            && (ended || departed && pass.requeue == Requeue::OnChange)
        {
            tell(job.key.tenant());
        }
        if let (Target::Object(key), Reason::MassLossSuspected) = (&job.key, pass.reason)
            && let Some(tell) = self.suspected.get()
            && let Some(config) = self.reconciler.knowledge().config_of(key)
        {
            tell(config);
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

    fn losses(&self, key: &ObjectKey) -> Losses {
        let (namespace, name) = (&key.namespace, &key.name);
        self.reconciler.losses(namespace, name, Moment::START)
    }

    fn without_object(&self, uids: HashSet<Uid>) -> Option<HashSet<Uid>> {
        let listed = self.listed.load(Ordering::SeqCst);
        listed.then(|| self.reconciler.knowledge().without_object(uids))
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
    /// Their instances are not as an inventory showed them before. What has come to its end at the provider is told
    /// before more is begun: behind a thousand creates a VM would run unnoticed for as long as they take.
    pub(super) fn wake_owners(&self, uids: &HashSet<Uid>) {
        for key in self.reconciler.knowledge().keys_of(uids) {
            self.queue.hurry(Target::Object(key));
        }
    }

    fn users_of(&self, key: &ObjectKey) -> (Vec<ObjectKey>, Vec<Uid>) {
        self.reconciler
            .knowledge()
            .users_of(&key.namespace, &key.name)
    }
}
