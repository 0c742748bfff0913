//! An operator that starts anew among many VMs at a provider without lists and feed, so that each has to be asked for by
//! itself, while some objects never come to rest and a user wants something new.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use mock_provider::Options;
use serde_json::{Value, json};

use super::alone;
use super::e2e::client::GROUP;
use super::e2e::cloud::{Cloud, prompt};
use super::e2e::house::{House, manifest};
use super::e2e::operator::Operator;
use super::e2e::until_or;

/// VMs without `VMOPERATOR_TEST_RESTART_VMS`.
const VMS: usize = 1000;
/// Those that are updated all the time.
const HOT: usize = 50;
/// Who updates them, each with this pause between two updates (`VMOPERATOR_TEST_RESTART_PAUSE_MS` makes another one of
/// it): fifty to a hundred times a second together, by how busy the API server is.
const USERS: usize = 8;
const PAUSE: u64 = 80;
/// Calls to the provider per second after the restart: the queue is long for many seconds.
const RATE: u32 = 150;
/// Most calls for others between the arrival of a new object and the first call for it. Before it stand the hot ones,
/// the passes under way, and of those at rest one in eight; the rest is the way from the API server to the queue on a
/// busy machine. In a queue without lanes it would stand behind every VM.
const MOST_BEFORE: usize = 450;

fn vms() -> usize {
    match std::env::var("VMOPERATOR_TEST_RESTART_VMS") {
        Ok(text) => text
            .parse()
            .ok()
            .filter(|count| (VMS..=100_000).contains(count))
            .unwrap_or_else(|| {
                panic!("VMOPERATOR_TEST_RESTART_VMS={text:?}: write a number from {VMS}")
            }),
        Err(_) => VMS,
    }
}

fn object(namespace: &str, name: &str) -> Value {
    let mut vm = manifest(namespace, name);
    vm["spec"]["connectionSecret"] = json!({ "enabled": false });
    vm["spec"]["service"] = json!({ "enabled": false });
    vm
}

fn configure(house: &House, namespace: &str, cloud: &Cloud, rate: u32) {
    let limit = json!({ "requestsPerSecond": rate, "burst": rate, "maxInFlight": 32 });
    let spec = json!({
        "endpoint": cloud.url, "timeoutSeconds": 30, "pollIntervalSeconds": 3600, "rateLimit": limit,
    });
    house.configure_with(namespace, spec);
}

/// The number that a series of the metrics shows.
fn shown(operator: &Operator, series: &str) -> f64 {
    let metrics = operator.metrics();
    let line = metrics.lines().find(|line| line.starts_with(series));
    let value = line.and_then(|line| line.rsplit_once(' ')?.1.parse().ok());
    value.unwrap_or_default()
}

fn all_run(operator: &Operator, count: usize) {
    let running = r#"vmoperator_virtual_machines{phase="Running"}"#;
    until_or(
        &format!("{count} VMs run"),
        || shown(operator, running) as usize == count,
        || format!("{} do", shown(operator, running)),
    );
}

/// Ids that the provider was asked for in these calls.
fn asked(log: &[Value]) -> BTreeSet<&str> {
    let gets = log.iter().filter(|call| call["operation"] == "get");
    gets.filter_map(|call| call["vmId"].as_str()).collect()
}

/// The position of the call that made the VM of this name.
fn made_at(cloud: &Cloud, log: &[Value], name: &str) -> Option<usize> {
    let all = cloud.all();
    let vm = all
        .iter()
        .find(|vm| vm["name"].as_str().is_some_and(|full| full.contains(name)))?;
    log.iter()
        .position(|call| call["operation"] == "create" && call["vmId"] == vm["id"])
}

/// Updates the hot ones in turn until told to stop; gives how often.
fn keep_hot(house: &House, namespace: &str, stop: &AtomicBool, updates: &AtomicUsize) {
    let path = format!("{GROUP}/namespaces/{namespace}/virtualmachines");
    let pause = std::env::var("VMOPERATOR_TEST_RESTART_PAUSE_MS").ok();
    let pause = pause.map_or(PAUSE, |text| {
        text.parse().expect("a number of milliseconds")
    });
    let pause = Duration::from_millis(pause);
    while !stop.load(Ordering::Relaxed) {
        let number = updates.fetch_add(1, Ordering::Relaxed);
        let touched = json!({ "compute.example.com/touched": number.to_string() });
        let patch = json!({ "metadata": { "annotations": touched } });
        house
            .client
            .merge(&path, &format!("vm-{}", number % HOT), &patch);
        thread::sleep(pause);
    }
}

