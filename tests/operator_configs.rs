//! ProviderConfigs and Secrets: what is missing or wrong is named, its repair is noticed, and the order in which
//! things are deleted does not matter.
#![cfg(test)]

mod basic;
#[path = "operator_configs/credentials.rs"]
mod credentials;
mod e2e;
mod losses;
mod support;

use std::sync::OnceLock;

use e2e::checker;
use e2e::client::condition;
use e2e::cloud::{Cloud, prompt};
use e2e::house::House;
use e2e::operator::Operator;
use e2e::until_or;
use mock_provider::Options;
use serde_json::{Value, json};

const KEY: &str = "a-good-key";

/// The shared operator of this file tells all that it can, and so does every crate that it is made of.
fn operator() -> (&'static House, &'static Operator) {
    static OPERATOR: OnceLock<Operator> = OnceLock::new();
    let house = House::shared();
    let all = ["--log-level=trace,vmoperator=trace"];
    let operator = OPERATOR.get_or_init(|| Operator::start(house, &all).ready());
    (house, operator)
}

/// A cloud that asks for an API key.
fn locked_cloud() -> Cloud {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), format!("tests={KEY}\n")).expect("it can be written");
    Cloud::start(Options {
        api_key_file: Some(file.path().to_owned()),
        ..prompt()
    })
}

fn put_secret(house: &House, namespace: &str, data: Value) {
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "stringData": data,
        "metadata": { "name": "cloud", "namespace": namespace },
    });
    house.plane.apply(&secret.to_string());
}

fn configure(house: &House, cloud: &Cloud, namespace: &str) {
    let secret = json!({ "name": "cloud" });
    let spec = json!({ "endpoint": cloud.url, "timeoutSeconds": 1, "secretRef": secret });
    house.configure_with(namespace, spec);
}

fn waits_for(house: &House, namespace: &str, reason: &str) {
    house.until_vm(
        namespace,
        "web",
        &format!("waits because of {reason}"),
        |vm| condition(vm, "ProviderReady") == Some(("False".to_owned(), reason.to_owned())),
    );
}

#[test]
fn each_missing_or_wrong_part_has_its_reason_and_its_repair_is_noticed_at_once() {
    let (house, _operator) = operator();
    let cloud = locked_cloud();
    let namespace = house.namespace();
    house.create(&namespace, "web");
    waits_for(house, &namespace, "ProviderConfigNotFound");
    configure(house, &cloud, &namespace);
    waits_for(house, &namespace, "SecretNotFound");
    put_secret(house, &namespace, json!({ "apikey": KEY }));
    waits_for(house, &namespace, "SecretKeyMissing");
    put_secret(house, &namespace, json!({ "apiKey": "a-bad-key" }));
    waits_for(house, &namespace, "CredentialsRejected");
    put_secret(house, &namespace, json!({ "apiKey": KEY }));
    house.ready(&namespace, "web");
    house.until_config(&namespace, "is Ready and Authenticated", |config| {
        let accepted =
            condition(config, "Authenticated").is_some_and(|(status, _)| status == "True");
        accepted && e2e::is_ready(config)
    });
    // Nothing was made while anything was wrong.
    assert_eq!(cloud.calls("create"), (1, 1));
    checker::check(house, &cloud);
}

#[test]
fn an_endpoint_that_may_not_be_talked_to_is_refused_until_it_is_corrected() {
    let (house, _operator) = operator();
    let cloud = Cloud::start(prompt());
    let namespace = house.namespace();
    house.create(&namespace, "web");
    house.configure(&namespace, "http://10.11.12.13:8080");
    waits_for(house, &namespace, "EndpointNotAllowed");
    house.configure(&namespace, &cloud.url);
    house.ready(&namespace, "web");
    checker::check(house, &cloud);
}

