//! What differs between two objects, as a JSON merge patch.

use serde_json::{Map, Value};

/// The smallest merge patch that makes `edited` of `original`; an empty object when they are equal.
pub(super) fn merge_patch(original: &Value, edited: &Value) -> Value {
    let (Value::Object(before), Value::Object(after)) = (original, edited) else {
        return edited.clone();
    };
    let mut patch = Map::new();
    for name in before.keys().filter(|name| !after.contains_key(*name)) {
        patch.insert(name.clone(), Value::Null);
    }
    for (name, value) in after {
        match before.get(name) {
            Some(present) if present == value => {}
            Some(present @ Value::Object(_)) if value.is_object() => {
                patch.insert(name.clone(), merge_patch(present, value));
            }
            Some(_) | None => {
                patch.insert(name.clone(), value.clone());
            }
        }
    }
    Value::Object(patch)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_are_changed_added_and_removed_and_lists_are_replaced() {
        let original =
            json!({ "a": 1, "b": { "c": 1, "d": 2 }, "list": [1, 2], "same": { "x": 1 } });
        let edited = json!({ "b": { "c": 3, "e": 4 }, "list": [2], "same": { "x": 1 } });
        let patch = json!({ "a": null, "b": { "c": 3, "d": null, "e": 4 }, "list": [2] });
        assert_eq!(merge_patch(&original, &edited), patch);
        assert_eq!(merge_patch(&original, &original), json!({}));
    }
}
