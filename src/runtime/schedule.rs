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
//! * A failed key waits, twice as long each time. An ordinary event does not end that wait (a sick provider would
//!   be asked as often as objects change); [`Schedule::cut_short`] does.
//!
//! Every operation is O(log n) in the number of keys, apart from [`Schedule::snapshot`] and
//! [`Schedule::oldest_ready`]; a call that finds several timers fired pays O(log n) for each.

mod lane;

use crate::domain::key::ObjectKey;
use crate::domain::time::Moment;
use lane::Turns;
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::time::Duration;

/// Whose share of the turns a key uses up.
pub trait Tenant {
    /// The tenant: for a namespaced object its namespace.
    fn tenant(&self) -> &str;
}

impl Tenant for ObjectKey {
    fn tenant(&self) -> &str {
        &self.namespace
    }
}

/// The two lanes. `High` is greater than `Low`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    /// The first list, resyncs and changes that touch every object: nobody waits for one of these.
    Low,
    /// Something happened to this key.
    High,
}

impl Lane {
    /// Both lanes, the one served first in front.
    pub const ALL: [Self; 2] = [Self::High, Self::Low];

    /// The lane as a label.
    pub const fn label(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Low => "low",
        }
    }
}

/// What came of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing more to do until something happens. Forgets earlier failures.
    Settled,
    /// Look again after this long, in the same lane; zero means at once, behind those who wait already.
    /// Forgets earlier failures.
    After(Duration),
    /// Go on after this long, in the same lane; zero means at once. Part of an unfinished piece of work: earlier
    /// failures are kept, so that a back-off grows although steps between its failures succeed.
    Again(Duration),
    /// Look again after about this long (up to [`Options::jitter`] earlier) in the low lane: the slow check of
    /// a key at rest. Forgets earlier failures.
    Resync(Duration),
    /// Failed: wait by the key's back-off, and not less than `at_least` (a provider's `Retry-After`).
    Failed {
        /// The least wait.
        at_least: Option<Duration>,
    },
    /// Failed, and trying again without a change is of no use: waits for an event, as [`Outcome::Settled`] does.
    Terminal,
}

/// A key to run now, from [`Schedule::take`]. Must be answered by [`Schedule::done`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job<K> {
    /// The key.
    pub key: K,
    /// The lane that it came from.
    pub lane: Lane,
    /// Passes of this key that failed in a row before this one.
    pub failures: u32,
    /// How long it was ready before it was taken; the wait for a timer does not count.
    pub waited: Duration,
}

/// How keys wait.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// The wait after the first failure. 1 s: client-go's 5 ms is meant for calls that cost nothing.
    pub backoff_first: Duration,
    /// The longest wait between failures. 5 min: how late a repaired provider may be noticed.
    pub backoff_most: Duration,
    /// Waits are shortened by a random part up to this, 0 to 1, so that keys that failed together do not come
    /// back together.
    pub jitter: f64,
    /// While both lanes have keys, each so many-th turn is the low lane's. At least 2.
    pub low_every: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            backoff_first: Duration::from_secs(1),
            backoff_most: Duration::from_secs(300),
            jitter: 0.25,
            low_every: 8,
        }
    }
}

/// Totals since the start; they only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Times a key became ready.
    pub adds: u64,
    /// Times a key went into back-off.
    pub retries: u64,
}

/// Where a key is, as [`Schedule::snapshot`] tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whereabouts {
    /// Waits for its turn since this long.
    Ready(Duration),
    /// Waits for a timer that fires in this long; `true`: because it failed.
    Delayed(Duration, bool),
    /// Runs since this long.
    Running(Duration),
}

/// One key in [`Schedule::snapshot`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line<K> {
    /// The key.
    pub key: K,
    /// Its lane.
    pub lane: Lane,
    /// Where it is.
    pub whereabouts: Whereabouts,
    /// Failures in a row.
    pub failures: u32,
}

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
    /// Run again at this time at the latest.
    later: Option<(Moment, Lane)>,
    /// The key is gone: whatever this run says, only a wish made since counts.
    forgotten: bool,
}

/// Where a key goes after its run.
enum Next {
    Nowhere,
    Ready(Lane),
    At {
        due: Moment,
        lane: Lane,
        backoff: bool,
    },
}

