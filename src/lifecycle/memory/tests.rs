mod laws;

use super::*;
use crate::domain::{ErrorKind, Operation};
use crate::lifecycle::fixtures::{
    KEY_LIFE, LAG, LONG, NOW, answered, bare, born, created, edited, failure, intended, met,
    policy, secs, with, wrote_first,
};

fn version(object: &Object, version: &str) -> Object {
    with(object.clone(), |o| o.version = version.to_owned())
}

#[test]
fn an_object_is_born_only_where_it_was_seen_being_added_without_a_sign_and_until_it_changes() {
    let check = |what: &str, expected: bool, versions: &[(Object, Arrival)]| {
        let mut memory = Memory::default();
        for (object, arrival) in versions {
            memory.saw(&policy(), object, *arrival);
        }
        assert_eq!(memory.born(), expected, "{what}");
    };
    let (new, later) = (bare(), version(&bare(), "13"));
    check("added", true, &[(new.clone(), Arrival::Added)]);
    check("listed", false, &[(new.clone(), Arrival::Seen)]);
    check("copied with marks", false, &[(intended(1), Arrival::Added)]);
    check(
        "restored with an id",
        false,
        &[(created(1), Arrival::Added)],
    );
    check(
        "delivered twice",
        true,
        &[(new.clone(), Arrival::Added), (new.clone(), Arrival::Seen)],
    );
    check(
        "changed by anybody",
        false,
        &[
            (new.clone(), Arrival::Added),
            (later.clone(), Arrival::Seen),
        ],
    );
    check(
        "changed by us, unbroken since it was added",
        true,
        &[
            (new.clone(), Arrival::Added),
            (later.clone(), Arrival::OwnWrite),
        ],
    );
    check(
        "changed by us to show an intent",
        false,
        &[
            (new.clone(), Arrival::Added),
            (version(&intended(1), "13"), Arrival::OwnWrite),
        ],
    );
    check(
        "added again by a new watch",
        false,
        &[(new, Arrival::Seen), (later, Arrival::Added)],
    );
}

#[test]
fn what_vanishes_departs_unless_it_was_born_here_and_nothing_happened_to_it() {
    let check = |what: &str, expected: bool, memory: &Memory, last: &Object| {
        assert_eq!(memory.departs(&policy(), last), expected, "{what}");
    };
    check("born and untouched", false, &born(&bare()), &bare());
    check("listed without a sign", true, &met(&bare()), &bare());
    check("with a finalizer", true, &met(&intended(1)), &intended(1));
    let mut sent = born(&bare());
    sent.sending_intent(NOW);
    check("an intent was sent, answer unknown", true, &sent, &bare());
    let mut posted = born(&bare());
    posted.sending_create(NOW, KEY_LIFE);
    check("a create was sent", true, &posted, &bare());
    let mut stripped = met(&intended(1));
    stripped.saw(&policy(), &version(&bare(), "12"), Arrival::Seen);
    check("stripped before it went", true, &stripped, &bare());
    let mut older = born(&bare());
    older.saw_older(&intended(1));
    check("a sign in an older version only", true, &older, &bare());
    let mut done = met(&created(1));
    done.finalizer_removed();
    check("our removal acknowledged", false, &done, &created(1));
}

#[test]
fn an_absence_is_confirmed_by_two_looks_that_are_far_enough_apart() {
    let policy = policy();
    let object = created(1);
    let v = object.version.clone();
    for gap in [Duration::ZERO, LAG, LONG] {
        let mut memory = met(&object);
        let end = NOW + secs(1);
        let mut look = |began, ended| memory.looked_in_vain(&policy, &v, (began, ended), gap);
        assert_eq!(look(NOW, end), Sureness::LookAgainAt(end + gap));
        if gap > Duration::ZERO {
            let early = end + gap - Duration::from_nanos(1);
            let again = look(early, early + secs(60));
            assert_eq!(again, Sureness::LookAgainAt(end + gap), "began too early");
        }
        assert_eq!(look(end + gap, end + gap), Sureness::Confirmed);
        assert_eq!(look(end + gap * 3, end + gap * 3), Sureness::Confirmed);
    }
}

