//! `vmctl events`: in order of time, once or as they are told.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::scene::{Answer, Scene, run};

fn event(
    scene: &Scene<'_>,
    name: &str,
    about: &str,
    kind: &str,
    reason: &str,
    time: &str,
    count: u32,
) {
    let event = json!({ "apiVersion": "v1", "kind": "Event", "metadata": { "name": name, "namespace": scene.namespace },
        "involvedObject": { "apiVersion": "compute.example.com/v1", "kind": "VirtualMachine", "name": about, "namespace": scene.namespace },
        "type": kind, "reason": reason, "message": format!("about {about}"), "firstTimestamp": "2026-01-01T00:00:00Z",
        "lastTimestamp": time, "count": count });
    scene.plane.apply(&event.to_string());
}

fn reasons(answer: &Answer) -> Vec<&str> {
    let rows = answer.stdout.lines().skip(1);
    let known = ["First", "Second", "Third", "Fourth"];
    rows.filter_map(|row| row.split_whitespace().find(|word| known.contains(word)))
        .collect()
}

fn scene() -> Scene<'static> {
    let scene = Scene::new();
    event(
        &scene,
        "z",
        "a",
        "Normal",
        "First",
        "2026-01-01T00:00:00Z",
        1,
    );
    event(
        &scene,
        "y",
        "b",
        "Warning",
        "Second",
        "2026-01-02T00:00:00Z",
        3,
    );
    event(
        &scene,
        "x",
        "a",
        "Warning",
        "Third",
        "2026-01-03T00:00:00Z",
        1,
    );
    scene
}

#[test]
fn events_come_in_order_of_time_and_can_be_chosen() {
    let scene = scene();
    let all = scene.vmctl(&["events"]);
    assert_eq!(reasons(&all), ["First", "Second", "Third"], "{all:?}");
    assert!(
        all.stdout.starts_with("LAST SEEN") && all.stdout.contains("(x3 over "),
        "{all:?}"
    );
    assert_eq!(
        reasons(&scene.vmctl(&["events", "vm", "a"])),
        ["First", "Third"]
    );
    assert_eq!(
        reasons(&scene.vmctl(&["events", "--for", "vm/b"])),
        ["Second"]
    );
    assert_eq!(
        reasons(&scene.vmctl(&["events", "vm", "a", "--types", "warning"])),
        ["Third"]
    );
    let json: Value = serde_json::from_str(&scene.vmctl(&["events", "-o", "json"]).stdout).unwrap();
    assert_eq!(json["items"].as_array().unwrap().len(), 3);
    let everywhere = run(&mut scene.bare(&[
        "events",
        "-A",
        "--kubeconfig",
        scene.plane.kubeconfig.to_str().unwrap(),
    ]));
    assert!(everywhere.stdout.starts_with("NAMESPACE"), "{everywhere:?}");
    let none = scene.vmctl(&["events", "vm", "nobody"]);
    none.succeeded("");
    assert!(none.stderr.contains("No resources found"), "{none:?}");
    scene
        .vmctl(&["events", "--types", "Loud"])
        .failed(2, "VMC-USAGE", &["Normal and Warning"]);
    scene
        .vmctl(&["events", "pods", "a"])
        .failed(2, "VMC-KIND", &["vm, pcfg"]);
}

#[test]
fn a_watch_tells_each_event_once_and_again_when_it_happens_again() {
    let scene = scene();
    let watch = scene.start(&["events", "vm", "a", "-w"]);
    watch.prints("Third");
    event(
        &scene,
        "w",
        "b",
        "Normal",
        "Fourth",
        "2026-01-04T00:00:00Z",
        1,
    );
    event(
        &scene,
        "v",
        "a",
        "Normal",
        "Fourth",
        "2026-01-04T00:00:00Z",
        1,
    );
    watch.prints("Fourth");
    event(
        &scene,
        "v",
        "a",
        "Normal",
        "Fourth",
        "2026-01-05T00:00:00Z",
        2,
    );
    watch.prints("(x2 over ");
    watch.signal(Signal::INT);
    let answer = watch.end();
    assert_eq!(answer.code, Some(130), "{answer:?}");
    assert_eq!(
        reasons(&answer),
        ["First", "Third", "Fourth", "Fourth"],
        "{answer:?}"
    );
}
