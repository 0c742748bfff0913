//! Exactly once: the operator dies by SIGKILL at every gap between two effects, and still each object gets one VM and
//! leaves none behind. Needs the feature `failpoints`; without it every test here fails.
#![cfg(test)]

mod e2e;
mod support;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use e2e::checker;
use e2e::cloud::{Cloud, prompt};
use e2e::house::House;
use e2e::operator::{ALONE, Operator};
use mock_provider::Options;
use serde_json::json;

/// Points that an object passes on its way to Running, in order.
const MAKING: &[&str] = &[
    "intend", "intended", "create", "created", "record", "recorded",
];
/// Points that a Running object passes on its way out.
const DELETING: &[&str] = &[
    "record",
    "recorded",
    "delete",
    "deleted",
    "remove-finalizer",
    "removed-finalizer",
];
/// How often the operator dies in a row.
const IN_A_ROW: usize = 5;

/// One test at a time: its operator would work on the other test's objects.
fn alone() -> (&'static House, MutexGuard<'static, ()>) {
    if !cfg!(feature = "failpoints") {
        panic!("these tests kill the operator at named points: cargo test --features failpoints");
    }
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    (House::shared(), turn)
}

/// Runs an operator that dies at the point when `act` makes an object pass it. It has settled everything else by then.
fn die_at(house: &House, namespace: &str, point: &str, act: impl FnOnce()) {
    let mut operator = Operator::start_with(house, ALONE, Some(point)).ready();
    e2e::until("the operator has checked the ProviderConfig", || {
        operator
            .lines()
            .iter()
            .any(|line| line["message"] == "usable" && line["namespace"] == namespace)
    });
    act();
    let status = operator.wait();
    let signal = std::os::unix::process::ExitStatusExt::signal(&status);
    assert_eq!(signal, Some(9), "died otherwise than at {point}: {status}");
}

/// Runs operators that die at the point until one gets where `done` says, or until five have died.
fn die_again_at(house: &House, point: &str, done: impl Fn() -> bool) {
    for _death in 1..IN_A_ROW {
        let mut operator = Operator::start_with(house, ALONE, Some(point));
        let mut alive = true;
        e2e::until(
            &format!("the operator dies at {point} or gets past it"),
            || {
                alive = operator.ended().is_none();
                !alive || done()
            },
        );
        operator.kill();
        if alive {
            return;
        }
    }
}

/// The cloud of one test with a namespace that uses it. The ProviderConfig gets ready here; what dies later, dies
/// over a VirtualMachine.
fn world(house: &House, options: Options) -> (Cloud, String) {
    let cloud = Cloud::start(options);
    let namespace = house.namespace();
    house.configure(&namespace, &cloud.url);
    recover(house, || house.usable(&namespace));
    (cloud, namespace)
}

fn delete_all(house: &House, namespace: &str) {
    let all = ["-n", namespace, "delete", "vm", "--all", "--wait=false"];
    house.plane.kubectl(&all);
}

fn none_left(house: &House, namespace: &str) {
    e2e::until(&format!("{namespace} has no VirtualMachine"), || {
        !house
            .vms()
            .iter()
            .any(|vm| vm["metadata"]["namespace"] == namespace)
    });
}

/// Lets a healthy operator finish, and kills it: the next one starts from what is stored.
fn recover(house: &House, settled: impl FnOnce()) {
    let operator = Operator::start(house, ALONE);
    settled();
    operator.kill();
}

#[test]
fn killed_at_each_gap_while_making_a_vm_once_and_five_times_in_a_row_makes_one() {
    let (house, _turn) = alone();
    let (cloud, namespace) = world(house, prompt());
    for point in MAKING {
        let name = format!("once-{point}");
        die_at(house, &namespace, point, || house.create(&namespace, &name));
        recover(house, || drop(house.ready(&namespace, &name)));
        let name = format!("again-{point}");
        die_at(house, &namespace, point, || house.create(&namespace, &name));
        let ready = || {
            house
                .vm(&namespace, &name)
                .is_some_and(|vm| e2e::is_ready(&vm))
        };
        die_again_at(house, point, ready);
        recover(house, || drop(house.ready(&namespace, &name)));
    }
    assert_eq!(cloud.ours().len(), 2 * MAKING.len());
    delete_all(house, &namespace);
    recover(house, || none_left(house, &namespace));
    assert_eq!(cloud.ours(), Vec::<serde_json::Value>::new());
    checker::check(house, &cloud);
}

#[test]
fn killed_over_an_object_that_was_made_while_no_operator_ran_makes_one() {
    let (house, _turn) = alone();
    let (cloud, namespace) = world(house, prompt());
    for point in ["intend", "created"] {
        house.create(&namespace, &format!("early-{point}"));
        die_at(house, &namespace, point, || ());
    }
    recover(house, || {
        for point in ["intend", "created"] {
            house.ready(&namespace, &format!("early-{point}"));
        }
    });
    assert_eq!(cloud.ours().len(), 2);
    delete_all(house, &namespace);
    recover(house, || none_left(house, &namespace));
    assert_eq!(cloud.ours(), Vec::<serde_json::Value>::new());
    checker::check(house, &cloud);
}