#[test]
fn looks_end_with_a_foreign_version_and_outlast_our_own_writes() {
    let check = |what: &str, kept: bool, happens: &dyn Fn(&mut Memory)| {
        let mut memory = met(&created(1));
        memory.looked_in_vain(&policy(), "12", (NOW, NOW), LAG);
        happens(&mut memory);
        assert_eq!(memory.look_again_at(LAG).is_some(), kept, "{what}");
    };
    let later = version(&created(1), "13");
    let saw = |arrival| {
        let later = later.clone();
        move |m: &mut Memory| m.saw(&policy(), &later, arrival)
    };
    check("another writer", false, &saw(Arrival::Seen));
    check("our own write", true, &saw(Arrival::OwnWrite));
    check("the same version again", true, &|m| {
        m.saw(&policy(), &created(1), Arrival::Seen);
    });
    check("a create of ours", false, &|m| {
        m.sending_create(NOW, KEY_LIFE)
    });
    check("a new intent", false, &|m| {
        m.intent_acknowledged(NOW, true, KEY_LIFE);
    });
    check("an instance seen", false, &Memory::forget_looks);
    check("our own write, delivered before its answer", true, &|m| {
        m.saw(&policy(), &later, Arrival::Seen);
        m.saw(&policy(), &later, Arrival::OwnWrite);
    });
    check("a foreign one, then our own delivered first", false, &|m| {
        m.saw(&policy(), &later, Arrival::Seen);
        m.saw(&policy(), &version(&later, "14"), Arrival::Seen);
        m.saw(&policy(), &version(&later, "14"), Arrival::OwnWrite);
    });
    check("a create between delivery and answer", false, &|m| {
        m.saw(&policy(), &later, Arrival::Seen);
        m.sending_create(NOW, KEY_LIFE);
        m.saw(&policy(), &later, Arrival::OwnWrite);
    });
}

#[test]
fn a_look_at_one_version_says_nothing_of_another() {
    let mut memory = met(&created(1));
    let sure = memory.looked_in_vain(&policy(), "11", (NOW, NOW), LAG);
    assert_eq!(sure, Sureness::LookAgainAt(NOW));
    assert_eq!(memory.look_again_at(LAG), None, "no look was counted");
}

#[test]
fn the_right_to_create_without_a_find_ends_at_half_the_life_of_the_key() {
    let policy = policy();
    let memory = wrote_first(&intended(1));
    let sent = NOW - secs(1);
    let end = sent + KEY_LIFE / 2;
    assert!(memory.may_create_blind(&policy, end - Duration::from_nanos(1)));
    assert!(!memory.may_create_blind(&policy, end));
    let repeated = answered(&intended(1), Err(ErrorKind::TimedOut));
    assert!(repeated.may_create_blind(&policy, end - Duration::from_nanos(1)));
    assert!(
        !repeated.may_create_blind(&policy, end),
        "a try renews nothing"
    );
    let mut without_keys = met(&intended(1));
    without_keys.intent_acknowledged(NOW, true, Duration::ZERO);
    assert!(!without_keys.may_create_blind(&policy, NOW));
}

#[test]
fn who_did_not_write_the_intent_first_looks_before_creating() {
    let policy = policy();
    assert!(
        !met(&intended(1)).may_create_blind(&policy, NOW),
        "taken over"
    );
    let mut again = met(&intended(1));
    again.intent_acknowledged(NOW, false, KEY_LIFE);
    assert!(!again.may_create_blind(&policy, NOW), "put back");
}

#[test]
fn every_answer_to_a_create_leaves_the_right_doubt() {
    for kind in ErrorKind::ALL {
        let memory = answered(&intended(1), Err(kind));
        let raises = matches!(
            kind,
            ErrorKind::KeyReused | ErrorKind::KeyInUse | ErrorKind::KeyOfDeleted
        );
        let refused = kind == ErrorKind::Invalid;
        assert_eq!(memory.must_raise(), raises, "{kind:?}");
        assert_eq!(memory.refused(), refused.then_some(1), "{kind:?}");
        assert_eq!(memory.in_doubt(), !raises && !refused, "{kind:?}");
        let repeat = memory.may_create_blind(&policy(), NOW);
        assert_eq!(repeat, !raises && !refused, "{kind:?}");
        assert!(memory.create_in_doubt(NOW), "{kind:?}: a deletion looks");
    }
    let made = answered(&intended(1), Ok(()));
    assert!(!made.in_doubt() && !made.must_raise() && made.refused().is_none());
    assert!(
        !made.may_create_blind(&policy(), NOW),
        "never a second create"
    );
}

#[test]
fn every_answer_to_a_settling_create_settles_what_it_proves_and_not_for_ever() {
    let half = KEY_LIFE / 2;
    let check = |answer: Result<(), ErrorKind>, settles: bool, uses_up: bool| {
        let mut memory = met(&intended(1));
        assert!(memory.create_in_doubt(NOW), "a predecessor's create");
        memory.sending_create(NOW, KEY_LIFE);
        memory.settle_answered(answer, NOW, KEY_LIFE);
        assert_eq!(memory.create_in_doubt(NOW), !settles, "{answer:?}");
        assert_eq!(memory.key_used_up(NOW), uses_up, "{answer:?}");
        assert!(memory.create_in_doubt(NOW + half), "{answer:?}: for good");
        assert!(!memory.key_used_up(NOW + half), "{answer:?}: for good");
    };
    check(Ok(()), true, true);
    for kind in ErrorKind::ALL {
        let uses_up = matches!(kind, ErrorKind::KeyReused | ErrorKind::KeyOfDeleted);
        let refused = matches!(
            kind,
            ErrorKind::KeyInUse
                | ErrorKind::Invalid
                | ErrorKind::QuotaExceeded
                | ErrorKind::Forbidden
        );
        check(Err(kind), uses_up || refused, uses_up);
    }
}

