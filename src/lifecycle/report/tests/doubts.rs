//! What waits for a person: creates that nobody can ask about, and losses of many at once; and what is at rest.

use super::*;
use crate::lifecycle::fixtures::edited;

#[test]
fn a_create_that_nobody_can_ask_about_waits_for_a_person_who_is_told_what_to_do() {
    use ConditionType::{Provisioned, Ready, Stalled};
    let mut case = Case::new(intended(1), Current::Absent(Sureness::Confirmed));
    case.config.as_mut().unwrap().capabilities = crate::domain::Capabilities::default();
    let status = case.status();
    for kind in [Ready, Provisioned] {
        check(&status, kind, "Unknown", Reason::CreateInDoubt);
    }
    check(&status, Stalled, "True", Reason::CreateInDoubt);
    let message = &find(&status.conditions, Provisioned).unwrap().message;
    assert!(message.contains("allowUnsafeCreate"), "{message}");
    assert_eq!(find(&status.conditions, ConditionType::Reconciling), None);
    case.config.as_mut().unwrap().allow_unsafe_create = true;
    let status = Case {
        sighting: sees(Current::Absent(Sureness::LookAgainAt(NOW + secs(9)))),
        ..case
    }
    .status();
    check(&status, Provisioned, "Unknown", Reason::CreateResultUnknown);
    assert!(!is_true(&status.conditions, Stalled));
}

#[test]
fn a_mass_loss_is_shown_as_lost_and_waits_for_a_person() {
    let mut case = Case::new(created(1), Current::Absent(Sureness::Confirmed));
    let config = case.config.as_mut().unwrap();
    (config.losses.users, config.losses.missing) = (4, 3);
    let status = case.status();
    let reason = Reason::MassLossSuspected;
    check(&status, ConditionType::Provisioned, "False", reason);
    check(&status, ConditionType::Stalled, "True", reason);
    assert_eq!(status.phase, Some(Phase::Lost));
    assert_eq!(
        case.pass(&status, &Outcome::Nothing).requeue,
        Requeue::Steady(config_poll())
    );
}

fn config_poll() -> std::time::Duration {
    config().poll
}

#[test]
fn a_status_shows_an_instance_at_rest_or_it_does_not() {
    let object = created(1);
    let case = Case::new(object.clone(), Current::Present(running(1)));
    let status = case.status();
    assert!(is_at_rest(&object, &status) && crate::lifecycle::report::shows(&status, &running(1)));
    assert!(
        !is_at_rest(&edited(object.clone()), &status),
        "of before an edit"
    );
    let mut other = running(1);
    other.cpu += 1;
    assert!(!crate::lifecycle::report::shows(&status, &other));
    let stopped = instance(1, InstancePhase::Stopped);
    assert!(!crate::lifecycle::report::shows(&status, &stopped));
    let going = Case::new(
        object.clone(),
        Current::Present(instance(1, InstancePhase::Provisioning)),
    );
    assert!(!is_at_rest(&object, &going.status()), "on its way");
}
