//! An API server that goes and comes back under verbs that wait.

use rustix::process::Signal;

use crate::scene::{Scene, VM, install, running};
use crate::support::ControlPlane;

#[test]
fn verbs_that_wait_live_through_a_restart_of_the_api_server() {
    let mut plane = ControlPlane::start_with(&["--no-controller-manager"]);
    install(&plane);
    let namespace = || "default".to_owned();
    let scene = Scene {
        plane: &plane,
        namespace: namespace(),
    };
    scene.machine("a", &["example.com/hold"]);
    let watch = scene.start(&["get", "vm", "-w", "-o", "name"]);
    watch.prints("/a\n");
    let create = scene.start(&scene.create("b", &[]));
    create.says("no status yet");
    watch.prints("/b\n");
    let delete = scene.start(&["delete", "vm", "a"]);
    delete.says("held by");
    let wait = scene.start(&["wait", "vm", "b", "--for=phase=Running"]);
    wait.says("no status yet");

    plane.restart_api_server();
    let scene = Scene {
        plane: &plane,
        namespace: namespace(),
    };
    for verb in [&watch, &create, &delete, &wait] {
        verb.says("connection lost, trying again");
        verb.says("connected again");
    }
    scene.release("a");
    scene.status("b", &running(1));
    delete.end().succeeded(&format!("{VM} \"a\" deleted\n"));
    create.end().succeeded(&format!("{VM}/b created\n"));
    wait.end().succeeded(&format!("{VM}/b condition met\n"));
    scene.machine("c", &[]);
    watch.prints("/c\n");
    watch.signal(Signal::INT);
    let answer = watch.end();
    assert_eq!(answer.code, Some(130), "{answer:?}");
    let names = answer.stdout.lines();
    let mut names: Vec<&str> = names.map(|name| name.rsplit('/').next().unwrap()).collect();
    // Where the watch was too old for the new server and a list took its place, what happened meanwhile has no order.
    names.sort_unstable();
    // a: there, being deleted, gone; b: there, running; c: there.
    let expected = ["a", "a", "a", "b", "b", "c"];
    assert_eq!(names, expected, "nothing twice, nothing missed");
}
