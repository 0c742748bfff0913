//! Where a key goes when its run or its wait ends.

use super::{Entry, Lane, Outcome, Place, Schedule, Tenant, Wishes};
use crate::domain::time::Moment;
use std::hash::Hash;
use std::time::Duration;

/// Where a key goes after its run.
pub(super) enum Next {
    Nowhere,
    Ready(Lane),
    At {
        due: Moment,
        lane: Lane,
        backoff: bool,
    },
}

impl<K: Clone + Eq + Hash + Tenant> Schedule<K> {
    pub(super) fn end_wait(&mut self, key: K, fresh: bool, lane: Lane, now: Moment) {
        self.add(key.clone(), lane, now);
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
            self.make_ready(key, entry, entry.lane, now);
        }
    }

    pub(super) fn next_place(
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
    pub(super) fn backoff(&mut self, failures: u32) -> Duration {
        let doublings = failures.saturating_sub(1).min(31);
        let wait = self
            .options
            .backoff_first
            .saturating_mul(1 << doublings)
            .min(self.options.backoff_most);
        self.jittered(wait)
    }

    pub(super) fn jittered(&mut self, wait: Duration) -> Duration {
        let part = 1.0 - self.options.jitter.clamp(0.0, 1.0) * self.random.f64();
        Duration::try_from_secs_f64(wait.as_secs_f64() * part).unwrap_or(wait)
    }
}
