//! What the operator lives through: restarts of everything around it, a second one beside it, objects that it cannot
//! read. Every test ends with a cluster and a cloud that agree, without help.
#![cfg(test)]

#[path = "operator_survival/cases.rs"]
mod cases;
mod e2e;
#[path = "operator_survival/restore.rs"]
mod restore;
mod support;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use e2e::checker;
use e2e::client::condition;
use e2e::cloud::{Cloud, prompt};
use e2e::house::{House, manifest};
use e2e::operator::{ALONE, Operator};
use e2e::{until, until_or};
use rustix::process::Signal;
use serde_json::{Value, json};

/// The cluster of this file, for one test at a time: each has operators of its own, and some restart the API server.
struct Turn(MutexGuard<'static, Option<House>>);

impl Turn {
    fn take() -> Self {
        static HOUSE: Mutex<Option<House>> = Mutex::new(None);
        let mut house = HOUSE.lock().unwrap_or_else(PoisonError::into_inner);
        house.get_or_insert_with(House::kept);
        Self(house)
    }

    fn house(&mut self) -> &mut House {
        self.0.as_mut().expect("it was put there")
    }
}

/// A namespace with a ProviderConfig that leads to the cloud.
fn tenant(house: &House, cloud: &Cloud) -> String {
    let namespace = house.namespace();
    house.configure(&namespace, &cloud.url);
    namespace
}

/// Ends a test: nothing of it is left to the operators of the next.
fn clear(house: &House, cloud: &Cloud, namespace: &str) {
    checker::check(house, cloud);
    let all = ["-n", namespace, "delete", "vm", "--all", "--timeout=150s"];
    house.plane.kubectl(&all);
    house
        .plane
        .kubectl(&["-n", namespace, "delete", "pcfg", "--all", "--timeout=60s"]);
    assert_eq!(cloud.ours(), Vec::<Value>::new());
    checker::check(house, cloud);
}

fn lease(house: &House) -> Value {
    let path = "/apis/coordination.k8s.io/v1/namespaces/vmoperator-system/leases";
    house
        .client
        .get(path, "vmoperator-leader")
        .unwrap_or_default()
}

fn holder(house: &House) -> String {
    let lease = lease(house);
    lease["spec"]["holderIdentity"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

#[test]
fn an_api_server_that_restarts_is_found_again() {
    let mut turn = Turn::take();
    let cloud = Cloud::start(prompt());
    let namespace = tenant(turn.house(), &cloud);
    let mut operator = Operator::start(turn.house(), ALONE).ready();
    turn.house().create(&namespace, "before");
    turn.house().ready(&namespace, "before");
    turn.house().create(&namespace, "during");
    turn.house().plane.restart_api_server();
    let house = turn.house();
    house.ready(&namespace, "during");
    house.create(&namespace, "after");
    house.ready(&namespace, "after");
    house.delete(&namespace, "before");
    house.gone(&namespace, "before");
    assert!(operator.ended().is_none(), "the operator ended");
    assert_eq!(cloud.ours().len(), 2);
    clear(house, &cloud, &namespace);
}

#[test]
fn a_provider_that_restarts_is_found_again_with_what_it_had() {
    let mut turn = Turn::take();
    let house = turn.house();
    let folder = tempfile::tempdir().expect("a directory");
    let mut cloud = Cloud::start_kept(prompt(), folder.path().join("cloud.json"));
    let namespace = tenant(house, &cloud);
    let _operator = Operator::start(house, ALONE).ready();
    for name in ["steady", "leaving"] {
        house.create(&namespace, name);
        house.ready(&namespace, name);
    }
    cloud.go_away();
    house.create(&namespace, "arriving");
    house.delete(&namespace, "leaving");
    house.until_vm(
        &namespace,
        "arriving",
        "says that the provider is away",
        |vm| {
            let away = ("False".to_owned(), "ProviderUnreachable".to_owned());
            condition(vm, "ProviderReady") == Some(away)
        },
    );
    cloud.come_back();
    house.ready(&namespace, "arriving");
    house.ready(&namespace, "steady");
    house.gone(&namespace, "leaving");
    assert_eq!(cloud.ours().len(), 2);
    clear(house, &cloud, &namespace);
}

#[test]
fn when_the_leader_is_killed_another_one_takes_over_and_makes_no_second_vm() {
    let mut turn = Turn::take();
    let house = turn.house();
    let cloud = Cloud::start(prompt());
    let namespace = tenant(house, &cloud);
    let first = Operator::start(house, &["--pod-name=first"]).ready();
    until("the first one leads", || holder(house).starts_with("first"));
    let second = Operator::start(house, &["--pod-name=second"]).ready();
    house.create(&namespace, "early");
    house.until_vm(&namespace, "early", "has an intent", |vm| {
        vm["metadata"]["annotations"]["compute.example.com/create"].is_string()
    });
    first.kill();
    house.create(&namespace, "late");
    house.ready(&namespace, "early");
    house.ready(&namespace, "late");
    assert!(holder(house).starts_with("second"), "{}", lease(house));
    assert_eq!(cloud.ours().len(), 2);
    clear(house, &cloud, &namespace);
    drop(second);
}

#[test]
fn two_operators_that_both_take_themselves_for_the_leader_make_one_vm_each_time() {
    let mut turn = Turn::take();
    let house = turn.house();
    let cloud = Cloud::start(prompt());
    let namespace = tenant(house, &cloud);
    let first = Operator::start(house, ALONE).ready();
    let second = Operator::start(house, ALONE).ready();
    house.usable(&namespace);
    let names: Vec<String> = (0..10).map(|number| format!("vm-{number}")).collect();
    let items: Vec<Value> = names
        .iter()
        .map(|name| manifest(&namespace, name))
        .collect();
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": items });
    house.plane.apply(&list.to_string());
    for name in &names {
        house.ready(&namespace, name);
    }
    assert_eq!(cloud.ours().len(), names.len());
    clear(house, &cloud, &namespace);
    drop((first, second));
}

#[test]
fn a_leader_that_is_asked_to_stop_exits_with_0_and_hands_the_lease_over() {
    let mut turn = Turn::take();
    let house = turn.house();
    let cloud = Cloud::start(prompt());
    let namespace = tenant(house, &cloud);
    let mut first = Operator::start(house, &["--pod-name=leaving"]).ready();
    until("the first one leads", || {
        holder(house).starts_with("leaving")
    });
    house.create(&namespace, "web");
    house.ready(&namespace, "web");
    first.signal(Signal::TERM);
    assert_eq!(first.wait().code(), Some(0));
    assert_eq!(holder(house), "", "{}", lease(house));
    let second = Operator::start(house, &["--pod-name=coming"]).ready();
    until("the second one leads", || {
        holder(house).starts_with("coming")
    });
    clear(house, &cloud, &namespace);
    drop(second);
}

#[test]
fn an_object_replaced_by_force_while_no_operator_runs_gets_a_new_vm_and_the_old_one_goes() {
    let mut turn = Turn::take();
    let house = turn.house();
    let cloud = Cloud::start(prompt());
    let namespace = tenant(house, &cloud);
    let operator = Operator::start(house, ALONE).ready();
    house.create(&namespace, "web");
    let old = house.ready(&namespace, "web");
    operator.kill();
    let replace = ["replace", "--force", "--timeout=150s", "-f", "-"];
    let operator = thread::scope(|scope| {
        let replaced = scope.spawn(|| {
            let bare = manifest(&namespace, "web").to_string();
            house.plane.try_kubectl(&replace, &bare)
        });
        house.until_vm(&namespace, "web", "waits for an operator", |vm| {
            !vm["metadata"]["deletionTimestamp"].is_null()
        });
        let operator = Operator::start(house, ALONE).ready();
        let answer = replaced.join().expect("kubectl was run");
        assert!(answer.success, "{answer:?}");
        operator
    });
    assert_ne!(house.ready(&namespace, "web"), old);
    until("the old VM is gone", || cloud.ours().len() == 1);
    clear(house, &cloud, &namespace);
    drop(operator);
}

#[test]
fn a_secret_that_its_config_left_behind_in_a_crash_can_be_deleted() {
    let mut turn = Turn::take();
    let house = turn.house();
    let namespace = house.namespace();
    // As a crash between the finalizer of the config and that of the Secret leaves it.
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "stringData": { "apiKey": "any" },
        "metadata": { "name": "left", "namespace": namespace,
            "finalizers": ["compute.example.com/in-use"] },
    });
    house.plane.apply(&secret.to_string());
    house
        .plane
        .kubectl(&["-n", &namespace, "delete", "secret", "left", "--wait=false"]);
    let _operator = Operator::start(house, ALONE).ready();
    let secrets = format!("/api/v1/namespaces/{namespace}/secrets");
    until_or(
        "the Secret is gone",
        || house.client.get(&secrets, "left").is_none(),
        || format!("{:#?}", house.client.get(&secrets, "left")),
    );
}

/// Takes every rule about the spec out of the definition, as an older version of it might have had none.
fn loosen(house: &House) {
    let schema = "/spec/versions/0/schema/openAPIV3Schema";
    let provider = json!({ "type": "string", "default": "default" });
    let anything = json!({
        "type": "object", "x-kubernetes-preserve-unknown-fields": true,
        "properties": { "providerRef": provider },
    });
    let patch = json!([
        { "op": "remove", "path": format!("{schema}/x-kubernetes-validations") },
        { "op": "replace", "path": format!("{schema}/properties/spec"), "value": anything },
    ]);
    let crd = "virtualmachines.compute.example.com";
    house
        .plane
        .kubectl(&["patch", "crd", crd, "--type=json", "-p", &patch.to_string()]);
}

fn tighten(house: &House) {
    let crd = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/config/crd/compute.example.com_virtualmachines.yaml"
    );
    house.plane.kubectl(&["replace", "-f", crd]);
}

