//! Where cluster, cloud and core meet: observe → decide → apply → report → record.

mod apply;
pub mod children;
pub mod clouds;
pub mod cluster;
pub mod configs;
pub mod events;
pub mod knowledge;
pub mod kube;
mod losses;
mod observe;
mod patch;
mod record;
mod told;
pub mod view;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

pub use children::{ChildIndex, Found};
pub use clouds::Clouds;
pub use cluster::{Cluster, ClusterError, Guard};
pub use events::EventSink;
pub use knowledge::Knowledge;
pub use view::{Fragment, View};

use crate::domain::{ObjectKey, Reason, Uid};
use crate::lifecycle::{Arrival, Policy, Requeue, decide, decide_departed, report};
use crate::provider::Turn;
use crate::runtime::clock::Clock;

/// What the queue holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Target {
    /// A VirtualMachine by its name.
    Object(ObjectKey),
    /// An object that vanished while an instance may be left, by its uid.
    Departed {
        /// The namespace that it was in: its share of the queue.
        namespace: Arc<str>,
        /// Its uid.
        uid: Uid,
    },
}

/// What a pass came to, for the log line and the metrics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pass {
    /// When to look again.
    pub requeue: Requeue,
    /// Short word of the effect.
    pub action: &'static str,
    /// Why.
    pub reason: Reason,
    /// The instance, once known.
    pub id: Option<String>,
}

/// What the passes of one turn hand on.
#[derive(Debug, Default)]
struct Hand {
    /// How many passes of the target failed in a row before this turn.
    failures: u32,
    /// The turn at the provider, from the wait for it until the create.
    place: Option<Turn>,
}

/// The loop over VirtualMachines.
#[derive(Debug)]
pub struct Reconciler<C, B, T> {
    cluster: C,
    clouds: B,
    time: T,
    policy: Policy,
    knowledge: Knowledge,
    owned: ChildIndex,
    leading: AtomicBool,
    follow_ups: Mutex<Vec<Target>>,
    events: Arc<dyn EventSink>,
    orphaned: AtomicU64,
}

impl<C: Cluster, B: Clouds, T: Clock> Reconciler<C, B, T> {
    /// A loop that knows nothing yet.
    pub fn new(cluster: C, clouds: B, time: T, policy: Policy) -> Self {
        Self {
            cluster,
            clouds,
            time,
            policy,
            knowledge: Knowledge::default(),
            owned: ChildIndex::default(),
            leading: AtomicBool::new(false),
            follow_ups: Mutex::default(),
            events: Arc::new(()),
            orphaned: AtomicU64::new(0),
        }
    }

    /// The same, telling its events to somebody.
    #[must_use]
    pub fn telling(mut self, events: Arc<dyn EventSink>) -> Self {
        self.events = events;
        self
    }

    /// A pass, and those that follow it at once. A create may follow the write before it: that write licenses the create
    /// for a few seconds alone, and behind the passes of a thousand other objects they would be over each time. The looks
    /// of a deletion follow it where they need not wait: then nothing has to be told in between. What a VM owns is written
    /// together: one after the other behind the creates of a burst, a VM that runs would be told late by three times that.
    /// `failures`: how many passes of this target failed in a row before, as the queue counts them.
    ///
    /// Cancelling: as for [`Reconciler::reconcile`].
    pub async fn turn(&self, target: &Target, failures: u32) -> Pass {
        let mut hand = Hand {
            failures,
            place: None,
        };
        let mut pass = self.pass(target, &mut hand).await;
        for _ in 0..FOLLOWED {
            if !pass.goes_on() {
                break;
            }
            pass = pass.followed_by(self.pass(target, &mut hand).await);
        }
        pass
    }

    /// One pass over one target: at most one effect, then look again.
    ///
    /// Cancelling it leaves at most one write in doubt, as a crash would; the next pass finds out.
    pub async fn reconcile(&self, target: &Target) -> Pass {
        self.pass(target, &mut Hand::default()).await
    }

    async fn pass(&self, target: &Target, hand: &mut Hand) -> Pass {
        match target {
            Target::Object(key) => self.reconcile_object(key, hand).await,
            Target::Departed { uid, .. } => self.reconcile_departed(uid).await,
        }
    }

    async fn reconcile_object(&self, key: &ObjectKey, hand: &mut Hand) -> Pass {
        let mut sight = match self.observe(key, hand.failures).await {
            Ok(Some(sight)) => sight,
            Ok(None) => return Pass::nothing_there(),
            Err(error) => {
                tracing::warn!(namespace = %key.namespace, name = %key.name, %error, "cannot read the object");
                return Pass::unseen();
            }
        };
        let mut plan = decide(&self.policy, &sight.observed());
        let waits = match self.line_up(&sight, &plan, hand).await {
            Ok(false) => None,
            // Time has passed, so the licence may be over: with the turn in hand it can be renewed at once.
            Ok(true) => {
                sight = self.refresh(sight);
                plan = decide(&self.policy, &sight.observed());
                None
            }
            Err(error) => {
                plan.action = plan.action.waiting(sight.view.object.deleting);
                Some(self.call_failed(sight.key(), sight.uid(), error))
            }
        };
        let outcome = match waits {
            Some(outcome) => outcome,
            None => self.apply(&sight, &plan, hand).await,
        };
        let sight = self.refresh(sight);
        let old = &sight.view.status;
        let report = report(&self.policy, &sight.observed(), old, &plan, &outcome);
        self.record(&sight, &plan, &outcome, report).await
    }

