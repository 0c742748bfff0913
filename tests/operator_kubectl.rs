//! The operator as a user with nothing but kubectl meets it.
#![cfg(test)]

mod e2e;
mod support;

use e2e::client::{condition, events_about};
use e2e::cloud::{Cloud, prompt};
use e2e::house::{House, manifest};
use e2e::{audit, checker, golden, until_or};
use mock_provider::Options;
use serde_json::{Value, json};
use std::time::Duration;

#[test]
fn a_manifest_becomes_a_running_vm_and_its_deletion_leaves_none() {
    let (house, _operator) = House::with_operator();
    let cloud = Cloud::start(Options {
        provisioning_delay: Duration::from_secs(3),
        ..Options::default()
    });
    let namespace = house.namespace();
    house.configure(&namespace, &cloud.url);
    house.create(&namespace, "web-1");
    house.until_vm(&namespace, "web-1", "shows Provisioning and its id", |vm| {
        let id = vm["status"]["id"].as_str().unwrap_or_default();
        vm["status"]["phase"] == "Provisioning" && id.starts_with("vm-")
    });
    let kubectl = |args: &[&str]| house.plane.kubectl(&[&["-n", &namespace], args].concat());
    kubectl(&[
        "wait",
        "--for=condition=Ready",
        "vm/web-1",
        "--timeout=120s",
    ]);
    let shown = kubectl(&["get", "vm", "web-1"]);
    assert!(
        shown.contains("Running") && shown.contains("True"),
        "{shown}"
    );
    assert_eq!(cloud.ours().len(), 1);
    let made = &cloud.ours()[0];
    assert_eq!(
        (&made["image"], &made["cpu"]),
        (&json!("ubuntu-22.04"), &json!(2))
    );
    assert_eq!(made["memory"], "4Gi");
    checker::check(house, &cloud);
    kubectl(&["delete", "vm", "web-1", "--timeout=120s"]);
    assert_eq!(cloud.ours(), Vec::<serde_json::Value>::new());
    checker::check(house, &cloud);
}

#[test]
fn a_wrong_edit_is_refused_by_the_name_of_its_field() {
    let (house, _operator) = House::with_operator();
    let cloud = Cloud::start(prompt());
    let namespace = house.namespace();
    house.configure(&namespace, &cloud.url);
    house.create(&namespace, "made");
    house.ready(&namespace, "made");
    let cases = [
        ("new", "memory", json!("4 Gigs")),
        ("new", "cpu", json!(0)),
        ("made", "image", json!("debian-12")),
        ("made", "cpu", json!(4)),
        ("made", "memory", json!("8Gi")),
    ];
    for (name, field, value) in cases {
        let mut changed = manifest(&namespace, name);
        changed["spec"][field] = value;
        let answer = house
            .plane
            .try_kubectl(&["apply", "-f", "-"], &changed.to_string());
        let named = answer.stderr.contains(&format!("spec.{field}"));
        assert!(!answer.success && named, "{changed}: {answer:?}");
    }
    checker::check(house, &cloud);
}

#[test]
fn a_refused_create_is_repaired_by_an_edit() {
    let (house, _operator) = House::with_operator();
    let cloud = Cloud::start(prompt());
    cloud.fault(json!({
        "operation": "create", "count": 1,
        "effect": { "kind": "status", "status": 422, "code": "InvalidImage", "message": "no such image" },
    }));
    let namespace = house.namespace();
    house.configure(&namespace, &cloud.url);
    house.create(&namespace, "typo");
    house.until_vm(&namespace, "typo", "says what was refused", |vm| {
        let refused = Some(("False".to_owned(), "InvalidImage".to_owned()));
        condition(vm, "Provisioned") == refused && condition(vm, "Stalled").is_some()
    });
    let (calls, _) = cloud.calls("create");
    let edit = r#"{"spec":{"image":"debian-12"}}"#;
    house.plane.kubectl(&[
        "-n",
        &namespace,
        "patch",
        "vm",
        "typo",
        "--type=merge",
        "-p",
        edit,
    ]);
    house.ready(&namespace, "typo");
    assert_eq!(cloud.ours()[0]["image"], "debian-12");
    // The stranger's, the refused one, the good one: a refusal is not retried.
    assert_eq!((calls, cloud.calls("create").0), (2, 3));
    checker::check(house, &cloud);
}

