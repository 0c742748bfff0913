//! Nothing in the schema is without a bound: what a user or a provider writes cannot fill etcd.

use serde_json::{Value, json};

use crate::api::crds;

/// Adds the path of each string, list, map or number without a bound.
fn unbounded(path: &str, schema: &Value, found: &mut Vec<String>) {
    let has = |key: &str| schema.get(key).is_some();
    let bounded = match schema["type"].as_str() {
        Some("string") => has("maxLength") || has("enum"),
        Some("array") => has("maxItems") && has("items"),
        Some("object") => has("properties") || has("maxProperties"),
        // 64 bits bound an integer, and its format says so.
        Some("integer") => has("minimum") && (has("maximum") || schema["format"] == "int64"),
        Some("boolean") => true,
        Some(_) | None => false,
    };
    if !bounded || has("x-kubernetes-preserve-unknown-fields") || has("nullable") {
        found.push(path.to_owned());
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        unbounded(&format!("{path}.{name}"), property, found);
    }
    for below in ["items", "additionalProperties"] {
        if let Some(schema) = schema.get(below) {
            unbounded(&format!("{path}[]"), schema, found);
        }
    }
}

#[test]
fn every_string_list_map_and_number_has_a_bound() {
    for crd in crds() {
        let version = serde_json::to_value(&crd.spec.versions[0]).expect("json");
        let root = &version["schema"]["openAPIV3Schema"];
        let mut found = Vec::new();
        for name in ["spec", "status", "metadata"] {
            assert!(root["properties"][name].is_object(), "{name}");
            unbounded(name, &root["properties"][name], &mut found);
        }
        assert_eq!(found, Vec::<String>::new(), "{}", crd.spec.names.kind);
    }
}

#[test]
fn the_search_for_missing_bounds_finds_each_kind() {
    let schema = json!({ "type": "object", "properties": {
        "s": { "type": "string" },
        "l": { "type": "array", "maxItems": 3, "items": { "type": "string" } },
        "a": { "type": "array", "items": { "type": "boolean" } },
        "m": { "type": "object", "additionalProperties": { "type": "boolean" } },
        "n": { "type": "integer", "format": "int32", "minimum": 0 },
        "x": { "type": "object", "properties": {}, "x-kubernetes-preserve-unknown-fields": true },
        "good": { "type": "string", "maxLength": 1 },
    }});
    let mut found = Vec::new();
    unbounded("r", &schema, &mut found);
    found.sort();
    assert_eq!(found, ["r.a", "r.l[]", "r.m", "r.n", "r.s", "r.x"]);
}

#[test]
fn every_field_and_every_rule_is_explained() {
    fn walk(path: &str, schema: &Value, found: &mut Vec<String>) {
        for rule in schema["x-kubernetes-validations"]
            .as_array()
            .into_iter()
            .flatten()
        {
            if rule["message"].as_str().is_none_or(|text| text.len() < 20) {
                found.push(format!("{path}: {}", rule["rule"]));
            }
        }
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            if property["description"].as_str().is_none_or(str::is_empty) {
                found.push(format!("{path}.{name}"));
            }
            walk(&format!("{path}.{name}"), property, found);
        }
        if let Some(items) = schema.get("items") {
            walk(&format!("{path}[]"), items, found);
        }
    }
    for crd in crds() {
        let version = serde_json::to_value(&crd.spec.versions[0]).expect("json");
        let root = &version["schema"]["openAPIV3Schema"];
        let mut found = Vec::new();
        walk("spec", &root["properties"]["spec"], &mut found);
        walk("status", &root["properties"]["status"], &mut found);
        assert_eq!(found, Vec::<String>::new(), "{}", crd.spec.names.kind);
    }
}
