mod laws;

use super::*;
use crate::domain::{ClusterId, InstanceId, Operation};
use crate::lifecycle::fixtures::{
    KEY_LIFE, NOW, answered, bare, born, config, created, deleting, edited, failure, instance,
    intended, met, no_config, nth, policy, recorded, running, secs, sees, with, wrote_first,
};
use crate::lifecycle::observed::ConfigProblem;

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
        Action::Forget => Does::Forget,
    }
}

fn decided(object: &Object, memory: &Memory, config: &Resolved, sighting: &Sighting) -> Plan {
    let seen = Observed {
        object,
        config,
        sighting,
        memory,
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
    check(
        "basic",
        |c| c.capabilities.list = false,
        Reason::SafeCreateUnsupported,
    );
    let plan = decided(
        &bare(),
        &born(&bare()),
        &Err(no_config()),
        &Sighting::unasked(),
    );
    assert_eq!(done(plan), Does::Hold(Reason::ProviderConfigNotFound));
}

#[test]
fn a_create_goes_out_right_after_our_own_write() {
    let object = intended(1);
    check(
        "intent written",
        &object,
        &wrote_first(&object),
        Current::Unasked,
        &Does::Create,
    );
    let lost = answered(&object, Err(ErrorKind::TimedOut));
    check(
        "answer lost",
        &object,
        &lost,
        Current::Unasked,
        &Does::Create,
    );
    let mut late = lost.clone();
    late.write_acknowledged(NOW - secs(5));
    check("late", &object, &late, Current::Unasked, &Does::NoteAttempt);
    let mut open = lost;
    open.sending_write();
    check(
        "a later write is open",
        &object,
        &open,
        Current::Unasked,
        &Does::NoteAttempt,
    );
    check(
        "taken over",
        &object,
        &met(&object),
        gone(),
        &Does::NoteAttempt,
    );
    check(
        "and noted",
        &object,
        &licensed(&object),
        gone(),
        &Does::Create,
    );
}

#[test]
fn a_create_whose_result_is_unknown_is_found_out_before_it_is_repeated() {
    let object = intended(1);
    let memory = licensed(&object);
    check(
        "not looked",
        &object,
        &memory,
        Current::Unasked,
        &Does::Hold(Reason::CreateInDoubt),
    );
    check("one look", &object, &memory, once(), &Does::Wait(later()));
    check(
        "found",
        &object,
        &memory,
        Current::Present(running(1)),
        &Does::Hold(Reason::Created),
    );
    check(
        "higher",
        &object,
        &memory,
        Current::Present(running(2)),
        &Does::Intend(2, false),
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
fn an_answer_that_proves_an_earlier_create_raises_the_incarnation_once_nothing_is_there() {
    for kind in [
        ErrorKind::KeyReused,
        ErrorKind::KeyInUse,
        ErrorKind::KeyOfDeleted,
    ] {
        let object = intended(1);
        let memory = answered(&object, Err(kind));
        let check = |current, expected: Does| {
            check(&format!("{kind:?}"), &object, &memory, current, &expected);
        };
        check(once(), Does::Wait(later()));
        check(gone(), Does::Intend(2, true));
        check(Current::Present(running(1)), Does::Hold(Reason::Created));
    }
}

#[test]
fn a_refused_create_waits_for_an_edit_and_then_raises_the_incarnation() {
    let object = intended(1);
    let mut memory = answered(&object, Err(ErrorKind::Invalid));
    let mut error = failure(ErrorKind::Invalid, Operation::Create);
    error.code = Some("InvalidImage".to_owned());
    memory.failed(&error, NOW);
    check(
        "refused",
        &object,
        &memory,
        Current::Unasked,
        &Does::Hold(Reason::InvalidImage),
    );
    let repaired = edited(object);
    check("edited", &repaired, &memory, once(), &Does::Wait(later()));
    check(
        "confirmed",
        &repaired,
        &memory,
        gone(),
        &Does::Intend(2, true),
    );
    let plan = decided(&repaired, &memory, &Ok(config()), &sees(gone()));
    let Action::Intend { intent, .. } = plan.action else {
        panic!("{plan:?}");
    };
    assert!(intent.body.as_str().contains("ubuntu-24.04"), "{intent:?}");
    assert_eq!(intent.generation, repaired.generation);
}

#[test]
fn a_quota_refusal_is_repeated_with_the_same_create() {
    let object = intended(1);
    let memory = answered(&object, Err(ErrorKind::QuotaExceeded));
    check("again", &object, &memory, Current::Unasked, &Does::Create);
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
fn a_deletion_takes_every_instance_in_any_phase_and_then_the_finalizer() {
    let object = deleting(created(1));
    let memory = met(&object);
    for phase in [
        InstancePhase::Provisioning,
        InstancePhase::Running,
        InstancePhase::Starting,
        InstancePhase::Stopping,
        InstancePhase::Stopped,
        InstancePhase::Resizing,
        InstancePhase::Failed,
        InstancePhase::Other("Melting".to_owned()),
    ] {
        let what = format!("{phase:?}");
        let current = Current::Present(instance(1, phase));
        check(&what, &object, &memory, current, &Does::Delete("i-1"));
    }
    let poll = NOW + policy().transition_poll;
    let going = Current::Present(instance(1, InstancePhase::Deleting));
    check("going", &object, &memory, going.clone(), &Does::Wait(poll));
    check("one look", &object, &memory, once(), &Does::Wait(later()));
    check(
        "gone",
        &object,
        &memory,
        gone(),
        &Does::RemoveFinalizer(None),
    );
    check(
        "unseen",
        &object,
        &memory,
        unknown(),
        &Does::Hold(Reason::ProviderUnreachable),
    );
    let double = Sighting {
        current: going,
        others: vec![running(2)],
    };
    let plan = decided(&object, &memory, &Ok(config()), &double);
    assert_eq!(done(plan), Does::Delete("i-2"), "doubles go as well");
}

#[test]
fn a_create_in_doubt_is_settled_before_a_deletion_goes_on() {
    let object = deleting(intended(1));
    check(
        "no own write yet",
        &object,
        &met(&object),
        once(),
        &Does::NoteAttempt,
    );
    check("noted", &object, &licensed(&object), once(), &Does::Settle);
    check("noted", &object, &licensed(&object), gone(), &Does::Settle);
    check(
        "found",
        &object,
        &licensed(&object),
        Current::Present(running(1)),
        &Does::Delete("i-1"),
    );
    check(
        "unseen",
        &object,
        &licensed(&object),
        unknown(),
        &Does::Hold(Reason::ProviderUnreachable),
    );
    let mut settled = licensed(&object);
    settled.settle_answered(Err(ErrorKind::KeyOfDeleted), NOW, KEY_LIFE);
    check("settled", &object, &settled, once(), &Does::Wait(later()));
    check(
        "settled",
        &object,
        &settled,
        gone(),
        &Does::RemoveFinalizer(None),
    );
    let never_posted = wrote_first(&object);
    check(
        "nobody posted",
        &object,
        &never_posted,
        gone(),
        &Does::RemoveFinalizer(None),
    );
}

#[test]
fn a_stripped_object_that_is_deleted_still_gives_its_instance_up() {
    let object = deleting(with(created(1), |o| {
        o.intent = IntentState::Missing;
        o.finalizer = false;
    }));
    let memory = met(&object);
    check(
        "found",
        &object,
        &memory,
        Current::Present(running(1)),
        &Does::Delete("i-1"),
    );
    check(
        "gone",
        &object,
        &memory,
        gone(),
        &Does::Hold(Reason::Deleting),
    );
}

#[test]
fn an_object_of_which_nothing_was_ever_sent_goes_whatever_is_broken() {
    let object = deleting(bare());
    let plan = decided(
        &object,
        &born(&object),
        &Err(no_config()),
        &Sighting::unasked(),
    );
    assert_eq!(done(plan), Does::Hold(Reason::Deleting));
}

#[test]
fn a_deletion_that_cannot_be_carried_out_waits_unless_the_user_lets_go() {
    let let_go = |o: &mut Object| o.force_orphan = Some("cloud closed".to_owned());
    let object = deleting(created(1));
    let check = |object: Object, config: Resolved, held: Reason| {
        let unasked = Sighting::unasked();
        let plan = decided(&object, &met(&object), &config, &unasked);
        assert_eq!(done(plan), Does::Hold(held));
        let object = with(object, let_go);
        let plan = decided(&object, &met(&object), &config, &unasked);
        assert_eq!(
            done(plan),
            Does::RemoveFinalizer(Some("cloud closed")),
            "{held}"
        );
    };
    check(
        object.clone(),
        Err(no_config()),
        Reason::ProviderConfigNotFound,
    );
    let mut other = config();
    other.capabilities.account = Some("b".to_owned());
    check(object.clone(), Ok(other), Reason::AccountChanged);
    let foreign = with(object, |o| {
        o.intent = IntentState::OtherCluster(ClusterId::new("c-2"));
    });
    check(foreign, Ok(config()), Reason::ClusterIdChanged);
    let live = with(created(1), let_go);
    let plan = decided(&live, &met(&live), &Err(no_config()), &Sighting::unasked());
    assert_eq!(
        done(plan),
        Does::Hold(Reason::ProviderConfigNotFound),
        "a live object is kept"
    );
}

#[test]
fn nothing_is_done_to_what_cannot_be_proved_ours() {
    let unproven = || Current::Unproven(running(1));
    let hold = Does::Hold(Reason::OwnershipUnproven);
    for object in [created(1), deleting(created(1))] {
        check("unproven", &object, &met(&object), unproven(), &hold);
    }
}

#[test]
fn pause_stops_everything_letting_go_included() {
    let paused = with(deleting(created(1)), |o| {
        o.paused = true;
        o.force_orphan = Some("x".to_owned());
    });
    check(
        "deleting",
        &paused,
        &met(&paused),
        gone(),
        &Does::Hold(Reason::BlockedByPause),
    );
    let paused = with(intended(1), |o| o.paused = true);
    check(
        "live",
        &paused,
        &wrote_first(&paused),
        Current::Unasked,
        &Does::Hold(Reason::Paused),
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

#[test]
fn the_id_that_is_deleted_is_the_one_that_was_seen() {
    let mut elsewhere = running(1);
    elsewhere.id = InstanceId::new("other-id");
    let object = deleting(created(1));
    let current = Current::Present(elsewhere);
    check(
        "by tags",
        &object,
        &met(&object),
        current,
        &Does::Delete("other-id"),
    );
    assert_eq!(object.recorded.unwrap().incarnation, nth(1));
}
