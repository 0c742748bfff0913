//! What one replica has counted between its scrapes.

use std::collections::{BTreeMap, VecDeque};

use super::KEPT;
use super::readings::{Counter, Levels, Readings, Series};
use crate::age::Stamp;

/// Most intervals that are kept, whatever their length.
const INTERVALS: usize = 1000;
/// Two scrapes farther apart are no interval: in between nobody looked, in seconds.
const GAP: f64 = 30.0;
/// The start of a process as it tells it may move by rounding, in seconds.
const SAME_START: f64 = 1.5;

/// What was counted between two scrapes of the same process.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    /// When it begins.
    pub from: Stamp,
    /// When it ends.
    pub to: Stamp,
    /// By how much counters grew; those that did not are left out.
    pub counters: BTreeMap<Counter, f64>,
    /// By how much cumulative buckets grew; series without an observation are left out.
    pub buckets: BTreeMap<Series, Vec<(f64, f64)>>,
}

/// One replica.
#[derive(Clone, Debug, Default)]
pub struct Replica {
    last: Option<Readings>,
    intervals: VecDeque<Interval>,
    levels: VecDeque<Levels>,
    ended: bool,
    restarts: u32,
}

impl Interval {
    /// By how much the counters that are wanted grew together.
    pub fn counted(&self, wanted: impl Fn(&Counter) -> bool) -> f64 {
        let grown = self.counters.iter().filter(|(counter, _)| wanted(counter));
        grown.map(|(_, grown)| grown).sum()
    }
}

impl Replica {
    /// Takes a scrape. A process that began anew, a counter that fell, or too long a pause begin without an interval:
    /// what happened in between is not known.
    pub fn take(&mut self, new: Readings) {
        self.ended = false;
        if let Some(last) = &self.last {
            if new.levels.at <= last.levels.at {
                return;
            }
            match interval(last, &new) {
                Some(interval) => self.intervals.push_back(interval),
                None if restarted(last, &new) => self.restarts += 1,
                None => {}
            }
        }
        self.levels.push_back(new.levels.clone());
        let oldest = new.levels.at.before(KEPT);
        while self.levels.front().is_some_and(|one| one.at < oldest)
            || self.levels.len() > INTERVALS
        {
            self.levels.pop_front();
        }
        while self.intervals.front().is_some_and(|one| one.to < oldest)
            || self.intervals.len() > INTERVALS
        {
            self.intervals.pop_front();
        }
        self.last = Some(new);
    }

    /// It is not looked for any more.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// Whether it is still looked for.
    #[must_use]
    pub fn is_known(&self) -> bool {
        !self.ended
    }

    /// When it was last scraped.
    #[must_use]
    pub fn heard(&self) -> Option<Stamp> {
        self.last.as_ref().map(|last| last.levels.at)
    }

    /// Whether anything is known of how its counters grew.
    #[must_use]
    pub fn is_measured(&self) -> bool {
        !self.intervals.is_empty()
    }

    /// How often its process was seen to begin anew.
    #[must_use]
    pub fn restarts(&self) -> u32 {
        self.restarts
    }

    /// Its levels at the last scrape.
    #[must_use]
    pub fn now(&self) -> Option<&Levels> {
        self.last.as_ref().map(|last| &last.levels)
    }

    pub(super) fn intervals(&self) -> impl Iterator<Item = &Interval> {
        self.intervals.iter()
    }

    pub(super) fn levels(&self) -> impl Iterator<Item = &Levels> {
        self.levels.iter()
    }

    pub(super) fn series(&self) -> impl Iterator<Item = &Series> {
        self.last.iter().flat_map(|last| last.buckets.keys())
    }
}

fn restarted(last: &Readings, new: &Readings) -> bool {
    match (last.start, new.start) {
        (Some(last), Some(new)) => (new - last).abs() > SAME_START,
        (None, None) => false,
        (Some(_), None) | (None, Some(_)) => true,
    }
}

/// What was counted in between; `None` when that cannot be known.
fn interval(last: &Readings, new: &Readings) -> Option<Interval> {
    if restarted(last, new) || new.levels.at.seconds_since(last.levels.at) > GAP {
        return None;
    }
    let mut counters = BTreeMap::new();
    for (counter, value) in &new.counters {
        // A series that was not there had counted nothing.
        let grown = value - last.counters.get(counter).copied().unwrap_or(0.0);
        if grown < 0.0 {
            return None;
        }
        if grown > 0.0 {
            counters.insert(counter.clone(), grown);
        }
    }
    let mut buckets = BTreeMap::new();
    for (series, new) in &new.buckets {
        let before = last.buckets.get(series);
        let grown: Vec<(f64, f64)> = new
            .iter()
            .map(|(bound, count)| {
                let known = before.and_then(|all| all.iter().find(|(known, _)| known == bound));
                (*bound, count - known.map_or(0.0, |(_, count)| *count))
            })
            .collect();
        if grown.iter().any(|(_, grown)| *grown < 0.0) {
            return None;
        }
        if grown.iter().any(|(_, grown)| *grown > 0.0) {
            buckets.insert(series.clone(), grown);
        }
    }
    Some(Interval {
        from: last.levels.at,
        to: new.levels.at,
        counters,
        buckets,
    })
}
