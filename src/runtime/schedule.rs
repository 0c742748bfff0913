//! Which key runs next: a plain structure without clock, task or lock.
//!
//! ```text
//!            add                      take                  done
//!   unknown ─────► ready (High│Low) ───────► running ─────────────► unknown     settled
//!                   ▲                           │ ▲  event meanwhile ► ready    runs again
//!        timer fires│ cut short                 │ └─ never twice at once
//!                   │                           ▼ After, Resync, Failed
//!                 delayed ◄─────────────────────┘
//! ```
//!
//! * One key is in one place; adding it again merges the two wishes: the higher lane and the earlier time win.
//! * Two lanes. The low one (first list, resync, changes that touch everybody) gets every eighth turn while both
//!   have keys, so neither starves. A raise to the high lane survives being queued again.
//! * Inside a lane tenants (namespaces) take turns, and the keys of one tenant run first come, first served.
//!   With `T` tenants in a lane the `p`-th key of a tenant runs within `p * T` turns of its lane, however many keys
//!   the others have: at most [`Options::low_every`]` * p * T` calls of [`Schedule::take`].
//! * Inside a tenant's line hurried keys come first: what was begun is finished before something new is begun. While
//!   both wait, every fourth turn of the tenant is not a hurried key's, which makes the bound above four times as far.
//! * A failed key waits, twice as long each time. An ordinary event does not end that wait (a sick provider would
//!   be asked as often as objects change); [`Schedule::cut_short`] does.
//!
//! Every operation is O(log n) in the number of keys, apart from [`Schedule::snapshot`] and
//! [`Schedule::oldest_ready`]; a call that finds several timers fired pays O(log n) for each.

mod job;
mod lane;
mod next;
mod places;
#[cfg(test)]
mod shape;

use crate::domain::time::Moment;
pub use job::{Counts, Job, Lane, Line, Options, Outcome, Tenant, Whereabouts};
use lane::Turns;
use next::Next;
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::time::Duration;

/// The schedule of keys. See the module for the rules.
#[derive(Debug)]
pub struct Schedule<K> {
    options: Options,
    random: fastrand::Rng,
    entries: HashMap<K, Entry>,
    high: Turns<K>,
    low: Turns<K>,
    delayed: BTreeMap<(Moment, u64), K>,
    /// Turns that the high lane had since the low lane last had one or was empty.
    high_turns: u32,
    tickets: u64,
    counts: Counts,
}

/// What is known of one key.
#[derive(Clone, Copy, Debug)]
struct Entry {
    place: Place,
    lane: Lane,
    failures: u32,
    /// The next or present run began before its wait was over, so its failure counts for nothing: otherwise
    /// events, not waiting, would drive the back-off up.
    early: bool,
    /// Before the others of its tenant, until it runs.
    hurried: bool,
}

#[derive(Clone, Copy, Debug)]
enum Place {
    Ready {
        ticket: u64,
        since: Moment,
    },
    Delayed {
        due: Moment,
        ticket: u64,
        backoff: bool,
    },
    Running {
        since: Moment,
        wishes: Wishes,
    },
}

/// What was asked for a key while it runs.
#[derive(Clone, Copy, Debug, Default)]
struct Wishes {
    /// Run again at once, in this lane.
    again: Option<Lane>,
    /// Run again at once even if this run fails.
    cut: bool,
    /// Forget the failures, this run's too.
    fresh: bool,
    /// Run again before the others of its tenant.
    hurried: bool,
    /// Run again at this time at the latest.
    later: Option<(Moment, Lane)>,
    /// The key is gone: whatever this run says, only a wish made since counts.
    forgotten: bool,
}

impl<K: Clone + Eq + Hash + Tenant> Schedule<K> {
    /// An empty schedule. `random` is where the jitter comes from: the same seed gives the same order.
    pub fn new(options: Options, random: fastrand::Rng) -> Self {
        Self {
            options,
            random,
            entries: HashMap::new(),
            high: Turns::new(options.unhurried_every),
            low: Turns::new(options.unhurried_every),
            delayed: BTreeMap::new(),
            high_turns: 0,
            tickets: 0,
            counts: Counts::default(),
        }
    }

