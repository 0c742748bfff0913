mod backoff;
mod cost;
mod model;

use super::{Counts, Job, Lane, Options, Outcome, Schedule, Tenant, Whereabouts};
use crate::domain::time::Moment;
use std::collections::HashMap;
use std::time::Duration;

/// Tenant and number; compared and hashed as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Key(&'static str, u32);

impl Tenant for Key {
    fn tenant(&self) -> &str {
        self.0
    }
}

const SECOND: Duration = Duration::from_secs(1);
const FAILED: Outcome = Outcome::Failed { at_least: None };

fn schedule() -> Schedule<Key> {
    let options = Options {
        jitter: 0.0,
        ..Options::default()
    };
    Schedule::new(options, fastrand::Rng::with_seed(1))
}

fn at(secs: u64) -> Moment {
    Moment::from_secs(secs)
}

fn taken(schedule: &mut Schedule<Key>, now: Moment) -> Option<Key> {
    schedule.take(now).map(|job| job.key)
}

#[test]
fn a_key_added_twice_runs_once() {
    let mut s = schedule();
    s.add(Key("a", 1), Lane::High, at(0));
    s.add(Key("a", 1), Lane::High, at(1));
    assert_eq!(s.depth(), 1);
    let waited = 2 * SECOND;
    let job = Job {
        key: Key("a", 1),
        lane: Lane::High,
        failures: 0,
        waited,
    };
    assert_eq!(s.take(at(2)), Some(job));
    assert_eq!(s.take(at(2)), None);
    s.done(&Key("a", 1), Outcome::Settled, at(3));
    assert_eq!(s.take(at(9)), None);
    assert_eq!(s.snapshot(at(9)), vec![], "a settled key costs no memory");
}

#[test]
fn a_key_never_runs_twice_at_once_and_an_event_during_a_run_makes_it_run_again() {
    let mut s = schedule();
    s.add(Key("a", 1), Lane::Low, at(0));
    assert!(s.take(at(0)).is_some());
    s.add(Key("a", 1), Lane::High, at(1));
    s.cut_short(Key("a", 1), at(1));
    assert_eq!(s.take(at(2)), None, "it runs already");
    s.done(&Key("a", 1), Outcome::Resync(60 * SECOND), at(3));
    assert_eq!(s.take(at(3)).map(|job| job.lane), Some(Lane::High));
    s.done(&Key("a", 1), Outcome::Settled, at(4));
    assert_eq!(s.take(at(100)), None, "one event, one more run");
}

#[test]
fn the_earlier_of_two_timers_wins_and_an_event_beats_both() {
    let mut s = schedule();
    s.add_after(Key("a", 1), 50 * SECOND, Lane::Low, at(0));
    s.add_after(Key("a", 1), 20 * SECOND, Lane::Low, at(0));
    s.add_after(Key("a", 1), 90 * SECOND, Lane::Low, at(0));
    assert_eq!((s.delayed_depth(), s.next_due()), (1, Some(at(20))));
    s.add(Key("a", 1), Lane::High, at(5));
    assert_eq!((s.delayed_depth(), s.depth_of(Lane::High)), (0, 1));
}

#[test]
fn a_timer_set_during_a_run_is_kept() {
    let mut s = schedule();
    s.add(Key("a", 1), Lane::Low, at(0));
    assert!(s.take(at(0)).is_some());
    s.add_after(Key("a", 1), 50 * SECOND, Lane::High, at(0));
    s.add_after(Key("a", 1), 30 * SECOND, Lane::Low, at(0));
    s.done(&Key("a", 1), Outcome::Settled, at(10));
    assert_eq!(s.next_due(), Some(at(30)));
    assert!(s.take(at(30)).is_some());
    s.add_after(Key("a", 1), 50 * SECOND, Lane::High, at(30));
    s.done(&Key("a", 1), Outcome::Resync(600 * SECOND), at(31));
    assert_eq!(s.next_due(), Some(at(80)));
}

