//! Objects that are being deleted, and what holds or lets go of them.

use super::*;

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
}
