//! What an operation costs, counted in touches of keys (hashed, compared, copied, asked for their tenant), not in time.

use super::SECOND;
use crate::domain::time::Moment;
use crate::runtime::schedule::{Lane, Options, Outcome, Schedule, Tenant};
use std::cell::Cell;
use std::hash::{Hash, Hasher};

thread_local! {
    static TOUCHED: Cell<u64> = const { Cell::new(0) };
}

fn touch() {
    TOUCHED.with(|touched| touched.set(touched.get() + 1));
}

/// A key that counts.
#[derive(Debug)]
struct Counted(u32);

impl Clone for Counted {
    fn clone(&self) -> Self {
        touch();
        Self(self.0)
    }
}

impl PartialEq for Counted {
    fn eq(&self, other: &Self) -> bool {
        touch();
        self.0 == other.0
    }
}

impl Eq for Counted {}

impl Hash for Counted {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        touch();
        self.0.hash(hasher);
    }
}

const TENANTS: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];

impl Tenant for Counted {
    fn tenant(&self) -> &str {
        touch();
        TENANTS[self.0 as usize % TENANTS.len()]
    }
}

fn now() -> Moment {
    Moment::from_secs(10)
}

/// A schedule with so many keys: a third waits for a timer, the others are ready, half of them in each lane.
fn filled(keys: u32) -> Schedule<Counted> {
    let mut schedule = Schedule::new(Options::default(), fastrand::Rng::with_seed(1));
    for n in 0..keys {
        match n % 3 {
            0 => schedule.add(Counted(n), Lane::High, now()),
            1 => schedule.add(Counted(n), Lane::Low, now()),
            _ => schedule.add_after(Counted(n), 3600 * SECOND, Lane::Low, now()),
        }
    }
    schedule
}

/// An operation on one key of a full schedule.
type Operation = (&'static str, fn(&mut Schedule<Counted>, u32));

/// Every operation that runs for each event or pass. A take is followed by its answer, so that the schedule stays full.
const OPERATIONS: &[Operation] = &[
    ("add", |schedule, n| {
        schedule.add(Counted(n), Lane::High, now());
    }),
    ("add_after", |schedule, n| {
        schedule.add_after(Counted(n), SECOND, Lane::Low, now());
    }),
    ("cut_short", |schedule, n| {
        schedule.cut_short(Counted(n), now());
    }),
    ("take and done", |schedule, _| {
        let job = schedule.take(now()).expect("many are ready");
        let again = Outcome::After(3600 * SECOND);
        schedule.done(&job.key, again, now());
    }),
    ("take and fail", |schedule, _| {
        let job = schedule.take(now()).expect("many are ready");
        schedule.done(&job.key, super::FAILED, now());
    }),
    ("forget and add", |schedule, n| {
        schedule.forget(&Counted(n));
        schedule.add(Counted(n), Lane::Low, now());
    }),
];

/// Touches of keys for each of so many operations, at so many keys.
fn cost(operation: fn(&mut Schedule<Counted>, u32), keys: u32) -> f64 {
    const TIMES: u32 = 200;
    let mut schedule = filled(keys);
    let mut random = fastrand::Rng::with_seed(7);
    TOUCHED.with(|touched| touched.set(0));
    for _ in 0..TIMES {
        operation(&mut schedule, random.u32(..keys));
    }
    TOUCHED.with(Cell::get) as f64 / f64::from(TIMES)
}

#[test]
fn an_operation_touches_a_handful_of_keys_whether_there_are_a_thousand_or_a_hundred_thousand() {
    for (name, operation) in OPERATIONS {
        let (few, many) = (cost(*operation, 1_000), cost(*operation, 100_000));
        assert!(few >= 1.0, "{name}: nothing was counted");
        assert!(many <= 40.0, "{name}: {many} touches at 100,000 keys");
        assert!(
            many <= 1.5 * few + 1.0,
            "{name}: {few} touches at 1,000 keys, {many} at 100,000"
        );
    }
}

#[test]
fn what_does_look_at_every_key_is_seen_by_this_count() {
    let scan = |schedule: &mut Schedule<Counted>, _: u32| drop(schedule.snapshot(now()));
    assert!(cost(scan, 1_000) >= 1_000.0);
}
