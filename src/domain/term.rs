//! Are we still leader, and until when.

use super::time::Moment;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The moment until which provider writes may start.
///
/// A cheap shared value: whoever sends a write asks [`Term::allows`] right before sending, after every wait for
/// a limiter. A write that has started is not shortened by the end of the term; it is in doubt afterwards, and
/// the rules for creating and deleting make that harmless.
#[derive(Clone, Debug)]
pub struct Term {
    until: Arc<AtomicU64>,
}

impl Term {
    /// A term that never ends, for an operator that runs alone, without an election.
    pub fn unlimited() -> Self {
        Self {
            until: Arc::new(AtomicU64::new(u64::MAX)),
        }
    }

    /// May a provider write start at `now`?
    pub fn allows(&self, now: Moment) -> bool {
        now.as_nanos() < self.until.load(Ordering::SeqCst)
    }

    /// The moment from which nothing may start any more; `None` while not leading.
    pub fn until(&self) -> Option<Moment> {
        match self.until.load(Ordering::SeqCst) {
            0 => None,
            nanos => Some(Moment::from_nanos(nanos)),
        }
    }
}

/// The one side that moves a [`Term`]: held by the election, and by nobody else.
///
/// Dropping it ends the term, so an election that is cancelled or panics leaves nobody allowed to write.
#[derive(Debug)]
pub struct TermHolder {
    until: Arc<AtomicU64>,
}

impl TermHolder {
    /// A holder whose term has not begun.
    pub fn new() -> Self {
        Self {
            until: Arc::new(AtomicU64::new(0)),
        }
    }

    /// The value to hand out.
    pub fn term(&self) -> Term {
        Term {
            until: Arc::clone(&self.until),
        }
    }

    /// Writes may start before `until`. Never moves the end back: for that there is [`TermHolder::end`].
    pub fn extend(&mut self, until: Moment) {
        self.until.fetch_max(until.as_nanos(), Ordering::SeqCst);
    }

    /// No write may start from now on, until the next [`TermHolder::extend`].
    pub fn end(&mut self) {
        self.until.store(0, Ordering::SeqCst);
    }
}

impl Default for TermHolder {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for TermHolder {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests;
