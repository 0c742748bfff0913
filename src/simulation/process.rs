//! One process of the operator: the production loop and schedule, a store fed by a watch, and passes polled by hand.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use super::api_server::{ApiServer, Kind};
use super::client::{Access, Timers};
use super::fingerprint::Reading;
use super::wire::{Request, SimClock, SimClouds, Wire};
use crate::controller::{Pass, Reconciler, Target, View};
use crate::domain::{Moment, ObjectKey, TermHolder};
use crate::lifecycle::{Config, Policy, Requeue};
use crate::runtime::clock::Clock;
use crate::runtime::schedule::{Lane, Options, Outcome, Schedule, Tenant};

/// Passes that run at a time.
const WORKERS: usize = 2;

/// A queue key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key(pub(super) Target);

impl Tenant for Key {
    fn tenant(&self) -> &str {
        match &self.0 {
            Target::Object(key) => &key.namespace,
            Target::Departed { namespace, .. } => namespace,
        }
    }
}

/// A pass under way.
pub(super) struct Running {
    pub(super) target: Target,
    /// The call that it waits for; `None` while it waits for the limiter.
    pub(super) call: Option<u64>,
    future: Pin<Box<dyn Future<Output = Pass> + Send>>,
    /// The step of the world before which it began.
    pub(super) begun: u32,
    /// Where its past matters: what it read and was answered, and when.
    pub(super) trail: Vec<(Moment, u64)>,
}

/// What came of a poll.
pub(super) enum Polled {
    Asks(u64, Request),
    /// It waits for the limiter.
    Waits,
    Ended(Target, Pass),
}

/// One process.
pub(super) struct Process {
    /// Tells a process from the one before it in the same slot.
    pub(super) life: u32,
    pub(super) reconciler: Arc<Reconciler<Wire, SimClouds, SimClock>>,
    pub(super) wire: Wire,
    pub(super) schedule: Schedule<Key>,
    pub(super) passes: Vec<Running>,
    /// How much of the log the watch delivered.
    pub(super) cursor: usize,
    pub(super) store: BTreeMap<ObjectKey, Arc<View>>,
    pub(super) paused: bool,
    /// It found its term over and is about to exit.
    pub(super) expired: bool,
    pub(super) term: TermHolder,
    /// Planted: our own status writes wake us like news.
    pub(super) status_wakes: bool,
    /// Whether passes keep a trail.
    pub(super) trails: bool,
    pub(super) timers: Timers,
    clock: SimClock,
}

impl Process {
    /// Starts a process that lists the state at `position` of the log.
    pub(super) fn start(
        life: u32,
        policy: &Policy,
        clock: &SimClock,
        config: &Arc<Mutex<Option<Config>>>,
        access: Access,
        api: &ApiServer,
        position: usize,
    ) -> Self {
        let wire = Wire::default();
        let (term, timers) = (TermHolder::new(), Timers::new(clock.clone()));
        let client = access.client(wire.clone(), term.term(), &timers);
        let clouds = SimClouds {
            client: Arc::new(client),
            config: Arc::clone(config),
        };
        let reconciler = Reconciler::new(
            wire.clone(),
            clouds,
            clock.clone(),
            Policy {
                process: Some(format!("p{life}")),
                ..policy.clone()
            },
        );
        let random = fastrand::Rng::with_seed(u64::from(life));
        let mut process = Self {
            life,
            reconciler: Arc::new(reconciler),
            wire,
            schedule: Schedule::new(Options::default(), random),
            passes: Vec::new(),
            cursor: 0,
            store: BTreeMap::new(),
            paused: false,
            expired: false,
            term,
            timers,
            status_wakes: false,
            trails: false,
            clock: clock.clone(),
        };
        process.list(api, position);
        process
    }

    pub(super) fn leading(&self) -> bool {
        self.reconciler.leading()
    }

    fn now(&self) -> Moment {
        self.clock.now()
    }

    /// No wait is shortened by chance, and passes keep a trail. For a process that has done nothing yet.
    pub(super) fn leave_nothing_to_chance(&mut self) {
        let options = Options {
            jitter: 0.0,
            ..Options::default()
        };
        self.schedule = Schedule::new(options, fastrand::Rng::with_seed(0));
        self.trails = true;
    }

    /// Becomes leader: everything known is queued.
    pub(super) fn lead(&mut self) {
        self.reconciler.lead();
        let now = self.now();
        for key in self.store.keys() {
            let key = Key(Target::Object(key.clone()));
            self.schedule.add(key, Lane::Low, now);
        }
    }

    /// A list replaces the watch: versions in between are never seen.
    pub(super) fn list(&mut self, api: &ApiServer, position: usize) {
        self.reconciler.knowledge().doubt_overlays();
        let state = api.state_at(position);
        let before = std::mem::take(&mut self.store);
        for (key, view) in &before {
            if !state.contains_key(key) {
                self.gone(key, view);
            }
        }
        for (key, view) in state {
            let old = before.get(&key).cloned();
            self.arrived(key, view, old, false);
        }
        self.reconciler.knowledge().listed(None);
        self.cursor = position;
    }

