use super::*;
use crate::lifecycle::fixtures::{
    bare, created, edited, intended, nth, owner, policy, recorded, with,
};

#[test]
fn an_annotation_is_an_intent_only_for_this_uid_in_this_cluster() {
    let written = intended(1).intent().unwrap().to_annotation();
    let judge = |text: Option<&str>, cluster: &str, uid: &str| {
        IntentState::judge(text, &ClusterId::new(cluster), &Uid::new(uid))
    };
    assert_eq!(judge(Some(&written), "c-1", "u-1"), intended(1).intent);
    assert_eq!(
        judge(Some(&written), "c-1", "u-2"),
        IntentState::Missing,
        "copied"
    );
    let other = IntentState::OtherCluster(ClusterId::new("c-1"));
    assert_eq!(judge(Some(&written), "c-2", "u-1"), other);
    assert_eq!(judge(Some(&written), "c-2", "u-2"), IntentState::Missing);
    for text in [None, Some(""), Some("{}"), Some("null"), Some("{\"v\":9}")] {
        assert_eq!(judge(text, "c-1", "u-1"), IntentState::Missing, "{text:?}");
    }
}

#[test]
fn an_id_below_the_intents_incarnation_is_no_id() {
    for (intent, id, known) in [(1, 1, true), (1, 2, true), (2, 1, false), (2, 2, true)] {
        let object = with(intended(intent), |o| o.recorded = Some(recorded(id)));
        assert_eq!(object.known().is_some(), known, "intent {intent}, id {id}");
    }
    let stripped = with(created(1), |o| o.intent = IntentState::Missing);
    assert!(stripped.known().is_some());
}

#[test]
fn what_is_given_up_leaves_its_incarnation_behind() {
    let given_up = |id, incarnation| Recorded::given_up(id, incarnation).map(|n| n.get());
    assert_eq!(given_up(None, Some(3)), Some(3));
    assert_eq!(given_up(Some(""), Some(3)), Some(3), "an empty id is none");
    assert_eq!(given_up(Some("i-3"), Some(3)), None, "it is shown");
    assert_eq!(given_up(None, None), None);
    assert_eq!(given_up(None, Some(0)), None);
    assert_eq!(given_up(None, Some(u64::MAX)), None);
    let object = with(intended(3), |o| o.given_up = Some(nth(2)));
    assert_eq!((object.reached(), object.known()), (Some(nth(2)), None));
}

#[test]
fn an_instance_is_lost_where_the_intent_is_raised_above_what_was_recorded() {
    let lost = |object: Object| object.lost_its_own();
    assert!(lost(with(intended(2), |o| o.recorded = Some(recorded(1)))));
    assert!(lost(with(intended(2), |o| o.given_up = Some(nth(1)))));
    assert!(!lost(created(2)));
    assert!(!lost(intended(2)), "nothing was ever recorded");
    assert!(!lost(with(created(1), |o| o.intent = IntentState::Missing)));
}

#[test]
fn any_one_mark_is_a_sign() {
    assert!(!bare().shows_intent());
    assert!(with(bare(), |o| o.finalizer = true).shows_intent());
    assert!(with(bare(), |o| o.intent = intended(1).intent).shows_intent());
    assert!(with(bare(), |o| o.recorded = Some(recorded(1))).shows_intent());
    assert!(with(bare(), |o| o.given_up = Some(nth(1))).shows_intent());
}

#[test]
fn a_body_is_stale_only_where_it_would_ask_for_something_else() {
    let cluster = policy().cluster;
    assert!(!bare().body_is_stale(&cluster), "no intent");
    assert!(!intended(1).body_is_stale(&cluster));
    assert!(edited(intended(1)).body_is_stale(&cluster));
    let ports_changed = with(intended(1), |o| o.generation = 2);
    assert!(
        !ports_changed.body_is_stale(&cluster),
        "the rest of the spec"
    );
    let unreadable = with(edited(intended(1)), |o| o.spec = None);
    assert!(!unreadable.body_is_stale(&cluster));
}

#[test]
fn the_key_changes_with_the_incarnation_and_with_nothing_else() {
    let key = |object: &Object| object.create_key().unwrap();
    assert_eq!(key(&intended(1)), key(&edited(intended(1))));
    assert_ne!(key(&intended(1)), key(&intended(2)));
    assert_eq!(bare().create_key(), None);
    assert_eq!(intended(1).owner(&policy().cluster), owner());
    assert_eq!(intended(3).incarnation(), nth(3));
}
