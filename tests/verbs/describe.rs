//! `vmctl describe`, `explain` and `top`: what there is to know about objects.

use serde_json::{Value, json};

use crate::scene::{Scene, run, running, status};

fn config(scene: &Scene<'_>) {
    scene.plane.apply(&json!({ "apiVersion": "compute.example.com/v1", "kind": "ProviderConfig",
        "metadata": { "name": "default", "namespace": scene.namespace }, "spec": { "endpoint": "http://127.0.0.1:1" } }).to_string());
}

#[test]
fn a_vm_is_told_as_a_tree_with_a_timeline_and_what_comes_next() {
    let scene = Scene::new();
    config(&scene);
    scene.machine("web-1", &[]);
    let mut state = running(1);
    state["conditions"] = json!([
        { "type": "Ready", "status": "True", "reason": "Running", "message": "it runs", "observedGeneration": 1, "lastTransitionTime": "2026-01-03T00:00:00Z" },
        { "type": "Provisioned", "status": "True", "reason": "Created", "message": "made \u{1b}[2J", "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z" },
    ]);
    state["operation"] = json!({ "type": "Create", "startedAt": "2026-01-01T00:00:00Z", "attempts": 3,
        "nextAttemptAt": "2026-01-01T00:00:01Z", "lastErrorReason": "RateLimited" });
    scene.status("web-1", &state);
    let answer = scene.vmctl(&["describe", "vm", "web-1"]);
    assert_eq!(answer.code, Some(0), "{answer:?}");
    answer.is_plain();
    for words in [
        "Name:        web-1\n",
        "Labels:      name=web-1\n",
        "Status:      Running: it runs\n",
        "  ├─ instance vm-7: 2 CPU, 4Gi, ubuntu-22.04, 10.0.0.7 (InternalIP)\n",
        "  └─ ProviderConfig default: http://127.0.0.1:1, no status yet",
        "Create at the provider: attempt 3, begun ",
        "last error RateLimited, tried again now\n",
        "Provider calls: not known: only environments of vmctl up tell it\n",
        "Events: none",
    ] {
        assert!(
            answer.stdout.contains(words),
            "{words:?}: {}",
            answer.stdout
        );
    }
    let at = |word: &str| answer.stdout.find(word).unwrap();
    assert!(
        at("Provisioned ") < at("Ready "),
        "the latest change comes last: {}",
        answer.stdout
    );
}

#[test]
fn a_provider_config_tells_who_uses_it_and_what_is_missing_is_an_error_beside_the_rest() {
    let scene = Scene::new();
    config(&scene);
    for name in ["a", "b"] {
        scene.machine(name, &[]);
    }
    let answer = scene.vmctl(&["describe", "pcfg", "default", "nope"]);
    answer.failed(4, "VMC-NOT-FOUND", &["nope"]);
    assert!(
        answer
            .stdout
            .contains("Used by:     2 VirtualMachines: a, b\n"),
        "{}",
        answer.stdout
    );
    let chosen = scene.vmctl(&["describe", "vm", "-l", "name=b"]);
    assert!(
        chosen.stdout.contains("Name:        b\n") && !chosen.stdout.contains("Name:        a\n"),
        "{chosen:?}"
    );
    scene
        .vmctl(&["describe", "vm", "-l", "name=nobody"])
        .succeeded("");
}

#[test]
fn top_adds_up_what_vms_ask_for_and_says_where_metrics_cannot_be_had() {
    let scene = Scene::new();
    config(&scene);
    for name in ["a", "b"] {
        scene.machine(name, &[]);
    }
    scene.status("b", &status("Failed", 1, &[]));
    scene.kubectl(&[
        "patch",
        "vm",
        "b",
        "--type=merge",
        "-p",
        r#"{"spec":{"cpu":8,"memory":"512Mi"}}"#,
    ]);
    let rows = "NAME   CPU   MEMORY   PHASE\nb      8     512Mi    Failed\na      2     4Gi      -\nSUM    10    4608Mi   \n";
    scene
        .vmctl(&["top", "vm", "--sort-by", "cpu", "--sum"])
        .succeeded(rows);
    let config = scene.vmctl(&["top", "pcfg", "--no-headers"]);
    config.succeeded("default   2     10    4608Mi   http://127.0.0.1:1\n");
    let json: Value =
        serde_json::from_str(&scene.vmctl(&["top", "vm", "a", "-o", "json"]).stdout).unwrap();
    assert_eq!(json["items"][0]["memoryBytes"], 4_294_967_296_u64);
    scene.vmctl(&["top", "operator"]).failed(
        7,
        "VMC-METRICS",
        &["no pod of the operator runs in namespace vmoperator-system"],
    );
    scene
        .vmctl(&["top", "vm", "nope"])
        .failed(4, "VMC-NOT-FOUND", &["nope"]);
}

#[test]
fn fields_and_error_ids_are_explained_without_a_cluster() {
    let scene = Scene::new();
    let explain = |args: &[&str]| run(&mut scene.bare(&[&["explain"], args].concat()));
    let memory = explain(&["vm.spec.memory"]);
    assert_eq!(memory.code, Some(0), "{memory:?}");
    memory.is_plain();
    for words in [
        "KIND:       VirtualMachine\n",
        "FIELD: memory <string> -required-\n",
        "such as 512Mi",
    ] {
        assert!(memory.stdout.contains(words), "{words}: {}", memory.stdout);
    }
    let all = explain(&["virtualmachines.compute.example.com", "--recursive"]);
    assert!(
        all.stdout.contains("\n      ports <[]Object>\n")
            && all.stdout.contains("protocol <string>"),
        "{}",
        all.stdout
    );
    explain(&["vm.spec.disk"]).failed(4, "VMC-NO-FIELD", &["\"disk\"", "fields there: ", "memory"]);
    explain(&["pods"]).failed(2, "VMC-KIND", &["vm, pcfg"]);
    assert!(
        explain(&["vmc-locked"])
            .stdout
            .contains("Another command works on this environment.")
    );
    explain(&["VMC-NONE"]).failed(4, "VMC-NOT-FOUND", &["docs/reference/errors.md"]);
}
