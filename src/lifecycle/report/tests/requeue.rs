//! When to look again.

use super::*;

fn requeued(case: &Case, action: Action, outcome: &Outcome) -> Requeue {
    let plan = Plan {
        action,
        reason: Reason::CreatePending,
    };
    let none = VirtualMachineStatus::default();
    report(&policy(), &case.seen(), &none, &plan, outcome).requeue
}

#[test]
fn a_refused_settling_create_goes_on_with_the_looks_at_once() {
    for kind in [
        ErrorKind::Invalid,
        ErrorKind::QuotaExceeded,
        ErrorKind::Forbidden,
        ErrorKind::KeyInUse,
        ErrorKind::KeyReused,
        ErrorKind::KeyOfDeleted,
    ] {
        let object = deleting(intended(1));
        let mut case = Case::new(object, Current::Absent(Sureness::Confirmed));
        case.memory.sending_create(NOW, KEY_LIFE);
        case.memory.settle_answered(Err(kind), NOW, KEY_LIFE);
        let failed = Outcome::Failed(failure(kind, Operation::Create));
        assert_eq!(
            requeued(&case, Action::Settle, &failed),
            Requeue::Now,
            "{kind:?}"
        );
    }
}

#[test]
fn a_refused_look_or_deletion_is_tried_again_by_itself() {
    for kind in [
        ErrorKind::Invalid,
        ErrorKind::KeyReused,
        ErrorKind::KeyOfDeleted,
    ] {
        let look = Current::Unknown(failure(kind, Operation::Get));
        let case = Case::new(created(1), look);
        let again = requeued(&case, Action::Hold(None), &Outcome::Nothing);
        assert!(matches!(again, Requeue::Retry(_)), "{kind:?}: {again:?}");
        let case = Case::new(deleting(created(1)), Current::Present(running(1)));
        let failed = Outcome::Failed(failure(kind, Operation::Delete));
        let delete = Action::Delete(running(1).id);
        let again = requeued(&case, delete, &failed);
        assert!(matches!(again, Requeue::Retry(_)), "{kind:?}: {again:?}");
    }
}

#[test]
fn each_outcome_comes_back_when_it_should() {
    let object = intended(1);
    let mut case = Case::new(object.clone(), Current::Unasked);
    case.memory = answered(&object, Ok(()));
    let check = |action: Action, outcome: Outcome, expected| {
        assert_eq!(requeued(&case, action, &outcome), expected, "{outcome:?}");
    };
    let failed = |kind| Outcome::Failed(failure(kind, Operation::Create));
    let minute = secs(60);
    check(
        Action::Create,
        failed(ErrorKind::QuotaExceeded),
        Requeue::Retry(Some(minute)),
    );
    check(
        Action::Create,
        failed(ErrorKind::Forbidden),
        Requeue::Retry(Some(minute)),
    );
    check(
        Action::Create,
        failed(ErrorKind::TimedOut),
        Requeue::Retry(None),
    );
    check(Action::Create, failed(ErrorKind::KeyReused), Requeue::Now);
    check(
        Action::Create,
        failed(ErrorKind::Invalid),
        Requeue::Steady(policy().longest_backoff),
    );
    check(Action::Create, Outcome::Outdated, Requeue::Now);
    check(Action::Create, Outcome::Unwritten, Requeue::Retry(None));
    let starting = Outcome::Made(Box::new(instance(1, InstancePhase::Provisioning)));
    check(Action::Create, starting, Requeue::After(secs(2)));
    let made = Outcome::Made(Box::new(running(1)));
    check(Action::Create, made, Requeue::Steady(secs(30)));
    check(Action::NoteAttempt, Outcome::Nothing, Requeue::Now);
    let at = Action::Hold(Some(NOW + secs(3)));
    check(at, Outcome::Nothing, Requeue::After(secs(3)));
    let removed = Action::RemoveFinalizer { orphaned: None };
    check(removed, Outcome::Written, Requeue::OnChange);
    let mut throttled = failure(ErrorKind::RateLimited, Operation::Create);
    throttled.retry_after = Some(secs(7));
    check(
        Action::Create,
        Outcome::Failed(throttled),
        Requeue::Retry(Some(secs(7))),
    );
}

#[test]
fn an_object_without_anything_of_ours_goes_without_a_write() {
    let mut case = Case::new(deleting(bare()), Current::Unasked);
    case.memory = born(&case.object);
    let none = VirtualMachineStatus::default();
    let report = case.pass(&none, &Outcome::Nothing);
    assert_eq!((report.status, report.requeue), (None, Requeue::OnChange));
}

#[test]
fn an_intent_alone_writes_no_status() {
    let mut case = Case::new(bare(), Current::Unasked);
    case.memory = born(&case.object);
    let none = VirtualMachineStatus::default();
    let report = case.pass(&none, &Outcome::Written);
    assert_eq!((report.status, report.requeue), (None, Requeue::Now));
}

#[test]
fn what_a_lagging_list_still_shows_is_not_deleted_again_at_once() {
    let mut case = Case::new(deleting(created(1)), Current::Present(running(1)));
    let delete = || Action::Delete(running(1).id);
    // A pass is reported with what it did in memory.
    case.memory.delete_accepted(&running(1).id);
    let first = requeued(&case, delete(), &Outcome::DeleteAccepted);
    assert_eq!(first, Requeue::Now);
    case.memory.delete_accepted(&running(1).id);
    let again = requeued(&case, delete(), &Outcome::DeleteAccepted);
    assert_eq!(again, Requeue::After(policy().transition_poll));
    let lag = secs(90);
    if let Ok(config) = &mut case.config {
        config.capabilities.list_lag = lag;
    }
    let again = requeued(&case, delete(), &Outcome::DeleteAccepted);
    assert_eq!(again, Requeue::After(lag));
    // Another one that bears the same tags is deleted without a pause.
    let other = Action::Delete(crate::domain::InstanceId::new("vm-other"));
    assert_eq!(
        requeued(&case, other, &Outcome::DeleteAccepted),
        Requeue::Now
    );
}
