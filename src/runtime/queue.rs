//! The schedule, made awaitable: a lock, a wake-up and a timer around [`Schedule`].

use super::clock::Clock;
use super::schedule::{Counts, Job, Lane, Line, Options, Outcome, Schedule, Tenant, Whereabouts};
use crate::domain::time::Moment;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

/// Who wants to know what passes through a queue: metrics. Called outside the lock; must not block.
pub trait Observer: Send + Sync + 'static {
    /// A key left the queue for a worker after being ready for `waited`.
    fn taken(&self, lane: Lane, waited: Duration);

    /// A pass ended after `took`.
    fn done(&self, outcome: Outcome, took: Duration);
}

/// An observer that looks away.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl Observer for Unobserved {
    fn taken(&self, _lane: Lane, _waited: Duration) {}

    fn done(&self, _outcome: Outcome, _took: Duration) {}
}

/// How a queue stands at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stats {
    /// Ready keys of the high lane.
    pub high: usize,
    /// Ready keys of the low lane.
    pub low: usize,
    /// Keys that wait for a timer.
    pub delayed: usize,
    /// Keys that run.
    pub running: usize,
    /// How long the key that waits longest for its turn has been ready.
    pub oldest_ready: Duration,
    /// Sum over the running keys of how long they have run.
    pub unfinished: Duration,
    /// How long the longest running key has run.
    pub longest_running: Duration,
    /// Totals since the start.
    pub counts: Counts,
}

/// A queue of keys for many producers and many workers. Cheap to clone; every clone is the same queue.
pub struct WorkQueue<K> {
    shared: Arc<Shared<K>>,
}

struct Shared<K> {
    state: Mutex<State<K>>,
    wake: Notify,
    clock: Arc<dyn Clock>,
    observer: Arc<dyn Observer>,
}

struct State<K> {
    schedule: Schedule<K>,
    /// Start of every run, for the duration given to the observer.
    started: HashMap<K, Moment>,
    canary: Option<Moment>,
    closed: bool,
}

/// A sleeping worker looks up at least this often: tokio's timers stand still while the machine is suspended,
/// the clock does not.
const LONGEST_SLEEP: Duration = Duration::from_secs(30);

impl<K> Clone for WorkQueue<K> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<K: Clone + Eq + Hash + Tenant> WorkQueue<K> {
    /// An empty queue.
    pub fn new(
        options: Options,
        random: fastrand::Rng,
        clock: Arc<dyn Clock>,
        observer: Arc<dyn Observer>,
    ) -> Self {
        let state = State {
            schedule: Schedule::new(options, random),
            started: HashMap::new(),
            canary: None,
            closed: false,
        };
        Self {
            shared: Arc::new(Shared {
                state: Mutex::new(state),
                wake: Notify::new(),
                clock,
                observer,
            }),
        }
    }

    /// See [`Schedule::add`].
    pub fn add(&self, key: K, lane: Lane) {
        let now = self.now();
        self.lock().schedule.add(key, lane, now);
        self.shared.wake.notify_one();
    }

    /// See [`Schedule::add_after`].
    pub fn add_after(&self, key: K, delay: Duration, lane: Lane) {
        let now = self.now();
        self.lock().schedule.add_after(key, delay, lane, now);
        self.shared.wake.notify_one();
    }

    /// See [`Schedule::cut_short`].
    pub fn cut_short(&self, key: K) {
        let now = self.now();
        self.lock().schedule.cut_short(key, now);
        self.shared.wake.notify_one();
    }

    /// See [`Schedule::hurry`].
    pub fn hurry(&self, key: K) {
        let now = self.now();
        self.lock().schedule.hurry(key, now);
        self.shared.wake.notify_one();
    }

    /// See [`Schedule::retry_early`].
    pub fn retry_early(&self, key: K, lane: Lane) {
        let now = self.now();
        self.lock().schedule.retry_early(key, lane, now);
        self.shared.wake.notify_one();
    }

    /// See [`Schedule::forget`].
    pub fn forget(&self, key: &K) {
        self.lock().schedule.forget(key);
    }

