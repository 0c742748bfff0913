use std::collections::{BTreeMap, HashSet};

use proptest::prelude::*;

use super::*;
use crate::domain::{Incarnation, Quantity};

fn owner(uid: u8) -> Owner {
    Owner {
        cluster: ClusterId::new("here"),
        uid: Uid::new(format!("uid-{uid}")),
    }
}

fn uids(numbers: &[u8]) -> HashSet<Uid> {
    numbers.iter().map(|uid| owner(*uid).uid).collect()
}

fn id(number: u8) -> InstanceId {
    InstanceId::new(format!("vm-{number}"))
}

fn instance(number: u8, cluster: &str, uid: u8, phase: InstancePhase) -> Instance {
    Instance {
        id: id(number),
        image: "i".to_owned(),
        cpu: 1,
        memory: Quantity::from_bytes(1),
        phase,
        owner: Some(OwnerTag {
            cluster: ClusterId::new(cluster),
            uid: owner(uid).uid,
            incarnation: Incarnation::FIRST,
        }),
        addresses: Vec::new(),
        created_at: String::new(),
        message: None,
        revision: Some(1),
    }
}

fn ours(number: u8, uid: u8) -> Instance {
    instance(number, "here", uid, InstancePhase::Running)
}

fn at(secs: u64) -> Moment {
    Moment::from_secs(secs)
}

fn index(list: Vec<Instance>) -> Index {
    let mut index = Index::new(ClusterId::new("here"));
    assert_eq!(index.replace(list, Some(5), at(1)), Ok(HashSet::new()));
    index
}

#[test]
fn what_belongs_to_another_cluster_or_to_nobody_is_not_kept() {
    let mut untagged = ours(3, 3);
    untagged.owner = None;
    let foreign = instance(2, "elsewhere", 2, InstancePhase::Running);
    let index = index(vec![ours(1, 1), foreign, untagged]);
    assert_eq!(index.len(), 1);
    assert!(index.only(&owner(1), &id(1)).is_some());
    assert!(index.only(&owner(1), &id(2)).is_none());
}

#[test]
fn an_owner_with_two_instances_has_no_only_one() {
    let index = index(vec![ours(1, 1), ours(2, 1), ours(3, 2)]);
    assert!(index.only(&owner(1), &id(1)).is_none());
    assert!(index.only(&owner(2), &id(3)).is_some());
    assert!(index.only(&owner(1), &id(3)).is_none());
}

#[test]
fn a_list_wakes_the_owners_of_what_changed_appeared_or_is_missing() {
    let mut index = index(vec![ours(1, 1), ours(2, 2), ours(3, 3)]);
    let stopped = instance(1, "here", 1, InstancePhase::Stopped);
    let list = vec![stopped, ours(2, 2), ours(4, 4)];
    assert_eq!(index.replace(list, Some(6), at(2)), Ok(uids(&[1, 3, 4])));
    assert_eq!((index.as_of(), index.len()), (Some(at(2)), 3));
}

#[test]
fn one_that_is_just_being_made_wakes_nobody_until_it_runs() {
    let mut index = index(Vec::new());
    let new = instance(1, "here", 1, InstancePhase::Provisioning);
    assert_eq!(index.replace(vec![new], Some(6), at(2)), Ok(uids(&[])));
    assert_eq!(index.in_transition(), 1);
    let list = vec![ours(1, 1)];
    assert_eq!(index.replace(list, Some(7), at(3)), Ok(uids(&[1])));
    assert_eq!(index.in_transition(), 0);
}

#[test]
fn one_whose_tags_are_gone_is_missing() {
    let mut index = index(vec![ours(1, 1)]);
    let mut stripped = ours(1, 1);
    stripped.owner = None;
    let changes = Changes {
        upserts: vec![stripped],
        deletions: Vec::new(),
        revision: 6,
    };
    assert_eq!(index.apply(changes, at(2)), Ok(uids(&[1])));
    assert_eq!(index.len(), 0);
}