#[test]
fn timers_join_the_queue_as_of_the_moment_they_fire() {
    let mut s = schedule();
    s.add_after(Key("a", 1), 10 * SECOND, Lane::High, at(0));
    s.add_after(Key("a", 2), 5 * SECOND, Lane::High, at(0));
    s.add(Key("a", 3), Lane::High, at(20));
    let job = s.take(at(21)).unwrap();
    assert_eq!((job.key, job.waited), (Key("a", 2), 16 * SECOND));
    assert_eq!(taken(&mut s, at(21)), Some(Key("a", 1)));
    assert_eq!(taken(&mut s, at(21)), Some(Key("a", 3)));
}

#[test]
fn the_low_lane_gets_every_eighth_turn() {
    let mut s = schedule();
    for n in 0..100 {
        s.add(Key("h", n), Lane::High, at(0));
        s.add(Key("l", n), Lane::Low, at(0));
    }
    let lanes: Vec<Lane> = std::iter::from_fn(|| s.take(at(1)))
        .take(64)
        .map(|job| job.lane)
        .collect();
    let low: Vec<usize> = (0..64).filter(|turn| lanes[*turn] == Lane::Low).collect();
    assert_eq!(low, [7, 15, 23, 31, 39, 47, 55, 63]);
}

#[test]
fn a_raised_key_goes_behind_its_new_peers_and_out_of_the_low_lane() {
    let mut s = schedule();
    s.add(Key("a", 1), Lane::Low, at(0));
    s.add(Key("a", 2), Lane::High, at(1));
    s.add(Key("a", 1), Lane::High, at(2));
    s.add(Key("a", 1), Lane::Low, at(3));
    assert_eq!((s.depth_of(Lane::High), s.depth_of(Lane::Low)), (2, 0));
    assert_eq!(taken(&mut s, at(4)), Some(Key("a", 2)));
    let job = s.take(at(4)).unwrap();
    assert_eq!(
        (job.lane, job.waited),
        (Lane::High, 4 * SECOND),
        "the wait before the raise counts"
    );
}

#[test]
fn what_is_hurried_comes_before_the_rest_of_its_tenant_but_for_every_fourth_turn_and_before_no_other_tenant()
 {
    let mut s = schedule();
    for n in 0..100 {
        s.add(Key("a", n), Lane::High, at(0));
        s.add(Key("b", n), Lane::High, at(0));
    }
    for n in 90..98 {
        s.hurry(Key("a", n), at(1));
        s.hurry(Key("a", n), at(1));
    }
    assert_eq!(s.depth(), 200);
    let order: Vec<Key> = std::iter::from_fn(|| taken(&mut s, at(2)))
        .take(24)
        .collect();
    let of = |tenant: &str| -> Vec<u32> {
        let keys = order.iter().filter(|key| key.0 == tenant);
        keys.map(|key| key.1).collect()
    };
    assert_eq!(of("a"), [90, 91, 92, 0, 93, 94, 95, 1, 96, 97, 2, 3]);
    assert_eq!(of("b"), (0..12).collect::<Vec<_>>());
}

#[test]
fn what_is_hurried_while_it_runs_or_waits_comes_first_afterwards() {
    let mut s = schedule();
    s.add(Key("a", 0), Lane::High, at(0));
    s.add(Key("a", 1), Lane::Low, at(0));
    assert_eq!(taken(&mut s, at(0)), Some(Key("a", 0)));
    s.add(Key("a", 2), Lane::High, at(0));
    s.hurry(Key("a", 0), at(0));
    s.done(&Key("a", 0), FAILED, at(0));
    // One in the low lane joins the high one.
    s.hurry(Key("a", 1), at(0));
    let order: Vec<u32> = std::iter::from_fn(|| taken(&mut s, at(0)))
        .map(|key| key.1)
        .collect();
    assert_eq!(order, [0, 1, 2]);
    s.done(&Key("a", 0), FAILED, at(0));
    s.add(Key("a", 3), Lane::High, at(0));
    s.hurry(Key("a", 0), at(0));
    assert_eq!(
        taken(&mut s, at(0)),
        Some(Key("a", 0)),
        "out of its back-off"
    );
}