    /// The watch delivers the next version.
    pub(super) fn watch(&mut self, api: &ApiServer) {
        let entry = &api.log[self.cursor];
        self.cursor += 1;
        let key = entry.view.object.key.clone();
        match entry.kind {
            Kind::Deleted => {
                self.store.remove(&key);
                self.gone(&key, &entry.view);
            }
            Kind::Added | Kind::Modified => {
                let old = self.store.get(&key).cloned();
                let added = entry.kind == Kind::Added;
                self.arrived(key, Arc::clone(&entry.view), old, added);
            }
        }
    }

    fn arrived(&mut self, key: ObjectKey, view: Arc<View>, old: Option<Arc<View>>, added: bool) {
        let departed = self.reconciler.arrived((*view).clone(), added);
        self.add(departed);
        // Nothing but this cuts a back-off short; whatever else changed is for the slow round.
        let wakes = old.is_none_or(|old| {
            let told = self.status_wakes && old.status != view.status;
            let (old, new) = (&old.object, &view.object);
            told || old.uid != new.uid
                || old.generation != new.generation
                || old.deleting != new.deleting
                || old.finalizer != new.finalizer
                || old.intent != new.intent
                || old.paused != new.paused
        });
        self.store.insert(key.clone(), view);
        if wakes && self.leading() {
            let now = self.now();
            self.schedule.cut_short(Key(Target::Object(key)), now);
        }
    }

    fn gone(&mut self, key: &ObjectKey, view: &View) {
        let departed = self.reconciler.vanished(key, &view.object.uid);
        self.schedule.forget(&Key(Target::Object(key.clone())));
        self.add(departed);
    }

    fn add(&mut self, target: Option<Target>) {
        let now = self.now();
        if let Some(target) = target {
            self.schedule.add(Key(target), Lane::High, now);
        }
    }

    /// Something that all objects need is back.
    pub(super) fn wake_all(&mut self) {
        if !self.leading() {
            return;
        }
        let now = self.now();
        let objects = self.store.keys().cloned().map(Target::Object);
        let departed = self.reconciler.knowledge().users_of("ns", "cloud").1;
        let departed = departed.into_iter().map(|uid| Target::Departed {
            namespace: "ns".into(),
            uid,
        });
        let mut targets: Vec<Target> = objects.chain(departed).collect();
        targets.sort();
        for target in targets {
            self.schedule.retry_early(Key(target), Lane::Low, now);
        }
    }

    /// Whether a pass could begin.
    pub(super) fn can_take(&mut self) -> bool {
        let now = self.now();
        let due = self.schedule.next_due().is_some_and(|at| at <= now);
        self.leading() && self.passes.len() < WORKERS && (due || self.schedule.depth() > 0)
    }

    /// Begins the next pass, after so many steps of the world, and polls it once.
    pub(super) fn take(&mut self, begun: u32) -> Option<Polled> {
        let job = self.schedule.take(self.now())?;
        let (target, reconciler) = (job.key.0, Arc::clone(&self.reconciler));
        let own = target.clone();
        let future = Box::pin(async move { reconciler.reconcile(&own).await });
        self.passes.push(Running {
            target,
            call: None,
            future,
            begun,
            trail: Vec::new(),
        });
        Some(self.poll(self.passes.len() - 1))
    }

    /// Polls those passes that wait for the limiter, until one goes on.
    pub(super) fn nudge(&mut self) -> Option<Polled> {
        (0..self.passes.len()).find_map(|at| {
            let waits = self.passes.get(at)?.call.is_none();
            let polled = waits.then(|| self.poll(at))?;
            (!matches!(polled, Polled::Waits)).then_some(polled)
        })
    }

    /// Polls a pass: it parks its next call or ends.
    pub(super) fn poll(&mut self, at: usize) -> Polled {
        if self.trails {
            let read = format!("{:?}", self.reconciler.knowledge());
            self.note(at, &read);
        }
        let mut context = Context::from_waker(Waker::noop());
        match self.passes[at].future.as_mut().poll(&mut context) {
            Poll::Pending => {
                let parked = self.wire.parked();
                self.passes[at].call = parked.as_ref().map(|(call, _)| *call);
                parked.map_or(Polled::Waits, |(call, request)| Polled::Asks(call, request))
            }
            Poll::Ready(pass) => {
                let running = self.passes.remove(at);
                self.ended(&running.target, &pass);
                Polled::Ended(running.target, pass)
            }
        }
    }

    /// Notes something that a pass goes by.
    pub(super) fn note(&mut self, at: usize, what: &str) {
        let now = self.now();
        let what = Reading::at(now).hash(what);
        self.passes[at].trail.push((now, what));
    }

    fn ended(&mut self, target: &Target, pass: &Pass) {
        let now = self.now();
        let outcome = match pass.requeue {
            Requeue::Now => Outcome::After(std::time::Duration::ZERO),
            Requeue::After(wait) => Outcome::After(wait),
            Requeue::Steady(wait) => Outcome::Resync(wait),
            Requeue::Retry(at_least) => Outcome::Failed { at_least },
            Requeue::OnChange => Outcome::Settled,
        };
        self.schedule.done(&Key(target.clone()), outcome, now);
        for target in self.reconciler.follow_ups() {
            self.add(Some(target));
        }
    }
}