    /// Something happened to `key`: run it in its turn.
    ///
    /// Ready: the higher lane wins. Waiting for a timer: runs now instead. In back-off: stays there, raised to
    /// the higher lane. Running: runs again afterwards, or after the back-off if it fails.
    pub fn add(&mut self, key: K, lane: Lane, now: Moment) {
        self.fire_timers(now);
        let Some(entry) = self.entries.get_mut(&key) else {
            self.make_ready(key, Entry::new(lane, now), lane, now);
            return;
        };
        match &mut entry.place {
            Place::Ready { .. } => self.raise(&key, lane),
            Place::Delayed { backoff: true, .. } => entry.lane = entry.lane.max(lane),
            Place::Delayed {
                due,
                ticket,
                backoff: false,
            } => {
                let (slot, entry) = ((*due, *ticket), *entry);
                self.delayed.remove(&slot);
                self.make_ready(key, entry, entry.lane.max(lane), now);
            }
            Place::Running { wishes, .. } => {
                wishes.again = wishes.again.max(Some(lane));
            }
        }
    }

    /// Run `key` after `delay`, unless it runs sooner for another reason: the pass that comes first answers
    /// this wish too, and says itself when to look again.
    pub fn add_after(&mut self, key: K, delay: Duration, lane: Lane, now: Moment) {
        self.fire_timers(now);
        let wanted = now + delay;
        if wanted <= now {
            self.add(key, lane, now);
            return;
        }
        let Some(entry) = self.entries.get_mut(&key) else {
            self.delay(key, Entry::new(lane, now), wanted, false);
            return;
        };
        match &mut entry.place {
            Place::Ready { .. } => self.raise(&key, lane),
            Place::Delayed {
                due,
                ticket,
                backoff,
            } => {
                entry.lane = entry.lane.max(lane);
                if !*backoff && wanted < *due {
                    let (slot, entry) = ((*due, *ticket), *entry);
                    self.delayed.remove(&slot);
                    self.delay(key, entry, wanted, false);
                }
            }
            Place::Running { wishes, .. } => {
                wishes.later = Some(match wishes.later {
                    Some((at, in_lane)) => (at.min(wanted), in_lane.max(lane)),
                    None => (wanted, lane),
                });
            }
        }
    }

    /// A new generation, a deletion: earlier failures say nothing about it. Ends a back-off, forgets the failures
    /// and runs `key` in the high lane; a running key runs again even if it fails now.
    pub fn cut_short(&mut self, key: K, now: Moment) {
        self.end_wait(key, true, Lane::High, now);
    }

    /// What `key` waits for elsewhere has happened, and little is left to do: as [`Schedule::cut_short`], and before the
    /// keys of its tenant that are not hurried.
    pub fn hurry(&mut self, key: K, now: Moment) {
        self.end_wait(key.clone(), true, Lane::High, now);
        match self.entries.get_mut(&key).map(|entry| &mut entry.place) {
            Some(Place::Running { wishes, .. }) => wishes.hurried = true,
            Some(Place::Ready { .. }) => self.move_up(&key),
            Some(Place::Delayed { .. }) | None => {}
        }
    }

    /// What stood in the way may be gone (credentials renewed, provider back): ends a back-off, to run in this lane at
    /// least, but keeps the count of failures. A failure of the run that this begins does not raise it.
    pub fn retry_early(&mut self, key: K, lane: Lane, now: Moment) {
        self.end_wait(key, false, lane, now);
    }

    /// The key to run now, if one is ready. It does not come again before [`Schedule::done`].
    pub fn take(&mut self, now: Moment) -> Option<Job<K>> {
        self.fire_timers(now);
        let key = match self.lane_to_serve()? {
            Lane::High => self.high.pop(),
            Lane::Low => self.low.pop(),
        }?;
        let entry = self.entries.get_mut(&key)?;
        let since = match entry.place {
            Place::Ready { since, .. } => since,
            Place::Delayed { .. } | Place::Running { .. } => now,
        };
        entry.place = Place::Running {
            since: now,
            wishes: Wishes::default(),
        };
        entry.hurried = false;
        Some(Job {
            lane: entry.lane,
            failures: entry.failures,
            waited: now.since(since),
            key,
        })
    }

