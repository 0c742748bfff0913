//! `config/crd/` holds what the types say.

use std::path::PathBuf;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::Value;

use crate::api::crds;

/// Set to write the files instead of comparing them.
const UPDATE: &str = "UPDATE_CRDS";

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("config/crd")
}

fn file_of(crd: &CustomResourceDefinition) -> String {
    format!("{}_{}.yaml", crd.spec.group, crd.spec.names.plural)
}

fn yaml_of(crd: &CustomResourceDefinition) -> String {
    let mut value = serde_json::to_value(crd).expect("a definition is JSON");
    whole_numbers(&mut value);
    let yaml = serde_saphyr::to_string(&value).expect("JSON is YAML");
    format!(
        "# Made from src/api/ by `{UPDATE}=1 cargo test --lib files_under_config_crd`. Change the types, not this file.\n{yaml}"
    )
}

/// Bounds are floating point in the Kubernetes types; `512.0` for a number of CPUs reads badly.
fn whole_numbers(value: &mut Value) {
    match value {
        Value::Number(number) => {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "checked to be whole and small"
            )]
            if let Some(float) = number.as_f64()
                && number.is_f64()
                && float.fract() == 0.0
                && float.abs() < 1e15
            {
                *value = Value::from(float as i64);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(whole_numbers),
        Value::Object(map) => map.values_mut().for_each(whole_numbers),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

#[test]
fn files_under_config_crd_say_what_the_types_say() {
    let update = std::env::var_os(UPDATE).is_some();
    for crd in crds() {
        let path = folder().join(file_of(&crd));
        let wanted = yaml_of(&crd);
        if update {
            std::fs::create_dir_all(folder()).expect("folder");
            std::fs::write(&path, &wanted).expect("write");
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            found == wanted,
            "{} differs from the types in src/api/: run `{UPDATE}=1 cargo test --lib files_under_config_crd` and commit the change",
            path.display()
        );
        // What kubectl reads from the file is the definition, whatever the YAML writer did.
        let read: CustomResourceDefinition = serde_saphyr::from_str(&found).expect("a definition");
        assert_eq!(read, crd);
    }
}

#[test]
fn config_crd_holds_one_file_per_kind_and_the_kustomization() {
    let mut wanted: Vec<String> = crds().iter().map(file_of).collect();
    wanted.push("Kustomization".to_owned());
    wanted.sort();
    let mut found: Vec<String> = std::fs::read_dir(folder())
        .expect("config/crd")
        .map(|entry| {
            entry
                .expect("entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    found.sort();
    assert_eq!(found, wanted);
}
