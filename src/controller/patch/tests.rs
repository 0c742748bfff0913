use proptest::prelude::*;
use serde_json::{Value, json};

use super::between;

#[test]
fn a_patch_holds_what_differs_and_nulls_what_went() {
    let cases = [
        (json!({"a": 1}), json!({"a": 1}), None),
        (json!({"a": 1}), json!({"a": 2}), Some(json!({"a": 2}))),
        (
            json!({"a": 1, "b": 1}),
            json!({"a": 1}),
            Some(json!({"b": null})),
        ),
        (
            json!({"a": {"x": 1, "y": 2}}),
            json!({"a": {"x": 1, "y": 3}}),
            Some(json!({"a": {"y": 3}})),
        ),
        // Lists have no merge: they are replaced whole.
        (
            json!({"l": [1, 2]}),
            json!({"l": [2]}),
            Some(json!({"l": [2]})),
        ),
        (
            json!({}),
            json!({"o": {"n": 1}}),
            Some(json!({"o": {"n": 1}})),
        ),
    ];
    for (old, new, patch) in cases {
        assert_eq!(between(&old, &new), patch, "{old} -> {new}");
    }
}

/// RFC 7386, as the API server applies it.
fn merged(target: &Value, patch: &Value) -> Value {
    let Value::Object(patch) = patch else {
        return patch.clone();
    };
    let mut result = target.as_object().cloned().unwrap_or_default();
    for (key, change) in patch {
        if change.is_null() {
            result.remove(key);
        } else {
            let before = result.get(key).unwrap_or(&Value::Null);
            let after = merged(before, change);
            result.insert(key.clone(), after);
        }
    }
    Value::Object(result)
}

/// Objects like a status: no null is ever stored.
fn object() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        (0..5_i64).prop_map(Value::from),
        "[ab]{0,2}".prop_map(Value::from),
    ];
    let value = leaf.prop_recursive(3, 20, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            fields(inner),
        ]
    });
    fields(value)
}

fn fields(value: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    proptest::collection::btree_map("[a-d]", value, 0..4)
        .prop_map(|all| Value::Object(all.into_iter().collect()))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_patch_turns_the_old_into_the_new_and_there_is_none_where_nothing_differs(
        old in object(),
        new in object(),
    ) {
        match between(&old, &new) {
            None => prop_assert_eq!(&old, &new),
            Some(patch) => {
                prop_assert_ne!(&old, &new);
                prop_assert_eq!(merged(&old, &patch), new.clone());
                prop_assert_eq!(merged(&new, &patch), new.clone(), "twice is once");
            }
        }
        prop_assert_eq!(between(&new, &new), None);
    }
}
