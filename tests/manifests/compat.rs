//! The definitions beside those of the last release: what was valid stays valid, and what was there stays there.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::files::config;

const FILES: &[&str] = &[
    "compute.example.com_virtualmachines.yaml",
    "compute.example.com_providerconfigs.yaml",
];

/// Findings that were weighed and accepted for the next release, to the letter. Emptied by each release.
const ACCEPTED: &[&str] = &[];

/// Whatever bounds from above: a lower value, or one where there was none, narrows.
const UPPER: &[&str] = &["maximum", "maxLength", "maxItems", "maxProperties"];
/// Whatever bounds from below.
const LOWER: &[&str] = &["minimum", "minLength", "minItems", "minProperties"];
/// What says what a value is, and how lists and maps are merged. Any change may refuse or lose what was stored.
const KEPT: &[&str] = &[
    "type",
    "format",
    "default",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
];
/// What narrows when it is new or another: which values it refuses cannot be told from outside.
const RULES: &[&str] = &[
    "pattern",
    "multipleOf",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "uniqueItems",
    "not",
    "allOf",
    "anyOf",
    "oneOf",
];

/// What an object that the old definition admits, or a client that was written for it, would miss in the new one.
fn breaks(old: &Value, new: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for pointer in [
        "/spec/group",
        "/spec/scope",
        "/spec/names/kind",
        "/spec/names/plural",
    ] {
        if old.pointer(pointer) != new.pointer(pointer) {
            found.push(format!("{pointer} is another one"));
        }
    }
    let short = |definition: &Value| words(&definition["spec"]["names"]["shortNames"]);
    for name in short(old).difference(&short(new)) {
        found.push(format!("short name {name} is gone"));
    }
    let versions = |definition: &Value| definition["spec"]["versions"].as_array().cloned();
    let after = versions(new).unwrap_or_default();
    for version in versions(old).expect("versions") {
        if version["served"] != true {
            continue;
        }
        let name = version["name"].as_str().expect("a name");
        let same = after
            .iter()
            .find(|one| one["name"] == name && one["served"] == true);
        let Some(same) = same else {
            found.push(format!("version {name} is not served any more"));
            continue;
        };
        let subresources = |version: &Value| keys(&version["subresources"]);
        for gone in subresources(&version).difference(&subresources(same)) {
            found.push(format!("{name}: subresource {gone} is gone"));
        }
        let schema = "/schema/openAPIV3Schema";
        let (old, new) = (version.pointer(schema), same.pointer(schema));
        let (old, new) = (old.expect("a schema"), new.expect("a schema"));
        compare(old, new, name, &mut found);
    }
    found
}

fn words(list: &Value) -> BTreeSet<String> {
    let list = list.as_array().into_iter().flatten();
    list.filter_map(|word| word.as_str().map(str::to_owned))
        .collect()
}

fn keys(object: &Value) -> BTreeSet<String> {
    let fields = object.as_object().into_iter().flatten();
    fields.map(|(name, _)| name.clone()).collect()
}

/// Compares two schemas of one place, and all below it.
fn compare(old: &Value, new: &Value, at: &str, found: &mut Vec<String>) {
    for name in KEPT {
        if old[name] != new[name] {
            found.push(format!("{at}: {name} {} became {}", old[name], new[name]));
        }
    }
    for (name, open) in [
        ("nullable", "nullable"),
        ("x-kubernetes-preserve-unknown-fields", "open"),
    ] {
        if old[name] == true && new[name] != true {
            found.push(format!("{at}: is not {open} any more"));
        }
    }
    bounds(old, new, at, found);
    rules(old, new, at, found);
    let (before, after) = (keys(&old["properties"]), keys(&new["properties"]));
    for name in &before {
        let place = format!("{at}.{name}");
        if after.contains(name) {
            compare(
                &old["properties"][name],
                &new["properties"][name],
                &place,
                found,
            );
        } else {
            found.push(format!("{place}: is gone"));
        }
    }
    let required = words(&new["required"]);
    for name in required.difference(&words(&old["required"])) {
        // What has a default is filled in before it is missed.
        if new["properties"][name]["default"].is_null() {
            found.push(format!("{at}.{name}: is required now"));
        }
    }
    for (below, sign) in [("items", "[]"), ("additionalProperties", "{}")] {
        match (&old[below], &new[below]) {
            (Value::Null, Value::Null) => {}
            (Value::Object(_), Value::Object(_)) => {
                compare(&old[below], &new[below], &format!("{at}{sign}"), found);
            }
            (before, now) if before == now => {}
            (_, _) => found.push(format!("{at}: {below} is another one")),
        }
    }
}

