//! The operator as a user with nothing but kubectl meets it.
#![cfg(test)]

mod e2e;
mod support;

use e2e::checker;
use e2e::client::condition;
use e2e::cloud::{Cloud, prompt};
use e2e::house::{House, manifest};
use mock_provider::Options;
use serde_json::json;
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
