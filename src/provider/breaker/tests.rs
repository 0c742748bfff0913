use std::time::Duration;

use proptest::prelude::*;

use super::{Admission, Breaker, BreakerPolicy, Era, Outcome, Pause};
use crate::domain::time::Moment;
use crate::domain::{ErrorKind, Operation, ProviderError};

const SECOND: Duration = Duration::from_secs(1);

fn at(millis: u64) -> Moment {
    Moment::from_millis(1_000_000 + millis)
}

fn pass(breaker: &mut Breaker, now: Moment) -> Era {
    match breaker.admit(now) {
        Admission::Pass(era) => era,
        other => panic!("{other:?}"),
    }
}

fn probe(breaker: &mut Breaker, now: Moment) -> Era {
    match breaker.admit(now) {
        Admission::Probe(era) => era,
        other => panic!("{other:?}"),
    }
}

fn fail(breaker: &mut Breaker, times: u32, now: Moment) {
    for _ in 0..times {
        let era = pass(breaker, now);
        breaker.report(era, Outcome::Failed, now, 0.0);
    }
}

#[test]
fn it_opens_at_the_given_number_of_failures_in_a_row() {
    let mut breaker = Breaker::new(BreakerPolicy::default());
    fail(&mut breaker, 4, at(0));
    assert!(!breaker.is_open());
    let era = pass(&mut breaker, at(0));
    breaker.report(era, Outcome::Answered, at(0), 0.0);
    fail(&mut breaker, 4, at(0));
    assert!(!breaker.is_open());
    fail(&mut breaker, 1, at(0));
    assert!(breaker.is_open());
    assert_eq!(breaker.admit(at(400)), Admission::Refused(SECOND * 6 / 10));
    assert_eq!(breaker.refuses(at(400)), Some(SECOND * 6 / 10));
}

#[test]
fn garbage_neither_opens_it_nor_breaks_a_row() {
    let mut breaker = Breaker::new(BreakerPolicy::default());
    for _ in 0..100 {
        let era = pass(&mut breaker, at(0));
        breaker.report(era, Outcome::Unclear, at(0), 0.0);
    }
    fail(&mut breaker, 4, at(0));
    let era = pass(&mut breaker, at(0));
    breaker.report(era, Outcome::Unclear, at(0), 0.0);
    assert!(!breaker.is_open());
    fail(&mut breaker, 1, at(0));
    assert!(breaker.is_open());
}

#[test]
fn one_probe_at_a_time_and_its_answer_closes() {
    let mut breaker = Breaker::new(BreakerPolicy::default());
    fail(&mut breaker, 5, at(0));
    assert_eq!(breaker.refuses(at(1000)), None);
    let era = probe(&mut breaker, at(1000));
    assert!(matches!(breaker.admit(at(1000)), Admission::Refused(_)));
    assert!(matches!(breaker.admit(at(900_000)), Admission::Refused(_)));
    assert!(breaker.is_open());
    breaker.report(era, Outcome::Answered, at(1100), 0.0);
    assert!(!breaker.is_open());
    let _ = pass(&mut breaker, at(1100));
}

#[test]
fn each_failed_probe_doubles_the_wait_up_to_the_longest() {
    let mut breaker = Breaker::new(BreakerPolicy::default());
    let mut now = at(0);
    fail(&mut breaker, 5, now);
    for seconds in [1u64, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300] {
        let Some(wait) = breaker.refuses(now) else {
            panic!("closed")
        };
        assert_eq!(wait, Duration::from_secs(seconds));
        now = now + wait;
        let era = probe(&mut breaker, now);
        breaker.report(era, Outcome::Failed, now, 0.0);
    }
    for _ in 0..100 {
        now = now + Duration::from_secs(300);
        let era = probe(&mut breaker, now);
        breaker.report(era, Outcome::Failed, now, 0.0);
    }
    assert_eq!(breaker.refuses(now), Some(Duration::from_secs(300)));
}

#[test]
fn the_wait_starts_small_again_only_after_ordinary_work_succeeded() {
    let mut breaker = Breaker::new(BreakerPolicy::default());
    fail(&mut breaker, 5, at(0));
    let era = probe(&mut breaker, at(1000));
    breaker.report(era, Outcome::Answered, at(1000), 0.0);
    // The probe is answered, the work is not.
    fail(&mut breaker, 5, at(1000));
    assert_eq!(breaker.refuses(at(1000)), Some(SECOND * 2));
    let era = probe(&mut breaker, at(3000));
    breaker.report(era, Outcome::Answered, at(3000), 0.0);
    let era = pass(&mut breaker, at(3000));
    breaker.report(era, Outcome::Answered, at(3000), 0.0);
    fail(&mut breaker, 5, at(3000));
    assert_eq!(breaker.refuses(at(3000)), Some(SECOND));
}

