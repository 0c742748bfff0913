//! How the kinds look from outside: names, columns, selectors.

use serde_json::{Value, json};

use crate::asked::Asked;
use crate::server::{namespace, plane};

async fn three_machines(name: &str) -> Asked {
    let asked = namespace(name).await;
    for (name, provider, phase) in [
        ("a", "default", "Running"),
        ("b", "default", "Failed"),
        ("c", "other", "Running"),
    ] {
        let spec =
            json!({ "image": "ubuntu-22.04", "cpu": 2, "memory": "4Gi", "providerRef": provider });
        asked.takes("VirtualMachine", name, &spec).await;
        let status = json!({
            "id": format!("vm-{name}"), "phase": phase,
            "addresses": [{ "type": "InternalIP", "address": "10.1.2.3" }],
            "conditions": [{ "type": "Ready", "status": "True", "reason": "Fine", "message": "as written",
                "lastTransitionTime": "2026-01-02T03:04:05Z" }],
        });
        asked
            .patch_status("VirtualMachine", name, &status)
            .await
            .expect("status");
    }
    asked
}

/// Standard output of kubectl in that namespace.
async fn kubectl(namespace: &str, args: &[&str]) -> String {
    let args = [&["-n", namespace][..], args].concat();
    plane().await.kubectl(&args)
}

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

#[tokio::test]
async fn kinds_have_their_short_names_and_category() {
    let asked = namespace("discovery").await;
    let found = asked
        .get("/apis/compute.example.com/v1")
        .await
        .expect("discovery");
    let resource = |name: &str| -> Value {
        let all = found["resources"].as_array().expect("resources");
        all.iter()
            .find(|one| one["name"] == name)
            .cloned()
            .unwrap_or_else(|| panic!("no {name}"))
    };
    assert_eq!(
        resource("virtualmachines")["shortNames"],
        json!(["vm", "vms", "cvm"])
    );
    assert_eq!(
        resource("virtualmachines")["singularName"],
        "virtualmachine"
    );
    assert_eq!(resource("providerconfigs")["shortNames"], json!(["pcfg"]));
    for name in ["virtualmachines", "providerconfigs"] {
        // Not `all`: `kubectl delete all --all` would delete machines.
        assert_eq!(resource(name)["categories"], json!(["compute"]));
        assert_eq!(
            resource(&format!("{name}/status"))["kind"],
            resource(name)["kind"]
        );
    }
}

#[tokio::test]
async fn kubectl_shows_the_columns() {
    let asked = three_machines("columns").await;
    for name in ["vm", "vms", "cvm", "virtualmachine", "virtualmachines"] {
        let text = kubectl(&asked.namespace, &["get", name]).await;
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            words(lines[0]),
            ["NAME", "PHASE", "READY", "CPU", "MEMORY", "ID", "AGE"],
            "{name}"
        );
        assert_eq!(
            words(lines[1])[..6],
            ["a", "Running", "True", "2", "4Gi", "vm-a"],
            "{name}"
        );
        assert_eq!(lines.len(), 4);
    }
    let wide = kubectl(&asked.namespace, &["get", "vm", "c", "-o", "wide"]).await;
    let lines: Vec<&str> = wide.lines().collect();
    assert_eq!(
        words(lines[0])[7..],
        ["IMAGE", "PROVIDER", "IP", "REASON", "MESSAGE"]
    );
    assert_eq!(
        words(lines[1])[7..],
        ["ubuntu-22.04", "other", "10.1.2.3", "Fine", "as", "written"]
    );
}

#[tokio::test]
async fn kubectl_shows_provider_configs_and_the_category() {
    let asked = namespace("pcfg").await;
    asked
        .takes(
            "ProviderConfig",
            "default",
            &json!({ "endpoint": "https://cloud.example.com" }),
        )
        .await;
    let text = kubectl(&asked.namespace, &["get", "pcfg"]).await;
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        words(lines[0]),
        ["NAME", "TYPE", "ENDPOINT", "READY", "VMS", "AGE"]
    );
    assert_eq!(
        words(lines[1])[..3],
        ["default", "HTTP", "https://cloud.example.com"]
    );
    asked
        .takes(
            "VirtualMachine",
            "a",
            &json!({ "image": "x", "cpu": 1, "memory": "1Gi" }),
        )
        .await;
    let text = kubectl(&asked.namespace, &["get", "compute", "-o", "name"]).await;
    assert_eq!(
        words(&text),
        [
            "providerconfig.compute.example.com/default",
            "virtualmachine.compute.example.com/a"
        ]
    );
}

#[tokio::test]
async fn machines_are_selected_by_provider_and_phase() {
    let asked = three_machines("selected").await;
    let names = async |selector: &str| -> Vec<String> {
        let list = asked
            .get(&format!(
                "{}?fieldSelector={selector}",
                asked.list("VirtualMachine")
            ))
            .await;
        let list = list.unwrap_or_else(|error| panic!("{selector}: {error}"));
        let items = list["items"].as_array().expect("items").iter();
        items
            .map(|item| item["metadata"]["name"].as_str().expect("name").to_owned())
            .collect()
    };
    assert_eq!(names("spec.providerRef%3Ddefault").await, ["a", "b"]);
    assert_eq!(names("status.phase%3DRunning").await, ["a", "c"]);
    assert_eq!(
        names("spec.providerRef%3Ddefault,status.phase%3DRunning").await,
        ["a"]
    );
    assert_eq!(names("spec.providerRef%21%3Ddefault").await, ["c"]);
    let path = format!(
        "{}?fieldSelector=spec.image%3Dx",
        asked.list("VirtualMachine")
    );
    crate::asked::must_say(
        "spec.image",
        asked.get(&path).await,
        &["field label not supported", "spec.image"],
    );
}

#[tokio::test]
async fn the_samples_are_taken_as_they_are() {
    let asked = namespace("samples").await;
    let samples = format!("{}/config/samples/", env!("CARGO_MANIFEST_DIR"));
    let text = kubectl(
        &asked.namespace,
        &["apply", "--validate=strict", "-f", &samples],
    )
    .await;
    assert_eq!(text.lines().count(), 3, "{text}");
    assert!(text.lines().all(|line| line.ends_with("created")), "{text}");
}
