//! Promises that hold under any sequence of calls, acts and time.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::world::{Act, Rate, Spread};

const LIFETIME: i64 = 10_000;

#[derive(Debug, Clone)]
enum Step {
    Create {
        key: u8,
        body: u8,
        good: bool,
        hold: u16,
    },
    Delete {
        number: u8,
    },
    Vanish {
        number: u8,
    },
    Fail {
        number: u8,
    },
    StripTags {
        number: u8,
    },
    Wait {
        milliseconds: u16,
    },
    Restart,
}

fn step() -> impl Strategy<Value = Step> {
    let number = || 1..12_u8;
    prop_oneof![
        6 => (0..3_u8, 0..2_u8, prop::bool::weighted(0.9), prop_oneof![3 => Just(0), 1 => 0..3000_u16])
            .prop_map(|(key, body, good, hold)| Step::Create { key, body, good, hold }),
        2 => number().prop_map(|number| Step::Delete { number }),
        1 => number().prop_map(|number| Step::Vanish { number }),
        1 => number().prop_map(|number| Step::Fail { number }),
        1 => number().prop_map(|number| Step::StripTags { number }),
        3 => (0..4000_u16).prop_map(|milliseconds| Step::Wait { milliseconds }),
        1 => Just(Step::Restart),
    ]
}

fn settings() -> impl Strategy<Value = Settings> {
    (
        0..3_u64,
        prop::option::of(1..4_u32),
        0..3_u64,
        prop::bool::ANY,
    )
        .prop_map(|(delete, quota, lag, limited)| Settings {
            provisioning: Spread {
                base: seconds(1),
                jitter: seconds(2),
            },
            delete_delay: seconds(delete),
            list_lag: seconds(lag),
            quota,
            rate: limited.then_some(Rate {
                per_second: 2.0,
                burst: 3,
            }),
            key_lifetime: Duration::from_millis(LIFETIME.unsigned_abs()),
            ..Settings::default()
        })
}

/// What is known about the creates so far: for a key, when and with which body it made which VM.
#[derive(Default)]
struct Expected(BTreeMap<u8, (i64, u8, String)>);

impl Expected {
    /// Checks one create's answer against everything before it.
    fn check(&mut self, now: i64, key: u8, body: u8, response: &Response) {
        let known = self
            .0
            .get(&key)
            .filter(|(made, ..)| now < made + LIFETIME)
            .cloned();
        match (&response.outcome, known) {
            (Ok(Answer::Created(vm)), None) => {
                self.0.insert(key, (now, body, vm.id.to_string()));
            }
            (Ok(Answer::Replayed(vm)), Some((_, first, id))) => {
                assert_eq!((first, id), (body, vm.id.to_string()));
            }
            (Err(refusal), known) => match (refusal.code, known) {
                (Code::KeyOfDeletedVm, Some((_, first, id))) => {
                    assert_eq!(
                        (first, Some(id)),
                        (body, refusal.id.map(|id| id.to_string()))
                    );
                }
                (Code::IdempotencyKeyInUse, Some((_, first, _))) => assert_eq!(first, body),
                (Code::IdempotencyKeyReused, Some((_, first, _))) => assert_ne!(first, body),
                (Code::RateLimited, _) | (Code::QuotaExceeded | Code::InvalidSpec, None) => {}
                (code, known) => panic!("{code:?} for {known:?}"),
            },
            (outcome, known) => panic!("{outcome:?} for {known:?}"),
        }
        assert_eq!(
            response.applied,
            matches!(response.outcome, Ok(Answer::Created(_)))
        );
    }
}

fn apply(world: &mut World, expected: &mut Expected, now: &mut i64, step: &Step) {
    let id = |number: u8| format!("vm-{number:06}");
    let act = |world: &mut World, number, act| drop(world.act(&id(number), act, at(*now)));
    match *step {
        Step::Create {
            key,
            body,
            good,
            hold,
        } => {
            let spec = NewVm {
                cpu: i64::from(good),
                ..tagged(&[("uid", &key.to_string())])
            };
            let digest = u128::from(body) * 2 + u128::from(good);
            let call = create(Some(&key.to_string()), digest, spec);
            let hold = Duration::from_millis(hold.into());
            let response = world.handle(
                Request {
                    hold,
                    ..Request::new(ACCOUNT, call)
                },
                at(*now),
            );
            expected.check(*now, key, body * 2 + u8::from(good), &response);
        }
        Step::Delete { number } => drop(world.call(Call::Delete { id: id(number) }, at(*now))),
        Step::Vanish { number } => act(world, number, Act::Vanish),
        Step::Fail { number } => act(
            world,
            number,
            Act::Fail {
                message: "x".into(),
            },
        ),
        Step::StripTags { number } => act(world, number, Act::StripTags),
        Step::Wait { milliseconds } => {
            *now += i64::from(milliseconds);
            world.advance(at(*now));
        }
        Step::Restart => {
            let text = serde_json::to_string(&world.save()).unwrap();
            let mut again = World::new(world.settings().clone(), 7);
            again.load(serde_json::from_str(&text).unwrap()).unwrap();
            *world = again;
        }
    }
}

