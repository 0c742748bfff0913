//! `vmctl create vm`: every outcome and its exit code.

use std::fs;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::scene::{Scene, VM, run, running, status};

#[test]
fn it_waits_phase_by_phase_and_succeeds_once_the_vm_is_ready() {
    let scene = Scene::new();
    let create = scene.start(&scene.create("web-1", &[]));
    create.prints("created");
    create.says("no status yet");
    let reason = (
        "Ready",
        "False",
        "Provisioning",
        "instance vm-7 is Provisioning",
    );
    scene.status("web-1", &status("Provisioning", 1, &[reason]));
    create.says("web-1: Provisioning: instance vm-7 is Provisioning");
    scene.status("web-1", &running(1));
    let answer = create.end();
    answer.succeeded(&format!("{VM}/web-1 created\n"));
    assert!(
        answer.stderr.contains("web-1: Ready: vm-7 at 10.0.0.7"),
        "{answer:?}"
    );
    assert_eq!(
        answer.stderr.lines().count(),
        3,
        "a line for each change: {answer:?}"
    );
}

#[test]
fn a_form_for_programs_prints_the_ready_object_and_nothing_else() {
    let scene = Scene::new();
    let create = scene.start(&scene.create("web-1", &["-o", "json"]));
    scene.status("web-1", &running(1));
    let answer = create.end();
    assert_eq!(answer.code, Some(0), "{answer:?}");
    assert_eq!(
        answer.stdout,
        scene.kubectl(&["get", "vm", "web-1", "-o", "json"])
    );
    let name = scene.vmctl(&scene.create("web-1", &["--if-absent", "-o", "name"]));
    name.succeeded(&format!("{VM}/web-1\n"));
}

#[test]
fn what_waits_for_a_person_fails_with_reason_message_and_what_to_do() {
    let scene = Scene::new();
    let create = scene.start(&scene.create("web-1", &[]));
    let message = "the provider does not know image ubuntu-22.04";
    let conditions = [
        ("Ready", "False", "InvalidImage", message),
        ("Stalled", "True", "InvalidImage", message),
    ];
    scene.status("web-1", &status("Pending", 0, &conditions));
    create.says("has not looked at the change yet");
    scene.status("web-1", &status("Pending", 1, &conditions));
    create.end().failed(
        1,
        "VMC-STALLED",
        &[
            "InvalidImage: the provider does not know image",
            "edit vm web-1",
        ],
    );
}

#[test]
fn a_time_limit_ends_the_wait_with_the_last_condition() {
    let scene = Scene::new();
    let untouched = scene.vmctl(&scene.create("web-0", &["--timeout", "300ms"]));
    untouched.failed(
        3,
        "VMC-TIMEOUT",
        &[
            "after 300ms",
            "the operator has not looked at it",
            "vmctl wait vm web-0",
        ],
    );
    let create = scene.start(&scene.create("web-1", &["--timeout", "10s"]));
    scene.status(
        "web-1",
        &status(
            "Pending",
            1,
            &[("Ready", "False", "QuotaExceeded", "no room")],
        ),
    );
    create.end().failed(
        3,
        "VMC-TIMEOUT",
        &["after 10s: Pending, QuotaExceeded: no room"],
    );
    assert!(scene.exists("web-1"), "the VM goes on being made");
}

#[test]
fn an_object_that_goes_or_is_replaced_underneath_ends_the_wait() {
    let scene = Scene::new();
    let create = scene.start(&scene.create("web-1", &[]));
    create.says("no status yet");
    scene.kubectl(&["delete", "vm", "web-1"]);
    create
        .end()
        .failed(4, "VMC-DELETED", &["was deleted by somebody else"]);

    let create = scene.start(&scene.create("web-2", &[]));
    create.says("no status yet");
    let finalizer = r#"{"metadata":{"finalizers":["example.com/hold"]}}"#;
    scene.kubectl(&["patch", "vm", "web-2", "--type=merge", "-p", finalizer]);
    scene.kubectl(&["delete", "vm", "web-2", "--wait=false"]);
    create.end().failed(
        4,
        "VMC-DELETED",
        &[
            "is being deleted by somebody else",
            "held by example.com/hold",
        ],
    );
    let again = scene.vmctl(&scene.create("web-2", &["--if-absent"]));
    again.failed(5, "VMC-DELETING", &["vmctl wait vm web-2 --for delete"]);
    scene.release("web-2");
}

