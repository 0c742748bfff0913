//! Which events are repeats of one before, and how many one object may have. No clock, no waiting.

use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use jiff::Timestamp;

use super::{Kind, Regarding, Told};
use crate::domain::{Moment, ObjectKey, Reason, Uid};
use crate::lifecycle::event::Deed;

/// How long after its last occurrence an event is still the same series.
const LASTS: Duration = Duration::from_mins(10);
/// Distance of the writes of one series: what is repeated faster is collected.
const DISTANCE: Duration = Duration::from_mins(1);
/// New events that one object may have at once …
const BURST: u32 = 20;
/// … and how long until it may have one more.
const REFILL: Duration = Duration::from_mins(3);
/// Most series, and most objects, that are remembered.
const MEMORY: usize = 4096;

/// Two events with equal ones say the same of one object.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Key {
    uid: Uid,
    reason: Reason,
    deed: Deed,
    note: u64,
}

/// What is to be done about an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Write it under this name.
    Create(String),
    /// Write that it happened again.
    Repeat(Repeat),
    /// Nothing now: it is counted with the next write of its series.
    Collected,
    /// Nothing: its object has had too many.
    Limited,
}

/// A repeated event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeat {
    /// Namespace and name of the event.
    pub event: ObjectKey,
    /// How often it happened, from 2.
    pub count: i32,
    /// When it happened last.
    pub last: Timestamp,
}

/// Everything that is remembered.
#[derive(Debug, Default)]
pub(super) struct Book {
    series: HashMap<Key, Series>,
    /// Series with occurrences that are not written, by when they may be.
    waiting: BTreeSet<(Moment, Key)>,
    objects: HashMap<Uid, Budget>,
    /// The number in the last name: names are never used twice.
    stamp: i128,
}

#[derive(Debug)]
struct Series {
    event: ObjectKey,
    count: i32,
    last: Timestamp,
    seen: Moment,
    written: Moment,
    waits: bool,
}

/// A bucket that leaks.
#[derive(Clone, Copy, Debug)]
struct Budget {
    used: u32,
    since: Moment,
}

impl Key {
    pub(super) fn of(told: &Told) -> Self {
        let event = &told.event;
        let mut note = DefaultHasher::new();
        event.note.hash(&mut note);
        Self {
            uid: told.about.uid.clone(),
            reason: event.reason,
            deed: event.deed,
            note: note.finish(),
        }
    }
}

impl Book {
    /// Takes an event.
    pub(super) fn take(&mut self, told: &Told, now: Moment) -> Step {
        let key = Key::of(told);
        let lasting = |series: &Series| now.since(series.seen) <= LASTS;
        if let Some(series) = self.series.get_mut(&key).filter(|one| lasting(one)) {
            series.count = series.count.saturating_add(1);
            (series.last, series.seen) = (told.at, now);
            if series.waits {
                return Step::Collected;
            }
            if series.count > 2 && now.since(series.written) < DISTANCE {
                series.waits = true;
                self.waiting.insert((series.written + DISTANCE, key));
                return Step::Collected;
            }
            series.written = now;
            return Step::Repeat(series.repeat());
        }
        if !self.affords(&told.about.uid, now) {
            return Step::Limited;
        }
        self.begin(key, told, now)
    }

    fn begin(&mut self, key: Key, told: &Told, now: Moment) -> Step {
        self.make_room(now);
        let name = self.name(&told.about, told.at);
        let namespace = std::sync::Arc::clone(&told.about.key.namespace);
        let series = Series {
            event: ObjectKey::new(namespace, name.as_str()),
            count: 1,
            last: told.at,
            seen: now,
            written: now,
            waits: false,
        };
        self.forget(&key);
        self.series.insert(key, series);
        Step::Create(name)
    }

    /// When there is something to write at the latest.
    pub(super) fn due(&self) -> Option<Moment> {
        self.waiting.first().map(|(at, _)| *at)
    }

    /// The next series whose repeats may be written by now.
    pub(super) fn next(&mut self, now: Moment) -> Option<(Key, Repeat)> {
        while self.due()? <= now {
            let (_, key) = self.waiting.pop_first()?;
            if let Some(series) = self.series.get_mut(&key) {
                (series.written, series.waits) = (now, false);
                let repeat = series.repeat();
                return Some((key, repeat));
            }
        }
        None
    }

    /// The event could not be written, or is there no more: the next of its kind is a new one.
    pub(super) fn forget(&mut self, key: &Key) {
        if let Some(series) = self.series.remove(key)
            && series.waits
        {
            self.waiting
                .remove(&(series.written + DISTANCE, key.clone()));
        }
    }

    /// How much is remembered.
    #[cfg(test)]
    pub(super) fn remembered(&self) -> usize {
        self.series.len() + self.objects.len()
    }

    fn affords(&mut self, uid: &Uid, now: Moment) -> bool {
        if self.objects.len() >= MEMORY && !self.objects.contains_key(uid) {
            self.objects.retain(|_, one| one.left(now).used > 0);
            // A bound on memory is worth more than the exact budget of every object.
            if self.objects.len() >= MEMORY {
                self.objects.clear();
            }
        }
        let fresh = Budget {
            used: 0,
            since: now,
        };
        let budget = self.objects.entry(uid.clone()).or_insert(fresh);
        *budget = budget.left(now);
        let affords = budget.used < BURST;
        budget.used += u32::from(affords);
        affords
    }

    fn make_room(&mut self, now: Moment) {
        if self.series.len() < MEMORY {
            return;
        }
        self.series
            .retain(|_, one| one.waits || now.since(one.seen) <= LASTS);
        if self.series.len() >= MEMORY {
            self.series.clear();
            self.waiting.clear();
        }
    }

    /// Names sort by time, as those of other components do. Object names may be longer than leaves room for more.
    fn name(&mut self, about: &Regarding, at: Timestamp) -> String {
        self.stamp = at.as_nanosecond().max(self.stamp + 1);
        let object = &about.key.name;
        let kept = object.floor_char_boundary(200).min(object.len());
        let kept = object[..kept].trim_end_matches(['.', '-']);
        // Two kinds may share a name.
        let mark = match about.kind {
            Kind::VirtualMachine => "",
            Kind::ProviderConfig => ".providerconfig",
        };
        format!("{kept}{mark}.{:016x}", self.stamp)
    }
}

impl Series {
    fn repeat(&self) -> Repeat {
        Repeat {
            event: self.event.clone(),
            count: self.count,
            last: self.last,
        }
    }
}

impl Budget {
    fn left(self, now: Moment) -> Self {
        let back = now.since(self.since).as_secs() / REFILL.as_secs();
        let back = u32::try_from(back).unwrap_or(u32::MAX);
        if back >= self.used {
            return Self {
                used: 0,
                since: now,
            };
        }
        Self {
            used: self.used - back,
            since: self.since + REFILL * back,
        }
    }
}
