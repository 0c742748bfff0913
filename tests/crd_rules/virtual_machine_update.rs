//! What of a VirtualMachine may change, and when.

use serde_json::{Value, json};

use crate::asked::{Asked, must_say};
use crate::server::namespace;

const KIND: &str = "VirtualMachine";

async fn vm(asked: &Asked, name: &str, id: Option<&str>) {
    asked
        .takes(
            KIND,
            name,
            &json!({ "image": "ubuntu-22.04", "cpu": 2, "memory": "4Gi" }),
        )
        .await;
    if let Some(id) = id {
        let status = json!({ "id": id, "incarnation": 1, "phase": "Running" });
        asked
            .patch_status(KIND, name, &status)
            .await
            .expect("status");
    }
}

async fn change(asked: &Asked, name: &str, field: &str, value: Value) -> Result<Value, String> {
    let mut spec = json!({});
    spec[field] = value;
    asked.patch(KIND, name, &json!({ "spec": spec })).await
}

#[tokio::test]
async fn image_cpu_and_memory_may_change_until_the_vm_exists() {
    let asked = namespace("repair").await;
    vm(&asked, "web-1", None).await;
    // A refused create leaves a status without an id.
    asked
        .patch_status(KIND, "web-1", &json!({ "phase": "Pending" }))
        .await
        .expect("status");
    for (field, value) in [
        ("image", json!("debian-12")),
        ("cpu", json!(4)),
        ("memory", json!("8Gi")),
    ] {
        let changed = change(&asked, "web-1", field, value.clone())
            .await
            .expect(field);
        assert_eq!(changed["spec"][field], value);
    }
}

#[tokio::test]
async fn image_cpu_and_memory_cannot_change_once_the_vm_exists() {
    let asked = namespace("fixed").await;
    vm(&asked, "web-1", Some("vm-000001")).await;
    for (field, value) in [
        ("image", json!("debian-12")),
        ("cpu", json!(4)),
        ("memory", json!("8Gi")),
    ] {
        let path = format!("spec.{field}");
        let answer = change(&asked, "web-1", field, value).await;
        must_say(
            field,
            answer,
            &[
                &path,
                "cannot change once the VM exists",
                "delete this VirtualMachine",
            ],
        );
    }
    // All three at once name all three.
    let all = json!({ "spec": { "image": "x", "cpu": 1, "memory": "1Gi" } });
    must_say(
        "all",
        asked.patch(KIND, "web-1", &all).await,
        &["spec.image", "spec.cpu", "spec.memory"],
    );
}

#[tokio::test]
async fn the_same_size_in_another_spelling_is_no_change() {
    let asked = namespace("spelling").await;
    vm(&asked, "web-1", Some("vm-000001")).await;
    for text in ["4096Mi", "4294967296", "4294967296e0", "4.0Gi", "4Gi"] {
        change(&asked, "web-1", "memory", json!(text))
            .await
            .unwrap_or_else(|error| panic!("{text}: {error}"));
    }
    let answer = change(&asked, "web-1", "memory", json!("4G")).await;
    must_say("4G", answer, &["spec.memory", "cannot change"]);
    for endless in ["1e99999999999", "1e-99999999999"] {
        must_say(
            endless,
            change(&asked, "web-1", "memory", json!(endless)).await,
            &["spec.memory"],
        );
    }
}

#[tokio::test]
async fn the_provider_never_changes() {
    let asked = namespace("provider").await;
    vm(&asked, "web-1", None).await;
    for value in [json!("other"), json!("default2")] {
        let answer = change(&asked, "web-1", "providerRef", value).await;
        must_say(
            "providerRef",
            answer,
            &["spec.providerRef", "cannot change", "create it anew"],
        );
    }
    // Taken out, it is the default again.
    let changed = change(&asked, "web-1", "providerRef", Value::Null)
        .await
        .expect("default");
    assert_eq!(changed["spec"]["providerRef"], "default");
    asked
        .takes(
            KIND,
            "web-2",
            &json!({ "image": "x", "cpu": 1, "memory": "1Gi", "providerRef": "other" }),
        )
        .await;
    let answer = change(&asked, "web-2", "providerRef", Value::Null).await;
    must_say(
        "no providerRef",
        answer,
        &["spec.providerRef", "cannot change"],
    );
}

#[tokio::test]
async fn the_rest_stays_free_while_the_vm_exists() {
    let asked = namespace("free").await;
    vm(&asked, "web-1", Some("vm-000001")).await;
    let ports = json!({ "ports": [{ "name": "http", "port": 80 }] });
    change(&asked, "web-1", "service", ports)
        .await
        .expect("service");
    change(
        &asked,
        "web-1",
        "connectionSecret",
        json!({ "enabled": false }),
    )
    .await
    .expect("connectionSecret");
    let metadata = json!({ "metadata": {
        "finalizers": ["compute.example.com/vm-cleanup"],
        "annotations": { "compute.example.com/paused": "true" },
        "labels": { "app": "web" },
    }});
    asked
        .patch(KIND, "web-1", &metadata)
        .await
        .expect("metadata");
}

