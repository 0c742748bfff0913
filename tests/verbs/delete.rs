//! `vmctl delete vm`: waits until they are gone, and deletes nothing that was not meant.

use rustix::process::Signal;

use crate::scene::{Scene, VM, run, status};
use crate::support::until;

const HOLD: &[&str] = &["example.com/hold"];

fn is_going(scene: &Scene<'_>, name: &str) -> bool {
    !scene
        .kubectl(&[
            "get",
            "vm",
            name,
            "-o=jsonpath={.metadata.deletionTimestamp}",
        ])
        .is_empty()
}

#[test]
fn it_waits_until_the_object_is_gone_and_tells_what_it_waits_for() {
    let scene = Scene::new();
    scene.machine("web-1", HOLD);
    let delete = scene.start(&["delete", "vm", "web-1"]);
    delete.says("held by example.com/hold");
    for message in [
        "the instance is being deleted",
        "the provider is asked once more",
    ] {
        scene.status(
            "web-1",
            &status("Deleting", 1, &[("Deleting", "True", "Deleting", message)]),
        );
        delete.says(&format!("web-1: Deleting: {message}"));
    }
    scene.release("web-1");
    let answer = delete.end();
    answer.succeeded(&format!("{VM} \"web-1\" deleted\n"));
    assert_eq!(
        answer.stderr.lines().count(),
        4,
        "a line for each change: {answer:?}"
    );
    assert!(!scene.exists("web-1"));
}

#[test]
fn a_time_limit_ends_the_wait_and_says_what_holds_it() {
    let scene = Scene::new();
    scene.machine("web-1", HOLD);
    let message = "the provider refuses the credentials";
    scene.status(
        "web-1",
        &status(
            "Deleting",
            1,
            &[("Deleting", "True", "CredentialsRejected", message)],
        ),
    );
    let answer = scene.vmctl(&["delete", "vm", "web-1", "--timeout=1s"]);
    answer.failed(
        3,
        "VMC-TIMEOUT",
        &[
            "web-1: CredentialsRejected: the provider refuses",
            "API key",
            "vmctl wait vm web-1",
        ],
    );
    let delete = scene.start(&["delete", "vm", "web-1"]);
    delete.says("CredentialsRejected");
    delete.signal(Signal::INT);
    delete.end().failed(
        130,
        "VMC-INTERRUPTED",
        &["a deletion that was asked for goes on"],
    );
    scene.release("web-1");
}

#[test]
fn one_that_is_missing_is_an_error_but_keeps_no_other_from_going() {
    let scene = Scene::new();
    scene
        .vmctl(&["delete", "vm", "nope"])
        .failed(4, "VMC-NOT-FOUND", &["nope"]);
    scene
        .vmctl(&["delete", "vm", "nope", "--ignore-not-found"])
        .succeeded("");
    for name in ["a", "b"] {
        scene.machine(name, &[]);
    }
    let answer = scene.vmctl(&["delete", "vm", "a", "nope", "b"]);
    answer.failed(4, "VMC-NOT-FOUND", &["nope"]);
    assert_eq!(
        answer.stdout,
        format!("{VM} \"a\" deleted\n{VM} \"b\" deleted\n")
    );
}

#[test]
fn labels_choose_and_without_a_wait_it_returns_at_once() {
    let scene = Scene::new();
    for name in ["a", "b", "c"] {
        scene.machine(name, HOLD);
    }
    let answer = scene.vmctl(&["delete", "vm", "-l", "name in (a, b)", "--wait=false"]);
    answer.succeeded(&format!(
        "{VM} \"a\" is being deleted\n{VM} \"b\" is being deleted\n"
    ));
    assert!(is_going(&scene, "a") && is_going(&scene, "b") && !is_going(&scene, "c"));
    let none = scene.vmctl(&["delete", "vm", "-l", "name=nobody"]);
    none.succeeded("");
    assert!(none.stderr.contains("No resources found"), "{none:?}");
    for name in ["a", "b"] {
        scene.release(name);
    }
}

#[test]
fn all_of_a_namespace_go_together_and_those_of_another_stay() {
    let (scene, other) = (Scene::new(), Scene::new());
    other.machine("stays", &[]);
    for name in ["a", "b", "c"] {
        scene.machine(name, HOLD);
    }
    let delete = scene.start(&["delete", "vm", "--all"]);
    delete.says("c: being deleted");
    for name in ["c", "a", "b"] {
        scene.release(name);
        delete.says(&format!("{name}: gone"));
    }
    let answer = delete.end();
    answer.succeeded(
        &["c", "a", "b"]
            .map(|name| format!("{VM} \"{name}\" deleted\n"))
            .concat(),
    );
    assert!(other.exists("stays"));
}

#[test]
fn one_that_was_made_anew_under_the_name_is_neither_deleted_nor_waited_for() {
    let scene = Scene::new();
    scene.machine("a", HOLD);
    let delete = scene.start(&["delete", "vm", "a"]);
    delete.says("held by");
    scene.release("a");
    until("it is gone", || {
        let made = scene.plane.try_kubectl(
            &["create", "-f", "-"],
            &scene.manifest("a", &[]).to_string(),
        );
        made.success
    });
    delete.end().succeeded(&format!("{VM} \"a\" deleted\n"));
    assert!(scene.exists("a"));
}

#[test]
fn a_cluster_that_is_not_ours_needs_its_context_and_a_confirmation() {
    let scene = Scene::new();
    scene.machine("a", &[]);
    let file = [
        "--kubeconfig",
        scene.plane.kubeconfig.to_str().unwrap(),
        "-n",
        &scene.namespace,
    ];
    let create = scene.create("b", &[]);
    for verb in [
        &["delete", "vm", "a"][..],
        &["delete", "vm", "--all"],
        &create,
    ] {
        let unnamed = run(&mut scene.bare(&[verb, &file, &["--yes"]].concat()));
        unnamed.failed(
            5,
            "VMC-FOREIGN",
            &["is no environment of vmctl", "--context"],
        );
        let unconfirmed = run(&mut scene.bare(&[verb, &file, &["--context", "vmctl"]].concat()));
        unconfirmed.failed(5, "VMC-CONFIRM", &["nobody can be asked", "--yes"]);
    }
    assert!(scene.exists("a") && !scene.exists("b"));
    scene
        .vmctl(&["delete", "vm"])
        .failed(2, "VMC-USAGE", &["--all"]);
    scene
        .vmctl(&["delete", "vm", "a", "--all"])
        .failed(2, "VMC-USAGE", &["--all"]);
    scene
        .vmctl(&["delete", "pods", "a"])
        .failed(2, "VMC-KIND", &["it works on: vm, pcfg"]);
    scene
        .vmctl(&["delete", "pcfg", "a"])
        .failed(4, "VMC-NOT-FOUND", &["vmctl get pcfg"]);
}
