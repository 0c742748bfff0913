//! What VMs at rest cost the provider, and how soon a change at the provider is seen: the inventory, from outside.
#![cfg(test)]

mod e2e;
mod support;

use std::sync::{Mutex, MutexGuard, PoisonError};

use e2e::cloud::{Cloud, prompt};
use e2e::house::{House, manifest};
use e2e::operator::{ALONE, Operator};
use e2e::{audit, checker, until_or};
use mock_provider::Options;
use serde_json::{Value, json};

/// So long that a test which waited for a poll would fail.
const NEVER: u32 = 3600;

/// One test at a time: each has its own operator, and counts everything that happens.
fn alone() -> (&'static House, MutexGuard<'static, ()>) {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    (House::shared(), turn)
}

/// A namespace whose VMs live in a cloud, looked at every so many seconds.
fn configured(house: &House, cloud: &Cloud, poll: u32) -> String {
    let namespace = house.namespace();
    let spec = json!({ "endpoint": cloud.url, "timeoutSeconds": 5, "pollIntervalSeconds": poll });
    house.configure_with(&namespace, spec);
    house.usable(&namespace);
    namespace
}

fn create_many(house: &House, namespace: &str, count: usize) {
    let items: Vec<Value> = (0..count)
        .map(|number| manifest(namespace, &format!("vm-{number}")))
        .collect();
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": items });
    let answer = house
        .plane
        .try_kubectl(&["create", "-f", "-"], &list.to_string());
    assert!(answer.success, "{answer:?}");
    let ready = || {
        let vms = house.vms();
        let here = vms
            .iter()
            .filter(|vm| vm["metadata"]["namespace"] == namespace);
        here.filter(|vm| e2e::is_ready(vm)).count()
    };
    until_or(
        &format!("{count} VMs are Ready"),
        || ready() == count,
        || format!("{} are", ready()),
    );
}

/// Waits for so many calls of an operation more; gives all calls that were made meanwhile.
fn after_calls(cloud: &Cloud, operation: &str, more: usize) -> Vec<String> {
    let words = || -> Vec<String> {
        let log = cloud.log();
        log.iter()
            .filter_map(|call| call["operation"].as_str().map(str::to_owned))
            .collect()
    };
    let start = words().len();
    let since = || words().split_off(start);
    until_or(
        &format!("{operation} is called {more} times more"),
        || since().iter().filter(|word| *word == operation).count() >= more,
        || format!("{:?}", since()),
    );
    since()
}

/// Waits until a VM shows a phase.
fn shows(house: &House, namespace: &str, name: &str, phase: &str) {
    house.until_vm(namespace, name, &format!("is {phase}"), |vm| {
        vm["status"]["phase"] == phase
    });
}

#[test]
fn a_hundred_vms_at_rest_cost_no_write_and_no_call_but_polls_of_the_feed() {
    let (house, _turn) = alone();
    let cloud = Cloud::start(prompt());
    let operator = Operator::start(house, ALONE).ready();
    let namespace = configured(house, &cloud, 5);
    create_many(house, &namespace, 100);
    house.until_config(&namespace, "counts its VMs", |config| {
        config["status"]["virtualMachines"] == 100
    });
    // The looks that the creation left due are made by then.
    after_calls(&cloud, "changes", 4);
    let writes = audit::writes(house, &namespace).len();
    // Seven polls of half an interval each: every VM has had its steady pass three times.
    let mut calls = after_calls(&cloud, "changes", 7);
    let written = audit::writes(house, &namespace).split_off(writes);
    assert_eq!(written, Vec::<String>::new());
    // The check of the ProviderConfig itself goes on.
    calls.retain(|call| call != "changes" && call != "capabilities");
    assert_eq!(calls, Vec::<String>::new());
    let metrics = operator.metrics();
    assert!(
        metrics.contains("vmoperator_inventory_age_seconds{source=\"feed\"}"),
        "{metrics}"
    );
    drop(operator);
    checker::check(house, &cloud);
}

#[test]
fn a_change_at_the_provider_is_seen_without_waiting_for_a_poll() {
    let (house, _turn) = alone();
    let slow = Options {
        provisioning_delay: std::time::Duration::from_secs(3),
        ..Options::default()
    };
    let cloud = Cloud::start(slow);
    let operator = Operator::start(house, ALONE).ready();
    let namespace = configured(house, &cloud, NEVER);
    house.create(&namespace, "web");
    let id = house.ready(&namespace, "web");
    // Running was told by the feed as well; at most the look that found it being made was a GET.
    assert!(cloud.calls("get").0 <= 1, "{:?}", cloud.calls("get"));
    cloud.happen(&id, "stop");
    shows(house, &namespace, "web", "Stopped");
    cloud.happen(&id, "run");
    shows(house, &namespace, "web", "Running");
    cloud.happen(&id, "fail");
    shows(house, &namespace, "web", "Failed");
    let gets = cloud.calls("get").0;
    assert!(gets <= 1, "{gets} GETs");
    // What is gone is looked for before anybody believes it.
    cloud.happen(&id, "vanish");
    until_or(
        "the lost one is looked for",
        || cloud.calls("get").0 > gets && cloud.calls("list").0 > 1,
        || format!("{:?} {:?}", cloud.calls("get"), cloud.calls("list")),
    );
    drop(operator);
}

#[test]
fn without_its_feed_the_inventory_lists_and_without_lists_each_vm_is_looked_at() {
    let (house, _turn) = alone();
    let cloud = Cloud::start(prompt());
    let broken = |operation: &str| {
        let effect = json!({ "kind": "status", "status": 500, "code": "Internal" });
        cloud.fault(json!({ "operation": operation, "effect": effect }));
    };
    let operator = Operator::start(house, ALONE).ready();
    let namespace = configured(house, &cloud, 5);
    broken("changes");
    create_many(house, &namespace, 5);
    let id = house.ready(&namespace, "vm-0");
    after_calls(&cloud, "list", 2);
    let calls = after_calls(&cloud, "list", 3);
    assert!(!calls.iter().any(|call| call == "get"), "{calls:?}");
    cloud.happen(&id, "stop");
    shows(house, &namespace, "vm-0", "Stopped");
    // Now every VM is asked for by itself, as if there were no inventory.
    broken("list");
    after_calls(&cloud, "get", 5);
    cloud.happen(&id, "run");
    shows(house, &namespace, "vm-0", "Running");
    cloud.mend();
    after_calls(&cloud, "changes", 5);
    cloud.happen(&id, "stop");
    shows(house, &namespace, "vm-0", "Stopped");
    drop(operator);
    checker::check(house, &cloud);
}
