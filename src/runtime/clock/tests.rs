use super::{Clock, ManualClock, SystemClock, TokioClock};
use jiff::Timestamp;
use std::time::Duration;

#[test]
fn the_system_clock_never_goes_back() {
    let mut last = SystemClock.now();
    for _ in 0..10_000 {
        let now = SystemClock.now();
        assert!(now >= last);
        last = now;
    }
}

#[test]
fn a_manual_clock_moves_only_when_told() {
    let clock = ManualClock::default();
    let (now, wall) = (clock.now(), clock.wall());
    assert_eq!((clock.now(), clock.wall()), (now, wall));
    clock.advance(Duration::from_secs(90));
    assert_eq!(clock.now(), now + Duration::from_secs(90));
    assert_eq!(clock.wall(), wall + Duration::from_secs(90));
}

#[test]
fn a_wall_clock_set_back_leaves_monotonic_time_alone() {
    let clock = ManualClock::default();
    let now = clock.now();
    clock.set_wall(Timestamp::UNIX_EPOCH);
    assert_eq!(clock.now(), now);
    assert_eq!(clock.wall(), Timestamp::UNIX_EPOCH);
}

#[tokio::test(start_paused = true)]
async fn the_tokio_clock_follows_paused_time() {
    let clock = TokioClock::new();
    let before = clock.now();
    tokio::time::advance(Duration::from_secs(60)).await;
    assert_eq!(clock.now().since(before), Duration::from_secs(60));
}