fn bounds(old: &Value, new: &Value, at: &str, found: &mut Vec<String>) {
    let narrower = |name: &str, wider: fn(f64, f64) -> bool| {
        let now = new[name].as_f64()?;
        let wide = old[name].as_f64().is_some_and(|before| wider(now, before));
        (!wide).then(|| format!("{at}: {name} {} became {now}", old[name]))
    };
    found.extend(
        UPPER
            .iter()
            .filter_map(|name| narrower(name, |now, before| now >= before)),
    );
    found.extend(
        LOWER
            .iter()
            .filter_map(|name| narrower(name, |now, before| now <= before)),
    );
    match (old["enum"].as_array(), new["enum"].as_array()) {
        (_, None) => {}
        (None, Some(_)) => found.push(format!("{at}: only some values are left")),
        (Some(before), Some(now)) => {
            let gone = before.iter().filter(|value| !now.contains(value));
            found.extend(gone.map(|value| format!("{at}: value {value} is gone")));
        }
    }
}

fn rules(old: &Value, new: &Value, at: &str, found: &mut Vec<String>) {
    for name in RULES {
        if !new[name].is_null() && new[name] != false && old[name] != new[name] {
            found.push(format!("{at}: {name} {} became {}", old[name], new[name]));
        }
    }
    let all = |schema: &Value| -> BTreeSet<String> {
        let list = schema["x-kubernetes-validations"].as_array();
        let rules = list.into_iter().flatten();
        rules.map(|one| one["rule"].to_string()).collect()
    };
    for rule in all(new).difference(&all(old)) {
        found.push(format!("{at}: rule {rule} is new"));
    }
}