/// Rules that hold between any two steps.
fn check_state(world: &mut World, now: i64) {
    let live: Vec<Vm> = world
        .inventory(&Default::default())
        .into_iter()
        .filter(|one| one.deleted_at.is_none())
        .map(|one| one.vm)
        .collect();
    let revisions: BTreeSet<_> = live.iter().map(|vm| vm.revision).collect();
    let addresses: Vec<_> = live.iter().filter_map(Vm::ip).collect();
    assert_eq!(revisions.len(), live.len(), "a revision twice");
    assert_eq!(
        BTreeSet::from_iter(&addresses).len(),
        addresses.len(),
        "an address twice"
    );
    assert!(live.iter().all(|vm| vm.revision <= world.revision(ACCOUNT)));
    if world.settings().list_lag.is_zero() && world.settings().rate.is_none() {
        for key in 0..3_u8 {
            let tags = owned(&[("uid", &key.to_string())]);
            let found = world
                .page(
                    ListQuery {
                        tags,
                        ..ListQuery::default()
                    },
                    at(now),
                )
                .unwrap()
                .items;
            let expected: Vec<_> = live
                .iter()
                .filter(|vm| vm.tag("uid") == Some(&key.to_string()))
                .cloned()
                .collect();
            assert_eq!(found, expected, "the index and the truth differ");
        }
    }
}

proptest! {
    #[test]
    fn one_key_and_body_never_make_two_vms_within_the_keys_lifetime(
        settings in settings(),
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let mut world = World::new(settings, 7);
        let (mut expected, mut now) = (Expected::default(), 0);
        for step in &steps {
            apply(&mut world, &mut expected, &mut now, step);
            check_state(&mut world, now);
        }
    }

    #[test]
    fn whoever_lists_once_and_follows_the_changes_knows_every_vm(
        lag in 0..3_u64,
        before in prop::collection::vec(step(), 0..20),
        after in prop::collection::vec(step(), 0..20),
    ) {
        let mut world = world(|settings| settings.list_lag = seconds(lag));
        let (mut expected, mut now) = (Expected::default(), 0);
        // A restart takes the lag's past along with it, as a real one may; this promise is about one run.
        let apply_all = |world: &mut World, expected: &mut Expected, now: &mut i64, steps: &[Step]| {
            for step in steps.iter().filter(|step| !matches!(step, Step::Restart)) {
                apply_untimed(world, expected, now, step);
            }
        };
        apply_all(&mut world, &mut expected, &mut now, &before);
        let page = world.page(ListQuery::default(), at(now)).unwrap();
        let mut known: BTreeMap<_, _> = page.items.into_iter().map(|vm| (vm.id, vm)).collect();
        apply_all(&mut world, &mut expected, &mut now, &after);
        let feed = world.changes(ACCOUNT, page.revision).unwrap();
        for change in feed.changes {
            match change.kind {
                crate::world::ChangeKind::Upsert => drop(known.insert(change.vm.id, change.vm)),
                crate::world::ChangeKind::Deleted => drop(known.remove(&change.vm.id)),
            }
        }
        let live = world.inventory(&crate::world::Inventory { deleted: Some(false), ..Default::default() });
        let truth: BTreeMap<_, _> = live.into_iter().map(|one| (one.vm.id, one.vm)).collect();
        prop_assert_eq!(known, truth);
    }
}

/// As [`apply`], in a world whose keys live longer than any sequence.
fn apply_untimed(world: &mut World, expected: &mut Expected, now: &mut i64, step: &Step) {
    match step {
        Step::Create { key, body, .. } => {
            let call = create(
                Some(&key.to_string()),
                u128::from(*body),
                tagged(&[("uid", &key.to_string())]),
            );
            drop(world.call(call, at(*now)));
        }
        other => apply(world, expected, now, other),
    }
}
