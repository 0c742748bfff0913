//! The schedule against a naive model: a plain list, every rule written out without any cleverness.

use super::{FAILED, Key, schedule};
use crate::domain::time::Moment;
use crate::runtime::schedule::{Lane, Outcome, Schedule, Whereabouts};
use proptest::prelude::*;
use std::time::Duration;

const TENANTS: [&str; 3] = ["a", "b", "c"];
const SECOND: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug)]
enum Op {
    Add(usize, Lane),
    AddAfter(usize, u64, Lane),
    CutShort(usize),
    RetryEarly(usize),
    Take,
    Done(usize, Outcome),
    Forget(usize),
    Wait(u64),
}

fn key(n: usize) -> Key {
    Key(TENANTS[n % 3], u32::try_from(n).unwrap())
}

fn lane() -> impl Strategy<Value = Lane> {
    prop_oneof![Just(Lane::High), Just(Lane::Low)]
}

fn op() -> impl Strategy<Value = Op> {
    let n = || 0..9usize;
    let outcome = prop_oneof![
        2 => Just(Outcome::Settled),
        2 => (0..20u64).prop_map(|secs| Outcome::After(Duration::from_secs(secs))),
        1 => (0..20u64).prop_map(|secs| Outcome::Again(Duration::from_secs(secs))),
        1 => (0..20u64).prop_map(|secs| Outcome::Resync(Duration::from_secs(secs))),
        4 => Just(FAILED),
        1 => (0..20u64).prop_map(|secs| Outcome::Failed { at_least: Some(Duration::from_secs(secs)) }),
        1 => Just(Outcome::Terminal),
    ];
    prop_oneof![
        6 => (n(), lane()).prop_map(|(n, lane)| Op::Add(n, lane)),
        3 => (n(), 0..20u64, lane()).prop_map(|(n, secs, lane)| Op::AddAfter(n, secs, lane)),
        1 => n().prop_map(Op::CutShort),
        1 => n().prop_map(Op::RetryEarly),
        8 => Just(Op::Take),
        6 => (n(), outcome).prop_map(|(n, outcome)| Op::Done(n, outcome)),
        1 => n().prop_map(Op::Forget),
        3 => (0..6u64).prop_map(Op::Wait),
    ]
}

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
}

