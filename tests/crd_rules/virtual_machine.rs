//! What a VirtualMachine may be when it is made.

use serde_json::{Value, json};
use vmoperator::api::VirtualMachine;
use vmoperator::domain::Quantity;

use crate::server::namespace;

const KIND: &str = "VirtualMachine";

fn bare() -> Value {
    json!({ "image": "ubuntu-22.04", "cpu": 2, "memory": "4Gi" })
}

fn with(field: &str, value: Value) -> Value {
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

#[tokio::test]
async fn what_breaks_a_rule_is_refused_and_the_message_names_the_field() {
    let asked = namespace("refused").await;
    let long = "x".repeat(254);
    let many: Vec<Value> = (1..=17)
        .map(|port| json!({ "name": format!("p{port}"), "port": port }))
        .collect();
    let cases: Vec<(Value, Vec<&str>)> = vec![
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
    for (spec, words) in cases {
        asked.refuses(KIND, "web-1", &spec, &words).await;
    }
    // None of them left anything behind.
    let list = asked.get(&asked.list(KIND)).await.expect("list");
    assert_eq!(list["items"], json!([]));
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

#[tokio::test]
async fn the_server_and_the_operator_agree_on_what_memory_is() {
    let asked = namespace("quantity").await;
    let texts = [
        "4Gi",
        "+4Gi",
        "4.Gi",
        ".5Gi",
        "0.5Gi",
        "04Gi",
        "4e9",
        "4E9",
        "4e+9",
        "4000e6",
        "4e-9",
        "4294967296",
        "4294967296000m",
        "4294967296000000u",
        "4294967296000000000n",
        "4k",
        "4M",
        "4G",
        "4T",
        "4P",
        "4E",
        "4Ki",
        "4Mi",
        "4Ti",
        "4Pi",
        "4Ei",
        "1048576",
        "1048575",
        "1048575.0000000001",
        "1048575999999999n",
        "64Ti",
        "64.0Ti",
        "70368744177664",
        "70368744177665",
        "70368744177664.0000000001",
        "1.0000000000000000000000001Gi",
        "1e30",
        "1e400",
        "1e99999999999",
        "1e-99999999999",
        "1E999999999",
        "4e+1000000000000000000000000",
        "1e-99999999999",
        "1E999999999",
        "4e+1000000000000000000000000",
        "Gi",
        ".Gi",
        ".",
        "+",
        "-",
        "e9",
        "4e",
        "4e+",
        "4i",
        "4Gi ",
        " 4Gi",
        "4 Gi",
        "4gi",
        "4GI",
        "4K",
        "4mi",
        "4B",
        "4GB",
        "4GiB",
        "4Gi4",
        "4,5Gi",
        "4.5.5Gi",
        "--4Gi",
        "4-Gi",
        "0x4Gi",
        "1_000Mi",
        "∞",
        "٤Gi",
        "4µ",
        "NaN",
        "inf",
        "nope",
        "00000000000000000000000000000000000000000000000000000000000004Gi",
    ];
    let (least, most) = (1 << 20, 64 << 40);
    for (at, text) in texts.iter().enumerate() {
        let server = asked
            .create(KIND, &format!("vm-{at}"), &with("memory", json!(text)))
            .await;
        let nanos = Quantity::parse(text).map(|quantity| quantity.nanos());
        let ours = nanos
            .is_ok_and(|nanos| (least * 1_000_000_000..=most * 1_000_000_000).contains(&nanos));
        assert_eq!(server.is_ok(), ours, "{text:?}: the server says {server:?}");
    }
}
