//! Creates: when one is sent, repeated, or given up for the next incarnation.

use super::*;

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
