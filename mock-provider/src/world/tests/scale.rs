//! Many VMs. The memory figure of API.md is measured on the whole server by `tests/scale.rs`.

use super::*;

#[test]
fn ten_thousand_vms_need_one_plan_each_and_a_find_by_tag_looks_at_its_own_vms_only() {
    let mut world = world(|_| {});
    for number in 0..10_000 {
        world.made(
            tagged(&[("cluster", "c"), ("uid", &number.to_string())]),
            at(0),
        );
    }
    assert_eq!(world.due.len(), 10_000);
    world.advance(at(5000));
    assert_eq!(world.due.len(), 0);
    let candidates = world.accounts[ACCOUNT]
        .tags
        .candidates(&owned(&[("cluster", "c"), ("uid", "77")]), 0);
    assert_eq!(candidates, [78]);
    for number in 1..=10_000 {
        world.deleted(&format!("vm-{number:06}"), at(6000));
    }
    assert!(world.ids(at(6000)).is_empty());
    assert_eq!(world.accounts[ACCOUNT].tags.len(), 0);
}
