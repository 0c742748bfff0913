//! `vmctl apply`: one result per object, and no field that somebody else owns is taken in silence.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::scene::{Answer, Scene, VM};

/// Runs `vmctl apply` with a text on stdin.
fn piped(scene: &Scene<'_>, args: &[&str], text: &str) -> Answer {
    let mut child = scene.command(args).stdin(Stdio::piped()).spawn().unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    Answer {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

fn machine(name: &str, cpu: u32) -> Value {
    json!({ "apiVersion": "compute.example.com/v1", "kind": "VirtualMachine", "metadata": { "name": name },
        "spec": { "image": "ubuntu-22.04", "cpu": cpu, "memory": "4Gi" } })
}

#[test]
fn files_folders_and_stdin_are_applied_and_each_object_says_what_became_of_it() {
    let scene = Scene::new();
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("vms");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("a.json"), machine("a", 1).to_string()).unwrap();
    fs::write(folder.join("notes.txt"), "no manifest").unwrap();
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: key}\nstringData: {apiKey: '12345678'}\n---\n";
    let file = dir.path().join("b.yaml");
    fs::write(&file, format!("{secret}{}\n", machine("b", 1))).unwrap();
    let args = [
        "apply",
        "-f",
        folder.to_str().unwrap(),
        "-f",
        file.to_str().unwrap(),
    ];
    scene.vmctl(&args).succeeded(&format!(
        "{VM}/a created\nsecret/key created\n{VM}/b created\n"
    ));
    scene.vmctl(&args).succeeded(&format!(
        "{VM}/a unchanged\nsecret/key unchanged\n{VM}/b unchanged\n"
    ));
    let changed = piped(&scene, &["apply", "-f", "-"], &machine("b", 2).to_string());
    changed.succeeded(&format!("{VM}/b configured\n"));
    assert_eq!(
        scene.kubectl(&["get", "vm", "b", "-o=jsonpath={.spec.cpu}"]),
        "2"
    );
}

#[test]
fn what_is_wrong_with_one_object_is_told_with_its_place_and_the_others_are_applied() {
    let scene = Scene::new();
    let text = format!(
        "{}\n---\n{}\n---\n{}\n",
        machine("bad", 0),
        machine("good", 1),
        json!({ "apiVersion": "example.com/v1", "kind": "Nothing", "metadata": { "name": "x" } })
    );
    let answer = piped(&scene, &["apply", "-f", "-"], &text);
    answer.failed(
        1,
        "VMC-INVALID",
        &[
            "stdin, object 1",
            "spec.cpu",
            "VMC-NO-KIND",
            "stdin, object 3",
            "no Nothing of example.com/v1",
        ],
    );
    assert_eq!(answer.stdout, format!("{VM}/good created\n"));
    let unreadable = piped(
        &scene,
        &["apply", "-f", "-"],
        &format!("{}\n---\nkind: [", machine("c", 1)),
    );
    unreadable.failed(2, "VMC-INPUT", &["stdin", "nothing was changed"]);
    assert!(
        !scene.exists("c"),
        "nothing is applied when something cannot be read"
    );
    scene.vmctl(&["apply"]).failed(2, "VMC-USAGE", &["-f"]);
    scene
        .vmctl(&["apply", "-f", "/no/such/file"])
        .failed(2, "VMC-INPUT", &["/no/such/file"]);
    let elsewhere = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "a", "namespace": "other" } });
    piped(&scene, &["apply", "-f", "-"], &elsewhere.to_string()).failed(
        2,
        "VMC-USAGE",
        &["namespace other"],
    );
}

#[test]
fn what_create_made_can_be_applied_and_fields_left_out_go() {
    let scene = Scene::new();
    scene
        .vmctl(&scene.create("web-1", &["--wait=false"]))
        .succeeded(&format!("{VM}/web-1 created\n"));
    let mut wanted = machine("web-1", 3);
    wanted["spec"]["service"] = json!({ "enabled": false });
    piped(&scene, &["apply", "-f", "-"], &wanted.to_string())
        .succeeded(&format!("{VM}/web-1 configured\n"));
    wanted["spec"].as_object_mut().unwrap().remove("service");
    piped(&scene, &["apply", "-f", "-"], &wanted.to_string())
        .succeeded(&format!("{VM}/web-1 configured\n"));
    let enabled = scene.kubectl(&[
        "get",
        "vm",
        "web-1",
        "-o=jsonpath={.spec.service.enabled} {.spec.cpu}",
    ]);
    assert_eq!(enabled, "true 3", "the default is back");
    let owners = scene.kubectl(&[
        "get",
        "vm",
        "web-1",
        "--show-managed-fields",
        "-o=jsonpath={.metadata.managedFields[*].operation}",
    ]);
    assert_eq!(owners, "Apply", "one owner, one operation");
}

#[test]
fn a_field_of_somebody_else_is_a_conflict_until_it_is_taken_over() {
    let scene = Scene::new();
    scene.machine("a", &[]);
    let text = machine("a", 4).to_string();
    let refused = piped(&scene, &["apply", "-f", "-"], &text);
    refused.failed(5, "VMC-CONFLICT", &[".spec.cpu", "--force-conflicts"]);
    let dry = piped(
        &scene,
        &["apply", "-f", "-", "--force-conflicts", "--dry-run=server"],
        &text,
    );
    dry.succeeded(&format!("{VM}/a configured (server dry run)\n"));
    assert_eq!(
        scene.kubectl(&["get", "vm", "a", "-o=jsonpath={.spec.cpu}"]),
        "2"
    );
    piped(
        &scene,
        &["apply", "-f", "-", "--force-conflicts", "-o", "name"],
        &text,
    )
    .succeeded(&format!("{VM}/a\n"));
    assert_eq!(
        scene.kubectl(&["get", "vm", "a", "-o=jsonpath={.spec.cpu}"]),
        "4"
    );
    piped(&scene, &["apply", "-f", "-", "--dry-run=client"], &text)
        .succeeded(&format!("{VM}/a applied (dry run)\n"));
}
