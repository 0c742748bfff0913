//! What a ProviderConfig may be.

use serde_json::{Value, json};
use vmoperator::api::ProviderConfig;

use crate::asked::must_say;
use crate::server::namespace;

const KIND: &str = "ProviderConfig";

fn bare() -> Value {
    json!({ "endpoint": "https://cloud.example.com/v1" })
}

fn with(field: &str, value: Value) -> Value {
    let mut spec = bare();
    spec[field] = value;
    spec
}

#[tokio::test]
async fn a_bare_one_gets_the_defaults_that_the_operator_assumes() {
    let asked = namespace("bare-config").await;
    let made = asked
        .takes(
            KIND,
            "default",
            &with("secretRef", json!({ "name": "cloud" })),
        )
        .await;
    let seen: ProviderConfig = serde_json::from_value(made.clone()).expect("a ProviderConfig");
    assert_eq!(
        made["spec"],
        serde_json::to_value(&seen.spec).expect("json")
    );
    let spec = &made["spec"];
    assert_eq!(spec["type"], "HTTP");
    assert_eq!(
        spec["secretRef"],
        json!({ "name": "cloud", "key": "apiKey", "protect": true })
    );
    assert_eq!(
        spec["rateLimit"],
        json!({ "requestsPerSecond": 50, "burst": 100, "maxInFlight": 16 })
    );
    assert_eq!(
        (&spec["timeoutSeconds"], &spec["pollIntervalSeconds"]),
        (&json!(15), &json!(30))
    );
    assert_eq!(
        spec["orphans"],
        json!({ "policy": "Report", "minAgeSeconds": 900 })
    );
    assert_eq!(spec["allowUnsafeCreate"], false);
    let made = asked
        .takes(KIND, "partly", &with("rateLimit", json!({ "burst": 7 })))
        .await;
    assert_eq!(
        made["spec"]["rateLimit"],
        json!({ "requestsPerSecond": 50, "burst": 7, "maxInFlight": 16 })
    );
}

#[tokio::test]
async fn good_ones_are_taken() {
    let asked = namespace("good-config").await;
    let urls = [
        "http://127.0.0.1:8080",
        "https://cloud.example.com",
        "https://cloud.example.com/",
        "http://[::1]:8080/v1",
        "https://cloud.example.com/~me@home/v1",
        "http://mock-provider.vmoperator-system.svc",
    ];
    let mut specs: Vec<Value> = urls
        .iter()
        .map(|url| with("endpoint", json!(url)))
        .collect();
    let pem = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
    specs.push(with(
        "tls",
        json!({ "caBundle": pem, "serverName": "cloud.internal" }),
    ));
    specs.push(with(
        "tls",
        json!({ "caBundle": format!("{pem}{}", "x".repeat(65_536 - pem.len())) }),
    ));
    specs.push(with("timeoutSeconds", json!(120)));
    specs.push(with("pollIntervalSeconds", json!(3600)));
    specs.push(with(
        "secretRef",
        json!({ "name": "a.b", "key": "API_key.1", "protect": false }),
    ));
    for (at, spec) in specs.iter().enumerate() {
        asked.takes(KIND, &format!("cloud-{at}"), spec).await;
    }
}

/// The server refuses each spec in these words.
async fn refused(space: &str, cases: Vec<(Value, Vec<&str>)>) {
    let asked = namespace(space).await;
    for (spec, words) in cases {
        asked.refuses(KIND, "default", &spec, &words).await;
    }
}

#[tokio::test]
async fn what_is_no_endpoint_is_refused_and_the_message_says_what_one_is() {
    let mut cases = vec![
        (json!({}), vec!["spec.endpoint", "Required"]),
        (with("type", json!("EC2")), vec!["spec.type", "HTTP"]),
        (
            with("endpoint", json!("https://me:secret@cloud.example.com")),
            vec!["spec.endpoint", "user or password", "Secret"],
        ),
        (
            with("endpoint", json!("https://token@cloud.example.com/v1")),
            vec!["spec.endpoint", "user or password"],
        ),
        (
            with("endpoint", json!(format!("https://{}", "x".repeat(2041)))),
            vec!["spec.endpoint", "2048"],
        ),
    ];
    let urls = [
        "cloud.example.com",
        "//cloud.example.com",
        "ftp://cloud.example.com",
        "file:///etc/passwd",
        "https://",
        "https:///v1",
        "https://cloud.example.com?key=1",
        "https://cloud.example.com/v1#x",
        "https://cloud.example.com/v1?",
        "HTTPS://cloud.example.com",
        "https://cloud.example.com:port",
        " https://cloud.example.com",
        "https://cloud example.com",
        "javascript:alert(1)",
    ];
    cases.extend(urls.iter().map(|url| {
        (
            with("endpoint", json!(url)),
            vec!["spec.endpoint", "http or https URL"],
        )
    }));
    refused("bad-endpoint", cases).await;
}

