//! The data of the API server are restored from a backup while an operator runs: versions go backwards, objects are
//! back that were deleted, and of what was made since nobody knows.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::e2e::checker::{self, Evidence};
use super::e2e::client::condition;
use super::e2e::cloud::{Cloud, prompt};
use super::e2e::house::{House, manifest};
use super::e2e::operator::{ALONE, Operator};
use super::e2e::until_or;

/// Writes between the backup and what else happens before its restore: as in life, the server is far from where it was
/// when the operator hears it again.
const LOST_WRITES: usize = 600;

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("a file that can be copied");
        }
    }
}

fn put_back(backup: &Path, data: &Path) {
    fs::remove_dir_all(data).expect("the data can be removed");
    copy(backup, data);
}

fn tenant(house: &House, cloud: &Cloud) -> String {
    let namespace = house.namespace();
    let spec = json!({
        "endpoint": cloud.url, "timeoutSeconds": 1, "pollIntervalSeconds": 5,
        "orphans": { "minAgeSeconds": 60 },
    });
    house.configure_with(&namespace, spec);
    house.usable(&namespace);
    namespace
}

fn pause(house: &House, namespace: &str, name: &str, paused: bool) {
    let mark = if paused { "=true" } else { "-" };
    let mark = format!("compute.example.com/paused{mark}");
    house
        .plane
        .kubectl(&["-n", namespace, "annotate", "vm", name, &mark]);
}

/// What the backup holds: one that runs, one that will be deleted, one whose create does not get through, and one that
/// is paused before anything was written to it.
fn before_the_backup(house: &House, cloud: &Cloud, namespace: &str) {
    for name in ["kept", "doomed"] {
        house.create(namespace, name);
        house.ready(namespace, name);
    }
    let busy = json!({ "kind": "status", "status": 409, "code": "Busy" });
    let tag = "vmoperator/name=halfway";
    cloud.fault(json!({ "operation": "create", "tag": tag, "effect": busy }));
    house.create(namespace, "halfway");
    let mut bare = manifest(namespace, "bare");
    bare["metadata"]["annotations"] = json!({ "compute.example.com/paused": "true" });
    house.plane.apply(&bare.to_string());
    house.until_vm(namespace, "bare", "is paused", |vm| {
        condition(vm, "Paused").is_some()
    });
    until_or(
        "a create is refused",
        || cloud.hits()[0] > 0,
        || format!("{:?}", cloud.calls("create")),
    );
}

/// What the restored data do not know of; gives the ids of the VMs.
fn after_the_backup(house: &House, cloud: &Cloud, namespace: &str) -> BTreeMap<String, String> {
    let config_map = |number: usize| {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": format!("write-{number}"), "namespace": namespace },
        })
    };
    let writes: Vec<Value> = (0..LOST_WRITES).map(config_map).collect();
    let path = format!("/api/v1/namespaces/{namespace}/configmaps");
    house.client.create_all(&path, &writes);
    cloud.mend();
    pause(house, namespace, "bare", false);
    house.create(namespace, "later");
    house.delete(namespace, "doomed");
    house.gone(namespace, "doomed");
    let names = ["kept", "halfway", "bare", "later"];
    let ids = names.map(|name| (name.to_owned(), house.ready(namespace, name)));
    ids.into()
}

/// B9: nobody gets a second VM for what the restored data have forgotten, and the VM of an object that they do not know
/// is left alone and told.
#[test]
fn data_restored_from_a_backup_make_no_second_vm_and_cost_nobody_theirs() {
    // Of its own: most of the time nothing happens here, and the other tests take turns meanwhile.
    let mut house = House::kept();
    let cloud = Cloud::start(prompt());
    let mut operator = Operator::start(&house, ALONE).ready();
    let namespace = tenant(&house, &cloud);
    let backup = tempfile::tempdir().expect("a folder");
    before_the_backup(&house, &cloud, &namespace);
    house.plane.restart_around(|data| copy(data, backup.path()));
    let ids = after_the_backup(&house, &cloud, &namespace);
    let (creates, deletes) = (cloud.calls("create"), cloud.calls("delete"));
    house
        .plane
        .restart_around(|data| put_back(backup.path(), data));
    let house = &house;

    // Its VM was deleted in a history that is no more: it is made anew, once.
    assert!(house.vm(&namespace, "later").is_none(), "it was no backup");
    house.ready(&namespace, "doomed");
    house.until_vm(&namespace, "doomed", "has a VM again", |vm| {
        vm["status"]["incarnation"] == 2
    });
    // Theirs are found: no key, and no id, was in the backup.
    assert_eq!(house.ready(&namespace, "halfway"), ids["halfway"]);
    assert_eq!(house.ready(&namespace, "kept"), ids["kept"]);
    pause(house, &namespace, "bare", false);
    assert_eq!(house.ready(&namespace, "bare"), ids["bare"]);
    house.until_config(&namespace, "counts the orphan", |config| {
        config["status"]["orphans"] == 1
    });
    let made = |cloud: &Cloud| cloud.calls("create").1 - creates.1;
    assert_eq!(made(&cloud), 1, "{:#?}", cloud.ours());
    assert_eq!(cloud.calls("delete"), deletes, "somebody's VM was deleted");
    // Whatever is new is heard of.
    house.create(&namespace, "after");
    house.ready(&namespace, "after");
    assert!(operator.ended().is_none(), "the operator ended");

    // A process that knows nothing of it all sees it the same way.
    operator.kill();
    let operator = Operator::start(house, ALONE).ready();
    for name in ["kept", "halfway", "bare"] {
        assert_eq!(house.ready(&namespace, name), ids[name]);
    }
    assert_eq!(made(&cloud), 2, "{:#?}", cloud.ours());
    assert_eq!(cloud.calls("delete"), deletes);
    let mut findings = Evidence::gather(house, &cloud).always(2);
    findings.retain(|finding| !(finding.starts_with("I3") && finding.contains(&ids["later"])));
    assert!(findings.is_empty(), "{}", findings.join("\n"));
    cloud.happen(&ids["later"], "vanish");
    clear_counting(house, &cloud, &namespace);
    drop(operator);
}

/// Ends the test, in which one object has had two VMs.
fn clear_counting(house: &House, cloud: &Cloud, namespace: &str) {
    checker::check_counting(house, cloud, 2);
    let all = ["-n", namespace, "delete", "vm", "--all", "--timeout=150s"];
    house.plane.kubectl(&all);
    let config = ["-n", namespace, "delete", "pcfg", "--all", "--timeout=60s"];
    house.plane.kubectl(&config);
    assert_eq!(cloud.ours(), Vec::<Value>::new());
    checker::check_counting(house, cloud, 2);
}
