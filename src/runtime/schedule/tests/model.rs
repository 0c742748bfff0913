//! The schedule against a naive model, and what it promises whatever the order of calls.

mod naive;

use super::{FAILED, Key, schedule};
use crate::domain::time::Moment;
use crate::runtime::schedule::{Lane, Options, Outcome, Schedule, Whereabouts};
use naive::Model;
use proptest::prelude::*;
use std::time::Duration;

const TENANTS: [&str; 3] = ["a", "b", "c"];
const SECOND: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug)]
enum Op {
    Add(usize, Lane),
    AddAfter(usize, u64, Lane),
    CutShort(usize),
    Hurry(usize),
    RetryEarly(usize, Lane),
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
        3 => n().prop_map(Op::Hurry),
        1 => (n(), lane()).prop_map(|(n, lane)| Op::RetryEarly(n, lane)),
        8 => Just(Op::Take),
        6 => (n(), outcome).prop_map(|(n, outcome)| Op::Done(n, outcome)),
        1 => n().prop_map(Op::Forget),
        3 => (0..6u64).prop_map(Op::Wait),
    ]
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

/// With T tenants in its lane, the p-th key of a tenant is taken within so many turns.
fn bound(own: u32, others: usize) -> usize {
    // Whatever others add has tenants of `others`, so T is their number and ours; p is own + 1.
    8 * (own as usize + 1) * (others + 1)
}

/// In how many turns the last of our keys is taken, if within `most`, while others add keys and run again at once, and
/// while we hurry others of ours all the time, if we are `eager`.
fn turns_of_the_last(
    options: Options,
    own: u32,
    others: &[u32],
    (lane, seed, eager): (Lane, u64, bool),
    most: usize,
) -> Option<usize> {
    const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
    let mut schedule = Schedule::new(options, fastrand::Rng::with_seed(1));
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
    let mut hurried = 0;
    let mut hurry = |schedule: &mut Schedule<Key>| {
        if eager {
            hurried += 1;
            schedule.hurry(Key("mine", 10_000 + hurried), now);
        }
    };
    hurry(&mut schedule);
    for turn in 1..=most {
        let job = schedule.take(now).unwrap();
        if job.key == Key("mine", 999) {
            return Some(turn);
        }
        // Those who ran want to run again at once, and new keys come in both lanes.
        schedule.done(&job.key, Outcome::After(Duration::ZERO), now);
        hurry(&mut schedule);
        let tenant = NAMES[random.usize(..others.len())];
        schedule.add(Key(tenant, random.u32(2000..)), Lane::High, now);
        schedule.add(Key(tenant, random.u32(2000..)), Lane::Low, now);
    }
    None
}

/// Planted: the low lane never gets a turn while the high one has keys. The property beside it would see that.
#[test]
fn a_low_lane_that_starves_is_found() {
    let starved = Options {
        jitter: 0.0,
        low_every: u32::MAX,
        ..Options::default()
    };
    let (others, lane) = ([3, 3], (Lane::Low, 1, false));
    let most = bound(0, others.len());
    assert_eq!(turns_of_the_last(starved, 0, &others, lane, most), None);
    let fair = Options::default();
    assert!(turns_of_the_last(fair, 0, &others, lane, most).is_some());
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
                Op::CutShort(n) => { schedule.cut_short(key(n), now); model.end_wait(n, true, Lane::High) }
                Op::Hurry(n) => { schedule.hurry(key(n), now); model.hurry(n) }
                Op::RetryEarly(n, lane) => { schedule.retry_early(key(n), lane, now); model.end_wait(n, false, lane) }
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
    /// `low_every * p * T` turns, whatever else is added meanwhile and however eager the others are; within four times as
    /// many where the tenant itself hurries others of its keys.
    #[test]
    fn no_key_starves(
        own in 0..5u32, others in prop::collection::vec(0..40u32, 1..6), lane in lane(), seed in any::<u64>(),
        eager in any::<bool>(),
    ) {
        let bound = bound(own, others.len()) * if eager { 4 } else { 1 };
        let turns = turns_of_the_last(Options { jitter: 0.0, ..Options::default() }, own, &others, (lane, seed, eager), bound);
        prop_assert!(turns.is_some(), "not within {bound} turns");
    }

    #[test]
    fn the_same_seed_gives_the_same_order(ops in prop::collection::vec(op(), 1..80), seed in any::<u64>()) {
        let run = || {
            let random = fastrand::Rng::with_seed(seed);
            let mut schedule = Schedule::new(Options::default(), random);
            let (mut now, mut taken) = (Moment::START, Vec::new());
            for op in &ops {
                match *op {
                    Op::Add(n, lane) => schedule.add(key(n), lane, now),
                    Op::AddAfter(n, secs, lane) => schedule.add_after(key(n), Duration::from_secs(secs), lane, now),
                    Op::CutShort(n) => schedule.cut_short(key(n), now),
                    Op::Hurry(n) => schedule.hurry(key(n), now),
                    Op::RetryEarly(n, lane) => schedule.retry_early(key(n), lane, now),
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