#[test]
fn what_exists_is_a_conflict_unless_it_may_be_there_and_is_the_same() {
    let scene = Scene::new();
    scene.machine("web-1", &[]);
    let answer = scene.vmctl(&scene.create("web-1", &[]));
    answer.failed(5, "VMC-EXISTS", &["already exists", "--if-absent"]);
    let same = [
        "create",
        "vm/web-1",
        "--image=ubuntu-22.04",
        "--cpu=2",
        "--memory=4096Mi",
        "--if-absent",
    ];
    let wait = scene.start(&same);
    wait.prints("unchanged");
    scene.status("web-1", &running(1));
    wait.end().succeeded(&format!("{VM}/web-1 unchanged\n"));
    let other = [
        "create",
        "vm",
        "web-1",
        "--image=debian-13",
        "--cpu=4",
        "--memory=4Gi",
        "--if-absent",
    ];
    let words = [
        "spec.cpu: 2 there, 4 wanted",
        "spec.image: ubuntu-22.04 there, debian-13 wanted",
    ];
    let answer = scene.vmctl(&other);
    answer.failed(5, "VMC-DIFFERENT", &words);
    assert!(!answer.stderr.contains("memory:"), "{answer:?}");
}

#[test]
fn a_signal_ends_the_wait_and_says_that_the_vm_goes_on_being_made() {
    let scene = Scene::new();
    for (name, which, code) in [
        ("a", Signal::INT, 130),
        ("b", Signal::TERM, 143),
        ("c", Signal::HUP, 129),
    ] {
        let create = scene.start(&scene.create(name, &[]));
        create.says("no status yet");
        create.signal(which);
        let words = [
            "goes on being made",
            &format!("vmctl get vm {name} -w"),
            &format!("vmctl delete vm {name}"),
        ];
        create.end().failed(code, "VMC-INTERRUPTED", &words);
        assert!(scene.exists(name));
    }
}

#[test]
fn what_is_wrong_is_refused_with_the_field_and_nothing_is_made() {
    let scene = Scene::new();
    let with = |name: &'static str, cpu: &'static str, memory: &'static str| {
        scene.vmctl(&["create", "vm", name, "--image=a", cpu, memory])
    };
    with("1st", "--cpu=1", "--memory=1Gi").failed(1, "VMC-INVALID", &["metadata.name must begin"]);
    with("a", "--cpu=1", "--memory=1").failed(
        1,
        "VMC-INVALID",
        &["memory must be from 1Mi to 64Ti"],
    );
    with("A", "--cpu=1", "--memory=1Gi").failed(2, "VMC-NAME", &["cannot be the name"]);
    for wrong in [
        with("a", "--cpu=0", "--memory=1Gi"),
        with("a", "--cpu=1", "--memory=lots"),
    ] {
        assert_eq!(wrong.code, Some(2), "{wrong:?}");
    }
    assert_eq!(
        scene
            .vmctl(&[
                "create",
                "vm",
                "a",
                "b",
                "--image=a",
                "--cpu=1",
                "--memory=1Gi"
            ])
            .code,
        Some(2)
    );
    let elsewhere = Scene {
        plane: scene.plane,
        namespace: "no-such-place".to_owned(),
    };
    elsewhere
        .vmctl(&elsewhere.create("a", &[]))
        .failed(4, "VMC-NO-NAMESPACE", &["no-such-place"]);
    assert_eq!(scene.kubectl(&["get", "vm", "-o", "name"]), "");
}

#[test]
fn a_dry_run_shows_the_object_or_lets_the_server_check_it_and_stores_nothing() {
    let scene = Scene::new();
    let mut client =
        scene.bare(&scene.create("web-1", &["--dry-run=client", "-o=yaml", "-n", "team"]));
    let answer = run(&mut client);
    assert_eq!(answer.code, Some(0), "{answer:?}");
    let object: Value = serde_saphyr::from_str(&answer.stdout).unwrap();
    let spec =
        json!({ "image": "ubuntu-22.04", "cpu": 2, "memory": "4Gi", "providerRef": "default" });
    let metadata = json!({ "name": "web-1", "namespace": "team" });
    assert_eq!((&object["spec"], &object["metadata"]), (&spec, &metadata));
    let words = run(&mut scene.bare(&scene.create("web-1", &["--dry-run=client"])));
    words.succeeded(&format!("{VM}/web-1 created (dry run)\n"));

    let server = scene.vmctl(&scene.create("web-1", &["--dry-run=server"]));
    server.succeeded(&format!("{VM}/web-1 created (server dry run)\n"));
    assert_eq!(
        scene
            .vmctl(&scene.create("1st", &["--dry-run=server"]))
            .code,
        Some(1)
    );
    assert!(!scene.exists("web-1"));
    scene
        .vmctl(&scene.create("web-1", &["--wait=false"]))
        .succeeded(&format!("{VM}/web-1 created\n"));
    assert!(scene.exists("web-1"));
}

