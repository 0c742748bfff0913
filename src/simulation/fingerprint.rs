//! What a state of the world is, in one number: states with the same number go on alike.
//!
//! The state is written out in words and hashed. Moments count as distances from now, and what is longer ago than any
//! rule looks back counts as long ago; versions count as their order; when a condition changed counts nothing.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::process::Process;
use super::wire::wall;
use super::world::World;
use crate::domain::Moment;

/// Longer ago than any rule of a small world looks back: a pair of looks takes half a minute, the grace of a young
/// instance too.
const LONG_AGO_MS: i64 = 120_000;

/// A way to read text that was written at some moment.
pub(super) struct Reading {
    now: Moment,
    versions: BTreeSet<u64>,
}

const MOMENT: &str = "Moment(";
const VERSION: &str = "version: \"";
const YEAR: &str = "2026-";

impl Reading {
    pub(super) fn at(now: Moment) -> Self {
        Self {
            now,
            versions: BTreeSet::new(),
        }
    }

    /// Reads versions as their order in this text.
    fn ranking(mut self, text: &str) -> Self {
        for (at, _) in text.match_indices(VERSION) {
            let digits = number(&text[at + VERSION.len()..]);
            self.versions.extend(digits.parse::<u64>());
        }
        self
    }

    pub(super) fn hash(&self, text: &str) -> u64 {
        let mut hasher = DefaultHasher::new();
        let mut from = 0;
        // Searches for one character are the quick ones: where each is found next.
        let mut found = [MOMENT, VERSION, "Z"].map(|word| next(text, 0, word));
        loop {
            let at = found[0].min(found[1]).min(found[2]);
            if at == usize::MAX {
                text[from..].hash(&mut hasher);
                return hasher.finish();
            }
            let (which, end) = if at == found[2] {
                (2, self.time(text, from, at, &mut hasher))
            } else if at == found[1] {
                (1, self.version(text, from, at, &mut hasher))
            } else {
                (0, self.moment(text, from, at, &mut hasher))
            };
            from = end.unwrap_or(from);
            found[which] = next(text, at + 1, [MOMENT, VERSION, "Z"][which]);
        }
    }

    /// Hashes the text up to a moment and the moment; gives where it ends. So do the next two.
    fn moment(&self, text: &str, from: usize, at: usize, to: &mut DefaultHasher) -> Option<usize> {
        let digits = number(text[at..].strip_prefix(MOMENT)?);
        text[from..at].hash(to);
        let moment = Moment::from_nanos(digits.parse().unwrap_or_default());
        self.distance(moment).hash(to);
        Some(at + MOMENT.len() + digits.len())
    }

    fn version(&self, text: &str, from: usize, at: usize, to: &mut DefaultHasher) -> Option<usize> {
        let digits = number(text[at..].strip_prefix(VERSION)?);
        text[from..at].hash(to);
        let version: u64 = digits.parse().unwrap_or_default();
        match self.versions.is_empty() {
            true => version.hash(to),
            false => self.versions.range(..version).count().hash(to),
        }
        Some(at + VERSION.len() + digits.len())
    }

    fn time(&self, text: &str, from: usize, at: usize, to: &mut DefaultHasher) -> Option<usize> {
        let near = at.saturating_sub(32).max(from);
        let begin = near + text.get(near..at)?.rfind(YEAR)?;
        let time: jiff::Timestamp = text[begin..=at].parse().ok()?;
        let before = &text[from..begin];
        before.hash(to);
        if !TRANSITIONS.iter().any(|word| before.ends_with(word)) {
            let past = time.as_millisecond() - wall(self.now).as_millisecond();
            past.max(-LONG_AGO_MS).hash(to);
        }
        Some(at + 1)
    }

    fn distance(&self, moment: Moment) -> i64 {
        if moment == Moment::START || moment == Moment::END {
            return if moment == Moment::END {
                i64::MAX
            } else {
                i64::MIN
            };
        }
        let millis =
            |moment: Moment| i64::try_from(moment.as_nanos() / 1_000_000).unwrap_or(i64::MAX);
        millis(moment)
            .saturating_sub(millis(self.now))
            .max(-LONG_AGO_MS)
    }
}

