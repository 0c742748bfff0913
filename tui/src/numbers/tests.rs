use super::*;
use crate::fixtures::{Counted, NOON, after};

const IDLE: Counted = Counted {
    start: 1000.0,
    leading: true,
    ready: 0.0,
    passes: 0.0,
    errors: 0.0,
    creates: [0.0; 3],
};

fn passes(counter: &Counter) -> bool {
    matches!(counter, Counter::Passes(_))
}

fn told(scrapes: &[(&str, i64, Counted)]) -> Numbers {
    let mut numbers = Numbers::default();
    for (replica, second, counted) in scrapes {
        numbers.take(replica, after(*second), &counted.text());
    }
    numbers
}

fn with(passes: f64) -> Counted {
    Counted { passes, ..IDLE }
}

#[test]
fn a_rate_is_the_growth_over_the_time_that_was_measured() {
    let numbers = told(&[
        ("a", -20, with(100.0)),
        ("a", -10, with(130.0)),
        ("a", 0, with(150.0)),
    ]);
    assert_eq!(numbers.rate(NOON, passes), Some(50.0 / 20.0));
}

#[test]
fn one_scrape_is_no_rate_and_none_is_none() {
    assert_eq!(told(&[("a", 0, with(9.0))]).rate(NOON, passes), None);
    assert_eq!(Numbers::default().rate(NOON, passes), None);
}

#[test]
fn a_restart_is_neither_a_spike_nor_a_fall() {
    let anew = Counted {
        start: 2000.0,
        ..with(40.0)
    };
    let later = Counted {
        passes: 60.0,
        ..anew.clone()
    };
    let numbers = told(&[
        ("a", -40, with(1000.0)),
        ("a", -30, with(1010.0)),
        ("a", -20, anew),
        ("a", -10, later),
    ]);
    // 10 before the restart and 20 after it, over twice ten seconds; what happened in between is not known.
    assert_eq!(numbers.rate(NOON, passes), Some(1.5));
    assert_eq!(numbers.replica("a").map(Replica::restarts), Some(1));
}

#[test]
fn a_counter_that_falls_without_a_new_start_is_skipped_too() {
    let numbers = told(&[
        ("a", -30, with(50.0)),
        ("a", -20, with(5.0)),
        ("a", -10, with(15.0)),
    ]);
    assert_eq!(numbers.rate(NOON, passes), Some(1.0));
}

#[test]
fn replicas_add_up_also_one_that_ended_within_the_window() {
    let mut numbers = told(&[
        ("a", -30, with(0.0)),
        ("b", -30, with(100.0)),
        ("a", -10, with(40.0)),
        ("b", -10, with(160.0)),
    ]);
    numbers.end("b");
    assert_eq!(numbers.rate(NOON, passes), Some(100.0 / 20.0));
    assert_eq!(numbers.rate(after(120), passes), None);
}

#[test]
fn a_long_pause_is_a_gap_and_not_a_low_rate() {
    let numbers = told(&[
        ("a", -100, with(0.0)),
        ("a", -60, with(400.0)),
        ("a", -50, with(410.0)),
    ]);
    assert_eq!(numbers.rate(after(-50), passes), Some(1.0));
    let rates = numbers.rates(Bins::until(NOON, 10.0, 10), passes);
    let measured: Vec<_> = rates.iter().flatten().copied().collect();
    assert_eq!(measured, [1.0]);
    assert_eq!(rates.iter().position(Option::is_some), Some(4));
}

#[test]
fn what_lies_in_two_bins_counts_in_both_by_its_share() {
    let numbers = told(&[("a", -15, with(0.0)), ("a", -5, with(20.0))]);
    let rates = numbers.rates(
        Bins {
            end: NOON,
            width: 10.0,
            count: 2,
        },
        passes,
    );
    assert_eq!(rates, [Some(2.0), Some(2.0)]);
}