impl<K: Clone + Eq + Hash + Tenant> Schedule<K> {
    /// An empty schedule. `random` is where the jitter comes from: the same seed gives the same order.
    pub fn new(options: Options, random: fastrand::Rng) -> Self {
        Self {
            options,
            random,
            entries: HashMap::new(),
            high: Turns::new(),
            low: Turns::new(),
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
        self.end_wait(key, true, now);
    }

    /// What stood in the way may be gone (credentials renewed, provider back): ends a back-off but keeps the
    /// count of failures. A failure of the run that this begins does not raise it.
    pub fn retry_early(&mut self, key: K, now: Moment) {
        self.end_wait(key, false, now);
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
        let next = self.next_place(&mut entry, outcome, wishes, now);
        match next {
            Next::Nowhere => drop(self.entries.remove(&key)),
            Next::Ready(lane) => self.make_ready(key, entry, lane, now),
            Next::At { due, lane, backoff } => {
                entry.lane = lane;
                self.counts.retries += u64::from(backoff);
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

    /// Moves every key whose timer has fired to its lane, in the order in which the timers fired.
    fn fire_timers(&mut self, now: Moment) {
        while let Some(first) = self.delayed.first_entry() {
            let due = first.key().0;
            if due > now {
                break;
            }
            let key = first.remove();
            if let Some(entry) = self.entries.get(&key).copied() {
                self.make_ready(key, entry, entry.lane, due);
            }
        }
    }

    fn end_wait(&mut self, key: K, fresh: bool, now: Moment) {
        self.add(key.clone(), Lane::High, now);
        let Some(entry) = self.entries.get_mut(&key) else {
            return;
        };
        if let Place::Running { wishes, .. } = &mut entry.place {
            wishes.cut = true;
            wishes.fresh |= fresh;
            return;
        }
        if fresh {
            entry.failures = 0;
        }
        if let Place::Delayed { due, ticket, .. } = entry.place {
            entry.early = true;
            let entry = *entry;
            self.delayed.remove(&(due, ticket));
            self.make_ready(key, entry, Lane::High, now);
        }
    }

    fn next_place(
        &mut self,
        entry: &mut Entry,
        outcome: Outcome,
        wishes: Wishes,
        now: Moment,
    ) -> Next {
        let was_early = std::mem::replace(&mut entry.early, false);
        let (wait, lane) = match outcome {
            Outcome::Failed { at_least } => {
                entry.failures = if wishes.fresh {
                    0
                } else {
                    entry.failures + u32::from(!was_early)
                };
                let lane = entry.lane.max(wishes.again.unwrap_or(Lane::Low));
                if wishes.cut {
                    entry.early = true;
                    return Next::Ready(lane);
                }
                let wait = self
                    .backoff(entry.failures)
                    .max(at_least.unwrap_or_default());
                return Next::At {
                    due: now + wait,
                    lane,
                    backoff: true,
                };
            }
            Outcome::Settled | Outcome::Terminal => (None, Lane::Low),
            Outcome::After(wait) | Outcome::Again(wait) => (Some(wait), entry.lane),
            Outcome::Resync(wait) => (Some(self.jittered(wait)), Lane::Low),
        };
        let unfinished = matches!(outcome, Outcome::Again(_));
        if !unfinished || wishes.fresh {
            entry.failures = 0;
        }
        if let Some(again) = wishes.again {
            return Next::Ready(lane.max(again));
        }
        match (wait.map(|wait| now + wait), wishes.later) {
            (None, None) => Next::Nowhere,
            (Some(due), None) => Next::At {
                due,
                lane,
                backoff: false,
            },
            (None, Some((due, lane))) => Next::At {
                due,
                lane,
                backoff: false,
            },
            (Some(due), Some((at, wished))) => Next::At {
                due: due.min(at),
                lane: lane.max(wished),
                backoff: false,
            },
        }
    }

    /// The wait after so many failures in a row.
    fn backoff(&mut self, failures: u32) -> Duration {
        let doublings = failures.saturating_sub(1).min(31);
        let wait = self
            .options
            .backoff_first
            .saturating_mul(1 << doublings)
            .min(self.options.backoff_most);
        self.jittered(wait)
    }

    fn jittered(&mut self, wait: Duration) -> Duration {
        let part = 1.0 - self.options.jitter.clamp(0.0, 1.0) * self.random.f64();
        Duration::try_from_secs_f64(wait.as_secs_f64() * part).unwrap_or(wait)
    }

    /// Which lane has the next turn; counts it.
    fn lane_to_serve(&mut self) -> Option<Lane> {
        match (self.high.is_empty(), self.low.is_empty()) {
            (true, true) => None,
            (true, false) => {
                self.high_turns = 0;
                Some(Lane::Low)
            }
            (false, true) => {
                self.high_turns = 0;
                Some(Lane::High)
            }
            (false, false) if self.high_turns + 1 >= self.options.low_every.max(2) => {
                self.high_turns = 0;
                Some(Lane::Low)
            }
            (false, false) => {
                self.high_turns += 1;
                Some(Lane::High)
            }
        }
    }

    fn ticket(&mut self) -> u64 {
        self.tickets += 1;
        self.tickets
    }

    fn make_ready(&mut self, key: K, mut entry: Entry, lane: Lane, since: Moment) {
        let ticket = self.ticket();
        self.counts.adds += 1;
        entry.lane = lane;
        entry.place = Place::Ready { ticket, since };
        self.entries.insert(key.clone(), entry);
        self.lane(lane).insert(ticket, key);
    }

    fn delay(&mut self, key: K, mut entry: Entry, due: Moment, backoff: bool) {
        let ticket = self.ticket();
        entry.place = Place::Delayed {
            due,
            ticket,
            backoff,
        };
        self.entries.insert(key.clone(), entry);
        self.delayed.insert((due, ticket), key);
    }

    /// Moves a ready key of the low lane to the high one, behind its new peers.
    fn raise(&mut self, key: &K, to: Lane) {
        let fresh = self.ticket();
        let Some(entry) = self.entries.get_mut(key) else {
            return;
        };
        let Place::Ready { ticket, .. } = &mut entry.place else {
            return;
        };
        if to <= entry.lane {
            return;
        }
        let old = std::mem::replace(ticket, fresh);
        entry.lane = to;
        self.low.remove(key.tenant(), old);
        self.high.insert(fresh, key.clone());
    }

    fn lane(&mut self, lane: Lane) -> &mut Turns<K> {
        match lane {
            Lane::High => &mut self.high,
            Lane::Low => &mut self.low,
        }
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
        }
    }
}

#[cfg(test)]
mod tests;
