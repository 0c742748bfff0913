//! What a deletion tells.

use super::*;

#[test]
fn a_deletion_that_goes_well_writes_its_status_once() {
    let live = Case::new(created(1), Current::Present(running(1))).status();
    let mut case = Case::new(deleting(created(1)), Current::Present(running(1)));
    let accepted = case.pass(&live, &Outcome::DeleteAccepted);
    assert_eq!((accepted.status, accepted.requeue), (None, Requeue::Now));
    case.sighting = sees(Current::Present(instance(1, InstancePhase::Deleting)));
    let first = case.pass(&live, &Outcome::Nothing).status.unwrap();
    check(&first, ConditionType::Deleting, "True", Reason::Deleting);
    check(&first, ConditionType::Ready, "False", Reason::Deleting);
    for current in [
        Current::Present(instance(1, InstancePhase::Deleting)),
        Current::Absent(Sureness::LookAgainAt(NOW + secs(2))),
    ] {
        case.sighting = sees(current);
        let next = case.pass(&first, &Outcome::Nothing).status;
        assert!(next.is_none_or(|s| s == first), "a second write");
    }
}

#[test]
fn a_deletion_that_waits_for_nothing_writes_no_status() {
    let live = Case::new(created(1), Current::Present(running(1))).status();
    let mut case = Case::new(deleting(created(1)), Current::Present(running(1)));
    assert_eq!(case.pass(&live, &Outcome::DeleteAccepted).status, None);
    case.sighting = sees(Current::Absent(Sureness::LookAgainAt(NOW)));
    let look = case.pass(&live, &Outcome::Nothing);
    assert_eq!(look.status, None);
    assert!(look.requeue.is_at_once());
    // Where the second look has to wait, somebody may be looking.
    case.sighting = sees(Current::Absent(Sureness::LookAgainAt(NOW + secs(2))));
    let status = case.pass(&live, &Outcome::Nothing).status.unwrap();
    check(&status, ConditionType::Deleting, "True", Reason::Deleting);
}

#[test]
fn a_deletion_that_waits_says_for_what() {
    let check = |case: &Case, reason| {
        check(&case.status(), ConditionType::Deleting, "True", reason);
        assert_eq!(kstatus(&case.object, &case.status()), Kstatus::Terminating);
    };
    let object = deleting(created(1));
    let broken = Case {
        config: Err(no_config()),
        ..Case::new(object.clone(), Current::Unasked)
    };
    check(&broken, Reason::DeletionBlocked);
    let down = Current::Unknown(failure(ErrorKind::Unauthorized, Operation::Get));
    check(&Case::new(object.clone(), down), Reason::DeletionBlocked);
    let unproven = Case::new(object.clone(), Current::Unproven(running(1)));
    check(&unproven, Reason::DeletionBlocked);
    let paused = with(object, |o| o.paused = true);
    check(&Case::new(paused, Current::Unasked), Reason::BlockedByPause);
}

#[test]
fn a_failed_instance_that_is_deleted_waits_for_nobody() {
    let failed = Current::Present(instance(1, InstancePhase::Failed));
    let old = Case::new(created(1), failed.clone()).status();
    assert!(is_true(&old.conditions, ConditionType::Stalled));
    let case = Case::new(deleting(created(1)), failed);
    let refused = Outcome::Failed(failure(ErrorKind::Conflict, Operation::Delete));
    let status = case.pass(&old, &refused).status.unwrap();
    assert!(!is_true(&status.conditions, ConditionType::Stalled));
}
