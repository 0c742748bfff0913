//! Waiting after failures: how long, what ends it and what does not.

use super::{FAILED, Key, SECOND, at, schedule};
use crate::runtime::schedule::{Lane, Options, Outcome, Schedule};
use std::time::Duration;

#[test]
fn the_wait_doubles_with_each_failure_up_to_its_bound_and_success_resets_it() {
    let mut s = schedule();
    let key = Key("a", 1);
    let mut now = at(0);
    s.add(key.clone(), Lane::High, now);
    let mut waits = Vec::new();
    for failures in 0..11 {
        assert_eq!(s.take(now).map(|job| job.failures), Some(failures));
        s.done(&key, FAILED, now);
        let due = s.next_due().unwrap();
        waits.push(due.since(now).as_secs());
        assert_eq!(s.take(due - Duration::from_nanos(1)), None);
        now = due;
    }
    assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
    assert!(s.take(now).is_some());
    s.done(&key, Outcome::After(SECOND), now);
    assert_eq!(s.take(now + SECOND).map(|job| job.failures), Some(0));
    s.done(&key, FAILED, now + SECOND);
    assert_eq!(s.next_due(), Some(now + 2 * SECOND));
    assert_eq!(s.counts().retries, 12);
}

#[test]
fn a_step_of_unfinished_work_keeps_the_failures_until_it_is_finished() {
    let mut s = schedule();
    let key = Key("a", 1);
    s.add(key.clone(), Lane::High, at(0));
    let (mut now, mut waits) = (at(0), Vec::new());
    for _ in 0..4 {
        assert!(s.take(now).is_some());
        s.done(&key, Outcome::Again(Duration::ZERO), now);
        assert!(s.take(now).is_some());
        s.done(&key, FAILED, now);
        waits.push(s.next_due().unwrap().since(now).as_secs());
        now = s.next_due().unwrap();
    }
    assert_eq!(waits, [1, 2, 4, 8]);
    assert!(s.take(now).is_some());
    s.cut_short(key.clone(), now);
    s.done(&key, Outcome::Again(Duration::ZERO), now);
    assert_eq!(
        s.take(now).map(|job| job.failures),
        Some(0),
        "a new generation forgets them"
    );
}

#[test]
fn a_key_that_failed_four_thousand_million_times_still_waits_five_minutes() {
    let mut s = schedule();
    assert_eq!(s.backoff(u32::MAX), 300 * SECOND);
}

#[test]
fn the_jitter_shortens_waits_by_a_quarter_at_most() {
    let mut s: Schedule<Key> = Schedule::new(Options::default(), fastrand::Rng::with_seed(7));
    let waits: Vec<Duration> = (0..1000).map(|_| s.backoff(1)).collect();
    assert!(
        waits
            .iter()
            .all(|wait| (750..=1000).contains(&wait.as_millis()))
    );
    assert!(
        waits.iter().any(|wait| wait.as_millis() < 800),
        "it spreads"
    );
    assert!(
        waits.iter().any(|wait| wait.as_millis() > 950),
        "it spreads"
    );
}

#[test]
fn a_provider_that_asks_for_more_patience_gets_it() {
    let mut s = schedule();
    s.add(Key("a", 1), Lane::High, at(0));
    assert!(s.take(at(0)).is_some());
    s.done(
        &Key("a", 1),
        Outcome::Failed {
            at_least: Some(40 * SECOND),
        },
        at(0),
    );
    assert_eq!(s.next_due(), Some(at(40)));
}

#[test]
fn an_ordinary_event_does_not_end_a_back_off_but_raises_its_key() {
    let mut s = schedule();
    s.add(Key("a", 1), Lane::Low, at(0));
    assert!(s.take(at(0)).is_some());
    s.done(
        &Key("a", 1),
        Outcome::Failed {
            at_least: Some(30 * SECOND),
        },
        at(0),
    );
    s.add(Key("a", 1), Lane::High, at(1));
    s.add_after(Key("a", 1), 2 * SECOND, Lane::Low, at(1));
    assert_eq!(s.take(at(29)), None);
    assert_eq!(
        s.take(at(30)).map(|job| (job.lane, job.failures)),
        Some((Lane::High, 1))
    );
}

#[test]
fn an_event_during_a_run_that_fails_waits_for_the_back_off_too() {
    let mut s = schedule();
    s.add(Key("a", 1), Lane::Low, at(0));
    assert!(s.take(at(0)).is_some());
    s.add(Key("a", 1), Lane::High, at(0));
    s.done(&Key("a", 1), FAILED, at(0));
    assert_eq!(s.take(at(0)), None);
    assert_eq!(s.take(at(1)).map(|job| job.lane), Some(Lane::High));
}

#[test]
fn a_new_generation_ends_the_back_off_and_starts_it_anew() {
    let mut s = schedule();
    let key = Key("a", 1);
    s.add(key.clone(), Lane::High, at(0));
    for now in [0, 1, 3, 7] {
        assert!(s.take(at(now)).is_some());
        s.done(&key, FAILED, at(now));
    }
    s.cut_short(key.clone(), at(8));
    assert_eq!(s.take(at(8)).map(|job| job.failures), Some(0));
    s.done(&key, FAILED, at(8));
    assert_eq!(s.next_due(), Some(at(9)));
}

#[test]
fn a_run_begun_before_its_wait_was_over_does_not_lengthen_the_wait() {
    let mut s = schedule();
    let key = Key("a", 1);
    s.add(key.clone(), Lane::High, at(0));
    for now in [0, 1, 3] {
        assert!(s.take(at(now)).is_some());
        s.done(&key, FAILED, at(now));
    }
    for _ in 0..100 {
        s.retry_early(key.clone(), Lane::High, at(4));
        assert_eq!(s.take(at(4)).map(|job| job.failures), Some(3));
        s.done(&key, FAILED, at(4));
    }
    assert_eq!(
        s.next_due(),
        Some(at(8)),
        "still the wait after the third failure"
    );
}

#[test]
fn a_new_generation_during_a_run_that_fails_runs_at_once() {
    let mut s = schedule();
    s.add(Key("a", 1), Lane::Low, at(0));
    assert!(s.take(at(0)).is_some());
    s.cut_short(Key("a", 1), at(0));
    s.done(&Key("a", 1), FAILED, at(1));
    assert_eq!(
        s.take(at(1)).map(|job| (job.lane, job.failures)),
        Some((Lane::High, 0))
    );
}