/// Lets an operator make so many VMs, and ends it; gives their ids. The next one may call less often.
fn populate(house: &House, namespace: &str, cloud: &Cloud, count: usize) -> BTreeSet<String> {
    configure(house, namespace, cloud, 1000);
    let only = format!("--namespaces={namespace}");
    let flags = ["--leader-elect=false", &only, "--concurrency=32"];
    let operator = Operator::start(house, &flags).ready();
    house.usable(namespace);
    let path = format!("{GROUP}/namespaces/{namespace}/virtualmachines");
    let objects: Vec<Value> = (0..count)
        .map(|number| object(namespace, &format!("vm-{number}")))
        .collect();
    house.client.create_all(&path, &objects);
    all_run(&operator, count);
    operator.kill();
    configure(house, namespace, cloud, RATE);
    let ours = cloud.ours();
    let ids: BTreeSet<String> = ours
        .iter()
        .filter_map(|vm| vm["id"].as_str().map(str::to_owned))
        .collect();
    assert_eq!(ids.len(), count);
    ids
}

/// Makes an object while the others are looked at; gives how many calls for others come before the first for it.
fn before_the_new_one(house: &House, namespace: &str, cloud: &Cloud, operator: &Operator) -> usize {
    let before = cloud.log().len();
    let path = format!("{GROUP}/namespaces/{namespace}/virtualmachines");
    house.client.create(&path, &object(namespace, "new"));
    let mut position = None;
    until_or(
        "the new one is asked for",
        || {
            position = made_at(cloud, &cloud.log(), "new");
            position.is_some()
        },
        || format!("{:#}", operator.state()["workers"]),
    );
    position.expect("it was made") - before
}

#[test]
fn after_a_restart_among_many_vms_and_hot_ones_all_are_looked_at_and_a_new_one_does_not_wait_for_them()
 {
    let (house, _turn) = alone();
    let count = vms();
    let cloud = Cloud::start(Options {
        basic: true,
        ..prompt()
    });
    let namespace = house.namespace();
    let only = format!("--namespaces={namespace}");
    let flags = ["--leader-elect=false", &only];
    let ids = populate(house, &namespace, &cloud, count);
    let (stop, updates) = (AtomicBool::new(false), AtomicUsize::new(0));
    let restarted = cloud.log().len();
    let began = tokio::time::Instant::now();
    thread::scope(|scope| {
        for _user in 0..USERS {
            scope.spawn(|| keep_hot(house, &namespace, &stop, &updates));
        }
        let end = StopOnDrop(&stop);
        let operator = Operator::start(house, &flags).ready();
        until_or(
            "a part of the VMs has been asked for",
            || asked(&cloud.log()[restarted..]).len() > count / 10,
            || format!("{:#}", operator.state()["workers"]),
        );
        let others = before_the_new_one(house, &namespace, &cloud, &operator);
        let hot = updates.load(Ordering::Relaxed);
        let waiting = operator.state()["workers"][0]["readyLow"].clone();
        println!(
            "{count} VMs: {others} calls for others before the first for the new one; {hot} updates so far; {waiting} wait"
        );
        assert!(
            others <= MOST_BEFORE,
            "{others} calls for others came first"
        );
        until_or(
            "every VM is asked for",
            || {
                let log = cloud.log();
                let asked = asked(&log[restarted..]);
                ids.iter().all(|id| asked.contains(id.as_str()))
            },
            || format!("{:#}", operator.state()["workers"]),
        );
        house.ready(&namespace, "new");
        drop(end);
    });
    let updates = updates.load(Ordering::Relaxed);
    let took = began.elapsed().as_secs_f64();
    println!("{updates} updates of {HOT} hot VMs in {took:.0} s");
    assert!(updates >= HOT, "{updates} updates are none");
    // The stranger's, each object's, and the new one's.
    assert_eq!(cloud.calls("create").1, count + 2);
    assert_eq!(cloud.calls("delete").0, 0);
}

/// Ends the updates also when the test fails, or its threads would never end.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
