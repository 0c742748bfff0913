use super::*;
use crate::domain::{ClusterId, ErrorKind};
use crate::lifecycle::fixtures::{
    KEY_LIFE, LAG, LONG, NOW, answered, bare, born, config, created, deleting, edited, intended,
    met, no_config, policy, secs, with, wrote_first,
};

fn check(what: &str, object: &Object, memory: &Memory, expected: &Due) {
    let found = due(&policy(), object, memory, &Ok(config()), NOW, false);
    assert_eq!(&found, expected, "{what}");
}

fn look(id: Option<&str>, find: Find) -> Due {
    Due::Look(id.map(InstanceId::new), find)
}

#[test]
fn nothing_is_asked_where_the_decision_is_to_hold() {
    let check = |what: &str, object: &Object, config: &Result<Config, ConfigProblem>| {
        let found = due(&policy(), object, &met(object), config, NOW, true);
        assert_eq!(found, Due::Nothing, "{what}");
    };
    let with_config = |change: fn(&mut Config)| {
        let mut config = config();
        change(&mut config);
        Ok(config)
    };
    let fine = Ok(config());
    check("no config", &created(1), &Err(no_config()));
    check("paused", &with(created(1), |o| o.paused = true), &fine);
    check(
        "config paused",
        &created(1),
        &with_config(|c| c.paused = true),
    );
    let other = with(created(1), |o| {
        o.intent = IntentState::OtherCluster(ClusterId::new("c-2"));
    });
    check("another cluster", &other, &fine);
    check(
        "another account",
        &created(1),
        &with_config(|c| c.capabilities.account = Some("b".to_owned())),
    );
    let let_go = with(deleting(created(1)), |o| {
        o.force_orphan = Some("x".to_owned())
    });
    check("let go", &let_go, &fine);
}

#[test]
fn an_object_that_was_born_here_needs_no_look_before_its_intent() {
    check("born", &bare(), &born(&bare()), &Due::Nothing);
    check("listed", &bare(), &met(&bare()), &look(None, Find::Always));
    let stripped = with(created(1), |o| o.finalizer = false);
    check(
        "no finalizer",
        &stripped,
        &met(&stripped),
        &look(Some("i-1"), Find::Always),
    );
    let stripped = with(created(1), |o| o.intent = IntentState::Missing);
    check(
        "no intent",
        &stripped,
        &met(&stripped),
        &look(Some("i-1"), Find::Always),
    );
}

#[test]
fn a_create_is_sent_blind_only_by_who_may() {
    let object = intended(1);
    check(
        "wrote the intent",
        &object,
        &wrote_first(&object),
        &Due::Nothing,
    );
    let lost = answered(&object, Err(ErrorKind::TimedOut));
    check("answer lost", &object, &lost, &Due::Nothing);
    check(
        "taken over",
        &object,
        &met(&object),
        &look(None, Find::Always),
    );
    let proof = answered(&object, Err(ErrorKind::KeyReused));
    check(
        "an earlier one arrived",
        &object,
        &proof,
        &look(None, Find::Always),
    );
    let edited = edited(object.clone());
    check(
        "edited since",
        &edited,
        &wrote_first(&object),
        &look(None, Find::Always),
    );
}

#[test]
fn a_refused_create_asks_nothing_until_the_spec_changes() {
    let object = intended(1);
    let refused = answered(&object, Err(ErrorKind::Invalid));
    check("refused", &object, &refused, &Due::Nothing);
    check(
        "repaired",
        &edited(object),
        &refused,
        &look(None, Find::Always),
    );
}

#[test]
fn a_steady_instance_is_asked_by_id_and_in_the_slow_round_by_owner_too() {
    let object = created(1);
    check(
        "between",
        &object,
        &met(&object),
        &look(Some("i-1"), Find::IfNotGot),
    );
    let full = due(&policy(), &object, &met(&object), &Ok(config()), NOW, true);
    assert_eq!(full, look(Some("i-1"), Find::Always));
    let older = with(created(1), |o| o.intent = intended(2).intent);
    check(
        "an id of a lower incarnation is none",
        &older,
        &met(&older),
        &look(None, Find::Always),
    );
}

#[test]
fn a_deletion_looks_by_id_and_owner_unless_nothing_was_ever_there() {
    let object = deleting(created(1));
    check(
        "recorded",
        &object,
        &met(&object),
        &look(Some("i-1"), Find::IfNotGot),
    );
    let object = deleting(intended(1));
    check(
        "in doubt",
        &object,
        &met(&object),
        &look(None, Find::IfNotGot),
    );
    let object = deleting(bare());
    check("nothing ever", &object, &born(&object), &Due::Nothing);
    check(
        "nothing seen, but not from the start",
        &object,
        &met(&object),
        &look(None, Find::IfNotGot),
    );
    let mut released = met(&deleting(created(1)));
    released.finalizer_removed();
    check(
        "finalizer off",
        &deleting(created(1)),
        &released,
        &Due::Nothing,
    );
}