/// What git prints, or why it prints nothing.
fn git(args: &[&str]) -> Result<String, String> {
    let output = Command::new("git")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(args)
        .output()
        .map_err(|error| format!("git does not run: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
}

/// The newest release before this commit.
fn last_release() -> Result<String, String> {
    let here = git(&["tag", "--points-at", "HEAD"])?;
    let all = git(&["tag", "--list", "v[0-9]*", "--sort=-version:refname"])?;
    let before = all.lines().find(|tag| !here.lines().any(|one| one == *tag));
    before
        .map(str::to_owned)
        .ok_or_else(|| "no earlier commit has a tag v*".to_owned())
}

/// Past the test runner, which keeps to itself what a test that passes prints.
fn say_loudly(words: &str) {
    let _ = writeln!(std::io::stderr(), "\n*** {words} ***\n");
}

#[test]
fn what_the_last_release_admits_is_admitted_still() {
    let tag = match last_release() {
        Ok(tag) => tag,
        Err(why) => {
            say_loudly(&format!(
                "The definitions were compared with NO release: {why}"
            ));
            return;
        }
    };
    let mut found = Vec::new();
    for file in FILES {
        let old = git(&["show", &format!("{tag}:config/crd/{file}")]);
        let old = old.unwrap_or_else(|why| panic!("{tag} has no {file}: {why}"));
        let old: Value = serde_saphyr::from_str(&old).expect("YAML");
        found.extend(breaks(&old, &present(file)));
    }
    found.retain(|one| !ACCEPTED.contains(&one.as_str()));
    assert_eq!(found, Vec::<String>::new(), "against {tag}");
    say_loudly(&format!("The definitions are compatible with {tag}"));
}

fn present(file: &str) -> Value {
    let path = Path::new(&config()).join("crd").join(file);
    let text = std::fs::read_to_string(&path).expect("the definition can be read");
    serde_saphyr::from_str(&text).expect("YAML")
}

const SCHEMA: &str = "/spec/versions/0/schema/openAPIV3Schema";

/// An older VirtualMachine from which the present one would differ in one thing.
fn older(doctor: impl FnOnce(&mut Value)) -> Vec<String> {
    let new = present(FILES[0]);
    let mut old = new.clone();
    doctor(old.pointer_mut(SCHEMA).expect("a schema"));
    assert_ne!(old, new, "it was doctored");
    breaks(&old, &new)
}

#[test]
fn the_present_definitions_are_compatible_with_themselves() {
    for file in FILES {
        assert_eq!(breaks(&present(file), &present(file)), Vec::<String>::new());
    }
}

#[test]
fn each_thing_that_breaks_somebody_is_found() {
    let spec = "/properties/spec/properties";
    let finds = |what: &str, doctor: &dyn Fn(&mut Value)| {
        let found = older(doctor);
        assert_eq!(found.len(), 1, "{what}: {found:#?}");
        assert!(found[0].contains(what), "{what}: {found:#?}");
    };
    let set = |pointer: String, value: Value| {
        move |schema: &mut Value| {
            let (parent, name) = pointer.rsplit_once('/').expect("a pointer");
            schema.pointer_mut(parent).expect(parent)[name] = value.clone();
        }
    };
    let drop_required = |schema: &mut Value| {
        let list = schema.pointer_mut("/properties/spec/required");
        let list = list.and_then(Value::as_array_mut).expect("required");
        list.retain(|name| name != "cpu");
    };
    finds(
        "spec.color: is gone",
        &set(format!("{spec}/color"), json!({ "type": "string" })),
    );
    finds("spec.cpu: is required now", &drop_required);
    finds(
        "maximum 100000",
        &set(format!("{spec}/cpu/maximum"), json!(100_000)),
    );
    finds("minimum 0", &set(format!("{spec}/cpu/minimum"), json!(0)));
    finds(
        "type \"number\"",
        &set(format!("{spec}/cpu/type"), json!("number")),
    );
    finds("maxLength null became", &|schema: &mut Value| {
        let image = schema.pointer_mut(&format!("{spec}/image"));
        let image = image.and_then(Value::as_object_mut).expect("image");
        assert!(image.remove("maxLength").is_some());
    });
    finds(
        "is not nullable any more",
        &set(format!("{spec}/image/nullable"), json!(true)),
    );
    finds("rule", &|schema: &mut Value| {
        let rules = schema.pointer_mut(&format!("{spec}/memory/x-kubernetes-validations"));
        let rules = rules.and_then(Value::as_array_mut).expect("rules");
        assert!(rules.pop().is_some());
    });
    finds(
        "default",
        &set(format!("{spec}/image/default"), json!("debian-12")),
    );
}

#[test]
fn whole_versions_and_names_are_compared_too() {
    let new = present(FILES[0]);
    let with = |pointer: &str, value: Value| {
        let mut old = new.clone();
        let (parent, name) = pointer.rsplit_once('/').expect("a pointer");
        old.pointer_mut(parent).expect(parent)[name] = value;
        breaks(&old, &new)
    };
    let mut more = new["spec"]["versions"]
        .as_array()
        .expect("versions")
        .clone();
    let mut beta = more[0].clone();
    beta["name"] = json!("v1beta1");
    more.push(beta);
    for (found, what) in [
        (
            with("/spec/versions", json!(more)),
            "version v1beta1 is not served",
        ),
        (with("/spec/scope", json!("Cluster")), "/spec/scope"),
        (
            with("/spec/names/shortNames", json!(["vm", "machine"])),
            "short name machine",
        ),
        (
            with("/spec/versions/0/subresources/scale", json!({})),
            "subresource scale",
        ),
    ] {
        assert_eq!(found.len(), 1, "{found:#?}");
        assert!(found[0].contains(what), "{found:#?}");
    }
}

#[test]
fn what_only_widens_breaks_nobody() {
    let spec = "/properties/spec/properties";
    let mut old = present(FILES[0]);
    let new = old.clone();
    let schema = old.pointer_mut(SCHEMA).expect("a schema");
    let fields = schema.pointer_mut(spec).and_then(Value::as_object_mut);
    let fields = fields.expect("fields");
    // An optional field is new, bounds are wider, a value more, a rule less.
    assert!(fields.remove("service").is_some());
    fields["cpu"]["maximum"] = json!(2);
    fields["image"]["maxLength"] = json!(3);
    assert_eq!(breaks(&old, &new), Vec::<String>::new());
    let mut new = new;
    let schema = new.pointer_mut(SCHEMA).expect("a schema");
    let spec = schema.pointer_mut("/properties/spec").expect("spec");
    spec["properties"]["memory"]["x-kubernetes-validations"] = json!([]);
    let list = spec["required"].as_array_mut().expect("required");
    list.retain(|name| name != "cpu");
    assert_eq!(breaks(&old, &new), Vec::<String>::new());
}
