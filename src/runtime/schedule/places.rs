//! How keys move between the lanes and the timers.

use super::lane::Turns;
use super::{Entry, Lane, Place, Schedule, Tenant};
use crate::domain::time::Moment;
use std::hash::Hash;

impl<K: Clone + Eq + Hash + Tenant> Schedule<K> {
    /// Moves every key whose timer has fired to its lane, in the order in which the timers fired.
    pub(super) fn fire_timers(&mut self, now: Moment) {
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

    /// Which lane has the next turn; counts it.
    pub(super) fn lane_to_serve(&mut self) -> Option<Lane> {
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

    pub(super) fn ticket(&mut self) -> u64 {
        self.tickets += 1;
        self.tickets
    }

    pub(super) fn make_ready(&mut self, key: K, mut entry: Entry, lane: Lane, since: Moment) {
        let ticket = self.ticket();
        self.counts.adds += 1;
        entry.lane = lane;
        entry.place = Place::Ready { ticket, since };
        self.entries.insert(key.clone(), entry);
        self.lane(lane).insert(ticket, key, entry.hurried);
    }

    pub(super) fn delay(&mut self, key: K, mut entry: Entry, due: Moment, backoff: bool) {
        let ticket = self.ticket();
        entry.place = Place::Delayed {
            due,
            ticket,
            backoff,
        };
        self.entries.insert(key.clone(), entry);
        self.delayed.insert((due, ticket), key);
    }

    /// Moves a ready key before those of its tenant that are not hurried, behind those that are.
    pub(super) fn move_up(&mut self, key: &K) {
        let fresh = self.ticket();
        let Some(entry) = self.entries.get_mut(key) else {
            return;
        };
        let Place::Ready { ticket, .. } = &mut entry.place else {
            return;
        };
        if std::mem::replace(&mut entry.hurried, true) {
            return;
        }
        let (old, lane) = (std::mem::replace(ticket, fresh), entry.lane);
        self.lane(lane).move_up(key.tenant(), old, fresh);
    }

    /// Moves a ready key of the low lane to the high one, behind its new peers.
    pub(super) fn raise(&mut self, key: &K, to: Lane) {
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
        let (old, hurried) = (std::mem::replace(ticket, fresh), entry.hurried);
        entry.lane = to;
        self.low.remove(key.tenant(), old);
        self.high.insert(fresh, key.clone(), hurried);
    }

    pub(super) fn lane(&mut self, lane: Lane) -> &mut Turns<K> {
        match lane {
            Lane::High => &mut self.high,
            Lane::Low => &mut self.low,
        }
    }
}
