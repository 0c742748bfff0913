//! What was asked and what came of it: the request log and the counters.

use std::collections::{BTreeMap, VecDeque};

use jiff::Timestamp;
use serde::Serialize;

use crate::world::{Operation, Text};

/// One call, as tests read it.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Entry {
    pub(crate) seq: u64,
    /// The cloud's time when the call took effect or was turned away.
    pub(crate) time: Timestamp,
    /// The cloud's time when the whole request was there: earlier than `time` where a fault rule held it back.
    pub(crate) arrived: Timestamp,
    /// What the client calls itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) user_agent: Option<String>,
    pub(crate) operation: Operation,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) account: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) api_key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) idempotency_key: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) vm_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) uid: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) incarnation: Option<Text>,
    pub(crate) status: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) code: Option<String>,
    pub(crate) request_id: String,
    /// Whether it changed anything.
    pub(crate) applied: bool,
    /// Whether the client got no (whole) answer on purpose.
    pub(crate) dropped: bool,
    /// The fault rule that played a part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fault: Option<u64>,
}

impl Entry {
    /// Notes whose VM it was about, as the operator's tags say.
    pub(crate) fn note_tags(&mut self, tags: &[(Text, Text)]) {
        for (key, value) in tags {
            match &**key {
                "vmoperator/uid" => self.uid = Some(value.clone()),
                "vmoperator/incarnation" => self.incarnation = Some(value.clone()),
                _ => {}
            }
        }
    }
}

/// The latest calls and counts of all.
#[derive(Debug)]
pub(crate) struct Journal {
    capacity: usize,
    next: u64,
    entries: VecDeque<Entry>,
    counts: BTreeMap<(Operation, u16), u64>,
    applied: BTreeMap<Operation, u64>,
    dropped: BTreeMap<Operation, u64>,
}

/// Counts of one operation.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Counts {
    pub(crate) statuses: BTreeMap<u16, u64>,
    pub(crate) applied: u64,
    pub(crate) dropped: u64,
}

impl Journal {
    pub(crate) fn new(capacity: usize) -> Self {
        let (counts, applied, dropped) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self {
            capacity,
            next: 1,
            entries: VecDeque::new(),
            counts,
            applied,
            dropped,
        }
    }

    /// Notes a call; its `seq` is set here.
    pub(crate) fn note(&mut self, mut entry: Entry) {
        *self
            .counts
            .entry((entry.operation, entry.status))
            .or_default() += 1;
        *self.applied.entry(entry.operation).or_default() += u64::from(entry.applied);
        *self.dropped.entry(entry.operation).or_default() += u64::from(entry.dropped);
        entry.seq = self.next;
        self.next += 1;
        self.entries.push_back(entry);
        while self.entries.len() > self.capacity {
            self.entries.pop_front();
        }
    }

    /// Entries after `since`, oldest first.
    pub(crate) fn since(&self, since: u64, limit: usize) -> impl Iterator<Item = &Entry> {
        let first = self.entries.front().map_or(self.next, |entry| entry.seq);
        let skip = usize::try_from((since + 1).saturating_sub(first)).unwrap_or(usize::MAX);
        self.entries.iter().skip(skip).take(limit)
    }

    /// The latest `seq`; 0 before the first call.
    pub(crate) fn last(&self) -> u64 {
        self.next - 1
    }

    pub(crate) fn counts(&self) -> BTreeMap<&'static str, Counts> {
        let mut all: BTreeMap<&'static str, Counts> = BTreeMap::new();
        for ((operation, status), count) in &self.counts {
            all.entry(operation.name())
                .or_default()
                .statuses
                .insert(*status, *count);
        }
        for (operation, count) in &self.applied {
            all.entry(operation.name()).or_default().applied = *count;
        }
        for (operation, count) in &self.dropped {
            all.entry(operation.name()).or_default().dropped = *count;
        }
        all
    }
}