#[test]
fn deleted_while_the_operator_is_dead_in_a_gap_leaves_no_vm_however_often_it_dies() {
    let (house, _turn) = alone();
    let (cloud, namespace) = world(house, prompt());
    for point in MAKING {
        let name = format!("gone-{point}");
        die_at(house, &namespace, point, || house.create(&namespace, &name));
        house.delete(&namespace, &name);
        die_again_at(house, point, || house.vm(&namespace, &name).is_none());
        recover(house, || house.gone(&namespace, &name));
    }
    assert_eq!(cloud.ours(), Vec::<serde_json::Value>::new());
    checker::check(house, &cloud);
}

#[test]
fn killed_at_each_gap_while_deleting_a_running_vm_leaves_none() {
    let slow = Options {
        delete_delay: Duration::from_millis(500),
        ..prompt()
    };
    die_while_deleting(slow, DELETING);
}

/// Then nothing is told on the way: one turn deletes, looks twice and lets go.
#[test]
fn killed_at_each_gap_of_a_deletion_that_takes_no_time_leaves_none() {
    let untold = DELETING.iter().filter(|point| !point.starts_with("record"));
    die_while_deleting(prompt(), &untold.copied().collect::<Vec<_>>());
}

fn die_while_deleting(options: Options, points: &[&str]) {
    let (house, _turn) = alone();
    let (cloud, namespace) = world(house, options);
    for point in points {
        house.create(&namespace, &format!("out-{point}"));
    }
    recover(house, || {
        for point in points {
            house.ready(&namespace, &format!("out-{point}"));
        }
    });
    for point in points {
        let name = format!("out-{point}");
        die_at(house, &namespace, point, || house.delete(&namespace, &name));
        die_again_at(house, point, || house.vm(&namespace, &name).is_none());
        recover(house, || house.gone(&namespace, &name));
    }
    assert_eq!(cloud.ours(), Vec::<serde_json::Value>::new());
    checker::check(house, &cloud);
}

#[test]
fn an_answer_lost_after_applying_makes_no_second_vm_whether_or_not_the_operator_dies_then() {
    let (house, _turn) = alone();
    let (cloud, namespace) = world(house, prompt());
    for effect in ["dropAfter", "malformed", "truncated"] {
        cloud.fault(json!({ "operation": "create", "count": 1, "effect": { "kind": effect } }));
        let name = format!("lost-{}", effect.to_lowercase());
        recover(house, || {
            house.create(&namespace, &name);
            house.ready(&namespace, &name);
        });
        cloud.fault(json!({ "operation": "create", "count": 1, "effect": { "kind": effect } }));
        let name = format!("died-{}", effect.to_lowercase());
        die_at(house, &namespace, "created", || {
            house.create(&namespace, &name)
        });
        recover(house, || drop(house.ready(&namespace, &name)));
    }
    assert_eq!(cloud.ours().len(), 6);
    assert_eq!(cloud.mend(), [1; 6], "a fault never struck");
    cloud.fault(json!({ "operation": "delete", "count": 6, "effect": { "kind": "dropAfter" } }));
    let delete = || delete_all(house, &namespace);
    die_at(house, &namespace, "deleted", delete);
    recover(house, || none_left(house, &namespace));
    assert_eq!(cloud.ours(), Vec::<serde_json::Value>::new());
    assert!(cloud.mend()[0] >= 6, "a fault never struck");
    checker::check(house, &cloud);
}

/// Takes off what the operator wrote, as a restore from a backup of manifests does.
fn wipe(house: &House, namespace: &str, name: &str) {
    let marks = json!({ "compute.example.com/create": null });
    let metadata = json!({ "metadata": { "finalizers": null, "annotations": marks } }).to_string();
    let status = json!({ "status": null }).to_string();
    let patch = ["-n", namespace, "patch", "vm", name, "--type=merge", "-p"];
    house
        .plane
        .kubectl(&[&patch[..], &[&status, "--subresource=status"]].concat());
    house.plane.kubectl(&[&patch[..], &[&metadata]].concat());
}

/// A15: there is one version of the kind, so that the one thing to be migrated or adopted is an object that has lost its
/// marks.
#[test]
fn killed_at_each_gap_while_an_object_without_marks_is_joined_with_its_vm_makes_no_other() {
    const JOINING: &[&str] = &["intend", "intended", "record", "recorded"];
    let (house, _turn) = alone();
    let (cloud, namespace) = world(house, prompt());
    for point in JOINING {
        house.create(&namespace, &format!("wiped-{point}"));
    }
    let mut ids = Vec::new();
    recover(house, || {
        ids.extend(
            JOINING
                .iter()
                .map(|point| house.ready(&namespace, &format!("wiped-{point}"))),
        );
    });
    let creates = cloud.calls("create");
    for (point, id) in JOINING.iter().zip(&ids) {
        let name = format!("wiped-{point}");
        die_at(house, &namespace, point, || wipe(house, &namespace, &name));
        recover(house, || assert_eq!(house.ready(&namespace, &name), *id));
    }
    assert_eq!(cloud.calls("create"), creates, "something was made anew");
    checker::check(house, &cloud);
    delete_all(house, &namespace);
    recover(house, || none_left(house, &namespace));
    assert_eq!(cloud.ours(), Vec::<serde_json::Value>::new());
}