#[test]
fn one_tenant_with_ten_thousand_keys_does_not_delay_another_with_one() {
    let mut s = schedule();
    for n in 0..10_000 {
        s.add(Key("big", n), Lane::High, at(0));
    }
    s.add(Key("small", 0), Lane::High, at(0));
    let before = std::iter::from_fn(|| taken(&mut s, at(0))).position(|key| key.0 == "small");
    assert_eq!(before, Some(1));
}

#[test]
fn a_forgotten_key_is_gone_wherever_it_was() {
    let mut s = schedule();
    s.add(Key("a", 1), Lane::Low, at(0));
    s.forget(&Key("a", 1));
    s.add_after(Key("a", 2), SECOND, Lane::High, at(0));
    s.forget(&Key("a", 2));
    s.add(Key("a", 3), Lane::High, at(0));
    assert!(s.take(at(0)).is_some());
    s.add(Key("a", 3), Lane::High, at(0));
    s.forget(&Key("a", 3));
    assert_eq!(s.running(), 1, "the run itself goes on");
    s.done(&Key("a", 3), FAILED, at(1));
    assert_eq!((s.take(at(999)), s.running()), (None, 0));
    assert_eq!(s.snapshot(at(999)), vec![]);
}

#[test]
fn a_key_added_after_it_was_forgotten_starts_afresh_but_not_beside_its_run() {
    let mut s = schedule();
    s.add(Key("a", 1), Lane::High, at(0));
    assert!(s.take(at(0)).is_some());
    s.done(&Key("a", 1), FAILED, at(0));
    assert!(s.take(at(1)).is_some());
    s.forget(&Key("a", 1));
    s.add(Key("a", 1), Lane::High, at(2));
    assert_eq!(s.take(at(2)), None);
    s.done(&Key("a", 1), FAILED, at(3));
    assert_eq!(s.take(at(3)).map(|job| job.failures), Some(0));
}

#[test]
fn done_for_a_key_that_does_not_run_changes_nothing() {
    let mut s = schedule();
    s.done(&Key("a", 1), FAILED, at(0));
    s.add(Key("a", 1), Lane::High, at(0));
    s.done(&Key("a", 1), Outcome::Settled, at(0));
    assert_eq!(
        (s.depth(), s.counts()),
        (
            1,
            Counts {
                adds: 1,
                retries: 0
            }
        )
    );
}

#[test]
fn the_snapshot_tells_where_every_key_is_and_for_how_long() {
    let mut s = schedule();
    s.add(Key("a", 1), Lane::High, at(0));
    assert!(s.take(at(1)).is_some());
    s.add(Key("a", 2), Lane::Low, at(2));
    s.add_after(Key("a", 3), 10 * SECOND, Lane::Low, at(2));
    let lines: HashMap<Key, Whereabouts> = s
        .snapshot(at(5))
        .into_iter()
        .map(|line| (line.key, line.whereabouts))
        .collect();
    assert_eq!(lines[&Key("a", 1)], Whereabouts::Running(4 * SECOND));
    assert_eq!(lines[&Key("a", 2)], Whereabouts::Ready(3 * SECOND));
    assert_eq!(lines[&Key("a", 3)], Whereabouts::Delayed(7 * SECOND, false));
    assert_eq!(s.oldest_ready(), Some(at(2)));
}

#[test]
fn a_hundred_thousand_keys_pass_through_quickly() {
    let mut s = schedule();
    for n in 0..100_000 {
        s.add(Key(["a", "b", "c"][n as usize % 3], n), Lane::Low, at(0));
    }
    for n in 0..100_000 {
        s.add(Key(["a", "b", "c"][n as usize % 3], n), Lane::High, at(0));
    }
    let mut runs = 0;
    while let Some(job) = s.take(at(1)) {
        s.done(&job.key, Outcome::After(60 * SECOND), at(1));
        runs += 1;
    }
    assert_eq!((runs, s.delayed_depth()), (100_000, 100_000));
    assert!(s.take(at(61)).is_some());
    assert_eq!(s.depth(), 99_999);
}