#[tokio::test]
async fn spec_and_status_are_written_apart() {
    let asked = namespace("apart").await;
    vm(&asked, "web-1", Some("vm-000001")).await;
    let changed = asked
        .patch(KIND, "web-1", &json!({ "status": { "id": "vm-000002" } }))
        .await
        .expect("patch");
    assert_eq!(changed["status"]["id"], "vm-000001");
    let path = format!("{}/web-1/status", asked.list(KIND));
    let patch = json!({ "spec": { "cpu": 64 }, "status": { "phase": "Stopped" } });
    let changed = crate::asked::send(&asked.client, "PATCH", &path, &patch)
        .await
        .expect("patch");
    assert_eq!(
        (&changed["spec"]["cpu"], &changed["status"]["phase"]),
        (&json!(2), &json!("Stopped"))
    );
}

#[tokio::test]
async fn status_has_bounds_of_its_own() {
    let asked = namespace("status").await;
    vm(&asked, "web-1", Some("vm-000001")).await;
    let condition = |kind: &str| {
        json!({ "type": kind, "status": "True", "reason": "Fine", "message": "",
            "lastTransitionTime": "2026-01-02T03:04:05Z" })
    };
    let many: Vec<Value> = (0..33).map(|at| condition(&format!("C{at}"))).collect();
    let mut odd = condition("Ready");
    odd["status"] = json!("Maybe");
    let mut wordy = condition("Ready");
    wordy["message"] = json!("x".repeat(2049));
    let addresses: Vec<Value> = (0..17)
        .map(|at| json!({ "type": "InternalIP", "address": format!("10.0.0.{at}") }))
        .collect();
    let cases = [
        (
            json!({ "phase": "Dancing" }),
            vec!["status.phase", "Running"],
        ),
        (json!({ "id": "" }), vec!["status.id"]),
        (json!({ "id": "x".repeat(254) }), vec!["status.id", "253"]),
        (json!({ "incarnation": 0 }), vec!["status.incarnation"]),
        (
            json!({ "conditions": many }),
            vec!["status.conditions", "32"],
        ),
        (
            json!({ "conditions": [condition("Ready"), condition("Ready")] }),
            vec!["status.conditions", "Duplicate"],
        ),
        (
            json!({ "conditions": [odd] }),
            vec!["status.conditions[0].status"],
        ),
        (
            json!({ "conditions": [wordy] }),
            vec!["status.conditions[0].message", "2048"],
        ),
        (
            json!({ "addresses": addresses }),
            vec!["status.addresses", "16"],
        ),
        (
            json!({ "addresses": [{ "type": "Pigeon", "address": "x" }] }),
            vec!["status.addresses[0].type"],
        ),
        (
            json!({ "operation": { "type": "Create", "attempts": 1, "startedAt": "soon" } }),
            vec!["status.operation.startedAt"],
        ),
    ];
    for (status, words) in cases {
        let answer = asked.patch_status(KIND, "web-1", &status).await;
        must_say(&status.to_string(), answer, &words);
    }
}

#[tokio::test]
async fn what_the_operator_writes_comes_back_as_it_was_written() {
    use vmoperator::api::VirtualMachineStatus;
    let asked = namespace("written").await;
    vm(&asked, "web-1", None).await;
    let status = json!({
        "id": "vm-000001", "incarnation": 1, "phase": "Provisioning", "observedGeneration": 1,
        "addresses": [{ "type": "ExternalIP", "address": "2001:db8::1" }, { "type": "Hostname", "address": "web-1.example.com" }],
        "conditions": [{ "type": "Ready", "status": "Unknown", "reason": "Asking", "message": "",
            "lastTransitionTime": "2026-01-02T03:04:05Z", "observedGeneration": 1 }],
        "instance": { "cpu": 2, "memory": "4Gi", "image": "ubuntu-22.04", "createdAt": "2026-01-02T03:04:05.123456789Z" },
        "operation": { "type": "Create", "startedAt": "2026-01-02T03:04:05.000000001Z", "attempts": 2,
            "nextAttemptAt": "2026-01-02T03:05:05Z", "lastErrorReason": "TimedOut" },
    });
    let status: VirtualMachineStatus = serde_json::from_value(status).expect("status");
    let written = serde_json::to_value(&status).expect("json");
    let stored = asked
        .patch_status(KIND, "web-1", &written)
        .await
        .expect("status");
    assert_eq!(stored["status"], written);
    assert_eq!(
        serde_json::from_value::<VirtualMachineStatus>(stored["status"].clone()).expect("status"),
        status
    );
}
