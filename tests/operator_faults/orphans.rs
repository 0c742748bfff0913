//! VMs at the provider that belong to no object: reported, and left alone.

use std::collections::BTreeSet;

use mock_provider::Options;
use serde_json::{Value, json};

use crate::e2e::cloud::Cloud;
use crate::e2e::house::House;
use crate::e2e::{checker, until, until_or};

/// A namespace in which orphans are reported after the shortest grace that there is, a minute.
fn configured(house: &House, cloud: &Cloud) -> String {
    let namespace = house.namespace();
    let spec = json!({
        "endpoint": cloud.url, "timeoutSeconds": 1, "pollIntervalSeconds": 5,
        "orphans": { "minAgeSeconds": 60 },
    });
    house.configure_with(&namespace, spec);
    namespace
}

/// Makes a VM past every operator, with these tags; gives its id.
fn plant(cloud: &Cloud, like: &Value, cluster: &str, uid: &str) -> String {
    let mut body = like.clone();
    body["tags"]["vmoperator/cluster"] = json!(cluster);
    body["tags"]["vmoperator/uid"] = json!(uid);
    let id = cloud.make(&body)["id"].clone();
    id.as_str().expect("an id").to_owned()
}

/// Waits until the status of the ProviderConfig counts so many.
fn counts(house: &House, namespace: &str, orphans: usize) {
    house.until_config(namespace, &format!("counts {orphans} orphans"), |config| {
        config["status"]["orphans"] == orphans
    });
}

fn told(house: &House, namespace: &str) -> Vec<Value> {
    let path = format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events");
    let mut events = house.client.list(&path);
    events.retain(|event| event["reason"] == "OrphansFound");
    events
}

/// The newborn are seen at the provider before their objects know their ids; a foreign cluster's VMs are seen all the
/// time. Neither is ever counted: the first number in the status is that of the orphans.
#[test]
fn exactly_those_without_an_object_are_reported_after_their_grace_and_left_alone() {
    let (house, operator) = House::with_operator();
    let cloud = Cloud::start(Options {
        provisioning_delay: std::time::Duration::from_secs(5),
        ..Options::default()
    });
    let namespace = configured(house, &cloud);
    house.create(&namespace, "first");
    house.ready(&namespace, "first");
    let like = cloud.ours()[0].clone();
    let cluster = like["tags"]["vmoperator/cluster"].as_str().expect("a tag");
    let mut orphans = BTreeSet::new();
    for number in 0..5 {
        orphans.insert(plant(&cloud, &like, cluster, &format!("dead-{number}")));
        plant(
            &cloud,
            &like,
            "another-cluster",
            &format!("theirs-{number}"),
        );
    }
    for number in 0..10 {
        house.create(&namespace, &format!("newborn-{number}"));
    }
    let mut seen = Value::Null;
    until_or(
        "orphans are counted",
        || {
            let config = house.config(&namespace, "default").expect("the config");
            seen = config["status"]["orphans"].clone();
            !seen.is_null()
        },
        || format!("{:#?}", house.config(&namespace, "default")),
    );
    assert_eq!(seen, 5, "the first number that was shown");
    until("it is told", || !told(house, &namespace).is_empty());
    let event = &told(house, &namespace)[0];
    assert_eq!(event["regarding"]["kind"], "ProviderConfig");
    assert_eq!(event["type"], "Warning");
    let note = event["note"].as_str().expect("a note");
    assert!(orphans.iter().all(|id| note.contains(id)), "{note}");
    let metrics = operator.metrics();
    assert!(metrics.contains("vmoperator_orphans 5"), "{metrics}");
    assert_eq!(cloud.calls("delete").0, 0, "nothing is done to them");
    for id in &orphans {
        cloud.happen(id, "vanish");
    }
    counts(house, &namespace, 0);
    assert_eq!(told(house, &namespace).len(), 1, "told once");
    for vm in cloud.ours() {
        if vm["tags"]["vmoperator/cluster"] == "another-cluster" {
            cloud.happen(vm["id"].as_str().expect("an id"), "vanish");
        }
    }
    checker::check(house, &cloud);
}