    /// The next key to run, once there is one; `None` after [`WorkQueue::close`].
    ///
    /// Cancel safe: a key is taken only in the poll that returns it. Whoever got one must answer with
    /// [`WorkQueue::done`], or the key never runs again.
    pub async fn next(&self) -> Option<Job<K>> {
        loop {
            let woken = self.shared.wake.notified();
            tokio::pin!(woken);
            // Registered before looking, so that a key added between looking and waiting wakes us.
            woken.as_mut().enable();
            match self.look() {
                Look::Closed => return None,
                Look::Job(job) => {
                    self.shared.observer.taken(job.lane, job.waited);
                    return Some(job);
                }
                // A time-out is not a failure here: the timer of the next delayed key has fired.
                Look::Wait(wait) => drop(tokio::time::timeout(wait, woken).await),
            }
        }
    }

    /// See [`Schedule::done`].
    pub fn done(&self, key: &K, outcome: Outcome) {
        let now = self.now();
        let started = {
            let mut state = self.lock();
            state.schedule.done(key, outcome, now);
            state.started.remove(key)
        };
        self.shared.wake.notify_one();
        if let Some(started) = started {
            self.shared.observer.done(outcome, now.since(started));
        }
    }

    /// No key leaves the queue any more: every [`WorkQueue::next`] returns `None`. Runs under way may still be
    /// answered.
    pub fn close(&self) {
        self.lock().closed = true;
        self.shared.wake.notify_waiters();
    }

    /// Whether [`WorkQueue::close`] was called.
    pub fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// Sends a canary: the next worker that comes for work lets it out. Does nothing while one is under way.
    pub fn send_canary(&self) {
        let now = self.now();
        self.lock().canary.get_or_insert(now);
        self.shared.wake.notify_one();
    }

    /// How long the canary has been under way: if much longer than the longest pass, no worker turns any more.
    /// Zero when none is under way.
    pub fn canary_age(&self) -> Duration {
        let now = self.now();
        self.lock()
            .canary
            .map_or(Duration::ZERO, |sent| now.since(sent))
    }

    /// How the queue stands. O(n): for a scrape, not for each pass.
    pub fn stats(&self) -> Stats {
        let now = self.now();
        let state = self.lock();
        let running = || state.started.values().map(|started| now.since(*started));
        Stats {
            high: state.schedule.depth_of(Lane::High),
            low: state.schedule.depth_of(Lane::Low),
            delayed: state.schedule.delayed_depth(),
            running: state.schedule.running(),
            oldest_ready: state
                .schedule
                .oldest_ready()
                .map_or(Duration::ZERO, |since| now.since(since)),
            unfinished: running().sum(),
            longest_running: running().max().unwrap_or_default(),
            counts: state.schedule.counts(),
        }
    }

    /// Every key: the running first, then the ready by age, then the delayed by time left. O(n log n).
    pub fn snapshot(&self) -> Vec<Line<K>> {
        let now = self.now();
        let mut lines = self.lock().schedule.snapshot(now);
        lines.sort_by_key(|line| match line.whereabouts {
            Whereabouts::Running(age) => (0, Duration::MAX - age),
            Whereabouts::Ready(age) => (1, Duration::MAX - age),
            Whereabouts::Delayed(left, _) => (2, left),
        });
        lines
    }

    fn look(&self) -> Look<K> {
        let now = self.now();
        let mut state = self.lock();
        if state.closed {
            return Look::Closed;
        }
        state.canary = None;
        match state.schedule.take(now) {
            Some(job) => {
                state.started.insert(job.key.clone(), now);
                // Each arrival calls a worker, but that one may have stopped waiting since, or know of a timer that
                // the others do not know of: whoever takes a key calls another for the rest.
                if state.schedule.depth() > 0 {
                    self.shared.wake.notify_one();
                }
                Look::Job(job)
            }
            None => {
                let left = state
                    .schedule
                    .next_due()
                    .map_or(LONGEST_SLEEP, |due| due.since(now));
                Look::Wait(left.min(LONGEST_SLEEP))
            }
        }
    }

    fn now(&self) -> Moment {
        self.shared.clock.now()
    }

    fn lock(&self) -> MutexGuard<'_, State<K>> {
        self.shared
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

enum Look<K> {
    Closed,
    Job(Job<K>),
    Wait(Duration),
}

#[cfg(test)]
mod tests;