#[test]
fn a_revision_that_goes_backwards_is_refused_and_everything_can_be_forgotten() {
    let mut index = index(vec![ours(1, 1), ours(2, 2)]);
    assert_eq!(index.replace(Vec::new(), Some(4), at(2)), Err(Backwards));
    let changes = Changes {
        upserts: Vec::new(),
        deletions: vec![id(1)],
        revision: 4,
    };
    assert_eq!(index.apply(changes, at(2)), Err(Backwards));
    assert_eq!((index.len(), index.as_of()), (2, Some(at(1))));
    assert_eq!(index.forget(), uids(&[1, 2]));
    assert_eq!((index.len(), index.as_of()), (0, None));
    let list = vec![ours(1, 1)];
    assert_eq!(index.replace(list, Some(4), at(3)), Ok(uids(&[])));
}

fn any_instance() -> impl Strategy<Value = Instance> {
    let cluster = prop_oneof![3 => Just("here"), 1 => Just("elsewhere")];
    let phase = prop_oneof![
        Just(InstancePhase::Provisioning),
        Just(InstancePhase::Running),
        Just(InstancePhase::Stopped)
    ];
    (0..6u8, cluster, 0..4u8, phase)
        .prop_map(|(number, cluster, uid, phase)| instance(number, cluster, uid, phase))
}

/// A list, or upserts and deletions of the feed.
fn any_step() -> impl Strategy<Value = (bool, Vec<Instance>, Vec<u8>)> {
    let instances = proptest::collection::vec(any_instance(), 0..6);
    let deletions = proptest::collection::vec(0..6u8, 0..3);
    (any::<bool>(), instances, deletions)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Against a plain map: the same instances, every owner woken whose instances differ, and nobody else but those.
    #[test]
    fn it_knows_what_it_was_told_and_wakes_whom_it_concerns(
        steps in proptest::collection::vec(any_step(), 1..20)
    ) {
        let mut index = index(Vec::new());
        let mut model: BTreeMap<InstanceId, Instance> = BTreeMap::new();
        for (number, (is_list, instances, deletions)) in steps.into_iter().enumerate() {
            let before = model.clone();
            let revision = 6 + number as u64;
            // One instance is on a list once.
            let mut fresh: BTreeMap<InstanceId, Instance> = BTreeMap::new();
            fresh.extend(instances.into_iter().map(|one| (one.id.clone(), one)));
            let list: Vec<Instance> = fresh.values().cloned().collect();
            let woken = if is_list {
                model.clone_from(&fresh);
                index.replace(list, Some(revision), at(revision))
            } else {
                let deletions: Vec<InstanceId> = deletions.iter().map(|number| id(*number)).collect();
                model.retain(|id, _| !deletions.contains(id));
                model.extend(fresh);
                index.apply(Changes { upserts: list, deletions, revision }, at(revision))
            };
            let woken = woken.unwrap();
            model.retain(|_, one| index.keeps(one));
            prop_assert_eq!(index.len(), model.len());
            let moving = model.values().filter(|one| one.phase == InstancePhase::Provisioning);
            prop_assert_eq!(index.in_transition(), moving.count());
            for uid in 0..4 {
                let owner = owner(uid);
                let of = |all: &BTreeMap<InstanceId, Instance>| -> Vec<Instance> {
                    all.values().filter(|one| one.belongs_to(&owner)).cloned().collect()
                };
                let (then, now) = (of(&before), of(&model));
                for one in &now {
                    let only = index.only(&owner, &one.id).map(|found| found.as_ref().clone());
                    prop_assert_eq!(only, (now.len() == 1).then(|| one.clone()));
                }
                // Deleted and made again in one answer, an instance is new; and news that may leave no difference.
                let deleted = |one: &Instance| deletions.iter().any(|number| id(*number) == one.id);
                let told = |one: &&Instance| {
                    let was_known = before.contains_key(&one.id) && !deleted(one);
                    one.phase != InstancePhase::Provisioning || was_known
                };
                let news = then.iter().any(|one| !now.contains(one))
                    || now.iter().filter(told).any(|one| !then.contains(one));
                if news {
                    prop_assert!(woken.contains(&owner.uid), "{:?} was not woken", owner.uid);
                }
                let touched = then.iter().chain(&now).any(deleted);
                if !news && !touched && woken.contains(&owner.uid) {
                    prop_assert!(false, "{:?} was woken for nothing: {:?} {:?}", owner.uid, then, now);
                }
            }
        }
    }
}