/// What precedes the time at which a condition changed, in a status and in a patch.
const TRANSITIONS: [&str; 2] = [
    "last_transition_time: Time(",
    "\"lastTransitionTime\": String(\"",
];

/// Where a word may begin next: where its first character is.
fn next(text: &str, from: usize, word: &str) -> usize {
    let first = word.chars().next().unwrap_or_default();
    let rest = text.get(from..).unwrap_or_default();
    rest.find(first).map_or(usize::MAX, |at| from + at)
}

fn number(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_digit());
    &text[..end.unwrap_or(text.len())]
}

impl World {
    /// The state in a number. For worlds in which nothing is left to chance. Once there was a leader, the two processes
    /// are alike: which of them is which counts nothing.
    pub(super) fn fingerprint(&self, delays: u32) -> u64 {
        let processes = [0, 1].map(|slot| self.process_in_words(slot));
        let common = self.common_in_words(delays);
        let as_they_are = self.in_number(&common, &processes, [0, 1]);
        if self.lease.is_none() {
            return as_they_are;
        }
        as_they_are.min(self.in_number(&common, &processes, [1, 0]))
    }

    /// The state in a number, with the processes in this order.
    fn in_number(&self, common: &str, processes: &[String; 2], order: [usize; 2]) -> u64 {
        let holder = self.lease.and_then(|lease| {
            let holds = |slot: &usize| {
                let process = self.processes[*slot].as_ref();
                process.is_some_and(|p| p.life == lease.life)
            };
            order.iter().position(holds)
        });
        // Requests under way are a set.
        let place = |slot: usize| order[slot];
        let shape = |flight: &super::network::Flight| flight.shape(place(flight.slot));
        let mut flights: Vec<String> = self.flights.iter().map(shape).collect();
        flights.sort();
        let [first, second] = order.map(|slot| {
            if self.may_lead_yet(slot) {
                processes[slot].as_str()
            } else {
                "stands by for ever"
            }
        });
        let text = format!("{common} {holder:?} {first} {second} {flights:?}");
        Reading::at(self.now).ranking(&text).hash(&text)
    }

    /// Whether a process leads or may ever lead. While a leader lives nobody else is elected, and without a fault left it
    /// lives for ever: then what the other knows is never read.
    fn may_lead_yet(&self, slot: usize) -> bool {
        let leads = |process: &Process| process.leading();
        let may_end = self.faults > 0 || self.swarm.words.pause;
        may_end
            || self.leaders().next().is_none()
            || self.processes[slot].as_ref().is_some_and(leads)
    }

    fn common_in_words(&self, delays: u32) -> String {
        let mut text = String::with_capacity(8_192);
        let budgets = (self.faults, self.acts, delays);
        let (objects, cloud) = (&self.api.objects, &self.cloud);
        let config = self.config.lock().unwrap().is_some();
        let _ = write!(
            text,
            "{budgets:?} {config} {objects:?} {cloud:?} {:?}",
            self.lives
        );
        let _ = write!(text, "{:?}", self.lease.map(|lease| lease.renewed));
        text
    }

    fn process_in_words(&self, slot: usize) -> String {
        let mut text = String::with_capacity(8_192);
        match &self.processes[slot] {
            Some(process) => self.write_process(&mut text, process),
            None => text.push_str("none"),
        }
        text
    }

    fn write_process(&self, text: &mut String, process: &Process) {
        let knowledge = process.reconciler.knowledge();
        let until = process.term.term().until();
        let flags = (process.paused, process.expired, process.leading());
        let _ = write!(
            text,
            "{flags:?} {until:?} {knowledge:?} {:?}",
            process.store
        );
        let _ = write!(text, "{:?}", process.schedule.shape());
        let _ = write!(text, "{:?}", &self.api.log[process.cursor..]);
        for pass in &process.passes {
            let _ = write!(text, "{:?} {:?}", pass.target, pass.trail);
        }
    }
}
