//! Idempotency keys: the order of the checks is the contract.

use super::*;

fn keyed(body: u128) -> Call {
    create(Some("key"), body, spec())
}

#[test]
fn the_same_key_and_body_give_the_vm_as_it_is_now() {
    let mut world = world(|_| {});
    world.call(keyed(1), at(0));
    let response = world.call(keyed(1), at(6000));
    let Ok(Answer::Replayed(vm)) = response.outcome else {
        panic!("{response:?}")
    };
    assert_eq!(
        (vm.id.to_string().as_str(), vm.phase),
        ("vm-000001", crate::world::Phase::Running)
    );
    assert!(!response.applied);
    assert_eq!(world.ids(at(6000)), ["vm-000001"]);
}

#[test]
fn without_a_key_every_create_makes_a_vm() {
    let mut world = world(|_| {});
    for _ in 0..3 {
        world.made(spec(), at(0));
    }
    assert_eq!(world.ids(at(0)).len(), 3);
}

#[test]
fn a_known_key_with_another_body_is_reused_even_when_its_vm_is_gone() {
    let mut world = world(|_| {});
    world.call(keyed(1), at(0));
    assert_eq!(
        refused(&world.call(keyed(2), at(1))),
        Code::IdempotencyKeyReused
    );
    world.deleted("vm-000001", at(2));
    assert_eq!(
        refused(&world.call(keyed(2), at(3))),
        Code::IdempotencyKeyReused
    );
}

#[test]
fn the_key_of_a_deleted_vm_makes_no_other_and_names_the_first() {
    let mut world = world(|_| {});
    world.call(keyed(1), at(0));
    world.deleted("vm-000001", at(1));
    let response = world.call(keyed(1), at(2));
    let refusal = response.outcome.unwrap_err();
    assert_eq!(
        (refusal.code, refusal.id.unwrap().to_string()),
        (Code::KeyOfDeletedVm, "vm-000001".into())
    );
    assert!(world.ids(at(2)).is_empty());
}

#[test]
fn a_known_key_is_answered_before_the_body_is_judged() {
    let mut world = world(|_| {});
    world.call(keyed(1), at(0));
    let wrong = NewVm { cpu: 0, ..spec() };
    let response = world.call(create(Some("key"), 1, wrong.clone()), at(1));
    assert!(matches!(response.outcome, Ok(Answer::Replayed(_))));
    assert_eq!(
        refused(&world.call(create(Some("key"), 2, wrong), at(1))),
        Code::IdempotencyKeyReused
    );
    let unreadable = Err(Refusal::new(Code::InvalidRequest, "no JSON"));
    let call = Call::Create(Create {
        key: Some("key".into()),
        digest: Digest(3),
        spec: unreadable,
    });
    assert_eq!(
        refused(&world.call(call, at(1))),
        Code::IdempotencyKeyReused
    );
}

#[test]
fn a_known_key_is_answered_before_the_quota() {
    let mut world = world(|settings| settings.quota = Some(1));
    world.call(keyed(1), at(0));
    assert!(matches!(
        world.call(keyed(1), at(1)).outcome,
        Ok(Answer::Replayed(_))
    ));
    assert_eq!(
        refused(&world.call(create(Some("other"), 1, spec()), at(1))),
        Code::QuotaExceeded
    );
}

#[test]
fn a_refused_create_leaves_its_key_unused() {
    let mut world = world(|settings| settings.quota = Some(1));
    world.made(spec(), at(0));
    assert_eq!(refused(&world.call(keyed(1), at(0))), Code::QuotaExceeded);
    let wrong = NewVm {
        memory: "lots".into(),
        ..spec()
    };
    assert_eq!(
        refused(&world.call(create(Some("key"), 2, wrong), at(0))),
        Code::InvalidSpec
    );
    world.deleted("vm-000001", at(1));
    // Another body than both: the key is as good as new.
    assert!(matches!(
        world.call(keyed(3), at(1)).outcome,
        Ok(Answer::Created(_))
    ));
}

#[test]
fn a_key_is_in_work_until_its_answer_leaves() {
    let mut world = world(|_| {});
    let slow = Request {
        hold: Duration::from_millis(2500),
        ..Request::new(ACCOUNT, keyed(1))
    };
    assert_eq!(world.handle(slow, at(0)).delay, Duration::from_millis(2500));
    let refusal = world.call(keyed(1), at(1000)).outcome.unwrap_err();
    assert_eq!(
        (refusal.code, refusal.retry_after),
        (Code::IdempotencyKeyInUse, Some(2))
    );
    assert_eq!(
        refused(&world.call(keyed(2), at(1000))),
        Code::IdempotencyKeyReused
    );
    assert!(matches!(
        world.call(keyed(1), at(2500)).outcome,
        Ok(Answer::Replayed(_))
    ));
}

#[test]
fn a_key_is_forgotten_at_the_end_of_its_lifetime() {
    let mut world = world(|settings| settings.key_lifetime = seconds(10));
    world.call(keyed(1), at(0));
    assert!(matches!(
        world.call(keyed(1), at(9999)).outcome,
        Ok(Answer::Replayed(_))
    ));
    // Being asked for does not prolong it.
    assert!(matches!(
        world.call(keyed(2), at(10_000)).outcome,
        Ok(Answer::Created(_))
    ));
    assert_eq!(world.ids(at(10_000)), ["vm-000001", "vm-000002"]);
    assert!(matches!(
        world.call(keyed(2), at(10_001)).outcome,
        Ok(Answer::Replayed(_))
    ));
}

#[test]
fn forgetting_keys_takes_one_or_all_of_one_or_all_accounts() {
    let mut world = world(|_| {});
    for key in ["a", "b", "c"] {
        world.call(create(Some(key), 1, spec()), at(0));
    }
    world.handle(Request::new("other", create(Some("a"), 1, spec())), at(0));
    assert_eq!(world.forget_keys(Some(ACCOUNT), Some("a")), 1);
    assert_eq!(world.forget_keys(Some("nobody"), None), 0);
    assert_eq!(world.forget_keys(Some(ACCOUNT), None), 2);
    assert_eq!(world.forget_keys(None, None), 1);
    assert!(matches!(
        world.call(create(Some("a"), 2, spec()), at(1)).outcome,
        Ok(Answer::Created(_))
    ));
    // A key that was forgotten and used again lives its whole new life.
    world.advance(at(24 * 3600 * 1000));
    assert!(matches!(
        world
            .call(create(Some("a"), 2, spec()), at(24 * 3600 * 1000))
            .outcome,
        Ok(Answer::Replayed(_))
    ));
}
