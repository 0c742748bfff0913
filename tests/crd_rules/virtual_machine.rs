//! What a VirtualMachine may be when it is made.

use serde_json::{Value, json};
use vmoperator::api::VirtualMachine;

use crate::server::namespace;

pub(crate) const KIND: &str = "VirtualMachine";

fn bare() -> Value {
    json!({ "image": "ubuntu-22.04", "cpu": 2, "memory": "4Gi" })
}

pub(crate) fn with(field: &str, value: Value) -> Value {
    let mut spec = bare();
    spec[field] = value;
    spec
}

fn ports(ports: Value) -> Value {
    with("service", json!({ "ports": ports }))
}

#[tokio::test]
async fn the_bare_manifest_gets_the_defaults_that_the_operator_assumes() {
    let asked = namespace("bare").await;
    let made = asked.takes(KIND, "web-1", &bare()).await;
    assert_eq!(made["spec"]["providerRef"], "default");
    let seen: VirtualMachine = serde_json::from_value(made.clone()).expect("a VirtualMachine");
    let written = serde_json::from_value::<VirtualMachine>(json!({
        "apiVersion": "compute.example.com/v1", "kind": KIND, "metadata": {}, "spec": bare(),
    }));
    assert_eq!(seen.spec, written.expect("a VirtualMachine").spec);
    assert_eq!(
        made["spec"],
        serde_json::to_value(&seen.spec).expect("json")
    );
    assert_eq!(made.get("status"), None);
}

#[tokio::test]
async fn an_empty_service_gets_its_defaults_too() {
    let asked = namespace("service").await;
    let made = asked
        .takes(KIND, "web-1", &with("service", json!({ "enabled": false })))
        .await;
    let ssh = json!([{ "name": "ssh", "port": 22, "protocol": "TCP" }]);
    assert_eq!(
        made["spec"]["service"],
        json!({ "enabled": false, "ports": ssh })
    );
    let made = asked
        .takes(
            KIND,
            "web-2",
            &ports(json!([{ "name": "http", "port": 80 }])),
        )
        .await;
    assert_eq!(made["spec"]["service"]["ports"][0]["protocol"], "TCP");
}

#[tokio::test]
async fn values_at_the_bounds_are_taken() {
    let asked = namespace("bounds").await;
    let many: Vec<Value> = (1..=16)
        .map(|port| json!({ "name": format!("p{port}"), "port": port }))
        .collect();
    let specs = [
        with("cpu", json!(1)),
        with("cpu", json!(512)),
        with("memory", json!("1Mi")),
        with("memory", json!("64Ti")),
        with("image", json!("x".repeat(253))),
        with("providerRef", json!("a")),
        with("providerRef", json!("cloud-1.example.com")),
        with("connectionSecret", json!({ "enabled": false })),
        ports(json!(many)),
        ports(
            json!([{ "name": "a", "port": 65535 }, { "name": "b", "port": 65535, "protocol": "UDP" }]),
        ),
    ];
    for (at, spec) in specs.iter().enumerate() {
        asked.takes(KIND, &format!("vm-{at}"), spec).await;
    }
}

/// The server refuses each spec in these words, and nothing of it stays behind.
async fn refused(space: &str, cases: Vec<(Value, Vec<&str>)>) {
    let asked = namespace(space).await;
    for (spec, words) in cases {
        asked.refuses(KIND, "web-1", &spec, &words).await;
    }
    let list = asked.get(&asked.list(KIND)).await.expect("list");
    assert_eq!(list["items"], json!([]));
}

#[tokio::test]
async fn what_cannot_be_an_image_or_a_cpu_count_is_refused_and_the_message_names_the_field() {
    let long = "x".repeat(254);
    let cases = vec![
        (
            json!({ "cpu": 2, "memory": "4Gi" }),
            vec!["spec.image", "Required"],
        ),
        (
            json!({ "image": "x", "memory": "4Gi" }),
            vec!["spec.cpu", "Required"],
        ),
        (
            json!({ "image": "x", "cpu": 2 }),
            vec!["spec.memory", "Required"],
        ),
        (with("image", json!("")), vec!["spec.image", "at least 1"]),
        (with("image", json!(long)), vec!["spec.image", "253"]),
        (with("image", json!(7)), vec!["spec.image", "string"]),
        (
            with("cpu", json!(0)),
            vec!["spec.cpu", "greater than or equal to 1"],
        ),
        (
            with("cpu", json!(-1)),
            vec!["spec.cpu", "greater than or equal to 1"],
        ),
        (
            with("cpu", json!(513)),
            vec!["spec.cpu", "less than or equal to 512"],
        ),
        (with("cpu", json!(1.5)), vec!["spec.cpu", "integer"]),
        (with("cpu", json!("2")), vec!["spec.cpu", "integer"]),
    ];
    refused("refused-image-cpu", cases).await;
}

