//! The verbs in an environment of `vmctl up`, with the real operator and the mock provider.

use crate::sandbox::Sandbox;
use crate::scene::VM;

const SPEC: [&str; 3] = ["--image=ubuntu-22.04", "--cpu=2", "--memory=4Gi"];

#[test]
fn a_vm_is_made_shown_and_removed_in_an_environment_of_ours_without_questions() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&["up"]);
    let made = sandbox.vmctl(&[&["create", "vm", "web-1"][..], &SPEC].concat());
    assert_eq!(made.code, Some(0), "{made:?}");
    assert_eq!(made.stdout, format!("{VM}/web-1 created\n"));
    assert!(made.stderr.contains("web-1: Ready: vm-"), "{made:?}");

    let shown = sandbox.succeed(&["get", "vm", "web-1"]);
    assert!(
        shown.contains("Running") && shown.contains("True"),
        "{shown}"
    );
    assert_eq!(
        sandbox.succeed(&["get", "vm", "-o=json"]),
        sandbox.succeed(&["kubectl", "get", "vm", "-o=json"])
    );
    sandbox.succeed(&["wait", "pcfg", "default", "--for=condition=Ready"]);

    let all = sandbox.vmctl(&["delete", "vm", "--all"]);
    assert_eq!(all.code, Some(5), "{all:?}");
    assert!(
        all.stderr.contains("VMC-CONFIRM") && all.stderr.contains("delete 1 VirtualMachine in"),
        "{all:?}"
    );
    let gone = sandbox.succeed(&["delete", "vm", "web-1"]);
    assert_eq!(gone, format!("{VM} \"web-1\" deleted\n"));
    assert_eq!(sandbox.succeed(&["get", "vm", "-o=name"]), "");

    let refused = sandbox.vmctl(&[
        "create",
        "vm",
        "bad",
        "--image=no such image",
        "--cpu=2",
        "--memory=4Gi",
    ]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    for words in [
        "VMC-STALLED",
        "InvalidImage",
        "vmctl kubectl edit vm bad",
        "vmctl delete vm bad",
    ] {
        assert!(
            refused.stderr.contains(words),
            "{words} is missing: {refused:?}"
        );
    }
    sandbox.succeed(&["delete", "vm/bad"]);

    // By its kubeconfig it is known as ours, too.
    let kubeconfig = sandbox.environment("dev").join("kubeconfig");
    let flag = ["--kubeconfig", kubeconfig.to_str().unwrap()];
    let again = sandbox.vmctl(&[&["create", "vm", "web-2"][..], &SPEC, &flag].concat());
    assert_eq!(again.code, Some(0), "{again:?}");
}