#[test]
fn a_namespace_with_vms_config_and_secret_is_deleted_by_itself() {
    let (house, _operator) = operator();
    let cloud = locked_cloud();
    let namespace = house.namespace();
    put_secret(house, &namespace, json!({ "apiKey": KEY }));
    configure(house, &cloud, &namespace);
    for number in 0..5 {
        house.create(&namespace, &format!("vm-{number}"));
    }
    for number in 0..5 {
        house.ready(&namespace, &format!("vm-{number}"));
    }
    // One more that may be anywhere on its way.
    house.create(&namespace, "late");
    cloud.set(json!({ "deleteDelayMilliseconds": 2000 }));
    house
        .plane
        .kubectl(&["delete", "namespace", &namespace, "--wait=false"]);
    until_or(
        "the namespace is gone",
        || house.client.get("/api/v1/namespaces", &namespace).is_none(),
        || {
            format!(
                "{:#?}\n{:#?}",
                house.client.get("/api/v1/namespaces", &namespace),
                house.vms()
            )
        },
    );
    assert_eq!(cloud.ours(), Vec::<Value>::new());
    checker::check(house, &cloud);
}

#[test]
fn a_config_and_a_secret_that_are_deleted_first_wait_for_their_vms() {
    let (house, _operator) = operator();
    let cloud = locked_cloud();
    let namespace = house.namespace();
    put_secret(house, &namespace, json!({ "apiKey": KEY }));
    configure(house, &cloud, &namespace);
    house.create(&namespace, "web");
    house.ready(&namespace, "web");
    let delete = [
        "-n",
        &namespace,
        "delete",
        "pcfg/default",
        "secret/cloud",
        "--wait=false",
    ];
    house.plane.kubectl(&delete);
    let secrets = format!("/api/v1/namespaces/{namespace}/secrets");
    house.until_config(&namespace, "is being deleted", |config| {
        !config["metadata"]["deletionTimestamp"].is_null()
    });
    // A new VM would only make it wait longer.
    house.create(&namespace, "too-late");
    house.until_vm(&namespace, "too-late", "is told so", |vm| {
        let reason = ("False".to_owned(), "ProviderConfigDeleting".to_owned());
        condition(vm, "ProviderReady") == Some(reason)
    });
    house.delete(&namespace, "too-late");
    house.gone(&namespace, "too-late");
    assert!(
        house.client.get(&secrets, "cloud").is_some(),
        "the Secret did not wait"
    );
    assert!(
        house.config(&namespace, "default").is_some(),
        "the config did not wait"
    );
    assert_eq!(cloud.ours().len(), 1);
    house.delete(&namespace, "web");
    house.gone(&namespace, "web");
    until_or(
        "config and Secret are gone",
        || {
            house.config(&namespace, "default").is_none()
                && house.client.get(&secrets, "cloud").is_none()
        },
        || {
            format!(
                "{:#?} {:#?}",
                house.config(&namespace, "default"),
                house.client.get(&secrets, "cloud")
            )
        },
    );
    assert_eq!(cloud.ours(), Vec::<Value>::new());
    checker::check(house, &cloud);
}

#[test]
fn a_config_goes_as_soon_as_the_last_vm_of_an_object_that_was_torn_out_is_gone() {
    let (house, _operator) = operator();
    let cloud = Cloud::start(prompt());
    let namespace = house.namespace();
    // Looked at again after an hour, if nothing else wakes it.
    let poll = json!({ "endpoint": cloud.url, "timeoutSeconds": 1, "pollIntervalSeconds": 3600 });
    house.configure_with(&namespace, poll);
    house.create(&namespace, "web");
    house.ready(&namespace, "web");
    let strip = r#"{"metadata":{"finalizers":null}}"#;
    // So slow that the finalizer is still there to be torn off.
    let slow = json!({ "kind": "delay", "milliseconds": 900, "applied": true });
    cloud.fault(json!({ "operation": "delete", "effect": slow }));
    house.delete(&namespace, "web");
    let patch = [
        "-n",
        &namespace,
        "patch",
        "vm",
        "web",
        "--type=merge",
        "-p",
        strip,
    ];
    // The operator may have been faster: then there is nothing to strip.
    let answer = house.plane.try_kubectl(&patch, "");
    assert!(
        answer.success || answer.stderr.contains("NotFound"),
        "{answer:?}"
    );
    house.plane.kubectl(&[
        "-n",
        &namespace,
        "delete",
        "pcfg",
        "default",
        "--wait=false",
    ]);
    until_or(
        "the config is gone",
        || house.config(&namespace, "default").is_none(),
        || format!("{:#?}", house.config(&namespace, "default")),
    );
    assert_eq!(cloud.ours(), Vec::<Value>::new());
    checker::check(house, &cloud);
}