#[test]
fn an_api_server_that_cannot_be_reached_is_named() {
    let scene = Scene::new();
    let text = std::fs::read_to_string(&scene.plane.kubeconfig).unwrap();
    let dead = scene.plane.dir().join("dead-kubeconfig");
    std::fs::write(
        &dead,
        text.replace(&scene.plane.server, "https://127.0.0.1:1"),
    )
    .unwrap();
    let target = ["--kubeconfig", dead.to_str().unwrap(), "--context", "vmctl"];
    let words = ["127.0.0.1:1", "context vmctl"];
    let create = scene.create("a", &["--yes"]);
    run(&mut scene.bare(&[&create[..], &target].concat())).failed(7, "VMC-API", &words);
    for verb in [
        &["get", "vm"][..],
        &["get", "vm", "-w"],
        &["delete", "vm", "a", "--yes"],
        &["wait", "vm", "a", "--for=delete"],
    ] {
        run(&mut scene.bare(&[verb, &target].concat())).failed(7, "VMC-API", &words);
    }
}

#[test]
fn several_are_made_by_number_and_waited_for_together() {
    let scene = Scene::new();
    let create = scene.start(&scene.create("web", &["--count", "3"]));
    create.prints("web-3 created");
    scene.status("web-2", &running(1));
    create.says("web-2: Ready");
    let message = "the provider does not know it";
    let stalled = [
        ("Ready", "False", "InvalidImage", message),
        ("Stalled", "True", "InvalidImage", message),
    ];
    scene.status("web-3", &status("Pending", 1, &stalled));
    scene.status("web-1", &running(1));
    let answer = create.end();
    answer.failed(
        1,
        "VMC-STALLED",
        &["VirtualMachine web-3 does not become Ready"],
    );
    let made: String = (1..=3)
        .map(|number| format!("{VM}/web-{number} created\n"))
        .collect();
    assert_eq!(answer.stdout, made);
    let names = scene.vmctl(&scene.create("web", &["--count=2", "--if-absent", "-o", "name"]));
    names.succeeded(&format!("{VM}/web-1\n{VM}/web-2\n"));
    assert_eq!(
        scene.vmctl(&scene.create("web", &["--count=0"])).code,
        Some(2)
    );
}

#[test]
fn files_and_stdin_hold_vms_with_a_result_for_each() {
    let (scene, dir) = (Scene::new(), tempfile::tempdir().unwrap());
    scene.machine("b", &[]);
    let file = dir.path().join("vms.yaml");
    let text = |names: &[&str]| -> String {
        names
            .iter()
            .map(|name| format!("---\n{}\n", scene.manifest(name, &[])))
            .collect()
    };
    fs::write(&file, text(&["a", "b", "c"])).unwrap();
    let name = file.to_str().unwrap();
    let create = scene.start(&["create", "-f", name]);
    create.prints("/c created");
    scene.status("a", &running(1));
    scene.status("c", &running(1));
    let answer = create.end();
    answer.failed(5, "VMC-EXISTS", &["b"]);
    assert_eq!(answer.stdout, format!("{VM}/a created\n{VM}/c created\n"));

    let mut piped = scene.command(&["create", "-f", "-", "--wait=false", "--if-absent"]);
    fs::write(&file, text(&["b", "d"])).unwrap();
    let answer = run(piped.stdin(fs::File::open(&file).unwrap()));
    answer.succeeded(&format!("{VM}/b unchanged\n{VM}/d created\n"));

    for (text, id, words) in [
        (
            text(&["e", "e"]),
            "VMC-INPUT",
            "VirtualMachine e is there twice",
        ),
        (
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n".to_owned(),
            "VMC-KIND",
            "vmctl apply -f FILE",
        ),
        ("kind: [".to_owned(), "VMC-INPUT", "vms.yaml"),
    ] {
        fs::write(&file, text).unwrap();
        scene.vmctl(&["create", "-f", name]).failed(2, id, &[words]);
    }
    assert!(!scene.exists("e"));
    assert_eq!(
        scene.vmctl(&["create", "-f", name, "--cpu=2"]).code,
        Some(2)
    );
    assert_eq!(scene.vmctl(&["create", "vm", "a"]).code, Some(2));
}
