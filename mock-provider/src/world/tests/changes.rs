//! The change feed.

use super::*;
use crate::world::ChangeKind::{self, Deleted, Upsert};

fn feed(world: &World, since: u64) -> (Vec<(ChangeKind, u64)>, u64) {
    let feed = world.changes(ACCOUNT, since).unwrap();
    (
        feed.changes
            .iter()
            .map(|change| (change.kind, change.vm.id.number()))
            .collect(),
        feed.revision,
    )
}

#[test]
fn the_feed_gives_of_each_vm_its_latest_change() {
    let mut world = world(|_| {});
    world.made(spec(), at(0));
    world.made(spec(), at(0));
    assert_eq!(feed(&world, 0), (vec![(Upsert, 1), (Upsert, 2)], 2));
    assert_eq!(feed(&world, 1), (vec![(Upsert, 2)], 2));
    world.deleted("vm-000001", at(1));
    assert_eq!(feed(&world, 0), (vec![(Upsert, 2), (Deleted, 1)], 3));
    assert_eq!(feed(&world, 3), (vec![], 3));
}

#[test]
fn a_revision_that_is_too_old_or_from_the_future_is_refused() {
    let mut world = world(|settings| settings.change_history = 3);
    for _ in 0..5 {
        world.made(spec(), at(0));
    }
    assert_eq!(
        world.changes(ACCOUNT, 1).unwrap_err().code,
        Code::RevisionExpired
    );
    assert_eq!(feed(&world, 2).0.len(), 3);
    assert_eq!(
        world.changes(ACCOUNT, 6).unwrap_err().code,
        Code::RevisionExpired
    );
    assert_eq!(
        world.changes("nobody", 1).unwrap_err().code,
        Code::RevisionExpired
    );
    assert!(world.changes("nobody", 0).unwrap().changes.is_empty());
}

#[test]
fn the_feed_does_not_go_back_behind_a_deletion_that_it_forgot() {
    let mut world = world(|settings| settings.tombstones = 1);
    for _ in 0..2 {
        world.made(spec(), at(0));
    }
    world.deleted("vm-000001", at(0));
    assert_eq!(feed(&world, 2), (vec![(Deleted, 1)], 3));
    world.deleted("vm-000002", at(0));
    assert_eq!(
        world.changes(ACCOUNT, 2).unwrap_err().code,
        Code::RevisionExpired
    );
    assert_eq!(feed(&world, 3), (vec![(Deleted, 2)], 4));
}

#[test]
fn a_long_feed_comes_in_batches_without_a_gap() {
    let mut world = world(|_| {});
    for _ in 0..2500 {
        world.made(spec(), at(0));
    }
    let (mut since, mut seen) = (0, Vec::new());
    loop {
        let (changes, revision) = feed(&world, since);
        if changes.is_empty() {
            break;
        }
        assert!(changes.len() <= 1000);
        seen.extend(changes.into_iter().map(|(_, number)| number));
        since = revision;
    }
    assert_eq!(seen, (1..=2500).collect::<Vec<_>>());
}
