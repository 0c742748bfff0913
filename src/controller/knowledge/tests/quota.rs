//! Who waits for a place in an account.

use super::*;
use crate::domain::{ErrorKind, Operation};
use crate::lifecycle::fixtures::failure;

fn named(name: &str) -> Object {
    let uid = format!("uid-{name}");
    with(of_uid(&uid, bare()), |o| {
        o.key = ObjectKey::new(o.key.namespace.clone(), name);
    })
}

/// Its create fails in this way.
fn fails(knowledge: &Knowledge, name: &str, kind: ErrorKind, now: Moment) {
    let object = named(name);
    let error = failure(kind, Operation::Create);
    knowledge.remember(&object.key, &object.uid, |memory| {
        memory.failed(&error, now);
    });
}

#[test]
fn whoever_has_been_short_of_quota_for_longest_is_named_and_nobody_else() {
    let knowledge = Knowledge::default();
    for name in ["a", "b", "c"] {
        arrive(&knowledge, named(name), "1");
    }
    let namespace = named("a").key.namespace;
    let longest = || {
        knowledge
            .longest_short_of_quota(&namespace)
            .map(|key| key.name.to_string())
    };
    fails(&knowledge, "a", ErrorKind::Unavailable, NOW);
    assert_eq!(longest(), None);
    fails(&knowledge, "c", ErrorKind::QuotaExceeded, NOW + secs(1));
    fails(&knowledge, "b", ErrorKind::QuotaExceeded, NOW + secs(2));
    assert_eq!(longest().as_deref(), Some("c"));
    assert_eq!(knowledge.longest_short_of_quota("elsewhere"), None);
    // One that goes leaves its turn to the next; then nobody waits, until somebody does again.
    knowledge.vanished(&policy(), &named("c").key, &named("c").uid);
    assert_eq!(longest().as_deref(), Some("b"));
    fails(&knowledge, "b", ErrorKind::Unavailable, NOW + secs(3));
    assert_eq!(longest(), None);
    fails(&knowledge, "a", ErrorKind::QuotaExceeded, NOW + secs(4));
    assert_eq!(longest().as_deref(), Some("a"));
}
