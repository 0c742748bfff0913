use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use proptest::prelude::*;

use super::{ConditionStatus, ConditionType, MAX_MESSAGE, Wanted, find, is_true, merge};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("time")
}

fn wanted(kind: ConditionType, status: ConditionStatus, reason: &str) -> Wanted {
    Wanted {
        kind,
        status,
        reason: reason.to_owned(),
        message: format!("because of {reason}"),
    }
}

fn foreign(name: &str) -> Condition {
    Condition {
        type_: name.to_owned(),
        status: "True".to_owned(),
        reason: "Theirs".to_owned(),
        message: String::new(),
        observed_generation: Some(1),
        last_transition_time: Time(at(1)),
    }
}

fn types(conditions: &[Condition]) -> Vec<&str> {
    conditions.iter().map(|one| one.type_.as_str()).collect()
}

#[test]
fn the_time_moves_only_when_the_status_does() {
    use ConditionStatus::{False, True};
    let first = merge(
        &[],
        &[wanted(ConditionType::Ready, False, "Provisioning")],
        Some(1),
        at(10),
    );
    let second = merge(
        &first,
        &[wanted(ConditionType::Ready, False, "Stopped")],
        Some(2),
        at(20),
    );
    assert_eq!(second[0].last_transition_time, Time(at(10)));
    assert_eq!(
        (second[0].reason.as_str(), second[0].observed_generation),
        ("Stopped", Some(2))
    );
    let third = merge(
        &second,
        &[wanted(ConditionType::Ready, True, "Running")],
        Some(2),
        at(30),
    );
    assert_eq!(third[0].last_transition_time, Time(at(30)));
}

#[test]
fn places_are_kept_new_ones_follow_and_unwanted_ones_go() {
    use ConditionType::{Provisioned, Ready, Stalled, Synced};
    let list = |kinds: &[ConditionType]| -> Vec<Wanted> {
        kinds
            .iter()
            .map(|kind| wanted(*kind, ConditionStatus::True, "Fine"))
            .collect()
    };
    let first = merge(&[], &list(&[Ready, Stalled, Provisioned]), None, at(1));
    assert_eq!(types(&first), ["Ready", "Stalled", "Provisioned"]);
    let second = merge(&first, &list(&[Synced, Provisioned, Ready]), None, at(2));
    assert_eq!(types(&second), ["Ready", "Provisioned", "Synced"]);
}

#[test]
fn conditions_of_others_stay_as_they_are() {
    let old = [foreign("example.org/Audited")];
    let merged = merge(
        &old,
        &[wanted(
            ConditionType::Ready,
            ConditionStatus::True,
            "Running",
        )],
        None,
        at(9),
    );
    assert_eq!(types(&merged), ["example.org/Audited", "Ready"]);
    assert_eq!(merged[0], old[0]);
}

#[test]
fn a_type_is_there_once_whatever_comes_in() {
    let old = [foreign("Ready"), foreign("Ready")];
    let both = [
        wanted(ConditionType::Ready, ConditionStatus::True, "First"),
        wanted(ConditionType::Ready, ConditionStatus::False, "Second"),
    ];
    for old in [&old[..], &[]] {
        let merged = merge(old, &both, None, at(9));
        assert_eq!(types(&merged), ["Ready"]);
        assert_eq!(merged[0].reason, "Second");
    }
}

#[test]
fn a_long_message_is_cut_between_characters() {
    let mut long = wanted(ConditionType::Ready, ConditionStatus::True, "Running");
    long.message = "ü".repeat(MAX_MESSAGE + 1);
    let merged = merge(&[], &[long], None, at(1));
    assert_eq!(merged[0].message.chars().count(), MAX_MESSAGE);
    assert!(merged[0].message.ends_with("ü…"));
}

#[test]
fn find_and_is_true_look_by_type() {
    let merged = merge(
        &[],
        &[wanted(
            ConditionType::Ready,
            ConditionStatus::Unknown,
            "Asking",
        )],
        None,
        at(1),
    );
    assert!(find(&merged, ConditionType::Ready).is_some());
    assert!(find(&merged, ConditionType::Stalled).is_none());
    assert!(!is_true(&merged, ConditionType::Ready));
    assert!(is_true(&[foreign("Ready")], ConditionType::Ready));
}

fn any_wanted() -> impl Strategy<Value = Vec<Wanted>> {
    let status = prop_oneof![
        Just(ConditionStatus::True),
        Just(ConditionStatus::False),
        Just(ConditionStatus::Unknown)
    ];
    let one = (
        prop::sample::select(ConditionType::ALL.to_vec()),
        status,
        "[A-Z][a-z]{1,5}",
    );
    prop::collection::vec(
        one.prop_map(|(kind, status, reason)| wanted(kind, status, &reason)),
        0..12,
    )
}

proptest! {
    #[test]
    fn the_same_again_changes_nothing_however_late(first in any_wanted(), later in any_wanted(), nanos in 0_i32..1_000_000_000) {
        let start = merge(&[foreign("A")], &first, Some(1), Timestamp::new(100, nanos).expect("time"));
        let next = merge(&start, &later, Some(2), at(200));
        // Stored and read back: the API server keeps whole seconds.
        let text = serde_json::to_string(&next).expect("json");
        let stored: Vec<Condition> = serde_json::from_str(&text).expect("conditions");
        prop_assert_eq!(&stored, &next);
        prop_assert_eq!(merge(&stored, &later, Some(2), at(300)), next);
    }
}
