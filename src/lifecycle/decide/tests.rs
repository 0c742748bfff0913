mod creating;
mod deletion;
mod laws;

use super::*;
use crate::domain::{ClusterId, InstanceId, Operation};
use crate::lifecycle::fixtures::{
    KEY_LIFE, NOW, answered, bare, born, config, created, deleting, edited, failure, instance,
    intended, met, no_config, policy, recorded, running, secs, sees, with, wrote_first,
};
use crate::lifecycle::observed::{ConfigProblem, Losses};

type Resolved = Result<Config, ConfigProblem>;

/// What is expected, with as much of the effect as matters.
#[derive(Debug, PartialEq)]
enum Does {
    Hold(Reason),
    Wait(Moment),
    Intend(u32, bool),
    NoteAttempt,
    Create,
    Settle,
    Delete(&'static str),
    RemoveFinalizer(Option<&'static str>),
    Forget,
}

fn done(plan: Plan) -> Does {
    let leak = |text: &str| &*text.to_owned().leak();
    match plan.action {
        Action::Hold(None) => Does::Hold(plan.reason),
        Action::Hold(Some(at)) => Does::Wait(at),
        Action::Intend { intent, first } => Does::Intend(intent.incarnation.get(), first),
        Action::NoteAttempt => Does::NoteAttempt,
        Action::Create => Does::Create,
        Action::Settle => Does::Settle,
        Action::Delete(id) => Does::Delete(leak(id.as_str())),
        Action::RemoveFinalizer { orphaned } => {
            Does::RemoveFinalizer(orphaned.map(|why| leak(&why)))
        }
        Action::ApplyChild(_) | Action::DeleteChild(..) => panic!("no object here owns others"),
        Action::Forget => Does::Forget,
    }
}

fn decided(object: &Object, memory: &Memory, config: &Resolved, sighting: &Sighting) -> Plan {
    let seen = Observed {
        object,
        config,
        sighting,
        memory,
        children: None,
        now: NOW,
        wall: crate::lifecycle::fixtures::wall(),
    };
    decide(&policy(), &seen)
}

fn check(what: &str, object: &Object, memory: &Memory, current: Current, expected: &Does) {
    let plan = decided(object, memory, &Ok(config()), &sees(current));
    assert_eq!(&done(plan), expected, "{what}");
}

fn later() -> Moment {
    NOW + secs(9)
}

fn once() -> Current {
    Current::Absent(Sureness::LookAgainAt(later()))
}

fn gone() -> Current {
    Current::Absent(Sureness::Confirmed)
}

fn unknown() -> Current {
    Current::Unknown(failure(ErrorKind::TimedOut, Operation::List))
}

/// A process that did not write the intent, with an own write of a second ago.
fn licensed(object: &Object) -> Memory {
    let mut memory = met(object);
    memory.write_acknowledged(NOW - secs(1));
    memory
}

#[test]
fn an_object_that_was_born_here_gets_the_first_incarnation_without_a_find() {
    check(
        "born",
        &bare(),
        &born(&bare()),
        Current::Unasked,
        &Does::Intend(1, true),
    );
}

#[test]
fn an_object_of_unknown_past_gets_its_incarnation_from_tags_then_status_then_the_first() {
    let object = bare();
    let memory = met(&object);
    check(
        "one empty look",
        &object,
        &memory,
        once(),
        &Does::Wait(later()),
    );
    check("two", &object, &memory, gone(), &Does::Intend(1, true));
    let tagged = Current::Present(running(3));
    check(
        "tags",
        &object,
        &memory,
        tagged.clone(),
        &Does::Intend(3, false),
    );
    let kept_status = with(bare(), |o| o.recorded = Some(recorded(2)));
    let memory = met(&kept_status);
    check(
        "status",
        &kept_status,
        &memory,
        gone(),
        &Does::Intend(2, false),
    );
    check(
        "tags beat status",
        &kept_status,
        &memory,
        tagged,
        &Does::Intend(3, false),
    );
    check(
        "not seen",
        &kept_status,
        &memory,
        unknown(),
        &Does::Hold(Reason::ProviderUnreachable),
    );
}

#[test]
fn a_finalizer_that_was_stripped_comes_back_with_the_intent_as_it_was() {
    let object = edited(with(intended(2), |o| o.finalizer = false));
    let sighting = sees(gone());
    let plan = decided(&object, &met(&object), &Ok(config()), &sighting);
    let Action::Intend { intent, first } = plan.action else {
        panic!("{plan:?}");
    };
    assert_eq!((intent.as_ref(), first), (object.intent().unwrap(), false));
    let higher = Current::Present(running(3));
    check(
        "raised to what is there",
        &object,
        &met(&object),
        higher,
        &Does::Intend(3, false),
    );
}

#[test]
fn marks_that_somebody_strips_in_a_loop_come_back_at_most_once_a_second() {
    let mut memory = met(&bare());
    memory.sending_intent(NOW - secs(1) + std::time::Duration::from_millis(1));
    let at = NOW + std::time::Duration::from_millis(1);
    check("too soon", &bare(), &memory, gone(), &Does::Wait(at));
    memory.sending_intent(NOW - secs(1));
    check(
        "a second later",
        &bare(),
        &memory,
        gone(),
        &Does::Intend(1, true),
    );
}

#[test]
fn nothing_is_begun_with_a_config_that_may_vanish() {
    let check = |what: &str, change: fn(&mut Config), reason: Reason| {
        let mut config = config();
        change(&mut config);
        let plan = decided(&bare(), &born(&bare()), &Ok(config), &Sighting::unasked());
        assert_eq!(done(plan), Does::Hold(reason), "{what}");
    };
    check(
        "deleting",
        |c| c.terminating = true,
        Reason::ProviderConfigDeleting,
    );
    check(
        "without finalizer",
        |c| c.protected = false,
        Reason::ProviderConfigPending,
    );
    check("paused", |c| c.paused = true, Reason::Paused);
    let plan = decided(
        &bare(),
        &born(&bare()),
        &Err(no_config()),
        &Sighting::unasked(),
    );
    assert_eq!(done(plan), Does::Hold(Reason::ProviderConfigNotFound));
}

#[test]
fn losses_are_counted_over_a_whole_round_before_anything_is_made_anew() {
    let object = created(1);
    let with = |users, missing, unlooked, confirmed: Option<u32>, doubted| {
        let mut config = config();
        config.losses = Losses {
            users,
            missing,
            unlooked,
            doubted,
        };
        config.confirmed_loss = confirmed;
        done(decided(&object, &met(&object), &Ok(config), &sees(gone())))
    };
    let (anew, held) = (Does::Intend(2, true), Does::Hold(Reason::MassLossSuspected));
    assert_eq!(with(1, 1, 0, None, false), anew, "the only one");
    assert_eq!(with(10, 1, 0, None, false), anew);
    assert_eq!(with(10, 2, 0, None, false), held, "two, and a fifth");
    assert_eq!(with(11, 2, 0, None, false), anew, "less than a fifth");
    assert_eq!(with(2, 2, 0, None, false), held);
    let again = Does::Wait(NOW + policy().round_again);
    assert_eq!(with(10, 1, 1, None, false), again, "the round goes on");
    assert_eq!(
        with(100, 1, 18, None, false),
        anew,
        "it cannot come to that"
    );
    assert_eq!(with(10, 2, 8, None, false), held, "enough is known");
    assert_eq!(with(10, 5, 0, Some(5), false), anew, "confirmed");
    assert_eq!(with(10, 5, 0, Some(4), false), held, "more than confirmed");
    assert_eq!(with(10, 1, 0, None, true), held, "it went back in time");
    let mut planted = policy();
    planted.planted = Some(Planted::LossesUncounted);
    let mut config = config();
    config.losses.users = 2;
    config.losses.missing = 2;
    let (config, sighting, memory) = (Ok(config), sees(gone()), met(&object));
    let seen = Observed {
        object: &object,
        config: &config,
        sighting: &sighting,
        memory: &memory,
        children: None,
        now: NOW,
        wall: crate::lifecycle::fixtures::wall(),
    };
    assert_eq!(done(decide(&planted, &seen)), anew);
}

#[test]
fn a_lost_instance_is_made_anew_under_the_next_incarnation_once_the_loss_is_certain() {
    let object = created(2);
    let memory = met(&object);
    check(
        "there",
        &object,
        &memory,
        Current::Present(running(2)),
        &Does::Hold(Reason::Created),
    );
    check("suspected", &object, &memory, once(), &Does::Wait(later()));
    check("certain", &object, &memory, gone(), &Does::Intend(3, true));
    check(
        "higher found",
        &object,
        &memory,
        Current::Present(running(4)),
        &Does::Intend(4, false),
    );
    let failed = Current::Present(instance(2, InstancePhase::Failed));
    check(
        "failed is there",
        &object,
        &memory,
        failed,
        &Does::Hold(Reason::Created),
    );
    check(
        "unseen",
        &object,
        &memory,
        unknown(),
        &Does::Hold(Reason::ProviderUnreachable),
    );
}

#[test]
fn an_id_of_a_lower_incarnation_is_no_id() {
    let object = with(created(1), |o| o.intent = intended(2).intent);
    let memory = licensed(&object);
    check("created", &object, &memory, gone(), &Does::Create);
}

#[test]
fn what_cannot_be_read_is_not_made() {
    let unreadable = |object: Object| with(object, |o| o.spec = None);
    let hold = Does::Hold(Reason::SpecUnreadable);
    let object = unreadable(bare());
    check("new", &object, &born(&object), Current::Unasked, &hold);
    check("listed", &object, &met(&object), gone(), &hold);
    let object = unreadable(intended(1));
    check(
        "intended",
        &object,
        &wrote_first(&object),
        Current::Unasked,
        &hold,
    );
    check("in doubt", &object, &licensed(&object), gone(), &hold);
    let found = Current::Present(running(1));
    check(
        "found",
        &object,
        &met(&object),
        found,
        &Does::Hold(Reason::Created),
    );
}

#[test]
fn every_failure_has_a_reason() {
    let check = |kind, code: Option<&str>, reason| {
        let mut error = failure(kind, Operation::Create);
        error.code = code.map(ToOwned::to_owned);
        assert_eq!(reason_of(&error), reason, "{kind:?} {code:?}");
    };
    check(
        ErrorKind::Invalid,
        Some("InvalidImage"),
        Reason::InvalidImage,
    );
    check(ErrorKind::Invalid, Some("InvalidSpec"), Reason::InvalidSpec);
    check(
        ErrorKind::Invalid,
        Some("SomethingNew"),
        Reason::InvalidRequest,
    );
    check(ErrorKind::Invalid, None, Reason::InvalidRequest);
    check(ErrorKind::Unauthorized, None, Reason::CredentialsRejected);
    check(ErrorKind::QuotaExceeded, None, Reason::QuotaExceeded);
    check(ErrorKind::Malformed, None, Reason::MalformedAnswer);
    check(ErrorKind::TimedOut, None, Reason::ProviderUnreachable);
}