#[test]
fn between_two_looks_nobody_is_asked() {
    let object = created(1);
    let mut memory = met(&object);
    memory.looked_in_vain(
        &policy(),
        &object.version,
        (NOW - secs(3), NOW - secs(2)),
        LONG,
    );
    // Its age is not known, so it is given the time that a young one needs to show.
    let at = NOW - secs(2) + policy().creation_grace;
    check("too early", &object, &memory, &Due::Wait(at));
    let later = due(&policy(), &object, &memory, &Ok(config()), at, false);
    assert_eq!(later, look(Some("i-1"), Find::IfNotGot));
    let object = deleting(intended(1));
    let mut memory = met(&object);
    memory.looked_in_vain(&policy(), &object.version, (NOW, NOW), LONG);
    check(
        "a doubt is settled before waiting",
        &object,
        &memory,
        &look(None, Find::IfNotGot),
    );
}

/// A memory whose process made the instance so long ago.
fn made(ago: Duration) -> Memory {
    let mut memory = met(&created(1));
    memory.presence_mut().made(NOW - ago);
    memory
}

#[test]
fn a_long_pair_is_taken_wherever_a_create_of_anybody_may_be_under_way() {
    let check = |what: &str, object: &Object, memory: &Memory, expected| {
        let found = gap(&policy(), object, memory, &config(), NOW);
        assert_eq!(found, expected, "{what}");
    };
    let object = intended(1);
    check("before a new intent", &bare(), &met(&bare()), LONG);
    check(
        "lost: before the next incarnation",
        &created(1),
        &made(secs(3600)),
        LONG,
    );
    let grace = policy().creation_grace;
    check("lost, age unknown", &created(1), &met(&created(1)), grace);
    check("lost, young", &created(1), &made(secs(1)), secs(29));
    for kind in [
        ErrorKind::KeyReused,
        ErrorKind::KeyInUse,
        ErrorKind::KeyOfDeleted,
        ErrorKind::Invalid,
    ] {
        check(
            "before the next incarnation",
            &object,
            &answered(&object, Err(kind)),
            LONG,
        );
    }
    check("edited", &edited(object.clone()), &met(&object), LONG);
    check("the same create again", &object, &met(&object), LAG);
    check(
        "deletion of what is recorded",
        &deleting(created(1)),
        &met(&created(1)),
        LAG,
    );
    check(
        "deletion in doubt",
        &deleting(intended(1)),
        &met(&object),
        LONG,
    );
    let stripped = with(deleting(created(1)), |o| o.intent = IntentState::Missing);
    check(
        "deletion without an intent",
        &stripped,
        &met(&stripped),
        LONG,
    );
}

#[test]
fn a_settled_deletion_needs_a_short_pair_only_where_the_key_is_known_to_be_used_up() {
    for (answer, expected) in [
        (Ok(()), LAG),
        (Err(ErrorKind::KeyOfDeleted), LAG),
        (Err(ErrorKind::KeyReused), LAG),
        (Err(ErrorKind::KeyInUse), LONG),
        (Err(ErrorKind::QuotaExceeded), LONG),
        (Err(ErrorKind::TimedOut), LONG),
    ] {
        let object = deleting(intended(1));
        let mut memory = met(&object);
        memory.settle_answered(answer, NOW, KEY_LIFE);
        let found = gap(&policy(), &object, &memory, &config(), NOW);
        assert_eq!(found, expected, "settled by {answer:?}");
    }
}

#[test]
fn an_account_has_changed_only_where_both_are_named_and_differ() {
    for (then, now, changed) in [
        (Some("a"), Some("a"), false),
        (Some("a"), Some("b"), true),
        (None, Some("b"), false),
        (Some("a"), None, false),
        (None, None, false),
    ] {
        let mut object = intended(1);
        if let IntentState::Valid(intent) = &mut object.intent {
            intent.account = then.map(ToOwned::to_owned);
        }
        let mut config = config();
        config.capabilities.account = now.map(ToOwned::to_owned);
        assert_eq!(
            account_changed(&object, &config),
            changed,
            "{then:?} {now:?}"
        );
    }
    assert!(!account_changed(&bare(), &config()), "no intent names none");
}

#[test]
fn an_inventory_may_tell_of_an_object_about_which_nothing_is_open() {
    let known = created(1);
    assert!(may_be_told(&known, &met(&known)));
    let open = [
        deleting(created(1)),
        with(created(1), |o| o.finalizer = false),
        with(created(1), |o| o.intent = IntentState::Missing),
        with(created(2), |o| {
            o.recorded = Some(crate::lifecycle::fixtures::recorded(1))
        }),
        intended(1),
    ];
    for object in open {
        assert!(!may_be_told(&object, &met(&object)), "{object:?}");
    }
    let mut missed = met(&known);
    missed.looked_in_vain(&policy(), &known.version, (NOW, NOW), LAG);
    assert!(!may_be_told(&known, &missed), "an absence is suspected");
    let mut doubles = met(&known);
    doubles.found(&[crate::lifecycle::fixtures::running(1)]);
    assert!(!may_be_told(&known, &doubles), "there are doubles");
    let mut doubt = met(&known);
    doubt.sending_create(NOW, KEY_LIFE);
    assert!(!may_be_told(&known, &doubt), "a create is in doubt");
}
