//! A VM's life.

use super::*;
use crate::world::{Phase, Spread};

#[test]
fn a_vm_provisions_and_then_runs_with_an_address_by_itself() {
    let mut world = world(|_| {});
    let made = world.made(spec(), at(0));
    assert_eq!(
        (made.phase, made.ip(), made.id.to_string()),
        (Phase::Provisioning, None, "vm-000001".into())
    );
    assert_eq!(world.next_due(), Some(at(5000)));
    assert_eq!(
        world.got("vm-000001", at(4999)).unwrap().phase,
        Phase::Provisioning
    );
    world.advance(at(5000));
    let vm = world.got("vm-000001", at(5000)).unwrap();
    assert_eq!(
        (vm.phase, vm.ip().unwrap().to_string()),
        (Phase::Running, "198.18.0.1".into())
    );
    assert!(vm.revision > made.revision);
    assert_eq!(world.next_due(), None);
}

#[test]
fn time_that_runs_backwards_changes_nothing() {
    let mut world = world(|_| {});
    world.made(spec(), at(0));
    world.advance(at(5000));
    world.advance(at(0));
    assert_eq!(world.got("vm-000001", at(1)).unwrap().phase, Phase::Running);
}

#[test]
fn jitter_stays_within_its_bounds_and_follows_the_seed() {
    let draw = |seed| {
        let provisioning = Spread {
            base: seconds(1),
            jitter: seconds(2),
        };
        let mut world = World::new(
            Settings {
                provisioning,
                ..Settings::default()
            },
            seed,
        );
        let due = |world: &mut World| {
            world.made(spec(), at(0));
            let at = world.next_due().unwrap();
            world.advance(at);
            at
        };
        (0..50).map(|_| due(&mut world)).collect::<Vec<_>>()
    };
    let first = draw(3);
    assert!(first[0] >= at(1000) && first[0] <= at(3000), "{first:?}");
    assert_eq!(first, draw(3));
    assert_ne!(first, draw(4));
}

#[test]
fn deletion_is_immediate_without_a_delay_and_unknown_ids_are_gone_already() {
    let mut world = world(|_| {});
    world.made(spec(), at(0));
    let response = world.call(
        Call::Delete {
            id: "vm-000001".into(),
        },
        at(1),
    );
    assert_eq!(
        (response.outcome, response.applied),
        (Ok(Answer::Deleted), true)
    );
    assert_eq!(
        world.got("vm-000001", at(1)).unwrap_err().code,
        Code::NotFound
    );
    for id in [
        "vm-000001",
        "vm-999999",
        "vm-1",
        "",
        "../etc",
        "vm-000001\n",
    ] {
        let response = world.call(Call::Delete { id: id.into() }, at(2));
        assert_eq!(
            (response.outcome, response.applied),
            (Ok(Answer::Deleted), false),
            "{id:?}"
        );
    }
}

#[test]
fn deletion_with_a_delay_passes_through_deleting() {
    let mut world = world(|settings| settings.delete_delay = seconds(3));
    world.made(spec(), at(0));
    world.advance(at(6000));
    let Answer::Deleting(vm) = world.deleted("vm-000001", at(7000)) else {
        panic!("not deleting")
    };
    assert_eq!(vm.phase, Phase::Deleting);
    // Asking again neither fails nor starts the wait anew.
    assert!(matches!(
        world.deleted("vm-000001", at(9000)),
        Answer::Deleting(_)
    ));
    assert_eq!(
        world.got("vm-000001", at(9999)).unwrap().phase,
        Phase::Deleting
    );
    assert_eq!(
        world.got("vm-000001", at(10_000)).unwrap_err().code,
        Code::NotFound
    );
}

#[test]
fn a_vm_deleted_while_provisioning_does_not_come_up() {
    let mut world = world(|settings| settings.delete_delay = seconds(60));
    world.made(spec(), at(0));
    world.deleted("vm-000001", at(1000));
    assert_eq!(
        world.got("vm-000001", at(6000)).unwrap().phase,
        Phase::Deleting
    );
}

#[test]
fn addresses_are_unique_and_come_back_after_deletion() {
    let mut world = world(|settings| settings.provisioning = Spread::default());
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..300 {
        world.made(spec(), at(0));
    }
    world.advance(at(0));
    for listed in world.inventory(&Default::default()) {
        let ip = listed.vm.ip().unwrap();
        assert!(
            (198, 18..=19) == (ip.octets()[0], 18..=19) && (18..=19).contains(&ip.octets()[1]),
            "{ip}"
        );
        assert!(seen.insert(ip), "{ip} twice");
    }
    assert_eq!(seen.len(), 300);
}

#[test]
fn when_no_address_is_left_the_vm_fails_and_says_so() {
    let mut pool = crate::world::address::AddressPool::default();
    let taken: std::collections::HashSet<_> =
        std::iter::from_fn(|| pool.take().map(crate::world::address::Slot::ip)).collect();
    assert_eq!(taken.len(), crate::world::address::CAPACITY as usize);
    assert!(
        !taken.contains(&"198.18.0.0".parse().unwrap())
            && !taken.contains(&"198.19.255.255".parse().unwrap())
    );
    let mut world = world(|settings| settings.provisioning = Spread::default());
    world.addresses = pool;
    world.made(spec(), at(0));
    let vm = world.got("vm-000001", at(0)).unwrap();
    assert_eq!(vm.phase, Phase::Failed);
    assert!(vm.message.unwrap().contains("198.18.0.0/15"));
}

#[test]
fn a_basic_cloud_has_three_calls_no_keys_and_no_tags() {
    let mut world = world(|settings| settings.basic = true);
    for call in [
        Call::Capabilities,
        Call::List(ListQuery::default()),
        Call::Changes { since: 0 },
    ] {
        assert_eq!(refused(&world.call(call, at(0))), Code::NotFound);
    }
    for _ in 0..2 {
        let response = world.call(create(Some("k"), 1, tagged(&[("a", "b")])), at(0));
        let Ok(Answer::Created(vm)) = response.outcome else {
            panic!("not created")
        };
        assert!(vm.tags.is_empty());
    }
    assert!(world.got("vm-000002", at(0)).is_ok());
    assert_eq!(world.deleted("vm-000002", at(0)), Answer::Deleted);
}
