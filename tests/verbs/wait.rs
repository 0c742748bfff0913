//! `vmctl wait`: conditions, phases, deletions; nothing that speaks of an older spec counts.

use rustix::process::Signal;
use serde_json::json;

use crate::scene::{Scene, VM, running, status};

#[test]
fn a_condition_of_an_older_generation_does_not_count() {
    let scene = Scene::new();
    scene.machine("a", &[]);
    let status_of_a_spec_that_was = status("Running", 1, &[("Ready", "True", "Running", "runs")]);
    scene.status("a", &status_of_a_spec_that_was);
    scene
        .vmctl(&["wait", "vm", "a", "--for=condition=Ready"])
        .succeeded(&format!("{VM}/a condition met\n"));
    scene
        .vmctl(&["wait", "vm", "a", "--for=phase=Running"])
        .succeeded(&format!("{VM}/a condition met\n"));
    scene.kubectl(&[
        "patch",
        "vm",
        "a",
        "--type=merge",
        "-p",
        r#"{"spec":{"service":{"enabled":false}}}"#,
    ]);
    for goal in ["condition=Ready", "phase=Running"] {
        let answer = scene.vmctl(&["wait", "vm", "a", "--for", goal, "--timeout=500ms"]);
        answer.failed(
            3,
            "VMC-TIMEOUT",
            &["the operator has not looked at the change yet"],
        );
    }
    let once = scene.vmctl(&["wait", "vm", "a", "--for=condition=Ready", "--timeout=0"]);
    once.failed(
        3,
        "VMC-TIMEOUT",
        &["not so after 0s", "vmctl wait vm a --for condition=Ready"],
    );
    let wait = scene.start(&["wait", "vm", "a", "--for", "condition=Ready"]);
    wait.says("has not looked at the change");
    scene.status("a", &running(2));
    wait.end().succeeded(&format!("{VM}/a condition met\n"));
}

#[test]
fn several_are_waited_for_together_and_a_status_may_be_false() {
    let scene = Scene::new();
    for name in ["a", "b"] {
        scene.machine(name, &[]);
    }
    let wait = scene.start(&["wait", "vm", "a", "b", "--for=condition=Synced=false"]);
    wait.says("there is no condition Synced");
    for name in ["b", "a"] {
        scene.status(
            name,
            &status(
                "Running",
                1,
                &[("Synced", "False", "DriftDetected", "cpu differs")],
            ),
        );
        wait.prints(&format!("{VM}/{name} condition met"));
    }
    assert_eq!(wait.end().code, Some(0));
}

#[test]
fn a_deletion_is_waited_for_and_what_is_not_there_is_deleted() {
    let scene = Scene::new();
    scene.machine("a", &["example.com/hold"]);
    let wait = scene.start(&["wait", "vm/a", "--for=delete"]);
    wait.says("no status yet");
    scene.kubectl(&["delete", "vm", "a", "--wait=false"]);
    wait.says("held by example.com/hold");
    scene.release("a");
    wait.end().succeeded(&format!("{VM}/a condition met\n"));
    scene
        .vmctl(&["wait", "vm", "a", "--for=delete"])
        .succeeded(&format!("{VM}/a condition met\n"));
}

#[test]
fn one_that_is_missing_or_goes_ends_the_wait_for_anything_else() {
    let scene = Scene::new();
    scene
        .vmctl(&["wait", "vm", "a", "--for=condition=Ready"])
        .failed(4, "VMC-NOT-FOUND", &["a does not exist"]);
    scene.machine("a", &[]);
    let wait = scene.start(&["wait", "vm", "a", "--for=phase=Running"]);
    wait.says("no status yet");
    scene.kubectl(&["delete", "vm", "a"]);
    wait.end()
        .failed(4, "VMC-NOT-FOUND", &["was deleted meanwhile"]);
    scene
        .vmctl(&["wait", "vm", "--for=delete"])
        .failed(2, "VMC-NAME", &["nothing is named"]);
    assert_eq!(
        scene.vmctl(&["wait", "vm", "a", "--for=ready"]).code,
        Some(2)
    );
    assert_eq!(
        scene
            .vmctl(&["wait", "vm", "a", "--for=delete", "--timeout=soon"])
            .code,
        Some(2)
    );
}

#[test]
fn provider_configs_can_be_waited_for_and_a_signal_ends_it() {
    let scene = Scene::new();
    scene.plane.apply(&json!({ "apiVersion": "compute.example.com/v1", "kind": "ProviderConfig",
        "metadata": { "name": "default", "namespace": scene.namespace }, "spec": { "endpoint": "http://127.0.0.1:1" } }).to_string());
    let wait = scene.start(&["wait", "pcfg", "default", "--for=condition=Ready"]);
    wait.says("no status yet");
    wait.signal(Signal::INT);
    wait.end()
        .failed(130, "VMC-INTERRUPTED", &["nothing was changed"]);
}
