//! What others may know of the election, and the thread that watches it from outside the runtime.

use super::Options;
use crate::domain::term::Term;
use crate::domain::time::Moment;
use crate::runtime::clock::Clock;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// The election as metrics, health and the debug page show it.
#[derive(Debug)]
pub struct LeaderStatus {
    name: String,
    identity: String,
    renew_deadline: Duration,
    term: Term,
    leading: AtomicBool,
    /// Nanoseconds of the moment of the last successful renewal, 0 for never.
    renewed: AtomicU64,
    attempted: AtomicU64,
    transitions: AtomicI32,
    holder: Mutex<Option<String>>,
}

impl LeaderStatus {
    pub(super) fn new(options: &Options, term: Term) -> Self {
        Self {
            name: options.name.clone(),
            identity: options.identity.clone(),
            renew_deadline: options.renew_deadline,
            term,
            leading: AtomicBool::new(false),
            renewed: AtomicU64::new(0),
            attempted: AtomicU64::new(0),
            transitions: AtomicI32::new(0),
            holder: Mutex::new(None),
        }
    }

    /// Name of the Lease.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Who we are.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// Whether we lead.
    pub fn is_leading(&self) -> bool {
        self.leading.load(Ordering::SeqCst)
    }

    /// Who holds the Lease, as last seen.
    pub fn holder(&self) -> Option<String> {
        self.holder
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// How often the Lease changed hands, as last seen.
    pub fn transitions(&self) -> i32 {
        self.transitions.load(Ordering::SeqCst)
    }

    /// The end of our term; `None` while not leading.
    pub fn until(&self) -> Option<Moment> {
        self.term.until()
    }

    /// When the last try began; `None` before the first.
    pub fn attempted(&self) -> Option<Moment> {
        match self.attempted.load(Ordering::SeqCst) {
            0 => None,
            nanos => Some(Moment::from_nanos(nanos)),
        }
    }

    /// By how much the renew deadline has passed while we still take ourselves for the leader: zero in a process
    /// that works, because at the deadline it exits.
    pub fn overdue(&self, now: Moment) -> Duration {
        if !self.is_leading() {
            return Duration::ZERO;
        }
        now.since(Moment::from_nanos(self.renewed.load(Ordering::SeqCst)) + self.renew_deadline)
    }

    pub(super) fn beat(&self, now: Moment) {
        self.attempted.store(now.as_nanos(), Ordering::SeqCst);
    }

    pub(super) fn see_holder(&self, holder: &str) {
        *self.holder.lock().unwrap_or_else(PoisonError::into_inner) = Some(holder.to_owned());
    }

    pub(super) fn renewed(&self, sent: Moment, transitions: i32) {
        self.renewed.store(sent.as_nanos(), Ordering::SeqCst);
        self.transitions.store(transitions, Ordering::SeqCst);
        self.leading.store(true, Ordering::SeqCst);
        self.see_holder(&self.identity);
    }

    pub(super) fn ended(&self) {
        self.leading.store(false, Ordering::SeqCst);
    }
}

/// Looks at the election from a thread of its own: if every thread of the runtime is blocked, nothing inside it
/// can notice that the deadline has passed. Ends when dropped.
#[derive(Debug)]
pub struct Watchdog {
    _alive: Arc<()>,
}

impl Watchdog {
    /// How late the runtime may be before the watchdog bites.
    pub const PATIENCE: Duration = Duration::from_millis(500);

    /// Starts watching; `bite` is called once, when the renew deadline has passed by [`Watchdog::PATIENCE`] and
    /// we still take ourselves for the leader. It should end the process.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub fn start(
        status: Arc<LeaderStatus>,
        clock: Arc<dyn Clock>,
        bite: impl FnOnce() + Send + 'static,
    ) -> std::io::Result<Self> {
        let alive = Arc::new(());
        let watched = Arc::downgrade(&alive);
        let watch = move || {
            while watched.strong_count() > 0 {
                if status.overdue(clock.now()) >= Self::PATIENCE {
                    bite();
                    return;
                }
                thread::sleep(Duration::from_millis(100));
            }
        };
        thread::Builder::new()
            .name("lease-watchdog".to_owned())
            .spawn(watch)?;
        Ok(Self { _alive: alive })
    }
}
