//! What happens without a call.

use super::*;
use crate::world::{Act, ActError, Inventory, Phase};

#[test]
fn a_vanished_vm_is_gone_and_its_key_remembers_it() {
    let mut world = world(|_| {});
    world.call(create(Some("key"), 1, spec()), at(0));
    world.act("vm-000001", Act::Vanish, at(1)).unwrap();
    assert_eq!(
        world.got("vm-000001", at(1)).unwrap_err().code,
        Code::NotFound
    );
    assert_eq!(
        refused(&world.call(create(Some("key"), 1, spec()), at(1))),
        Code::KeyOfDeletedVm
    );
    assert!(matches!(
        world.act("vm-000001", Act::Stop, at(1)),
        Err(ActError::NotFound { .. })
    ));
}

#[test]
fn a_vm_that_failed_while_provisioning_does_not_come_up() {
    let mut world = world(|_| {});
    world.made(spec(), at(0));
    world
        .act(
            "vm-000001",
            Act::Fail {
                message: "no host".into(),
            },
            at(1),
        )
        .unwrap();
    let vm = world.got("vm-000001", at(9000)).unwrap();
    assert_eq!(
        (vm.phase, vm.message.as_deref()),
        (Phase::Failed, Some("no host"))
    );
}

#[test]
fn drift_changes_what_it_names_and_nothing_else() {
    let mut world = world(|_| {});
    let made = world.made(spec(), at(0));
    let act = Act::Drift {
        cpu: Some(9),
        memory: None,
        image: Some("evil".into()),
    };
    let vm = world.act("vm-000001", act, at(1)).unwrap();
    assert_eq!((vm.cpu, &*vm.image, &vm.memory), (9, "evil", &made.memory));
    // It still comes up.
    assert_eq!(
        world.got("vm-000001", at(6000)).unwrap().phase,
        Phase::Running
    );
}

#[test]
fn stop_run_and_created_at_do_what_they_say() {
    let mut world = world(|_| {});
    world.made(spec(), at(0));
    let vm = world.act("vm-000001", Act::Run, at(1)).unwrap();
    assert!(vm.phase == Phase::Running && vm.ip().is_some());
    assert_eq!(
        world.act("vm-000001", Act::Stop, at(2)).unwrap().phase,
        Phase::Stopped
    );
    let again = world.act("vm-000001", Act::Run, at(3)).unwrap();
    assert_eq!(again.ip(), vm.ip());
    assert_eq!(
        world
            .act("vm-000001", Act::CreatedAt(at(-5)), at(4))
            .unwrap()
            .created_at,
        at(-5)
    );
    assert!(world.act("vm-000002", Act::Run, at(4)).is_err());
}

#[test]
fn a_vm_that_is_being_deleted_can_only_vanish() {
    let mut world = world(|settings| settings.delete_delay = seconds(60));
    world.made(spec(), at(0));
    world.deleted("vm-000001", at(0));
    assert!(matches!(
        world.act("vm-000001", Act::Run, at(1)),
        Err(ActError::Deleting { .. })
    ));
    world.act("vm-000001", Act::Vanish, at(1)).unwrap();
    assert!(world.got("vm-000001", at(1)).is_err());
    // The plan of its deletion is void.
    world.advance(at(100_000));
    assert_eq!(world.revision(ACCOUNT), 3);
}

#[test]
fn the_inventory_shows_all_accounts_and_the_dead() {
    let mut world = world(|_| {});
    world.made(spec(), at(0));
    world.made(spec(), at(0));
    world.handle(Request::new("other", create(None, 0, spec())), at(0));
    world.deleted("vm-000001", at(3));
    let show = |query: Inventory| -> Vec<(String, u64, bool)> {
        let listed = world.inventory(&query).into_iter();
        listed
            .map(|one| {
                (
                    one.account.to_string(),
                    one.vm.id.number(),
                    one.deleted_at.is_some(),
                )
            })
            .collect()
    };
    let all = [
        (ACCOUNT.into(), 1, true),
        (ACCOUNT.into(), 2, false),
        ("other".into(), 3, false),
    ];
    assert_eq!(show(Inventory::default()), all);
    assert_eq!(
        show(Inventory {
            account: Some("other".into()),
            ..Inventory::default()
        }),
        all[2..]
    );
    assert_eq!(
        show(Inventory {
            deleted: Some(true),
            ..Inventory::default()
        }),
        all[..1]
    );
    assert_eq!(
        show(Inventory {
            after: Some("vm-000001".into()),
            limit: Some(1),
            ..Inventory::default()
        }),
        all[1..2]
    );
}
