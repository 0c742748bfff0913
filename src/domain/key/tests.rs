use super::*;

fn owner(cluster: &str, uid: &str) -> Owner {
    Owner {
        cluster: ClusterId::new(cluster),
        uid: Uid::new(uid),
    }
}

#[test]
fn base32_agrees_with_the_vectors_of_rfc_4648() {
    let vectors = [
        ("", ""),
        ("f", "my"),
        ("fo", "mzxq"),
        ("foo", "mzxw6"),
        ("foob", "mzxw6yq"),
        ("fooba", "mzxw6ytb"),
        ("foobar", "mzxw6ytboi"),
    ];
    for (plain, coded) in vectors {
        assert_eq!(base32(plain.as_bytes()), coded);
    }
}

#[test]
fn a_key_is_stable_over_releases() {
    // Changing this value makes every operator in the field create a second instance: it must never change.
    let key = IdempotencyKey::derive(&owner("cluster", "uid"), Incarnation::FIRST);
    assert_eq!(
        key.as_str(),
        "vtgya2lalal5d7obch2oebxnv3pbpxxah7pt36nehphvc5a3iuea"
    );
}

#[test]
fn keys_differ_by_cluster_uid_and_incarnation_and_by_where_one_part_ends() {
    let keys = [
        IdempotencyKey::derive(&owner("a", "b"), Incarnation::FIRST),
        IdempotencyKey::derive(&owner("a", "c"), Incarnation::FIRST),
        IdempotencyKey::derive(&owner("ab", ""), Incarnation::FIRST),
        IdempotencyKey::derive(&owner("", "ab"), Incarnation::FIRST),
        IdempotencyKey::derive(&owner("a", "b"), Incarnation::FIRST.next()),
    ];
    let distinct: std::collections::BTreeSet<_> = keys.iter().collect();
    assert_eq!(distinct.len(), keys.len());
    assert!(keys.iter().all(|key| key.as_str().len() == 52));
}