#[tokio::test]
async fn what_cannot_be_memory_is_refused_and_the_message_names_the_field() {
    let cases = vec![
        (
            with("memory", json!("lots")),
            vec!["spec.memory", "memory must be a quantity", "4Gi"],
        ),
        (with("memory", json!("")), vec!["spec.memory", "at least 1"]),
        (
            with("memory", json!("4")),
            vec!["spec.memory", "from 1Mi to 64Ti", "suffix"],
        ),
        (with("memory", json!(4)), vec!["spec.memory", "string"]),
        (
            with("memory", json!("0")),
            vec!["spec.memory", "from 1Mi to 64Ti"],
        ),
        (
            with("memory", json!("-4Gi")),
            vec!["spec.memory", "from 1Mi to 64Ti"],
        ),
        (
            with("memory", json!("1023Ki")),
            vec!["spec.memory", "from 1Mi to 64Ti"],
        ),
        (
            with("memory", json!("65537Gi")),
            vec!["spec.memory", "from 1Mi to 64Ti"],
        ),
        (
            with("memory", json!("4GB")),
            vec!["spec.memory", "memory must be a quantity"],
        ),
        (
            with("memory", json!("4gi")),
            vec!["spec.memory", "memory must be a quantity"],
        ),
        (
            with("memory", json!("4".repeat(65))),
            vec!["spec.memory", "64"],
        ),
    ];
    refused("refused-memory", cases).await;
}

#[tokio::test]
async fn references_and_switches_of_another_shape_are_refused() {
    let long = "x".repeat(254);
    let cases = vec![
        (
            with("providerRef", json!("")),
            vec!["spec.providerRef", "at least 1"],
        ),
        (
            with("providerRef", json!("My_Cloud")),
            vec!["spec.providerRef", "name of a ProviderConfig"],
        ),
        (
            with("providerRef", json!("-a")),
            vec!["spec.providerRef", "name of a ProviderConfig"],
        ),
        (
            with("providerRef", json!("other/default")),
            vec!["spec.providerRef", "name of a ProviderConfig"],
        ),
        (
            with("providerRef", json!(long)),
            vec!["spec.providerRef", "253"],
        ),
        (
            with("service", json!({ "enabled": "no" })),
            vec!["spec.service.enabled", "boolean"],
        ),
        (
            with("connectionSecret", json!({ "enabled": 1 })),
            vec!["spec.connectionSecret.enabled", "boolean"],
        ),
    ];
    refused("refused-references", cases).await;
}

#[tokio::test]
async fn ports_that_no_service_could_have_are_refused() {
    let many: Vec<Value> = (1..=17)
        .map(|port| json!({ "name": format!("p{port}"), "port": port }))
        .collect();
    let cases = vec![
        (ports(json!([])), vec!["spec.service.ports", "at least 1"]),
        (ports(json!(many)), vec!["spec.service.ports", "16"]),
        (
            ports(json!([{ "name": "a" }])),
            vec!["spec.service.ports[0].port", "Required"],
        ),
        (
            ports(json!([{ "port": 1 }])),
            vec!["spec.service.ports[0].name", "Required"],
        ),
        (
            ports(json!([{ "name": "a", "port": 0 }])),
            vec!["spec.service.ports[0].port", "1"],
        ),
        (
            ports(json!([{ "name": "a", "port": 65536 }])),
            vec!["spec.service.ports[0].port", "65535"],
        ),
        (
            ports(json!([{ "name": "A", "port": 1 }])),
            vec!["spec.service.ports[0].name", "DNS label"],
        ),
        (
            ports(json!([{ "name": "a.b", "port": 1 }])),
            vec!["spec.service.ports[0].name", "DNS label"],
        ),
        (
            ports(json!([{ "name": "a", "port": 1, "protocol": "ICMP" }])),
            vec!["ports[0].protocol", "\"TCP\""],
        ),
        (
            ports(json!([{ "name": "a", "port": 1 }, { "name": "a", "port": 2 }])),
            vec!["spec.service.ports", "Duplicate"],
        ),
        (
            ports(json!([{ "name": "a", "port": 1 }, { "name": "b", "port": 1 }])),
            vec!["spec.service.ports", "must differ"],
        ),
    ];
    refused("refused-ports", cases).await;
}

#[tokio::test]
async fn a_name_must_do_for_a_service() {
    let asked = namespace("names").await;
    for name in ["a", "a1", "web-1", "a--b", &"a".repeat(63)] {
        asked.takes(KIND, name, &bare()).await;
    }
    for name in ["1web", "web.1", "0", &"a".repeat(64), &"a".repeat(253)] {
        asked
            .refuses(
                KIND,
                name,
                &bare(),
                &[
                    "metadata.name",
                    "must begin with a lower-case letter",
                    "Service",
                ],
            )
            .await;
    }
    // These no kind may be called; the server's own words.
    for name in ["-web", "web-", "web_1", "Web", &"a".repeat(254)] {
        asked.refuses(KIND, name, &bare(), &["metadata.name"]).await;
    }
}

#[tokio::test]
async fn an_unknown_field_is_refused_where_asked_and_dropped_otherwise() {
    let asked = namespace("unknown").await;
    let spec = with("cpus", json!(4));
    asked
        .refuses(KIND, "web-1", &spec, &["unknown field", "spec.cpus"])
        .await;
    let body = json!({ "apiVersion": "compute.example.com/v1", "kind": KIND, "metadata": { "name": "web-1" }, "spec": spec });
    let made = crate::asked::send(&asked.client, "POST", &asked.list(KIND), &body)
        .await
        .expect("made");
    assert_eq!(made["spec"].get("cpus"), None);
    assert_eq!(made["spec"]["cpu"], 2);
}

#[tokio::test]
async fn status_cannot_be_brought_along() {
    let asked = namespace("brought").await;
    let body = json!({ "apiVersion": "compute.example.com/v1", "kind": KIND, "metadata": { "name": "web-1" },
        "spec": bare(), "status": { "id": "vm-000007" } });
    let made = crate::asked::send(&asked.client, "POST", &asked.list(KIND), &body)
        .await
        .expect("made");
    assert_eq!(made.get("status"), None);
}
