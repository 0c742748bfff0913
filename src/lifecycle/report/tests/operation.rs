//! `status.operation` while something waits: when it is tried again, and what that costs.

use super::*;
use crate::domain::ProviderError;

/// When it is tried again, in seconds from now.
fn told_after(status: &VirtualMachineStatus) -> Option<i64> {
    let operation = status.operation.as_ref()?;
    let next = operation.next_attempt_at?;
    Some(next.as_second() - wall().as_second())
}

fn waiting(error: &ProviderError, failures: u32) -> Case {
    let object = intended(1);
    let mut case = Case::new(object.clone(), Current::Unasked);
    case.memory = wrote_first(&object);
    case.memory.begins_after(failures);
    case.memory.failed(error, NOW);
    case
}

fn after(case: &Case, old: &VirtualMachineStatus, action: Action, outcome: &Outcome) -> Report {
    let plan = Plan {
        action,
        reason: Reason::CreatePending,
    };
    report(&policy(), &case.seen(), old, &plan, outcome)
}

#[test]
fn whatever_a_create_waits_for_it_says_when_it_is_tried_again() {
    let of = |kind, retry_after: Option<u64>| ProviderError {
        retry_after: retry_after.map(secs),
        ..failure(kind, Operation::Create)
    };
    let none = VirtualMachineStatus::default();
    for (error, failures, expected) in [
        // The back-off, less the quarter by which it may be shortened.
        (of(ErrorKind::TimedOut, None), 0, Some(0)),
        (of(ErrorKind::TimedOut, None), 2, Some(3)),
        (of(ErrorKind::Unavailable, None), 20, Some(225)),
        // What the provider asks for, where that is longer.
        (of(ErrorKind::RateLimited, Some(600)), 0, Some(600)),
        (of(ErrorKind::Unavailable, Some(7)), 5, Some(24)),
        (of(ErrorKind::QuotaExceeded, None), 0, Some(60)),
        (of(ErrorKind::Forbidden, None), 3, Some(60)),
        // What our own bounds ask for.
        (of(ErrorKind::HeldBack, Some(120)), 1, Some(120)),
        (of(ErrorKind::TooLate, None), 3, Some(6)),
        // A person, and nobody.
        (of(ErrorKind::Invalid, None), 0, None),
        (of(ErrorKind::KeyReused, None), 0, None),
    ] {
        let case = waiting(&error, failures);
        let outcome = Outcome::Failed(error);
        let status = after(&case, &none, Action::Create, &outcome).status;
        assert_eq!(told_after(&status.unwrap()), expected, "{outcome:?}");
    }
}

#[test]
fn the_time_alone_is_worth_no_write() {
    let error = failure(ErrorKind::TimedOut, Operation::Create);
    let outcome = Outcome::Failed(error.clone());
    let none = VirtualMachineStatus::default();
    let first = after(&waiting(&error, 0), &none, Action::Create, &outcome);
    let told = first.status.unwrap();
    for failures in 1..10 {
        let case = waiting(&error, failures);
        let again = after(&case, &told, Action::Create, &outcome);
        assert_eq!(again.status, None, "after {failures}");
    }
    // So it is for a deletion.
    let error = failure(ErrorKind::Unavailable, Operation::Delete);
    let outcome = Outcome::Failed(error);
    let delete = || Action::Delete(running(1).id);
    let mut case = Case::new(deleting(created(1)), Current::Present(running(1)));
    let told = after(&case, &none, delete(), &outcome).status.unwrap();
    assert_eq!(told_after(&told), Some(0));
    case.memory.begins_after(7);
    assert_eq!(after(&case, &told, delete(), &outcome).status, None);
}

#[test]
fn the_note_of_an_attempt_tells_when_the_next_one_would_be_and_nothing_else() {
    let throttled = ProviderError {
        retry_after: Some(secs(90)),
        status: Some(429),
        ..failure(ErrorKind::RateLimited, Operation::Create)
    };
    let case = waiting(&throttled, 3);
    let outcome = Outcome::Failed(throttled);
    let none = VirtualMachineStatus::default();
    let told = after(&case, &none, Action::Create, &outcome)
        .status
        .unwrap();
    let noted = after(&case, &told, Action::NoteAttempt, &Outcome::Nothing);
    let noted = noted.status.unwrap();
    let operation = noted.operation.clone().unwrap();
    assert_eq!((operation.attempts, told_after(&noted)), (2, Some(90)));
    let mut rest = noted.clone();
    rest.operation.clone_from(&told.operation);
    assert_eq!(
        rest, told,
        "conditions are told by what comes of the attempt"
    );
    // It fails as before: no second write.
    let again = after(&case, &noted, Action::Create, &outcome);
    assert!(again.status.is_none_or(|again| again == noted));
}

#[test]
fn what_waits_for_a_bound_of_our_own_tells_so_once() {
    let none = VirtualMachineStatus::default();
    let limited = failure(ErrorKind::RateLimited, Operation::Create);
    let case = waiting(&limited, 0);
    let outcome = Outcome::Failed(limited);
    let told = after(&case, &none, Action::Create, &outcome)
        .status
        .unwrap();
    check(
        &told,
        ConditionType::Provisioned,
        "False",
        Reason::RateLimited,
    );
    for kind in [ErrorKind::TooLate, ErrorKind::HeldBack] {
        let error = failure(kind, Operation::Create);
        let case = waiting(&error, 4);
        let again = after(&case, &told, Action::Create, &Outcome::Failed(error));
        assert_eq!(again.status, None, "{kind:?}");
    }
    // An edit is answered, and so is an outage.
    let mut edited = waiting(&failure(ErrorKind::HeldBack, Operation::Create), 4);
    edited.object.generation += 1;
    let outcome = Outcome::Failed(failure(ErrorKind::HeldBack, Operation::Create));
    assert!(
        after(&edited, &told, Action::Create, &outcome)
            .status
            .is_some()
    );
    let mut down = waiting(&failure(ErrorKind::HeldBack, Operation::Create), 4);
    for _ in 0..3 {
        down.memory
            .failed(&failure(ErrorKind::HeldBack, Operation::Create), NOW);
    }
    let shown = after(&down, &told, Action::Create, &outcome)
        .status
        .unwrap();
    check(
        &shown,
        ConditionType::ProviderReady,
        "False",
        Reason::ProviderUnreachable,
    );
}

#[test]
fn a_wait_does_not_end_the_doubt_about_a_create_that_no_key_guards() {
    let object = intended(1);
    let mut case = Case::new(object.clone(), Current::Unasked);
    case.config.as_mut().unwrap().capabilities = Default::default();
    case.memory = wrote_first(&object);
    case.memory.sending_create(NOW, KEY_LIFE);
    let lost = failure(ErrorKind::TimedOut, Operation::Create);
    let none = VirtualMachineStatus::default();
    let told = after(&case, &none, Action::Create, &Outcome::Failed(lost));
    let told = told.status.unwrap();
    let mut wait = failure(ErrorKind::RateLimited, Operation::Create);
    wait.status = Some(429);
    let later = after(&case, &told, Action::Create, &Outcome::Failed(wait));
    let later = later.status.unwrap_or_else(|| told.clone());
    let reason = |status: &VirtualMachineStatus| {
        let operation = status.operation.clone();
        operation.and_then(|one| one.last_error_reason)
    };
    assert_eq!(reason(&later), reason(&told));
    assert!(!crate::lifecycle::object::Tried::of(&later).refused);
}
