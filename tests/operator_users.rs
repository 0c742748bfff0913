//! What users do to objects behind the operator's back: each object still has one VM, and none is leaked.
#![cfg(test)]

mod e2e;
mod support;

use e2e::checker;
use e2e::cloud::{Cloud, prompt};
use e2e::house::{House, manifest};
use e2e::until;
use serde_json::{Value, json};

/// The cloud and the namespace of one test.
fn world() -> (&'static House, Cloud, String) {
    let (house, _operator) = House::with_operator();
    let cloud = Cloud::start(prompt());
    let namespace = house.namespace();
    house.configure(&namespace, &cloud.url);
    (house, cloud, namespace)
}

/// Runs kubectl, as often as it takes until the operator's writes do not come between its read and its write.
fn kubectl(house: &House, namespace: &str, args: &[&str], input: &Value) {
    let args = [&["-n", namespace], args].concat();
    until(&format!("kubectl {args:?}"), || {
        let answer = house.plane.try_kubectl(&args, &input.to_string());
        let conflict = answer.stderr.contains("(Conflict)");
        assert!(answer.success || conflict, "{args:?}: {}", answer.stderr);
        answer.success
    });
}

/// The operator's marks are on the object.
fn is_marked(vm: &Value) -> bool {
    let finalizers = vm["metadata"]["finalizers"].as_array();
    let finalizer = json!("compute.example.com/vm-cleanup");
    let annotation = &vm["metadata"]["annotations"]["compute.example.com/create"];
    finalizers.is_some_and(|list| list.contains(&finalizer)) && annotation.is_string()
}

fn delete_and_see_none(house: &House, cloud: &Cloud, namespace: &str) {
    kubectl(
        house,
        namespace,
        &["delete", "vm", "--all", "--timeout=150s"],
        &Value::Null,
    );
    until("no VM is left", || cloud.ours().is_empty());
    checker::check(house, cloud);
}

#[test]
fn a_replace_that_strips_everything_leaves_the_one_vm() {
    let (house, cloud, namespace) = world();
    let bare = manifest(&namespace, "bare");
    house.create(&namespace, "bare");
    // Once as soon as there is something to strip, and once at rest.
    house.until_vm(&namespace, "bare", "has marks", is_marked);
    kubectl(house, &namespace, &["replace", "-f", "-"], &bare);
    let id = house.ready(&namespace, "bare");
    house.until_vm(&namespace, "bare", "has its marks back", is_marked);
    kubectl(house, &namespace, &["replace", "-f", "-"], &bare);
    house.until_vm(&namespace, "bare", "has its marks back again", |vm| {
        is_marked(vm) && vm["status"]["id"] == id.as_str() && e2e::is_ready(vm)
    });
    assert_eq!(cloud.ours().len(), 1);
    checker::check(house, &cloud);
    // Stripped and deleted at once: what is stripped still names its VM in its status.
    kubectl(house, &namespace, &["replace", "-f", "-"], &bare);
    delete_and_see_none(house, &cloud, &namespace);
}

#[test]
fn a_stripped_status_is_found_again() {
    let (house, cloud, namespace) = world();
    house.create(&namespace, "wiped");
    let id = house.ready(&namespace, "wiped");
    let none = json!({ "status": null }).to_string();
    let patch = [
        "patch",
        "vm",
        "wiped",
        "--subresource=status",
        "--type=merge",
        "-p",
        &none,
    ];
    kubectl(house, &namespace, &patch, &Value::Null);
    assert_eq!(house.ready(&namespace, "wiped"), id);
    checker::check(house, &cloud);
    delete_and_see_none(house, &cloud, &namespace);
}

#[test]
fn a_manifest_copied_to_a_second_name_with_all_its_marks_gets_a_vm_of_its_own() {
    let (house, cloud, namespace) = world();
    house.create(&namespace, "original");
    let original = house.ready(&namespace, "original");
    let mut copy = house.vm(&namespace, "original").expect("it is there");
    let metadata = copy["metadata"].as_object_mut().expect("metadata");
    for name in [
        "uid",
        "resourceVersion",
        "creationTimestamp",
        "generation",
        "managedFields",
    ] {
        metadata.remove(name);
    }
    metadata.insert("name".to_owned(), json!("copy"));
    assert!(is_marked(&copy), "{copy:#}");
    kubectl(house, &namespace, &["create", "-f", "-"], &copy);
    let second = house.ready(&namespace, "copy");
    assert_ne!(original, second);
    assert_eq!(cloud.ours().len(), 2);
    checker::check(house, &cloud);
    house.delete(&namespace, "copy");
    house.gone(&namespace, "copy");
    assert_eq!(cloud.ours()[0]["id"], original.as_str());
    delete_and_see_none(house, &cloud, &namespace);
}

#[test]
fn an_object_made_again_under_its_name_gets_a_new_vm_and_the_old_one_goes() {
    let (house, cloud, namespace) = world();
    house.create(&namespace, "again");
    let mut ids = vec![house.ready(&namespace, "again")];
    for delete in [
        &["delete", "vm", "again"][..],
        &["delete", "vm", "again", "--force", "--grace-period=0"],
    ] {
        kubectl(house, &namespace, delete, &Value::Null);
        house.create(&namespace, "again");
        ids.push(house.ready(&namespace, "again"));
    }
    kubectl(
        house,
        &namespace,
        &["replace", "--force", "-f", "-"],
        &manifest(&namespace, "again"),
    );
    ids.push(house.ready(&namespace, "again"));
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 4, "an id was used twice: {ids:?}");
    until("the old VMs are gone", || cloud.ours().len() == 1);
    delete_and_see_none(house, &cloud, &namespace);
}

#[test]
fn an_object_torn_out_by_its_finalizer_leaves_no_vm_even_if_its_name_is_taken_at_once() {
    let (house, cloud, namespace) = world();
    house.create(&namespace, "torn");
    let old = house.ready(&namespace, "torn");
    cloud.set(json!({ "deleteDelayMilliseconds": 1500 }));
    house.delete(&namespace, "torn");
    let strip = r#"{"metadata":{"finalizers":null}}"#;
    let patch = [
        "-n",
        &namespace,
        "patch",
        "vm",
        "torn",
        "--type=merge",
        "-p",
        strip,
    ];
    let answer = house.plane.try_kubectl(&patch, "");
    // The operator may have been faster: then there is nothing to strip.
    assert!(
        answer.success || answer.stderr.contains("NotFound"),
        "{answer:?}"
    );
    house.gone(&namespace, "torn");
    house.create(&namespace, "torn");
    let new = house.ready(&namespace, "torn");
    assert_ne!(old, new);
    until("the old VM is gone", || cloud.ours().len() == 1);
    checker::check(house, &cloud);
    delete_and_see_none(house, &cloud, &namespace);
}

#[test]
fn deletion_needs_no_provider_where_nothing_was_ever_made() {
    let (house, _operator) = House::with_operator();
    let namespace = house.namespace();
    house.create(&namespace, "never");
    house.until_vm(
        &namespace,
        "never",
        "says that its config is missing",
        |vm| {
            let missing = ("False".to_owned(), "ProviderConfigNotFound".to_owned());
            e2e::client::condition(vm, "ProviderReady") == Some(missing)
        },
    );
    house.delete(&namespace, "never");
    house.gone(&namespace, "never");
}
