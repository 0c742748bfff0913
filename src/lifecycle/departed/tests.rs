use super::*;
use crate::domain::{ErrorKind, InstanceId, InstancePhase, Operation};
use crate::lifecycle::fixtures::{
    NOW, bare, config, created, failure, instance, no_config, policy, running, secs, sees,
};

type Resolved = Result<Config, ConfigProblem>;

fn check(
    what: &str,
    (sign, last): (bool, Object),
    config: &Resolved,
    sighting: &Sighting,
    expected: &Action,
) {
    let departed = Departed { last, sign };
    let plan = decide_departed(&policy(), &departed, config, sighting, NOW);
    assert_eq!(&plan.action, expected, "{what}");
}

#[test]
fn a_departed_object_is_forgotten_after_a_confirmed_absence_and_not_before() {
    let later = NOW + secs(9);
    let poll = Action::Hold(Some(NOW + policy().transition_poll));
    let check = |what: &str, current, expected: &Action| {
        check(
            what,
            (true, created(1)),
            &Ok(config()),
            &sees(current),
            expected,
        );
    };
    check("not looked", Current::Unasked, &Action::Hold(None));
    let once = Current::Absent(Sureness::LookAgainAt(later));
    check("one look", once, &Action::Hold(Some(later)));
    check("two", Current::Absent(Sureness::Confirmed), &Action::Forget);
    let delete = Action::Delete(InstanceId::new("i-1"));
    check("there", Current::Present(running(1)), &delete);
    let going = Current::Present(instance(1, InstancePhase::Deleting));
    check("going", going, &poll);
    let unknown = Current::Unknown(failure(ErrorKind::TimedOut, Operation::List));
    check("unseen", unknown, &Action::Hold(None));
    check(
        "unproven",
        Current::Unproven(running(1)),
        &Action::Hold(None),
    );
}

#[test]
fn an_instance_that_its_user_let_go_of_is_left_alone() {
    let sees = sees(Current::Present(running(1)));
    for (deleting, expected) in [
        (true, Action::Forget),
        (false, Action::Delete(InstanceId::new("i-1"))),
    ] {
        let mut last = created(1);
        last.deleting = deleting;
        last.force_orphan = Some("accepted".to_owned());
        check("let go", (true, last), &Ok(config()), &sees, &expected);
    }
}

#[test]
fn every_instance_of_a_departed_object_goes() {
    let sighting = Sighting {
        current: Current::Absent(Sureness::Confirmed),
        others: vec![running(1)],
    };
    let delete = Action::Delete(InstanceId::new("i-1"));
    check(
        "older",
        (true, created(2)),
        &Ok(config()),
        &sighting,
        &delete,
    );
    let sighting = Sighting {
        others: vec![instance(1, InstancePhase::Deleting)],
        ..sighting
    };
    let poll = Action::Hold(Some(NOW + policy().transition_poll));
    check("going", (true, created(2)), &Ok(config()), &sighting, &poll);
}

#[test]
fn a_config_that_cannot_be_used_is_held_only_by_what_may_exist() {
    let unasked = Sighting::unasked();
    let broken: Resolved = Err(no_config());
    check(
        "a sign",
        (true, created(1)),
        &broken,
        &unasked,
        &Action::Hold(None),
    );
    check(
        "no sign",
        (false, bare()),
        &broken,
        &unasked,
        &Action::Forget,
    );
}

#[test]
fn nothing_is_believed_or_done_while_paused_or_with_another_account() {
    let absent = sees(Current::Absent(Sureness::Confirmed));
    let present = sees(Current::Present(running(1)));
    let changed = |change: fn(&mut Config)| -> Resolved {
        let mut config = config();
        change(&mut config);
        Ok(config)
    };
    for config in [
        changed(|c| c.paused = true),
        changed(|c| c.capabilities.account = Some("other".to_owned())),
    ] {
        for sighting in [&absent, &present] {
            let what = format!("{config:?}");
            check(
                &what,
                (true, created(1)),
                &config,
                sighting,
                &Action::Hold(None),
            );
        }
    }
}