#[test]
fn a_series_that_is_new_had_counted_nothing() {
    let mut numbers = Numbers::default();
    let bare = "process_start_time_seconds 1000\n";
    numbers.take("a", after(-10), bare);
    numbers.take("a", NOON, &with(5.0).text());
    assert_eq!(numbers.rate(NOON, passes), Some(0.5));
}

#[test]
fn percentiles_come_from_the_buckets_of_all_replicas_together() {
    let of = |creates| Counted { creates, ..IDLE };
    let numbers = told(&[
        ("a", -10, of([0.0; 3])),
        ("b", -10, of([5.0, 5.0, 5.0])),
        ("a", 0, of([90.0, 0.0, 0.0])),
        ("b", 0, of([5.0, 15.0, 5.0])),
    ]);
    let calls = numbers.calls(NOON);
    assert_eq!(calls.len(), 1);
    // 90 up to 0.1 s and 10 from there to 1 s: the median is the 50th of 100, in a bucket that holds 90.
    let Some(Estimate::About(p50)) = calls[0].p50 else {
        panic!("{calls:?}")
    };
    assert!((p50 - 0.1 * 50.0 / 90.0).abs() < 1e-12, "{p50}");
    let Some(Estimate::About(p99)) = calls[0].p99 else {
        panic!("{calls:?}")
    };
    assert!((p99 - (0.1 + 0.9 * 9.0 / 10.0)).abs() < 1e-12, "{p99}");
    assert_eq!(calls[0].rate, Some(10.0));
}

#[test]
fn beyond_the_largest_bucket_only_a_bound_is_known_and_without_a_call_nothing() {
    let of = |creates| Counted { creates, ..IDLE };
    let numbers = told(&[("a", -10, of([0.0; 3])), ("a", 0, of([0.0, 0.0, 7.0]))]);
    assert_eq!(numbers.calls(NOON)[0].p50, Some(Estimate::AtLeast(1.0)));
    assert_eq!(numbers.calls(after(300))[0].p50, None);
}

#[test]
fn levels_are_those_of_the_leader_and_gaps_stay() {
    let standby = Counted {
        leading: false,
        ready: 99.0,
        ..IDLE
    };
    let leader = Counted { ready: 4.0, ..IDLE };
    let numbers = told(&[
        ("a", -25, leader.clone()),
        ("b", -25, standby.clone()),
        ("b", -2, standby),
        ("a", -3, leader),
    ]);
    let bins = Bins {
        end: NOON,
        width: 10.0,
        count: 3,
    };
    let seen = numbers.levels(bins, |levels| {
        levels.ready.filter(|_| levels.leading == Some(true))
    });
    // Ready keys of both priorities: the fixture has one of the lower.
    assert_eq!(seen, [Some(5.0), None, Some(5.0)]);
}

#[test]
fn lines_that_cannot_be_read_do_no_harm() {
    let text = "a{b=\"c\nx{y=\"z\\\"\"} 1\nn NaN\nnothing\n} 3\nworkqueue_depth{name=\"virtualmachine\"} -4\np{le=\"x\"} +Inf 12\n";
    let samples = parse(text);
    let names: Vec<_> = samples.iter().map(|sample| sample.name).collect();
    assert_eq!(names, ["x", "n", "workqueue_depth", "p"]);
    assert_eq!(samples[0].label("y"), "z\"");
    let readings = Readings::of(NOON, &samples);
    assert_eq!(readings.levels.ready, None);
}

#[test]
fn what_is_kept_is_bounded() {
    let mut numbers = Numbers::default();
    for second in 0..5000 {
        numbers.take("a", after(second), &with(second as f64).text());
    }
    for replica in 0..200 {
        numbers.take(&format!("r{replica}"), after(5000), &IDLE.text());
    }
    assert!(numbers.replicas().count() <= REPLICAS);
    let kept = numbers
        .replica("a")
        .map_or(0, |one| one.intervals().count());
    assert!(kept <= 1000, "{kept}");
}
