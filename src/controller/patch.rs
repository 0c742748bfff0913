//! Merge patches between two values: only what differs goes over the wire, and what went away becomes `null`.

use serde_json::{Map, Value};

/// The merge patch (RFC 7386) that turns `old` into `new`; `None` where they are equal.
#[must_use]
pub(super) fn between(old: &Value, new: &Value) -> Option<Value> {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            let patch = of_objects(old, new);
            (!patch.is_empty()).then_some(Value::Object(patch))
        }
        _ if old == new => None,
        _ => Some(new.clone()),
    }
}

fn of_objects(old: &Map<String, Value>, new: &Map<String, Value>) -> Map<String, Value> {
    let gone = old
        .keys()
        .filter(|key| !new.contains_key(*key))
        .map(|key| (key.clone(), Value::Null));
    let changed = new.iter().filter_map(|(key, value)| {
        let patch = match old.get(key) {
            Some(before) => between(before, value),
            None => Some(value.clone()),
        };
        patch.map(|patch| (key.clone(), patch))
    });
    gone.chain(changed).collect()
}

#[cfg(test)]
mod tests;