    /// The run of `key` is over. Does nothing for a key that does not run.
    pub fn done(&mut self, key: &K, outcome: Outcome, now: Moment) {
        self.fire_timers(now);
        let Some((key, mut entry)) = self
            .entries
            .get_key_value(key)
            .map(|(key, entry)| (key.clone(), *entry))
        else {
            return;
        };
        let Place::Running { wishes, .. } = entry.place else {
            return;
        };
        let outcome = if wishes.forgotten {
            Outcome::Settled
        } else {
            outcome
        };
        // An event may bring the next try before the back-off is over: a retry it is all the same.
        self.counts.retries += u64::from(matches!(outcome, Outcome::Failed { .. }));
        let next = self.next_place(&mut entry, outcome, wishes, now);
        match next {
            Next::Nowhere => drop(self.entries.remove(&key)),
            Next::Ready(lane) => {
                entry.hurried = wishes.hurried;
                self.make_ready(key, entry, lane, now);
            }
            Next::At { due, lane, backoff } => {
                entry.lane = lane;
                self.delay(key, entry, due, backoff);
            }
        }
    }

    /// The object is gone for good: nothing is remembered of `key`, and a run under way is not followed by
    /// another unless the key is added again.
    pub fn forget(&mut self, key: &K) {
        let Some(entry) = self.entries.get_mut(key) else {
            return;
        };
        match &mut entry.place {
            Place::Running { wishes, .. } => {
                *wishes = Wishes {
                    forgotten: true,
                    ..Wishes::default()
                };
                (entry.failures, entry.early) = (0, false);
            }
            Place::Ready { ticket, .. } => {
                let ticket = *ticket;
                match entry.lane {
                    Lane::High => self.high.remove(key.tenant(), ticket),
                    Lane::Low => self.low.remove(key.tenant(), ticket),
                }
                self.entries.remove(key);
            }
            Place::Delayed { due, ticket, .. } => {
                self.delayed.remove(&(*due, *ticket));
                self.entries.remove(key);
            }
        }
    }

    /// Keys that are ready, as of the last call that was given the time.
    pub fn depth(&self) -> usize {
        self.high.len() + self.low.len()
    }

    /// Ready keys of one lane.
    pub fn depth_of(&self, lane: Lane) -> usize {
        match lane {
            Lane::High => self.high.len(),
            Lane::Low => self.low.len(),
        }
    }

    /// Keys that wait for a timer.
    pub fn delayed_depth(&self) -> usize {
        self.delayed.len()
    }

    /// Keys that run.
    pub fn running(&self) -> usize {
        self.entries.len() - self.depth() - self.delayed.len()
    }

    /// When the next timer fires.
    pub fn next_due(&self) -> Option<Moment> {
        self.delayed.first_key_value().map(|((due, _), _)| *due)
    }

    /// Since when the key that waits longest for its turn is ready. O(n).
    pub fn oldest_ready(&self) -> Option<Moment> {
        self.entries
            .values()
            .filter_map(|entry| match entry.place {
                Place::Ready { since, .. } => Some(since),
                Place::Delayed { .. } | Place::Running { .. } => None,
            })
            .min()
    }

    /// Totals since the start.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Every key, in no order. O(n).
    pub fn snapshot(&self, now: Moment) -> Vec<Line<K>> {
        let line = |(key, entry): (&K, &Entry)| Line {
            key: key.clone(),
            lane: entry.lane,
            failures: entry.failures,
            whereabouts: match entry.place {
                Place::Ready { since, .. } => Whereabouts::Ready(now.since(since)),
                Place::Delayed { due, backoff, .. } => {
                    Whereabouts::Delayed(due.since(now), backoff)
                }
                Place::Running { since, .. } => Whereabouts::Running(now.since(since)),
            },
        };
        self.entries.iter().map(line).collect()
    }
}

impl Entry {
    fn new(lane: Lane, now: Moment) -> Self {
        Self {
            place: Place::Ready {
                ticket: 0,
                since: now,
            },
            lane,
            failures: 0,
            early: false,
            hurried: false,
        }
    }
}

#[cfg(test)]
mod tests;