#[test]
fn metrics_and_health_have_the_usual_names() {
    let (house, operator) = House::with_operator();
    let cloud = Cloud::start(prompt());
    let namespace = house.namespace();
    house.configure(&namespace, &cloud.url);
    house.create(&namespace, "counted");
    house.ready(&namespace, "counted");
    let wanted = [
        r#"vmoperator_provider_call_duration_seconds_count{operation="create"}"#,
        "workqueue_depth",
        "workqueue_adds_total",
        "workqueue_queue_duration_seconds",
        "workqueue_work_duration_seconds",
        "workqueue_retries_total",
        "controller_runtime_reconcile_total",
        "controller_runtime_reconcile_errors_total",
        "controller_runtime_reconcile_time_seconds",
        "controller_runtime_max_concurrent_reconciles",
        "controller_runtime_active_workers",
    ];
    let metrics = operator.metrics();
    let missing: Vec<_> = wanted
        .iter()
        .filter(|name| !metrics.contains(*name))
        .collect();
    assert!(missing.is_empty(), "{missing:?} missing in\n{metrics}");
    assert_eq!(operator.health("/livez").0, 200);
    assert_eq!(operator.health("/readyz").0, 200);
    house.delete(&namespace, "counted");
    house.gone(&namespace, "counted");
    checker::check(house, &cloud);
}

#[test]
fn the_judge_of_these_tests_finds_a_second_vm_and_one_without_its_object() {
    let (house, _operator) = House::with_operator();
    let cloud = Cloud::start(prompt());
    let namespace = house.namespace();
    house.configure(&namespace, &cloud.url);
    house.create(&namespace, "judged");
    house.ready(&namespace, "judged");
    checker::check(house, &cloud);
    let mut twin = cloud.ours()[0].clone();
    cloud.make(&twin);
    twin["tags"]["vmoperator/uid"] = json!("nobody");
    twin["tags"]["vmoperator/name"] = json!("nobody");
    cloud.make(&twin);
    let judged = std::panic::AssertUnwindSafe(|| checker::check(house, &cloud));
    let words = std::panic::catch_unwind(judged).expect_err("nothing was found");
    let words = words.downcast::<String>().expect("words");
    for finding in [
        "I1: uid",
        "I2: POST without",
        "I3: a VM without",
        "is not recorded",
    ] {
        assert!(words.contains(finding), "{finding} is missing in {words}");
    }
}

fn events(house: &House, namespace: &str, kind: &str, name: &str) -> Vec<Value> {
    events_about(&house.client, namespace, (kind, name))
}

/// Waits until an object has told all this, oldest first, and no more.
fn tells(house: &House, namespace: &str, kind: &str, name: &str, reasons: &[&str]) -> Vec<Value> {
    let words = || -> Vec<String> {
        let events = events(house, namespace, kind, name);
        let reason = |event: &Value| event["reason"].as_str().unwrap_or_default().to_owned();
        events.iter().map(reason).collect()
    };
    until_or(
        &format!("{kind} {name} has told {reasons:?}"),
        || words() == reasons,
        || format!("{:?}", words()),
    );
    events(house, namespace, kind, name)
}

