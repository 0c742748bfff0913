//! What the operator costs the API server and the provider, counted in the audit log and the provider's log.
#![cfg(test)]

mod e2e;
#[path = "operator_cost/restart.rs"]
mod restart;
mod support;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use e2e::cloud::{Cloud, prompt};
use e2e::house::{House, manifest};
use e2e::operator::{ALONE, Operator};
use e2e::{audit, checker, until_or};
use serde_json::{Value, json};

/// One test at a time: each has its own operator, and counts everything that happens.
fn alone() -> (&'static House, MutexGuard<'static, ()>) {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    (House::shared(), turn)
}

/// Applies many VirtualMachines at once.
fn create_many(house: &House, namespace: &str, count: usize) {
    let items: Vec<Value> = (0..count)
        .map(|number| manifest(namespace, &format!("vm-{number}")))
        .collect();
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": items });
    let answer = house
        .plane
        .try_kubectl(&["create", "-f", "-"], &list.to_string());
    assert!(answer.success, "{answer:?}");
}

fn all_ready(house: &House, namespace: &str, count: usize) {
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

/// Words and how often each occurs.
fn counted(words: Vec<String>) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for word in words {
        *counts.entry(word).or_default() += 1;
    }
    counts
}

/// The version of every VirtualMachine.
fn versions(house: &House) -> Vec<String> {
    let vms = house.vms();
    vms.iter()
        .map(|vm| vm["metadata"]["resourceVersion"].to_string())
        .collect()
}

/// Waits until so many events were written in a namespace, each by one create, and no more.
fn events_written(house: &House, namespace: &str, count: usize) {
    let path = format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events");
    // The audit log is long: it is read once they are there, and its last line may follow in a moment.
    let logged = || audit::events(house, namespace).len() >= count;
    until_or(
        &format!("{count} events are written"),
        || house.client.list(&path).len() >= count && logged(),
        || format!("{:?}", counted(audit::events(house, namespace))),
    );
    let creates = BTreeMap::from([("create events".to_owned(), count)]);
    assert_eq!(counted(audit::events(house, namespace)), creates);
}

/// Waits until the provider has answered so many polls of its change feed more, two of which are a poll period: what
/// VMs at rest are looked at with.
fn polls(cloud: &Cloud, more: usize) {
    let polls = || cloud.calls("changes").0;
    let before = polls();
    until_or(
        &format!("the feed is polled {more} times more"),
        || polls() >= before + more,
        || format!("{before} polls before, {} now", polls()),
    );
}

#[test]
fn one_vm_costs_three_writes_to_running_and_four_in_its_whole_life() {
    let (house, _turn) = alone();
    let cloud = Cloud::start(prompt());
    let namespace = house.namespace();
    let operator = Operator::start(house, ALONE).ready();
    house.configure(&namespace, &cloud.url);
    house.usable(&namespace);
    let others = audit::writes(house, &namespace).len();
    house.create(&namespace, "web");
    house.ready(&namespace, "web");
    let made = audit::writes(house, &namespace).split_off(others);
    let (vm, status) = (
        "patch virtualmachines web",
        "patch virtualmachines/status web",
    );
    let (made, mut owned): (Vec<_>, Vec<_>) = made
        .into_iter()
        .partition(|write| write.contains("virtualmachines"));
    assert_eq!(made, [vm, status, status]);
    owned.sort();
    let creates = [
        "create endpointslices web-ipv4",
        "create secrets web-connection",
        "create services web",
    ];
    assert_eq!(owned, creates, "one create for each owned object");
    // The stranger's and ours.
    assert_eq!(cloud.calls("create"), (2, 2));
    // The ProviderConfig's, that it exists, and that it runs.
    events_written(house, &namespace, 3);
    house.delete(&namespace, "web");
    house.gone(&namespace, "web");
    let life = audit::writes(house, &namespace).split_off(others);
    let life: Vec<_> = life
        .iter()
        .filter(|write| write.contains("virtualmachines"))
        .collect();
    // The deletion takes no time here, so that nothing is told of it but its end.
    assert!(life.len() <= 4, "{life:?}");
    events_written(house, &namespace, 4);
    assert_eq!(cloud.calls("delete"), (1, 1));
    checker::check(house, &cloud);
    drop(operator);
}

#[test]
fn a_thousand_vms_at_rest_cost_no_write_in_three_poll_periods_and_none_at_a_restart() {
    const VMS: usize = 1000;
    let (house, _turn) = alone();
    let cloud = Cloud::start(prompt());
    let namespace = house.namespace();
    let operator = Operator::start(house, ALONE).ready();
    let spec = json!({ "endpoint": cloud.url, "timeoutSeconds": 5, "pollIntervalSeconds": 5 });
    house.configure_with(&namespace, spec);
    house.usable(&namespace);
    create_many(house, &namespace, VMS);
    all_ready(house, &namespace, VMS);
    let made = counted(audit::writes(house, &namespace));
    let machines = made
        .iter()
        .filter(|(write, _)| write.contains("virtualmachines"));
    events_written(house, &namespace, 2 * VMS + 1);
    let wrong: Vec<_> = machines
        .filter(|(write, count)| **count != if write.contains("/status") { 2 } else { 1 })
        .collect();
    assert!(wrong.is_empty(), "not 3 writes each: {wrong:?}");
    // The ProviderConfig's count of VMs follows within ten seconds; then all is at rest.
    house.until_config(&namespace, "counts its VMs", |config| {
        config["status"]["virtualMachines"] == VMS
    });
    let before = audit::writes(house, &namespace).len();
    let (then, calls) = (versions(house), cloud.log().len());
    polls(&cloud, 7);
    let at_rest = audit::writes(house, &namespace).split_off(before);
    assert_eq!(at_rest, Vec::<String>::new(), "writes at rest");
    assert_eq!(versions(house), then, "an object was written");
    let calls = counted(operations(&cloud).split_off(calls));
    println!("provider calls in three polls of {VMS} VMs: {calls:?}");
    // The inventory knows them all from the feed: nobody is asked for by itself.
    assert_eq!(calls.get("get"), None, "{calls:?}");
    assert_eq!(calls.get("list"), None, "{calls:?}");
    operator.kill();
    // The VMs are looked at long before their ProviderConfig is known to work.
    let slow = json!({ "kind": "delay", "milliseconds": 2000 });
    cloud.fault(json!({ "operation": "capabilities", "count": 1, "effect": slow }));
    let calls = cloud.log().len();
    let operator = Operator::start(house, ALONE).ready();
    polls(&cloud, 6);
    let after = operations(&cloud).split_off(calls);
    assert!(
        !after
            .iter()
            .any(|call| call == "create" || call == "delete"),
        "{after:?}"
    );
    let restarted = audit::writes(house, &namespace).split_off(before);
    assert_eq!(restarted, Vec::<String>::new(), "writes after a restart");
    events_written(house, &namespace, 2 * VMS + 1);
    let after = counted(after);
    println!("provider calls in three polls after a restart: {after:?}");
    // The first list tells of every VM at rest: it has one page for all of them.
    assert_eq!(after.get("get"), None, "{after:?}");
    assert!(
        after.get("list").is_some_and(|lists| *lists <= 3),
        "{after:?}"
    );
    drop(operator);
    checker::check(house, &cloud);
}

fn operations(cloud: &Cloud) -> Vec<String> {
    let log = cloud.log();
    log.iter()
        .filter_map(|call| call["operation"].as_str().map(str::to_owned))
        .collect()
}
