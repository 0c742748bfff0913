//! Accounts, quotas and rates.

use super::*;
use crate::world::{Latency, Rate, Spread};

#[test]
fn accounts_do_not_see_each_other() {
    let mut world = world(|_| {});
    world.call(create(Some("key"), 1, tagged(&[("a", "b")])), at(0));
    let mut other = |call| world.handle(Request::new("other", call), at(0));
    let id = || "vm-000001".to_owned();
    assert_eq!(refused(&other(Call::Get { id: id() })), Code::NotFound);
    assert_eq!(
        other(Call::Delete { id: id() }).outcome,
        Ok(Answer::Deleted)
    );
    let tags = owned(&[("a", "b")]);
    let listed = other(Call::List(ListQuery {
        tags,
        ..ListQuery::default()
    }))
    .outcome;
    assert!(
        matches!(listed, Ok(Answer::Page(page)) if page.items.is_empty() && page.revision == 0)
    );
    // The same key is another key there.
    assert!(matches!(
        other(create(Some("key"), 2, spec())).outcome,
        Ok(Answer::Created(_))
    ));
    assert!(world.got("vm-000001", at(0)).is_ok());
    assert_eq!(world.revision(ACCOUNT), 1);
}

#[test]
fn the_quota_counts_live_vms_and_deletes_pass() {
    let mut world = world(|settings| settings.quota = Some(2));
    for _ in 0..2 {
        world.made(spec(), at(0));
    }
    assert_eq!(
        refused(&world.call(create(None, 0, spec()), at(0))),
        Code::QuotaExceeded
    );
    world.deleted("vm-000001", at(0));
    world.made(spec(), at(0));
}

#[test]
fn the_rate_limit_is_a_bucket_for_each_account() {
    let mut world = world(|settings| {
        settings.rate = Some(Rate {
            per_second: 0.5,
            burst: 2,
        })
    });
    let get = || Call::Get {
        id: "vm-000001".into(),
    };
    for _ in 0..2 {
        assert_eq!(refused(&world.call(get(), at(0))), Code::NotFound);
    }
    let refusal = world.call(get(), at(500)).outcome.unwrap_err();
    assert_eq!(
        (refusal.code, refusal.retry_after),
        (Code::RateLimited, Some(2))
    );
    assert_eq!(
        refused(&world.handle(Request::new("other", get()), at(500))),
        Code::NotFound
    );
    // Coming back when told to is early enough, and being refused costs nothing.
    assert_eq!(refused(&world.call(get(), at(2500))), Code::NotFound);
    assert_eq!(refused(&world.call(get(), at(2500))), Code::RateLimited);
}

#[test]
fn a_call_that_cannot_be_read_counts_towards_the_rate() {
    let mut world = world(|settings| {
        settings.rate = Some(Rate {
            per_second: 1.0,
            burst: 1,
        })
    });
    let refusal = Refusal::new(Code::InvalidRequest, "no");
    let call = || Call::Invalid(crate::world::Operation::List, refusal.clone());
    assert_eq!(refused(&world.call(call(), at(0))), Code::InvalidRequest);
    assert_eq!(refused(&world.call(call(), at(0))), Code::RateLimited);
}

#[test]
fn latency_comes_with_the_answer() {
    let body = Spread {
        base: Duration::from_millis(10),
        jitter: Duration::from_millis(5),
    };
    let latency = Latency {
        body,
        tail: seconds(3),
        tail_share: 0.2,
    };
    let mut world = world(|settings| settings.latency = latency);
    let delays: Vec<_> = (0..500)
        .map(|_| world.call(Call::Capabilities, at(0)).delay)
        .collect();
    let tail = delays.iter().filter(|delay| **delay == seconds(3)).count();
    assert!(
        (50..=150).contains(&tail),
        "{tail} of 500 unlucky at a share of 0.2"
    );
    let body_range = Duration::from_millis(10)..=Duration::from_millis(15);
    assert!(
        delays
            .iter()
            .filter(|delay| **delay != seconds(3))
            .all(|delay| body_range.contains(delay))
    );
}