#[test]
fn events_tell_each_turn_once_and_count_what_is_repeated() {
    let (house, operator) = House::with_operator();
    let cloud = Cloud::start(prompt());
    let namespace = house.namespace();
    let quick = json!({ "endpoint": cloud.url, "timeoutSeconds": 1, "pollIntervalSeconds": 5 });
    house.configure_with(&namespace, quick);
    house.usable(&namespace);
    tells(house, &namespace, "ProviderConfig", "default", &["Usable"]);
    house.create(&namespace, "web");
    let id = house.ready(&namespace, "web");
    let two = tells(
        house,
        &namespace,
        "VirtualMachine",
        "web",
        &["Created", "Running"],
    );
    let vm = house.vm(&namespace, "web").expect("the VM");
    for event in &two {
        assert_eq!(event["regarding"]["uid"], vm["metadata"]["uid"]);
        assert_eq!(event["type"], "Normal");
        assert_eq!(
            event["reportingController"],
            "compute.example.com/vmoperator"
        );
        assert!(
            event["series"].is_null() && !event["eventTime"].is_null(),
            "{event}"
        );
    }
    // Stopped and running three times: two events more at most, whatever the number of turns.
    for _ in 0..3 {
        for (act, phase) in [("stop", "Stopped"), ("run", "Running")] {
            cloud.happen(&id, act);
            house.until_vm(&namespace, "web", &format!("is {phase}"), |vm| {
                vm["status"]["phase"] == phase
            });
        }
        house.ready(&namespace, "web");
    }
    let turns = ["Created", "Running", "Stopped"];
    let told = tells(house, &namespace, "VirtualMachine", "web", &turns);
    assert_eq!(told[2]["type"], "Warning");
    assert!(told[1]["series"]["count"].as_i64() >= Some(2), "{told:#?}");
    let written = audit::events(house, &namespace);
    let made = written
        .iter()
        .filter(|write| *write == "create events")
        .count();
    assert_eq!(made, 4, "{written:?}");
    assert!(written.len() < 4 + 6, "repeats are collected: {written:?}");
    house.delete(&namespace, "web");
    house.gone(&namespace, "web");
    // The provider takes no time over it: nothing is told of the deletion but its end.
    let life = ["Created", "Running", "Stopped", "Deleted"];
    tells(house, &namespace, "VirtualMachine", "web", &life);
    let metrics = operator.metrics();
    assert!(
        metrics.contains(r#"vmoperator_events_total{result="created"}"#),
        "{metrics}"
    );
    checker::check(house, &cloud);
}

#[test]
fn kubectl_shows_what_the_golden_files_say() {
    let (house, _operator) = House::with_operator();
    let cloud = Cloud::start(prompt());
    let namespace = house.namespace();
    house.configure(&namespace, &cloud.url);
    house.usable(&namespace);
    house.create(&namespace, "web-1");
    house.ready(&namespace, "web-1");
    let unknown =
        json!({ "kind": "status", "status": 422, "code": "InvalidImage", "message": "no" });
    cloud.fault(json!({ "operation": "create", "count": 1, "effect": unknown }));
    house.create(&namespace, "typo");
    house.until_vm(&namespace, "typo", "waits for a person", |vm| {
        condition(vm, "Stalled").is_some()
    });
    house.until_config(&namespace, "counts its VMs", |config| {
        config["status"]["virtualMachines"] == 2
    });
    tells(house, &namespace, "ProviderConfig", "default", &["Usable"]);
    tells(
        house,
        &namespace,
        "VirtualMachine",
        "typo",
        &["InvalidImage"],
    );
    tells(
        house,
        &namespace,
        "VirtualMachine",
        "web-1",
        &["Created", "Running"],
    );
    for (file, args) in [
        ("get-vm.txt", &["get", "vm"][..]),
        ("get-vm-wide.txt", &["get", "vm", "-o", "wide"]),
        ("get-pcfg-wide.txt", &["get", "pcfg", "-o", "wide"]),
        ("describe-vm.txt", &["describe", "vm", "web-1"]),
        ("describe-vm-refused.txt", &["describe", "vm", "typo"]),
        ("get-events.txt", &["get", "events"]),
    ] {
        let printed = house.plane.kubectl(&[&["-n", &namespace], args].concat());
        golden::check(file, &namespace, &printed);
    }
    checker::check(house, &cloud);
}