    async fn reconcile_departed(&self, uid: &Uid) -> Pass {
        let Some(sight) = self.observe_departed(uid).await else {
            return Pass::nothing_there();
        };
        let (config, now) = (&sight.config, sight.now);
        let plan = decide_departed(&self.policy, &sight.departed, config, &sight.sighting, now);
        self.apply_departed(&sight, &plan).await
    }

    /// The watch delivered a version: to be called for every one, in order, before its key is queued.
    /// Gives the departed target that this shows, if any, to be queued as well.
    pub fn arrived(&self, view: View, added: bool) -> Option<Target> {
        let arrival = if added && self.leading() {
            Arrival::Added
        } else {
            Arrival::Seen
        };
        let namespace = Arc::clone(&view.object.key.namespace);
        let departed = self.knowledge.arrived(&self.policy, view, arrival);
        self.departs(namespace, departed)
    }

    /// The watch says that an object is gone.
    pub fn vanished(&self, key: &ObjectKey, uid: &Uid) -> Option<Target> {
        self.owned.forget(uid);
        let departed = self.knowledge.vanished(&self.policy, key, uid);
        self.departs(Arc::clone(&key.namespace), departed)
    }

    /// Only a leader keeps departed keys: a follower has no duties, and would keep them for ever.
    fn departs(&self, namespace: Arc<str>, uid: Option<Uid>) -> Option<Target> {
        let uid = uid?;
        if !self.leading() {
            self.knowledge.forget_departed(&uid);
            return None;
        }
        Some(Target::Departed { namespace, uid })
    }

    /// Targets that passes discovered since the last call; the caller queues them.
    pub fn follow_ups(&self) -> Vec<Target> {
        let mut list = self
            .follow_ups
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut list)
    }

    fn follow(&self, target: Target) {
        let mut list = self
            .follow_ups
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        list.push(target);
    }

    /// From now on this process leads, until it ends.
    pub fn lead(&self) {
        self.leading.store(true, Ordering::SeqCst);
    }

    /// Whether this process leads.
    pub fn leading(&self) -> bool {
        self.leading.load(Ordering::SeqCst)
    }

    /// How many objects this process let go though an instance may be left: as their users asked, or in doubt where the
    /// provider cannot be asked.
    pub fn orphaned(&self) -> u64 {
        self.orphaned.load(Ordering::Relaxed)
    }

    /// What is known of all objects.
    pub fn knowledge(&self) -> &Knowledge {
        &self.knowledge
    }

    /// Which owned objects are there.
    pub fn owned(&self) -> &ChildIndex {
        &self.owned
    }

    /// The numbers that decisions depend on.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Where clouds come from.
    pub fn clouds(&self) -> &B {
        &self.clouds
    }
}

impl Pass {
    /// The object is there, but which version is the newest cannot be told: the back-off brings the next try.
    fn unseen() -> Self {
        Self {
            requeue: Requeue::Retry(None),
            action: "none",
            reason: Reason::Pending,
            id: None,
        }
    }

    /// Whether the next step belongs to the same turn.
    fn goes_on(&self) -> bool {
        let step = match self.action {
            "intend" | "note-attempt" | "delete" | "apply-child" | "delete-child" => true,
            "hold" => self.reason == Reason::Deleting,
            _other => false,
        };
        step && self.requeue.is_at_once()
    }

    /// This and the next pass as one turn. A look that follows the write of an owned object changes nothing by itself:
    /// the write is what the turn is told as.
    fn followed_by(self, next: Self) -> Self {
        match (self.action, next.action) {
            ("apply-child" | "delete-child", "hold") => Self {
                action: self.action,
                ..next
            },
            _others => next,
        }
    }

    fn nothing_there() -> Self {
        Self {
            requeue: Requeue::OnChange,
            action: "none",
            reason: Reason::Deleting,
            id: None,
        }
    }
}

/// How soon to look again after a write met a newer version (100 ms): the live read has been made by then, and a
/// tool that edits the object in a loop must not make us spin.
const AFTER_CONFLICT: Duration = Duration::from_millis(100);

/// Passes that may follow one in its turn: an intent, whose licence ran out while the create waited for its turn at the
/// provider, then the note of an attempt, then the create; a deletion, then two looks; the owned objects, of which there
/// are four at most, then the look that tells the status.
const FOLLOWED: u32 = 4;

#[cfg(test)]
mod tests;
