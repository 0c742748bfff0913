//! What applying an object changes, a line per field.

use kube::api::DynamicObject;
use serde_json::Value;

/// Longest value that is shown whole.
const LONGEST: usize = 60;
/// More lines than these are counted.
const MOST: usize = 10;

/// `ProviderConfig default: spec.endpoint: "a" -> "b"`, for every field that differs.
pub(super) fn lines(label: &str, present: &DynamicObject, wanted: &DynamicObject) -> Vec<String> {
    let value = |object: &DynamicObject| {
        let mut object = object.clone();
        object.metadata.managed_fields = None;
        object.metadata.resource_version = None;
        object.metadata.generation = None;
        serde_json::to_value(&object).unwrap_or_default()
    };
    let (present, wanted) = (value(present), value(wanted));
    let secret = wanted["kind"] == "Secret";
    let mut found = Vec::new();
    walk("", &present, &wanted, &mut found);
    let mut lines: Vec<String> = found
        .iter()
        .map(|(path, before, after)| {
            if secret && path.to_lowercase().contains("data") {
                return format!("{label}: {path}: changed");
            }
            format!("{label}: {path}: {} -> {}", short(before), short(after))
        })
        .collect();
    let more = lines.len().saturating_sub(MOST);
    if more > 0 {
        lines.truncate(MOST);
        lines.push(format!("{label}: {more} more fields differ"));
    }
    lines
}

fn walk<'a>(
    path: &str,
    before: &'a Value,
    after: &'a Value,
    found: &mut Vec<(String, &'a Value, &'a Value)>,
) {
    if before == after {
        return;
    }
    let (Value::Object(left), Value::Object(right)) = (before, after) else {
        found.push((path.trim_start_matches('.').to_owned(), before, after));
        return;
    };
    for (name, value) in left {
        walk(
            &format!("{path}.{name}"),
            value,
            right.get(name).unwrap_or(&Value::Null),
            found,
        );
    }
    for (name, value) in right.iter().filter(|(name, _)| !left.contains_key(*name)) {
        walk(&format!("{path}.{name}"), &Value::Null, value, found);
    }
}

fn short(value: &Value) -> String {
    let text = match value {
        Value::Null => "nothing".to_owned(),
        other => other.to_string(),
    };
    if text.chars().count() <= LONGEST {
        return text;
    }
    text.chars().take(LONGEST - 1).chain("…".chars()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(kind: &str, field: &str, value: Value) -> DynamicObject {
        let object =
            json!({ "apiVersion": "v1", "kind": kind, "metadata": { "name": "a" }, field: value });
        serde_json::from_value(object).unwrap()
    }

    #[test]
    fn each_field_that_differs_is_a_line_and_no_secret_is_shown() {
        let present = object(
            "A",
            "spec",
            json!({ "a": 1, "b": { "c": "x" }, "list": [1], "gone": true }),
        );
        let wanted = object(
            "A",
            "spec",
            json!({ "a": 1, "b": { "c": "y" }, "list": [1, 2], "new": {} }),
        );
        let lines = lines("A a", &present, &wanted);
        for line in [
            "A a: spec.b.c: \"x\" -> \"y\"",
            "A a: spec.list: [1] -> [1,2]",
            "A a: spec.gone: true -> nothing",
            "A a: spec.new: nothing -> {}",
        ] {
            assert!(lines.iter().any(|found| found == line), "{line}: {lines:?}");
        }
        assert_eq!(lines.len(), 4);
        let hidden = super::lines(
            "Secret a",
            &object("Secret", "data", json!({ "k": "b2xk" })),
            &object("Secret", "data", json!({ "k": "bmV3" })),
        );
        assert_eq!(hidden, ["Secret a: data.k: changed"]);
    }
}
