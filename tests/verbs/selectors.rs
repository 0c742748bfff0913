//! Selectors and files choose objects alike in every verb.

use std::fs;

use crate::scene::{Scene, VM, running, status};

#[test]
fn fields_choose_as_kubectl_has_them() {
    let scene = Scene::new();
    for name in ["a", "b"] {
        scene.machine(name, &[]);
    }
    scene.status("a", &running(1));
    scene.status("b", &status("Failed", 1, &[]));
    let args = [
        "get",
        "vm",
        "--field-selector",
        "status.phase=Failed",
        "-o",
        "name",
    ];
    scene.vmctl(&args).succeeded(&scene.kubectl(&args));
    let both = [
        "get",
        "vm",
        "-l",
        "name=a",
        "--field-selector",
        "status.phase=Failed",
        "-o",
        "name",
    ];
    scene.vmctl(&both).succeeded("");
    scene
        .vmctl(&["get", "vm", "--field-selector", "spec.nothing=x"])
        .failed(1, "VMC-INVALID", &["spec.nothing=x"]);
    let wait = [
        "wait",
        "vm",
        "--field-selector",
        "status.phase=Running",
        "--for=condition=Ready",
    ];
    scene
        .vmctl(&wait)
        .succeeded(&format!("{VM}/a condition met\n"));
    let delete = ["delete", "vm", "--field-selector", "status.phase=Failed"];
    scene
        .vmctl(&delete)
        .succeeded(&format!("{VM} \"b\" deleted\n"));
    assert!(scene.exists("a") && !scene.exists("b"));
}

/// Files that do not say which objects are meant: text, id and words of the refusal.
const AMBIGUOUS: [(&str, &str, &str); 4] = [
    (
        "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: a}\n",
        "VMC-KIND",
        "VirtualMachine.kubevirt.io",
    ),
    (
        "apiVersion: compute.example.com/v1\nkind: VirtualMachine\nmetadata: {name: a}\n---\napiVersion: compute.example.com/v1\nkind: ProviderConfig\nmetadata: {name: a}\n",
        "VMC-USAGE",
        "different kinds",
    ),
    (
        "apiVersion: compute.example.com/v1\nkind: VirtualMachine\nmetadata: {name: a}\n---\napiVersion: compute.example.com/v1\nkind: VirtualMachine\nmetadata: {name: a, namespace: x}\n",
        "VMC-USAGE",
        "different namespaces",
    ),
    ("# nothing\n", "VMC-INPUT", "no object"),
];

#[test]
fn files_name_objects_for_every_verb_and_ambiguous_ones_are_refused() {
    let scene = Scene::new();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("vms.yaml");
    fs::write(
        &file,
        format!(
            "{}\n---\n{}\n",
            scene.manifest("a", &[]),
            scene.manifest("b", &[])
        ),
    )
    .unwrap();
    let file = file.to_str().unwrap();
    scene
        .vmctl(&["apply", "-f", file])
        .succeeded(&format!("{VM}/a created\n{VM}/b created\n"));
    scene
        .vmctl(&["get", "-f", file, "-o", "name"])
        .succeeded(&format!("{VM}/a\n{VM}/b\n"));
    let described = scene.vmctl(&["describe", "-f", file]);
    assert!(
        described.stdout.contains("Name:        a\n")
            && described.stdout.contains("Name:        b\n"),
        "{described:?}"
    );
    scene
        .vmctl(&["get", "vm", "a", "-f", file])
        .failed(2, "VMC-USAGE", &["exclude each other"]);
    let other = dir.path().join("other.yaml");
    for (text, id, words) in AMBIGUOUS {
        fs::write(&other, text).unwrap();
        scene
            .vmctl(&["delete", "-f", other.to_str().unwrap()])
            .failed(2, id, &[words]);
    }
    scene
        .vmctl(&["delete", "-f", file])
        .succeeded(&format!("{VM} \"a\" deleted\n{VM} \"b\" deleted\n"));
    scene
        .vmctl(&["delete", "-f", file, "--ignore-not-found"])
        .succeeded("");
    scene
        .vmctl(&["get", "-f", file, "--ignore-not-found", "-o", "name"])
        .succeeded("");
}

#[test]
fn a_wait_goes_on_for_the_others_when_one_cannot_be_waited_for() {
    let scene = Scene::new();
    scene.machine("a", &[]);
    scene.status("a", &running(1));
    let answer = scene.vmctl(&["wait", "vm", "nope", "a", "gone", "--for=condition=Ready"]);
    answer.failed(
        4,
        "VMC-NOT-FOUND",
        &[
            "VirtualMachine nope does not exist",
            "VirtualMachine gone does not exist",
        ],
    );
    assert_eq!(answer.stdout, format!("{VM}/a condition met\n"));
    scene
        .vmctl(&["wait", "vm", "-l", "name=nobody", "--for=delete"])
        .succeeded("");
    scene
        .vmctl(&["wait", "vm", "-l", "name=nobody", "--for=condition=Ready"])
        .failed(4, "VMC-NOT-FOUND", &["no such VirtualMachine"]);
}
