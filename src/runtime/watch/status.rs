//! What others may know of a watch.

use crate::domain::time::Moment;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// A try that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What failed: `list`, `watch` (its start) or `stream`.
    pub step: &'static str,
    /// HTTP status, or the code of an error event; `None` when there was no answer.
    pub code: Option<u16>,
    /// What the client says.
    pub message: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            step,
            code,
            message,
        } = self;
        match code {
            Some(code) => write!(f, "{step} refused with {code}: {message}"),
            None => write!(f, "{step} failed: {message}"),
        }
    }
}

/// Who wants to know of failures and arrivals: metrics. Must not block.
pub trait Observer: Send + Sync + 'static {
    /// An object arrived that does not fit our type.
    fn broken(&self, kind: &str);

    /// A try failed.
    fn failed(&self, kind: &str, failure: &Failure);
}

/// An observer that looks away.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl Observer for Unobserved {
    fn broken(&self, _kind: &str) {}

    fn failed(&self, _kind: &str, _failure: &Failure) {}
}

/// A watch as metrics, health and the debug page show it.
#[derive(Debug)]
pub struct WatchStatus {
    kind: String,
    scope: Option<String>,
    beat: AtomicU64,
    heard: AtomicU64,
    listed: AtomicBool,
    lists: AtomicU64,
    failure: Mutex<Option<Failure>>,
}

impl WatchStatus {
    pub(super) fn new(kind: String, scope: Option<String>, now: Moment) -> Self {
        Self {
            kind,
            scope,
            beat: AtomicU64::new(now.as_nanos()),
            heard: AtomicU64::new(now.as_nanos()),
            listed: AtomicBool::new(false),
            lists: AtomicU64::new(0),
            failure: Mutex::new(None),
        }
    }

    /// The kind watched.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The namespace in which it is watched; `None` for all.
    pub fn scope(&self) -> Option<&str> {
        self.scope.as_deref()
    }

    /// The last sign that the task turns: every try, failed ones too. Never older than about a minute in a task that
    /// works, whatever the API server does.
    pub fn last_beat(&self) -> Moment {
        Moment::from_nanos(self.beat.load(Ordering::Relaxed))
    }

    /// The last time that the API server said something: an object, a bookmark, a list, or the regular end of a
    /// watch.
    pub fn last_heard(&self) -> Moment {
        Moment::from_nanos(self.heard.load(Ordering::Relaxed))
    }

    /// Whether a list has been complete once.
    pub fn is_listed(&self) -> bool {
        self.listed.load(Ordering::Relaxed)
    }

    /// Complete lists so far.
    pub fn lists(&self) -> u64 {
        self.lists.load(Ordering::Relaxed)
    }

    /// Why the last try failed; `None` while all is well.
    pub fn failure(&self) -> Option<Failure> {
        self.failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(super) fn beat(&self, now: Moment) {
        self.beat.store(now.as_nanos(), Ordering::Relaxed);
    }

    pub(super) fn hear(&self, now: Moment) {
        self.beat(now);
        self.heard.store(now.as_nanos(), Ordering::Relaxed);
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    pub(super) fn list_done(&self, now: Moment) {
        self.hear(now);
        self.listed.store(true, Ordering::Relaxed);
        self.lists.fetch_add(1, Ordering::Relaxed);
    }

    /// Remembers the failure; `true` when it is another one than before.
    pub(super) fn fail(&self, failure: &Failure) -> bool {
        let mut last = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        let news = last
            .as_ref()
            .is_none_or(|last| (last.step, last.code) != (failure.step, failure.code));
        *last = Some(failure.clone());
        news
    }
}