#[test]
fn who_wrote_the_intent_and_never_posted_is_not_in_doubt() {
    assert!(!wrote_first(&intended(1)).create_in_doubt(NOW));
    assert!(
        met(&intended(1)).create_in_doubt(NOW),
        "a predecessor may have"
    );
}

#[test]
fn only_an_acknowledged_own_write_of_the_last_five_seconds_licenses_a_create() {
    let policy = policy();
    let mut memory = met(&intended(1));
    assert!(!memory.own_write_stands(&policy, NOW), "none in this term");
    memory.write_acknowledged(NOW);
    let end = NOW + secs(5);
    assert!(memory.own_write_stands(&policy, end - Duration::from_nanos(1)));
    assert!(!memory.own_write_stands(&policy, end));
    let before = memory.own_write();
    memory.sending_write();
    assert!(!memory.own_write_stands(&policy, NOW), "its answer is open");
    memory.write_refused(before);
    assert!(memory.own_write_stands(&policy, NOW), "it was not applied");
    memory.sending_intent(NOW);
    assert!(!memory.own_write_stands(&policy, NOW), "an open intent");
}

#[test]
fn another_incarnation_in_the_intent_ends_rights_doubts_and_refusals() {
    for kind in [
        ErrorKind::TimedOut,
        ErrorKind::Invalid,
        ErrorKind::KeyReused,
    ] {
        for next in [intended(2), bare()] {
            let mut memory = answered(&intended(1), Err(kind));
            memory.saw(&policy(), &version(&next, "20"), Arrival::Seen);
            assert!(!memory.may_create_blind(&policy(), NOW), "{kind:?}");
            assert!(!memory.must_raise() && !memory.in_doubt(), "{kind:?}");
            assert_eq!(memory.refused(), None, "{kind:?}");
            assert!(memory.create_in_doubt(NOW), "{kind:?}");
        }
    }
    let mut same = answered(&intended(1), Err(ErrorKind::TimedOut));
    same.saw(&policy(), &edited(intended(1)), Arrival::Seen);
    assert!(
        same.may_create_blind(&policy(), NOW),
        "an edit alone does not"
    );
}

#[test]
fn failures_of_one_kind_are_counted_in_a_row() {
    let mut memory = met(&created(1));
    let down = failure(ErrorKind::Unavailable, Operation::Get);
    for times in 1..=3 {
        memory.failed(&down, NOW + secs(u64::from(times)));
        let last = memory.failure().unwrap();
        assert_eq!((last.times, last.since), (times, NOW + secs(1)));
    }
    memory.failed(&failure(ErrorKind::RateLimited, Operation::Get), NOW);
    assert_eq!(memory.failure().unwrap().times, 1, "another kind");
    memory.looked();
    assert_eq!(memory.failure(), None, "a look that succeeds ends it");
    memory.failed(&failure(ErrorKind::QuotaExceeded, Operation::Create), NOW);
    memory.looked();
    assert!(memory.failure().is_some(), "a look does not mend a write");
    memory.succeeded();
    assert_eq!(memory.failure(), None);
}

#[test]
fn each_bug_planted_in_memory_is_one_that_these_rules_forbid() {
    let planted = |bug| {
        let mut policy = policy();
        policy.planted = Some(bug);
        policy
    };
    let object = created(1);
    let one_look = planted(Planted::OneLook);
    let sure = met(&object).looked_in_vain(&one_look, "12", (NOW, NOW), LONG);
    assert_eq!(sure, Sureness::Confirmed, "one look for a proof");
    let kept = planted(Planted::LooksKept);
    let mut memory = met(&object);
    memory.looked_in_vain(&kept, "12", (NOW, NOW), LAG);
    memory.saw(&kept, &version(&object, "13"), Arrival::Seen);
    assert!(
        memory.look_again_at(LAG).is_some(),
        "looks outlive a foreign version"
    );
    let stripped = planted(Planted::StrippedIsNoIntent);
    let mut memory = met(&intended(1));
    memory.saw(&stripped, &version(&bare(), "12"), Arrival::Seen);
    assert!(
        !memory.departs(&stripped, &bare()),
        "a stripped object leaks"
    );
}
