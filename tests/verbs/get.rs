//! `vmctl get`: the same as kubectl.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::scene::{Scene, VM, running, status};
use crate::support::until;

/// Three VirtualMachines in different states, one of them with text that is awkward to print, and a ProviderConfig.
fn furnished() -> Scene<'static> {
    let scene = Scene::new();
    let mut odd = scene.manifest("odd", &["example.com/hold"]);
    odd["metadata"]["annotations"] = json!({ "example.com/odd": "a < b > c & d \u{2028} ä 漢 \u{1b}[2J \" \\ \t\nline\n\n", "example.com/yes": "yes" });
    scene.plane.apply(&odd.to_string());
    scene.machine("a", &[]);
    scene.machine("long-name-of-a-machine", &[]);
    scene.status("a", &running(1));
    scene.status(
        "odd",
        &status(
            "Failed",
            1,
            &[(
                "Ready",
                "False",
                "InstanceFailed",
                "first \u{1b}[31mline\nsecond",
            )],
        ),
    );
    scene.plane.apply(&json!({ "apiVersion": "compute.example.com/v1", "kind": "ProviderConfig",
        "metadata": { "name": "default", "namespace": scene.namespace }, "spec": { "endpoint": "http://127.0.0.1:1" } }).to_string());
    scene
}

/// What both print; ages move on in between, so that it may take a few tries.
fn agree(scene: &Scene<'_>, args: &[&str]) {
    let mut both = (String::new(), String::new());
    for _try in 0..20 {
        both = (scene.vmctl(args).stdout, scene.kubectl(args));
        if both.0 == both.1 {
            return;
        }
    }
    panic!("{args:?}\n{}\n{}", both.0, both.1);
}

#[test]
fn tables_names_and_json_are_kubectls_byte_for_byte() {
    let scene = furnished();
    for args in [
        &["get", "vm"][..],
        &["get", "vms", "a"],
        &["get", "virtualmachines", "odd", "a"],
        &["get", "virtualmachine", "-l", "name=a"],
        &["get", "vm/a", "vm/odd"],
        &["get", "pcfg"],
        &["get", "providerconfig", "default", "-o", "wide"],
        &[
            "get",
            "vm",
            "-l",
            "name in (a, long-name-of-a-machine)",
            "-o",
            "wide",
        ],
        &["get", "vm", "-o", "name"],
        &["get", "vm", "-o", "json"],
        &["get", "vm", "odd", "-o", "json"],
        &["get", "vm", "odd", "a", "-o", "json"],
        &["get", "vm", "-l", "name=nobody", "-o", "json"],
        &["get", "pcfg", "-o", "json"],
    ] {
        agree(&scene, args);
    }
}

#[test]
fn yaml_is_kubectls_once_it_is_parsed() {
    let scene = furnished();
    for args in [
        &["get", "vm", "odd", "-o", "yaml"][..],
        &["get", "vm", "-o", "yaml"],
    ] {
        let parsed = |text: String| {
            serde_saphyr::from_str::<Value>(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
        };
        assert_eq!(
            parsed(scene.vmctl(args).stdout),
            parsed(scene.kubectl(args)),
            "{args:?}"
        );
    }
}

#[test]
fn all_namespaces_have_their_own_column() {
    let scene = furnished();
    let args = [
        "get",
        "vm",
        "-A",
        "-o",
        "wide",
        "--kubeconfig",
        scene.plane.kubeconfig.to_str().unwrap(),
    ];
    let answer = crate::scene::run(&mut scene.bare(&args));
    assert_eq!(answer.code, Some(0), "{answer:?}");
    let header: Vec<&str> = answer
        .stdout
        .lines()
        .next()
        .unwrap()
        .split_whitespace()
        .collect();
    assert_eq!(&header[..3], ["NAMESPACE", "NAME", "PHASE"]);
    let row = answer
        .stdout
        .lines()
        .find(|row| row.starts_with(&scene.namespace) && row.contains(" odd "));
    assert!(
        row.unwrap().ends_with("first \u{fffd}[31mline..."),
        "{answer:?}"
    );
}

#[test]
fn nothing_is_said_on_stderr_and_what_is_missing_is_an_error() {
    let scene = Scene::new();
    let empty = scene.vmctl(&["get", "vm"]);
    empty.succeeded("");
    assert_eq!(
        empty.stderr,
        format!("No resources found in {} namespace.\n", scene.namespace)
    );
    scene.machine("a", &[]);
    scene
        .vmctl(&["get", "vm", "nope"])
        .failed(4, "VMC-NOT-FOUND", &["nope", "vmctl get vm"]);
    scene
        .vmctl(&["get", "pcfg", "nope"])
        .failed(4, "VMC-NOT-FOUND", &["nope", "vmctl get pcfg"]);
    let part = scene.vmctl(&["get", "vm", "nope", "a", "-o", "name"]);
    part.failed(4, "VMC-NOT-FOUND", &["nope"]);
    assert_eq!(part.stdout, format!("{VM}/a\n"), "what is there is printed");
    scene.vmctl(&["get", "vm", "a", "nope", "-w"]).failed(
        4,
        "VMC-NOT-FOUND",
        &["no VirtualMachine nope"],
    );
    scene
        .vmctl(&["get", "pods"])
        .failed(2, "VMC-KIND", &["vm, pcfg"]);
    scene
        .vmctl(&["get", "vm", "a", "-l", "b=c"])
        .failed(2, "VMC-USAGE", &["exclude each other"]);
    scene
        .vmctl(&["get", "vm", "-l", "===="])
        .failed(1, "VMC-INVALID", &["with labels \"====\""]);
}

#[test]
fn a_watch_prints_what_there_is_then_each_change_and_ends_by_signal_alone() {
    let scene = Scene::new();
    scene.machine("a", &[]);
    let watch = scene.start(&["get", "vm", "-w"]);
    watch.prints("a ");
    scene.machine("b", &[]);
    watch.prints("\nb ");
    scene.status("b", &running(1));
    watch.prints("vm-7");
    scene.kubectl(&["delete", "vm", "a"]);
    watch.says(&format!("{VM}/a is deleted"));
    watch.signal(Signal::INT);
    let answer = watch.end();
    assert_eq!(
        (answer.code, answer.stderr.lines().count()),
        (Some(130), 1),
        "{answer:?}"
    );
    let names: Vec<&str> = answer
        .stdout
        .lines()
        .map(|row| row.split_whitespace().next().unwrap())
        .collect();
    assert_eq!(names, ["NAME", "a", "b", "b", "a"], "{}", answer.stdout);
}

#[test]
fn a_quiet_watch_ends_once_nobody_reads_it() {
    let scene = Scene::new();
    scene.machine("a", &[]);
    let mut watch = scene
        .command(&["get", "vm", "-w", "-o", "name"])
        .spawn()
        .unwrap();
    drop(watch.stdout.take());
    let mut status = None;
    until("the watch ends", || {
        status = watch.try_wait().unwrap();
        status.is_some()
    });
    assert_eq!(status.unwrap().code(), Some(141));
}