#[test]
fn jitter_shortens_the_wait_by_a_quarter_at_most() {
    for (fraction, millis) in [
        (0.0, 1000),
        (0.5, 875),
        (1.0, 750),
        (7.0, 750),
        (-1.0, 1000),
    ] {
        let mut breaker = Breaker::new(BreakerPolicy {
            failures: 1,
            ..BreakerPolicy::default()
        });
        let era = pass(&mut breaker, at(0));
        breaker.report(era, Outcome::Failed, at(0), fraction);
        assert_eq!(breaker.refuses(at(0)), Some(Duration::from_millis(millis)));
    }
}

#[test]
fn what_began_before_a_change_says_nothing_after_it() {
    let mut breaker = Breaker::new(BreakerPolicy::default());
    let early: Vec<Era> = (0..32).map(|_| pass(&mut breaker, at(0))).collect();
    for era in &early[..5] {
        breaker.report(*era, Outcome::Failed, at(0), 0.0);
    }
    // Still open for one second, not for more: the others were sent before.
    for era in &early[5..15] {
        breaker.report(*era, Outcome::Failed, at(500), 0.0);
    }
    breaker.report(early[15], Outcome::Answered, at(500), 0.0);
    assert_eq!(breaker.refuses(at(500)), Some(SECOND / 2));
    let era = probe(&mut breaker, at(1000));
    breaker.report(early[16], Outcome::Answered, at(1000), 0.0);
    assert!(breaker.is_open());
    breaker.report(era, Outcome::Answered, at(1000), 0.0);
    for era in &early[17..] {
        breaker.report(*era, Outcome::Failed, at(1100), 0.0);
    }
    assert!(!breaker.is_open());
}

#[test]
fn a_probe_that_is_given_up_leaves_its_place_to_the_next() {
    let mut breaker = Breaker::new(BreakerPolicy::default());
    fail(&mut breaker, 5, at(0));
    let era = probe(&mut breaker, at(1000));
    breaker.abandon(era, at(1200));
    let next = probe(&mut breaker, at(1200));
    // The first one has nothing more to say.
    breaker.abandon(era, at(1300));
    breaker.report(era, Outcome::Answered, at(1300), 0.0);
    assert!(breaker.is_open());
    breaker.report(next, Outcome::Answered, at(1400), 0.0);
    breaker.abandon(next, at(1400));
    assert!(!breaker.is_open());
}

#[test]
fn kinds_of_error_count_as_the_table_says() {
    let of = |kind| Outcome::of::<()>(&Err(ProviderError::without_answer(kind, Operation::Get)));
    let failed: Vec<_> = ErrorKind::ALL
        .into_iter()
        .filter(|kind| of(*kind) == Outcome::Failed)
        .collect();
    assert_eq!(failed, [ErrorKind::Unavailable, ErrorKind::TimedOut]);
    assert_eq!(of(ErrorKind::Malformed), Outcome::Unclear);
    assert_eq!(of(ErrorKind::RateLimited), Outcome::Answered);
    assert_eq!(Outcome::of(&Ok(())), Outcome::Answered);
}

#[test]
fn a_pause_is_lengthened_and_never_shortened() {
    let mut pause = Pause::default();
    assert_eq!(pause.left(at(0)), Duration::ZERO);
    pause.hold(at(0), SECOND * 10);
    pause.hold(at(1000), SECOND);
    assert_eq!(pause.left(at(1000)), SECOND * 9);
    pause.hold(at(1000), SECOND * 20);
    assert_eq!(pause.left(at(1000)), SECOND * 20);
    assert_eq!(pause.left(at(21_000)), Duration::ZERO);
    assert_eq!(pause.left(at(99_000)), Duration::ZERO);
}

proptest! {
    #[test]
    fn whatever_happens_it_lets_somebody_through_within_the_longest_wait(
        steps in proptest::collection::vec((0u8..4, 0u64..400_000, 0.0f64..1.0), 0..200),
    ) {
        let mut breaker = Breaker::new(BreakerPolicy::default());
        let mut now = 0;
        let mut open: Vec<Era> = Vec::new();
        for (what, wait, fraction) in steps {
            now += wait;
            match breaker.admit(at(now)) {
                Admission::Pass(era) | Admission::Probe(era) => open.push(era),
                Admission::Refused(left) => prop_assert!(left <= Duration::from_secs(300)),
            }
            let outcome = [Outcome::Answered, Outcome::Failed, Outcome::Unclear][usize::from(what % 3)];
            if what == 3 {
                for era in open.drain(..) {
                    breaker.abandon(era, at(now));
                }
            } else if let Some(era) = open.pop() {
                breaker.report(era, outcome, at(now), fraction);
            }
        }
        for era in open.drain(..) {
            breaker.abandon(era, at(now));
        }
        let later = breaker.admit(at(now + 300_000));
        prop_assert!(!matches!(later, Admission::Refused(_)), "{later:?}");
    }
}
