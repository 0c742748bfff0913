//! Every file is YAML that Kubernetes reads, and every file is reached by `kubectl apply -k`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// One object of a file.
pub(crate) struct Manifest {
    pub(crate) file: PathBuf,
    pub(crate) object: Value,
}

pub(crate) fn config() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("config")
}

/// Every file under the folder, in order.
fn files_under(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("folder") {
        let path = entry.expect("entry").path();
        if path.is_dir() {
            found.extend(files_under(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn read(file: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(file).expect("file");
    serde_saphyr::from_multiple(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// Every object that `kubectl apply -f` would send.
pub(crate) fn manifests() -> Vec<Manifest> {
    let files = files_under(&config());
    let yaml = files
        .iter()
        .filter(|file| file.extension().is_some_and(|kind| kind == "yaml"));
    yaml.flat_map(|file| {
        read(file).into_iter().map(|object| Manifest {
            file: file.clone(),
            object,
        })
    })
    .collect()
}

pub(crate) fn of_kind(kind: &str) -> Vec<Manifest> {
    manifests()
        .into_iter()
        .filter(|manifest| manifest.object["kind"] == kind)
        .collect()
}

#[test]
fn every_object_has_version_kind_and_name() {
    let all = manifests();
    assert!(all.len() > 15, "only {} objects found", all.len());
    for Manifest { file, object } in all {
        for pointer in ["/apiVersion", "/kind", "/metadata/name"] {
            let value = object.pointer(pointer).and_then(Value::as_str);
            assert!(
                value.is_some_and(|text| !text.is_empty()),
                "{}: no {pointer}",
                file.display()
            );
        }
    }
}

#[test]
fn no_object_is_there_twice() {
    let mut seen = BTreeSet::new();
    for Manifest { file, object } in manifests() {
        let of = |pointer: &str| {
            object
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let name = (of("/kind"), of("/metadata/namespace"), of("/metadata/name"));
        assert!(
            seen.insert(name.clone()),
            "{}: {name:?} a second time",
            file.display()
        );
    }
}

#[test]
fn only_yaml_files_and_kustomizations_are_there() {
    // `kubectl apply -f DIR` takes .json, .yaml and .yml; a kustomization under such a name would be sent as an object.
    for file in files_under(&config()) {
        let name = file
            .file_name()
            .and_then(|name| name.to_str())
            .expect("name");
        assert!(
            name == "Kustomization" || name.ends_with(".yaml"),
            "{}",
            file.display()
        );
    }
}

#[test]
fn a_kustomization_lists_exactly_the_files_beside_it() {
    let kustomizations: Vec<PathBuf> = files_under(&config())
        .into_iter()
        .filter(|file| file.ends_with("Kustomization"))
        .collect();
    assert!(kustomizations.len() >= 6, "{kustomizations:?}");
    for file in kustomizations {
        let folder = file.parent().expect("folder");
        let listed: Vec<String> =
            serde_json::from_value(read(&file)[0]["resources"].clone()).expect("resources");
        for name in &listed {
            assert!(
                folder.join(name).exists(),
                "{}: {name} is missing",
                file.display()
            );
        }
        let beside = files_under(folder).into_iter().filter_map(|path| {
            let name = path.file_name()?.to_str()?.to_owned();
            name.ends_with(".yaml").then_some(name)
        });
        let listed: BTreeSet<String> = listed
            .into_iter()
            .filter(|name| name.ends_with(".yaml"))
            .collect();
        assert_eq!(listed, beside.collect(), "{}", file.display());
    }
}

#[test]
fn the_namespace_is_applied_before_what_lives_in_it() {
    let first = files_under(&config().join("rbac"))
        .into_iter()
        .find(|file| file.extension().is_some());
    let objects = read(&first.expect("a file"));
    assert_eq!(objects[0]["kind"], "Namespace");
    assert_eq!(objects[0]["metadata"]["name"], "vmoperator-system");
}
