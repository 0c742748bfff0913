//! What belongs to one account.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use jiff::Timestamp;

use super::Vm;
use super::bucket::Bucket;
use super::keys::Keys;
use super::record::Record;
use super::tags::TagIndex;

/// One account's objects.
#[derive(Debug, Default)]
pub(super) struct Account {
    pub(super) revision: u64,
    /// Live VMs by number. Boxed: ids grow, and a tree that grows at its end keeps its nodes half empty.
    pub(super) live: BTreeMap<u64, Box<Record>>,
    /// Deleted VMs that are still remembered.
    pub(super) gone: BTreeMap<u64, Box<Record>>,
    /// Deleted VMs, the longest gone first.
    pub(super) gone_order: VecDeque<u64>,
    pub(super) keys: Keys,
    pub(super) bucket: Bucket,
    pub(super) tags: TagIndex,
    /// Latest change of each VM: revision → number.
    pub(super) changes: BTreeMap<u64, u64>,
    /// Changes up to this revision are no longer all known.
    pub(super) floor: u64,
    /// Revisions by time, as far back as lists lag.
    pub(super) recent: VecDeque<(Timestamp, u64)>,
}

impl Account {
    /// Takes a new VM in.
    pub(super) fn add(
        &mut self,
        vm: Vm,
        now: Timestamp,
        lag: Duration,
        due: Option<Timestamp>,
    ) -> Vm {
        let number = vm.id.number();
        let mut record = Box::new(Record::new(vm, due));
        record.remember(false, now, lag);
        record.vm.revision = self.step(now, lag);
        self.changes.insert(record.vm.revision, number);
        self.tags.insert(&record.vm);
        let vm = record.vm.clone();
        self.live.insert(number, record);
        vm
    }

    /// Changes a live VM.
    pub(super) fn edit(
        &mut self,
        number: u64,
        now: Timestamp,
        lag: Duration,
        due: Option<Timestamp>,
        change: impl FnOnce(&mut Vm),
    ) -> Option<Vm> {
        let mut record = self.live.remove(&number)?;
        record.remember(true, now, lag);
        let before = record.vm.tags.clone();
        change(&mut record.vm);
        record.due = due;
        if before != record.vm.tags {
            self.tags.remove(number, &before);
            self.tags.insert(&record.vm);
        }
        self.note(&mut record, now, lag);
        let vm = record.vm.clone();
        self.live.insert(number, record);
        Some(vm)
    }

    /// Moves a live VM to the dead.
    pub(super) fn remove(
        &mut self,
        number: u64,
        now: Timestamp,
        lag: Duration,
        tombstones: usize,
    ) -> Option<Vm> {
        let mut record = self.live.remove(&number)?;
        record.remember(true, now, lag);
        record.deleted_at = Some(now);
        record.due = None;
        self.tags.remove(number, &record.vm.tags);
        self.note(&mut record, now, lag);
        let vm = record.vm.clone();
        self.gone.insert(number, record);
        self.gone_order.push_back(number);
        self.bury(tombstones);
        Some(vm)
    }

    /// The revision that lists show which lag by `lag`.
    pub(super) fn revision_at(&self, time: Timestamp) -> u64 {
        self.recent
            .iter()
            .find(|(at, _)| *at > time)
            .map_or(self.revision, |(_, revision)| revision - 1)
    }

    fn note(&mut self, record: &mut Record, now: Timestamp, lag: Duration) {
        self.changes.remove(&record.vm.revision);
        record.vm.revision = self.step(now, lag);
        self.changes
            .insert(record.vm.revision, record.vm.id.number());
    }

    fn step(&mut self, now: Timestamp, lag: Duration) -> u64 {
        self.revision += 1;
        if lag.is_zero() {
            self.recent.clear();
        } else {
            let oldest = super::earlier(now, lag);
            while self.recent.front().is_some_and(|(at, _)| *at <= oldest) {
                self.recent.pop_front();
            }
            self.recent.push_back((now, self.revision));
        }
        self.revision
    }

    /// Forgets the longest dead beyond `tombstones`; the feed cannot go back behind them.
    fn bury(&mut self, tombstones: usize) {
        while self.gone.len() > tombstones {
            let Some(record) = self
                .gone_order
                .pop_front()
                .and_then(|number| self.gone.remove(&number))
            else {
                return;
            };
            self.changes.remove(&record.vm.revision);
            self.floor = self.floor.max(record.vm.revision);
        }
    }
}