#[test]
fn objects_that_cannot_be_read_stop_nothing_else_and_can_be_deleted() {
    let mut turn = Turn::take();
    let house = turn.house();
    let cloud = Cloud::start(prompt());
    let namespace = tenant(house, &cloud);
    let operator = Operator::start(house, ALONE).ready();
    house.create(&namespace, "made");
    house.ready(&namespace, "made");
    loosen(house);
    let mut nonsense = manifest(&namespace, "nonsense");
    nonsense["spec"]["cpu"] = json!("two");
    // The server may go by the old definition for a moment.
    until("nonsense is accepted", || {
        house
            .plane
            .try_kubectl(&["apply", "-f", "-"], &nonsense.to_string())
            .success
    });
    let many = r#"{"spec":{"cpu":"many"}}"#;
    house.plane.kubectl(&[
        "-n",
        &namespace,
        "patch",
        "vm",
        "made",
        "--type=merge",
        "-p",
        many,
    ]);
    house.create(&namespace, "sound");
    house.ready(&namespace, "sound");
    // A list that holds them can be read too.
    operator.kill();
    let operator = Operator::start(house, ALONE).ready();
    house.create(&namespace, "later");
    house.ready(&namespace, "later");
    assert_eq!(cloud.ours().len(), 3, "nonsense got a VM");
    for name in ["nonsense", "made"] {
        house.delete(&namespace, name);
        house.gone(&namespace, name);
    }
    assert_eq!(cloud.ours().len(), 2);
    tighten(house);
    clear(house, &cloud, &namespace);
    drop(operator);
}
