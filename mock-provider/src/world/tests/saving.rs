//! What survives a restart.

use super::*;
use crate::world::{LoadError, Loaded};

fn restarted(world: &World) -> World {
    let text = serde_json::to_string(&world.save()).unwrap();
    let mut again = World::new(world.settings().clone(), 7);
    again.load(serde_json::from_str(&text).unwrap()).unwrap();
    again
}

#[test]
fn a_restarted_cloud_answers_as_before() {
    let mut before = world(|_| {});
    before.call(
        create(Some("live"), u128::MAX, tagged(&[("a", "b")])),
        at(0),
    );
    before.call(create(Some("dead"), 2, spec()), at(0));
    before.deleted("vm-000002", at(1));
    before.advance(at(6000));
    before.made(spec(), at(6000));
    let mut after = restarted(&before);
    assert_eq!(after.ids(at(6001)), ["vm-000001", "vm-000003"]);
    assert!(matches!(
        after
            .call(create(Some("live"), u128::MAX, spec()), at(6001))
            .outcome,
        Ok(Answer::Replayed(_))
    ));
    assert_eq!(
        refused(&after.call(create(Some("dead"), 2, spec()), at(6001))),
        Code::KeyOfDeletedVm
    );
    let tags = owned(&[("a", "b")]);
    assert_eq!(
        after
            .page(
                ListQuery {
                    tags,
                    ..ListQuery::default()
                },
                at(6001)
            )
            .unwrap()
            .items
            .len(),
        1
    );
    for since in 0..=5 {
        assert_eq!(
            after.changes(ACCOUNT, since),
            before.changes(ACCOUNT, since),
            "since {since}"
        );
    }
    // What was under way goes on; addresses and ids are not given again.
    let (first, third) = (
        after.got("vm-000001", at(12_000)).unwrap(),
        after.got("vm-000003", at(12_000)).unwrap(),
    );
    assert!(third.ip().is_some() && third.ip() != first.ip());
    assert_eq!(after.made(spec(), at(12_000)).id.to_string(), "vm-000004");
}

#[test]
fn a_key_does_not_outlive_its_lifetime_by_a_restart() {
    let mut before = world(|settings| settings.key_lifetime = seconds(10));
    before.call(create(Some("key"), 1, spec()), at(0));
    let mut after = restarted(&before);
    assert!(matches!(
        after.call(create(Some("key"), 1, spec()), at(9999)).outcome,
        Ok(Answer::Replayed(_))
    ));
    assert!(matches!(
        after
            .call(create(Some("key"), 1, spec()), at(10_000))
            .outcome,
        Ok(Answer::Created(_))
    ));
}

#[test]
fn a_state_that_contradicts_itself_is_refused() {
    let mut good = world(|_| {});
    good.made(spec(), at(0));
    good.made(spec(), at(0));
    good.advance(at(6000));
    let text = serde_json::to_string(&good.save()).unwrap();
    let spoilt = [
        ("\"format\":1", "\"format\":2", "format 2"),
        ("\"nextNumber\":3", "\"nextNumber\":2", "vm-000002 is ahead"),
        (
            "\"revision\":4,\"floor\"",
            "\"revision\":1,\"floor\"",
            "is ahead",
        ),
        ("\"id\":2", "\"id\":1", "occurs twice"),
        ("\"address\":2", "\"address\":1", "address of vm-000002"),
        (
            "\"address\":2",
            "\"address\":131071",
            "address of vm-000002",
        ),
    ];
    for (from, to, complaint) in spoilt {
        assert!(text.contains(from), "{from} is not in {text}");
        let loaded: Loaded = serde_json::from_str(&text.replace(from, to)).unwrap();
        let error: LoadError = World::new(Settings::default(), 1).load(loaded).unwrap_err();
        assert!(error.to_string().contains(complaint), "{to}: {error}");
    }
}
