//! The naive model: a plain list, every rule written out without any cleverness.

use super::{Key, key};
use crate::runtime::schedule::{Lane, Outcome};

/// One key of the model.
#[derive(Clone, Copy, Debug, PartialEq)]
enum At {
    /// Position in the order of arrival in its lane, and since when.
    Ready(u64, u64),
    /// Due second, order of equal ones, whether in back-off.
    Delayed(u64, u64, bool),
    Running,
}

#[derive(Clone, Debug)]
struct Row {
    n: usize,
    at: At,
    lane: Lane,
    failures: u32,
    early: bool,
    again: Option<Lane>,
    later: Option<(u64, Lane)>,
    cut: bool,
    fresh: bool,
    forgotten: bool,
    /// Ready before the others of its tenant, or to be so when it runs again.
    hurried: bool,
}

#[derive(Default)]
pub(super) struct Model {
    rows: Vec<Row>,
    pub(super) now: u64,
    order: u64,
    high_turns: u32,
    /// Tenants of each lane in the order of their next turn, and how many hurried keys of each went before others.
    turns: [Vec<(&'static str, u32)>; 2],
}

fn index(lane: Lane) -> usize {
    match lane {
        Lane::High => 0,
        Lane::Low => 1,
    }
}

impl Model {
    fn row(&mut self, n: usize) -> Option<&mut Row> {
        self.rows.iter_mut().find(|row| row.n == n)
    }

    fn fresh_row(&mut self, n: usize, lane: Lane) -> Row {
        Row {
            n,
            at: At::Running,
            lane,
            failures: 0,
            early: false,
            again: None,
            later: None,
            cut: false,
            fresh: false,
            forgotten: false,
            hurried: false,
        }
    }

    fn put(&mut self, row: Row) {
        self.rows.retain(|other| other.n != row.n);
        self.rows.push(row);
        self.renew_turns();
    }

    fn ready(&mut self, mut row: Row, lane: Lane, since: u64) {
        self.order += 1;
        row.lane = lane;
        row.at = At::Ready(self.order, since);
        self.put(row);
    }

    fn delay(&mut self, mut row: Row, due: u64, backoff: bool) {
        self.order += 1;
        row.at = At::Delayed(due, self.order, backoff);
        self.put(row);
    }

    /// Tenants without ready keys leave the turns, new ones join at the end.
    fn renew_turns(&mut self) {
        for lane in Lane::ALL {
            let is_ready = |row: &&Row| row.lane == lane && matches!(row.at, At::Ready(..));
            let with_keys: Vec<&str> = self
                .rows
                .iter()
                .filter(is_ready)
                .map(|row| key(row.n).0)
                .collect();
            let turns = &mut self.turns[index(lane)];
            turns.retain(|(tenant, _)| with_keys.contains(tenant));
            for tenant in with_keys {
                if !turns.iter().any(|(there, _)| *there == tenant) {
                    turns.push((tenant, 0));
                }
            }
        }
    }

    fn fire(&mut self) {
        loop {
            let due = self.rows.iter().filter_map(|row| match row.at {
                At::Delayed(due, order, _) if due <= self.now => Some((due, order, row.clone())),
                _ => None,
            });
            let Some((due, _, row)) = due.min_by_key(|(due, order, _)| (*due, *order)) else {
                return;
            };
            let lane = row.lane;
            self.ready(row, lane, due);
        }
    }

    pub(super) fn add(&mut self, n: usize, lane: Lane) {
        self.fire();
        let now = self.now;
        let Some(mut row) = self.row(n).cloned() else {
            let row = self.fresh_row(n, lane);
            return self.ready(row, lane, now);
        };
        match row.at {
            At::Ready(_, since) => {
                if lane > row.lane {
                    self.ready(row, lane, since);
                }
            }
            At::Delayed(_, _, true) => {
                row.lane = row.lane.max(lane);
                self.put(row);
            }
            At::Delayed(_, _, false) => {
                let lane = row.lane.max(lane);
                self.ready(row, lane, now);
            }
            At::Running => {
                row.again = row.again.max(Some(lane));
                self.put(row);
            }
        }
    }

    pub(super) fn add_after(&mut self, n: usize, secs: u64, lane: Lane) {
        self.fire();
        let due = self.now + secs;
        let Some(mut row) = self.row(n).cloned() else {
            if secs == 0 {
                return self.add(n, lane);
            }
            let row = self.fresh_row(n, lane);
            return self.delay(row, due, false);
        };
        match row.at {
            _ if secs == 0 => self.add(n, lane),
            At::Ready(..) => self.add(n, lane),
            At::Delayed(old, _, backoff) => {
                row.lane = row.lane.max(lane);
                if !backoff && due < old {
                    self.delay(row, due, false)
                } else {
                    self.put(row)
                }
            }
            At::Running => {
                let old = row.later.unwrap_or((due, lane));
                row.later = Some((old.0.min(due), old.1.max(lane)));
                self.put(row);
            }
        }
    }

    pub(super) fn end_wait(&mut self, n: usize, fresh: bool, lane: Lane) {
        self.add(n, lane);
        let now = self.now;
        let Some(mut row) = self.row(n).cloned() else {
            return;
        };
        match row.at {
            At::Running => {
                row.cut = true;
                row.fresh |= fresh;
                self.put(row);
            }
            At::Ready(..) => {
                row.failures = if fresh { 0 } else { row.failures };
                self.put(row);
            }
            At::Delayed(..) => {
                row.failures = if fresh { 0 } else { row.failures };
                row.early = true;
                let lane = row.lane;
                self.ready(row, lane, now);
            }
        }
    }

    pub(super) fn take(&mut self) -> Option<(usize, Lane, u32)> {
        self.fire();
        let waiting = |lane: Lane| !self.turns[index(lane)].is_empty();
        let lane = match (waiting(Lane::High), waiting(Lane::Low)) {
            (false, false) => return None,
            (true, true) if self.high_turns < 7 => {
                self.high_turns += 1;
                Lane::High
            }
            (true, true) | (false, true) => {
                self.high_turns = 0;
                Lane::Low
            }
            (true, false) => {
                self.high_turns = 0;
                Lane::High
            }
        };
        let (tenant, hurried_turns) = self.turns[index(lane)].remove(0);
        let candidates = self.rows.iter().filter_map(|row| match row.at {
            At::Ready(order, _) if row.lane == lane && key(row.n).0 == tenant => {
                Some((order, row.clone()))
            }
            _ => None,
        });
        let (hurried, others): (Vec<_>, Vec<_>) = candidates.partition(|(_, row)| row.hurried);
        let both = !hurried.is_empty() && !others.is_empty();
        let (from, hurried_turns) = if both && hurried_turns < 3 {
            (hurried, hurried_turns + 1)
        } else if both || hurried.is_empty() {
            (others, 0)
        } else {
            (hurried, 0)
        };
        let (_, mut row) = from.into_iter().min_by_key(|(order, _)| *order)?;
        let answer = (row.n, row.lane, row.failures);
        row.at = At::Running;
        row.hurried = false;
        // Behind the others, unless it has no keys any more.
        self.turns[index(lane)].push((tenant, hurried_turns));
        self.put(row);
        Some(answer)
    }

    pub(super) fn hurry(&mut self, n: usize) {
        self.end_wait(n, true, Lane::High);
        let Some(mut row) = self.row(n).cloned() else {
            return;
        };
        let moves = !row.hurried;
        row.hurried = true;
        match row.at {
            At::Ready(_, since) if moves => self.ready(row, Lane::High, since),
            At::Ready(..) | At::Delayed(..) | At::Running => self.put(row),
        }
    }

    pub(super) fn done(&mut self, n: usize, outcome: Outcome) {
        self.fire();
        let now = self.now;
        let Some(row) = self.row(n).cloned().filter(|row| row.at == At::Running) else {
            return;
        };
        let outcome = if row.forgotten {
            Outcome::Settled
        } else {
            outcome
        };
        let mut next = self.fresh_row(n, row.lane);
        match outcome {
            Outcome::Failed { at_least } => {
                next.failures = match (row.fresh, row.early) {
                    (true, _) => 0,
                    (false, true) => row.failures,
                    (false, false) => row.failures + 1,
                };
                next.lane = row.lane.max(row.again.unwrap_or(Lane::Low));
                if row.cut {
                    next.early = true;
                    next.hurried = row.hurried;
                    let lane = next.lane;
                    return self.ready(next, lane, now);
                }
                let wait = (1u64 << next.failures.saturating_sub(1).min(20)).min(300);
                self.delay(
                    next,
                    now + wait.max(at_least.map_or(0, |wait| wait.as_secs())),
                    true,
                );
            }
            Outcome::Settled | Outcome::Terminal => self.next(next, None, Lane::Low, &row),
            Outcome::Again(wait) => {
                next.failures = if row.fresh { 0 } else { row.failures };
                self.next(next, Some(wait.as_secs()), row.lane, &row);
            }
            Outcome::After(wait) => self.next(next, Some(wait.as_secs()), row.lane, &row),
            Outcome::Resync(wait) => self.next(next, Some(wait.as_secs()), Lane::Low, &row),
        }
    }

    fn next(&mut self, mut next: Row, wait: Option<u64>, lane: Lane, row: &Row) {
        let now = self.now;
        if let Some(again) = row.again {
            next.hurried = row.hurried;
            return self.ready(next, lane.max(again), now);
        }
        let due = wait
            .map(|wait| now + wait)
            .into_iter()
            .chain(row.later.map(|(due, _)| due))
            .min();
        let lanes = wait
            .map(|_| lane)
            .into_iter()
            .chain(row.later.map(|(_, lane)| lane))
            .max();
        match (due, lanes) {
            (Some(due), Some(lane)) => {
                next.lane = lane;
                self.delay(next, due, false);
            }
            _ => {
                self.rows.retain(|other| other.n != row.n);
                self.renew_turns();
            }
        }
    }

    pub(super) fn forget(&mut self, n: usize) {
        match self.row(n).cloned() {
            Some(row) if row.at == At::Running => {
                let mut fresh = self.fresh_row(n, row.lane);
                fresh.forgotten = true;
                self.put(fresh);
            }
            _ => {
                self.rows.retain(|row| row.n != n);
                self.renew_turns();
            }
        }
    }

    /// Where everything is, in a form that both can give.
    pub(super) fn view(&self) -> Vec<(Key, Lane, u32, &'static str, u64)> {
        let mut view: Vec<_> = self
            .rows
            .iter()
            .map(|row| {
                let (at, time) = match row.at {
                    At::Ready(_, since) => ("ready", self.now - since),
                    At::Delayed(due, _, true) => ("back-off", due.saturating_sub(self.now)),
                    At::Delayed(due, _, false) => ("timer", due.saturating_sub(self.now)),
                    At::Running => ("running", 0),
                };
                (key(row.n), row.lane, row.failures, at, time)
            })
            .collect();
        view.sort();
        view
    }
}