#[derive(Default)]
struct Model {
    rows: Vec<Row>,
    now: u64,
    order: u64,
    high_turns: u32,
    /// Tenants of each lane in the order of their next turn.
    turns: [Vec<&'static str>; 2],
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
            turns.retain(|tenant| with_keys.contains(tenant));
            for tenant in with_keys {
                if !turns.contains(&tenant) {
                    turns.push(tenant);
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

    fn add(&mut self, n: usize, lane: Lane) {
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

    fn add_after(&mut self, n: usize, secs: u64, lane: Lane) {
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

    fn end_wait(&mut self, n: usize, fresh: bool) {
        self.add(n, Lane::High);
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
                self.ready(row, Lane::High, now);
            }
        }
    }

    fn take(&mut self) -> Option<(usize, Lane, u32)> {
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
        let tenant = self.turns[index(lane)].remove(0);
        let candidates = self.rows.iter().filter_map(|row| match row.at {
            At::Ready(order, _) if row.lane == lane && key(row.n).0 == tenant => {
                Some((order, row.clone()))
            }
            _ => None,
        });
        let (_, mut row) = candidates.min_by_key(|(order, _)| *order)?;
        let answer = (row.n, row.lane, row.failures);
        row.at = At::Running;
        self.put(row);
        Some(answer)
    }

    fn done(&mut self, n: usize, outcome: Outcome) {
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

    fn forget(&mut self, n: usize) {
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
    fn view(&self) -> Vec<(Key, Lane, u32, &'static str, u64)> {
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

fn view(schedule: &Schedule<Key>, now: Moment) -> Vec<(Key, Lane, u32, &'static str, u64)> {
    let lines = schedule.snapshot(now).into_iter().map(|line| {
        let (at, time) = match line.whereabouts {
            Whereabouts::Ready(age) => ("ready", age.as_secs()),
            Whereabouts::Delayed(left, true) => ("back-off", left.as_secs()),
            Whereabouts::Delayed(left, false) => ("timer", left.as_secs()),
            Whereabouts::Running(_) => ("running", 0),
        };
        (line.key, line.lane, line.failures, at, time)
    });
    let mut view: Vec<_> = lines.collect();
    view.sort();
    view
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_schedule_does_what_the_naive_model_does(ops in prop::collection::vec(op(), 1..120)) {
        let (mut schedule, mut model) = (schedule(), Model::default());
        for op in ops {
            let now = Moment::from_secs(model.now);
            match op {
                Op::Add(n, lane) => { schedule.add(key(n), lane, now); model.add(n, lane) }
                Op::AddAfter(n, secs, lane) => {
                    schedule.add_after(key(n), Duration::from_secs(secs), lane, now);
                    model.add_after(n, secs, lane);
                }
                Op::CutShort(n) => { schedule.cut_short(key(n), now); model.end_wait(n, true) }
                Op::RetryEarly(n) => { schedule.retry_early(key(n), now); model.end_wait(n, false) }
                Op::Take => {
                    let job = schedule.take(now).map(|job| (job.key, job.lane, job.failures));
                    let expected = model.take().map(|(n, lane, failures)| (key(n), lane, failures));
                    prop_assert_eq!(job, expected);
                }
                Op::Done(n, outcome) => { schedule.done(&key(n), outcome, now); model.done(n, outcome) }
                Op::Forget(n) => { schedule.forget(&key(n)); model.forget(n) }
                Op::Wait(secs) => model.now += secs,
            }
            let now = Moment::from_secs(model.now);
            prop_assert_eq!(view(&schedule, now), model.view(), "after {:?}", op);
            let count = |what: &str| model.view().iter().filter(|row| row.3 == what).count();
            prop_assert_eq!(schedule.depth(), count("ready"));
            prop_assert_eq!(schedule.delayed_depth(), count("timer") + count("back-off"));
            prop_assert_eq!(schedule.running(), count("running"));
        }
    }

    /// The bound that the module states: with T tenants in its lane, the p-th key of a tenant is taken within
    /// `low_every * p * T` turns, whatever else is added meanwhile and however eager the others are.
    #[test]
    fn no_key_starves(
        own in 0..5u32, others in prop::collection::vec(0..40u32, 1..6), lane in lane(), seed in any::<u64>(),
    ) {
        const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
        let mut schedule = schedule();
        let mut random = fastrand::Rng::with_seed(seed);
        let now = Moment::from_secs(1);
        for (tenant, count) in others.iter().enumerate() {
            for n in 0..*count {
                schedule.add(Key(NAMES[tenant], n), Lane::High, now);
                schedule.add(Key(NAMES[tenant], 1000 + n), Lane::Low, now);
            }
        }
        for n in 0..own {
            schedule.add(Key("mine", n), lane, now);
        }
        schedule.add(Key("mine", 999), lane, now);
        // Whatever others add has tenants of `others`, so T is their number and ours; p is own + 1.
        let bound = 8 * (own as usize + 1) * (others.len() + 1);
        let mut turns = 0;
        loop {
            let job = schedule.take(now).unwrap();
            turns += 1;
            prop_assert!(turns <= bound, "not within {bound} turns");
            if job.key == Key("mine", 999) {
                break;
            }
            // Those who ran want to run again at once, and new keys come in both lanes.
            schedule.done(&job.key, Outcome::After(Duration::ZERO), now);
            let tenant = NAMES[random.usize(..others.len())];
            schedule.add(Key(tenant, random.u32(2000..)), Lane::High, now);
            schedule.add(Key(tenant, random.u32(2000..)), Lane::Low, now);
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_order(ops in prop::collection::vec(op(), 1..80), seed in any::<u64>()) {
        let run = || {
            let random = fastrand::Rng::with_seed(seed);
            let mut schedule = Schedule::new(crate::runtime::schedule::Options::default(), random);
            let (mut now, mut taken) = (Moment::START, Vec::new());
            for op in &ops {
                match *op {
                    Op::Add(n, lane) => schedule.add(key(n), lane, now),
                    Op::AddAfter(n, secs, lane) => schedule.add_after(key(n), Duration::from_secs(secs), lane, now),
                    Op::CutShort(n) => schedule.cut_short(key(n), now),
                    Op::RetryEarly(n) => schedule.retry_early(key(n), now),
                    Op::Take => taken.extend(schedule.take(now)),
                    Op::Done(n, outcome) => schedule.done(&key(n), outcome, now),
                    Op::Forget(n) => schedule.forget(&key(n)),
                    Op::Wait(secs) => now = now + secs as u32 * SECOND,
                }
            }
            (taken, schedule.next_due())
        };
        prop_assert_eq!(run(), run());
    }
}