#[tokio::test]
async fn what_is_no_secret_or_certificate_is_refused_and_the_message_names_the_field() {
    let cases = vec![
        (
            with("secretRef", json!({})),
            vec!["spec.secretRef.name", "Required"],
        ),
        (
            with("secretRef", json!({ "name": "a/b" })),
            vec!["spec.secretRef.name", "name of a Secret"],
        ),
        (
            with("secretRef", json!({ "name": "a", "key": "a b" })),
            vec!["spec.secretRef.key", "key of a Secret"],
        ),
        (
            with("secretRef", json!({ "name": "a", "key": "" })),
            vec!["spec.secretRef.key", "at least 1"],
        ),
        (
            with("tls", json!({ "caBundle": "LS0tLS1CRUdJTg==" })),
            vec!["spec.tls.caBundle", "PEM", "not base64"],
        ),
        (
            with("tls", json!({ "caBundle": "x".repeat(65_537) })),
            vec!["spec.tls.caBundle", "65536"],
        ),
        (
            with("tls", json!({ "serverName": "https://x" })),
            vec!["spec.tls.serverName", "host name"],
        ),
        (
            with("tls", json!({ "insecureSkipVerify": true })),
            vec!["unknown field", "insecureSkipVerify"],
        ),
    ];
    refused("bad-secret", cases).await;
}

#[tokio::test]
async fn numbers_and_switches_out_of_bounds_are_refused_and_the_message_names_the_field() {
    let cases = vec![
        (
            with("timeoutSeconds", json!(0)),
            vec!["spec.timeoutSeconds", "1"],
        ),
        (
            with("timeoutSeconds", json!(121)),
            vec!["spec.timeoutSeconds", "120"],
        ),
        (
            with("pollIntervalSeconds", json!(4)),
            vec!["spec.pollIntervalSeconds", "5"],
        ),
        (
            with("pollIntervalSeconds", json!(3601)),
            vec!["spec.pollIntervalSeconds", "3600"],
        ),
        (
            with("rateLimit", json!({ "requestsPerSecond": 0 })),
            vec!["spec.rateLimit.requestsPerSecond"],
        ),
        (
            with("rateLimit", json!({ "burst": 10_001 })),
            vec!["spec.rateLimit.burst"],
        ),
        (
            with("rateLimit", json!({ "maxInFlight": 1_001 })),
            vec!["spec.rateLimit.maxInFlight"],
        ),
        (
            with("orphans", json!({ "policy": "Delete" })),
            vec!["spec.orphans.policy", "Report"],
        ),
        (
            with("orphans", json!({ "minAgeSeconds": 59 })),
            vec!["spec.orphans.minAgeSeconds"],
        ),
        (
            with("allowUnsafeCreate", json!("yes")),
            vec!["spec.allowUnsafeCreate", "boolean"],
        ),
    ];
    refused("bad-numbers", cases).await;
}

#[tokio::test]
async fn everything_but_the_type_may_change() {
    let asked = namespace("change-config").await;
    asked.takes(KIND, "default", &bare()).await;
    let spec = json!({ "endpoint": "http://other.example.com:81/x", "secretRef": { "name": "b" }, "timeoutSeconds": 3,
        "allowUnsafeCreate": true });
    asked
        .patch(KIND, "default", &json!({ "spec": spec }))
        .await
        .expect("changed");
    let answer = asked
        .patch(KIND, "default", &json!({ "spec": { "type": "EC2" } }))
        .await;
    must_say("type", answer, &["spec.type", "HTTP"]);
}

#[tokio::test]
async fn status_comes_back_as_it_was_written() {
    use vmoperator::api::ProviderConfigStatus;
    let asked = namespace("status-config").await;
    asked.takes(KIND, "default", &bare()).await;
    let status: ProviderConfigStatus = serde_json::from_value(json!({
        "observedGeneration": 1, "account": "acct-1", "endpoint": "https://cloud.example.com/v1", "virtualMachines": 3, "orphans": 0,
        "capabilities": { "list": true, "tagFilter": true, "listLagSeconds": 2, "changes": false,
            "idempotencyKeyTtlSeconds": 86400, "power": true, "resize": ["stopped", "live"], "snapshots": false, "deleteIsAsync": true },
        "conditions": [{ "type": "SafeCreate", "status": "True", "reason": "IdempotencyKeys", "message": "",
            "lastTransitionTime": "2026-01-02T03:04:05Z" }],
    }))
    .expect("status");
    let written = serde_json::to_value(&status).expect("json");
    let stored = asked
        .patch_status(KIND, "default", &written)
        .await
        .expect("stored");
    assert_eq!(stored["status"], written);
}
