//! Lists.

use super::*;
use crate::world::Act;

fn page_of(limit: u32, token: Option<String>) -> ListQuery {
    ListQuery {
        limit: Some(limit),
        token,
        tags: Vec::new(),
    }
}

fn with(tags: &[(&str, &str)]) -> ListQuery {
    ListQuery {
        tags: owned(tags),
        ..ListQuery::default()
    }
}

fn numbers(page: &Page) -> Vec<u64> {
    page.items.iter().map(|vm| vm.id.number()).collect()
}

#[test]
fn pages_cover_every_vm_once_in_order() {
    let mut world = world(|_| {});
    for _ in 0..7 {
        world.made(spec(), at(0));
    }
    let (mut token, mut seen, mut pages) = (None, Vec::new(), 0);
    loop {
        let page = world.page(page_of(3, token), at(0)).unwrap();
        seen.extend(numbers(&page));
        pages += 1;
        token = page.token;
        if token.is_none() {
            break;
        }
    }
    assert_eq!((seen, pages), ((1..=7).collect(), 3));
    // A page that is just full is the last one.
    assert_eq!(world.page(page_of(7, None), at(0)).unwrap().token, None);
}

#[test]
fn the_cap_shortens_pages_and_a_limit_out_of_range_is_refused() {
    let mut world = world(|settings| settings.page_cap = 2);
    for _ in 0..5 {
        world.made(spec(), at(0));
    }
    assert_eq!(
        numbers(&world.page(page_of(1000, None), at(0)).unwrap()),
        [1, 2]
    );
    for limit in [0, 1001] {
        assert_eq!(
            world.page(page_of(limit, None), at(0)).unwrap_err().code,
            Code::InvalidRequest
        );
    }
}

#[test]
fn tags_must_all_match() {
    let mut world = world(|_| {});
    world.made(tagged(&[("cluster", "c"), ("uid", "1")]), at(0));
    world.made(tagged(&[("cluster", "c"), ("uid", "2")]), at(0));
    world.made(tagged(&[("cluster", "d"), ("uid", "2")]), at(0));
    for (filter, found) in [
        (&[("cluster", "c")][..], &[1, 2][..]),
        (&[("cluster", "c"), ("uid", "2")], &[2]),
        (&[("uid", "2")], &[2, 3]),
        (&[("uid", "3")], &[]),
        (&[("cluster", "c"), ("cluster", "d")], &[]),
        (&[("", "")], &[]),
    ] {
        assert_eq!(
            numbers(&world.page(with(filter), at(0)).unwrap()),
            found,
            "{filter:?}"
        );
    }
    world.act("vm-000002", Act::StripTags, at(1)).unwrap();
    world.deleted("vm-000001", at(1));
    assert!(
        world
            .page(with(&[("cluster", "c")]), at(1))
            .unwrap()
            .items
            .is_empty()
    );
}

#[test]
fn a_filtered_list_pages_too() {
    let mut world = world(|_| {});
    for number in 0..9 {
        world.made(
            tagged(&[("odd", if number % 2 == 0 { "yes" } else { "no" })]),
            at(0),
        );
    }
    let first = world
        .page(
            ListQuery {
                limit: Some(3),
                ..with(&[("odd", "yes")])
            },
            at(0),
        )
        .unwrap();
    assert_eq!(numbers(&first), [1, 3, 5]);
    let next = ListQuery {
        token: first.token.clone(),
        ..with(&[("odd", "yes")])
    };
    assert_eq!(numbers(&world.page(next, at(0)).unwrap()), [7, 9]);
    let other = ListQuery {
        token: first.token,
        ..with(&[("odd", "no")])
    };
    assert_eq!(
        world.page(other, at(0)).unwrap_err().code,
        Code::InvalidRequest
    );
}

#[test]
fn a_continue_token_expires_and_a_forged_one_is_refused() {
    let mut world = world(|settings| settings.continue_lifetime = seconds(10));
    for _ in 0..3 {
        world.made(spec(), at(0));
    }
    let token = world.page(page_of(1, None), at(0)).unwrap().token;
    assert!(world.page(page_of(1, token.clone()), at(9999)).is_ok());
    assert_eq!(
        world.page(page_of(1, token), at(10_000)).unwrap_err().code,
        Code::ContinueExpired
    );
    for forged in ["x", "1.2", "1.2.3.4", "zz.1.1", "1.ffffffffffffffffffff.1"] {
        assert_eq!(
            world
                .page(page_of(1, Some(forged.into())), at(0))
                .unwrap_err()
                .code,
            Code::InvalidRequest
        );
    }
}

#[test]
fn a_lagging_list_shows_the_past_and_gets_are_exact() {
    let mut world = world(|settings| settings.list_lag = seconds(2));
    world.made(tagged(&[("a", "b")]), at(0));
    assert!(world.ids(at(1999)).is_empty());
    assert!(world.got("vm-000001", at(1999)).is_ok());
    assert_eq!(world.ids(at(2000)), ["vm-000001"]);
    let phase =
        |world: &mut World, now| world.page(with(&[("a", "b")]), at(now)).unwrap().items[0].phase;
    world.advance(at(5000));
    assert_eq!(phase(&mut world, 6999), crate::world::Phase::Provisioning);
    assert_eq!(phase(&mut world, 7000), crate::world::Phase::Running);
    world.act("vm-000001", Act::StripTags, at(8000)).unwrap();
    assert_eq!(
        world
            .page(with(&[("a", "b")]), at(9999))
            .unwrap()
            .items
            .len(),
        1
    );
    assert_eq!(
        world
            .page(with(&[("a", "b")]), at(10_000))
            .unwrap()
            .items
            .len(),
        0
    );
    world.deleted("vm-000001", at(11_000));
    assert_eq!(world.ids(at(12_999)), ["vm-000001"]);
    assert_eq!(
        world.got("vm-000001", at(12_999)).unwrap_err().code,
        Code::NotFound
    );
    assert!(world.ids(at(13_000)).is_empty());
}

#[test]
fn changes_after_a_lagging_lists_revision_make_up_for_its_lag() {
    let mut world = world(|settings| settings.list_lag = seconds(2));
    world.made(spec(), at(0));
    world.made(spec(), at(1000));
    let page = world.page(ListQuery::default(), at(2500)).unwrap();
    assert_eq!((numbers(&page), page.revision), (vec![1], 1));
    let feed = world.changes(ACCOUNT, page.revision).unwrap();
    assert_eq!(
        feed.changes
            .iter()
            .map(|change| change.vm.id.number())
            .collect::<Vec<_>>(),
        [2]
    );
}
