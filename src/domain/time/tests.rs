use super::Moment;
use std::time::Duration;

#[test]
fn adding_and_taking_away_meet_again() {
    let moment = Moment::from_secs(5);
    assert_eq!(moment + Duration::from_millis(1), Moment::from_millis(5001));
    assert_eq!(
        moment + Duration::from_secs(7) - Duration::from_secs(7),
        moment
    );
}

#[test]
fn the_ends_of_time_hold() {
    assert_eq!(Moment::START - Duration::from_secs(1), Moment::START);
    assert_eq!(
        Moment::from_secs(1) + Duration::MAX,
        Moment::from_nanos(u64::MAX)
    );
    assert_eq!(Moment::from_secs(u64::MAX), Moment::from_nanos(u64::MAX));
}

#[test]
fn since_is_never_negative() {
    let (early, late) = (Moment::from_secs(1), Moment::from_secs(3));
    assert_eq!(late.since(early), Duration::from_secs(2));
    assert_eq!(early.since(late), Duration::ZERO);
}
