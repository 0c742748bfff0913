//! `vmctl up` and `down` on kind as far as they go without a cluster: engine and kind are scripts that note how they are
//! called. With a real cluster: `scripts/e2e.sh kind`.
#![cfg(test)]

mod sandbox;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use sandbox::{Answer, Sandbox};
use serde_json::Value;

/// A machine with programs of ours on the PATH and nothing else.
struct Machine {
    sandbox: Sandbox,
    dir: tempfile::TempDir,
}

impl Machine {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["bin", "empty"] {
            fs::create_dir(dir.path().join(folder)).unwrap();
        }
        Self {
            sandbox: Sandbox::new(),
            dir,
        }
    }

    /// An engine without containers, and a kind of this version that fails to make clusters.
    fn equipped(version: &str) -> Self {
        let machine = Self::new();
        let nodes = machine.path("nodes").display().to_string();
        fs::write(&nodes, "").unwrap();
        machine.program(
            "docker",
            &format!(
                "case \"$1\" in version) echo 99.0 ;; ps) cat {nodes} ;; rm) : >{nodes} ;; esac"
            ),
        );
        machine.program(
            "kind",
            &format!(
                "case \"$1\" in version) echo {version} ;; create) printf 'torso\\trunning\\n' >{nodes}; \
                 echo 'the node image cannot be had' >&2; exit 1 ;; esac"
            ),
        );
        machine
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn program(&self, name: &str, body: &str) {
        let calls = self.path("calls").display().to_string();
        let file = self.path("bin").join(name);
        let text = format!("#!/bin/sh\nPATH=/usr/bin:/bin\necho \"{name} $*\" >>{calls}\n{body}\n");
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn vmctl(&self, args: &[&str]) -> Answer {
        let mut command = self.sandbox.command(args);
        command
            .env("PATH", self.path("bin"))
            .env_remove("VMCTL_RUNTIME")
            .env_remove("VMCTL_NODE_IMAGE")
            // Where the embedded runtime is chosen it ends at once: it finds no programs.
            .env("KUBEBUILDER_ASSETS", self.path("empty"))
            .env("XDG_CACHE_HOME", self.path("empty"))
            .env("HTTPS_PROXY", "http://127.0.0.1:9")
            .env("NO_PROXY", "");
        command.output().unwrap().into()
    }

    /// The calls since the last look that change something.
    fn acts(&self) -> Vec<String> {
        let calls = self.path("calls");
        let text = fs::read_to_string(&calls).unwrap_or_default();
        let _ = fs::remove_file(&calls);
        let looks = ["version", "info", "ps", "image", "exec"];
        text.lines()
            .filter(|line| !looks.contains(&line.split(' ').nth(1).unwrap_or_default()))
            .map(str::to_owned)
            .collect()
    }

    fn record(&self) -> Value {
        let file = self.sandbox.environment("dev").join("kind.json");
        serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
    }
}

#[track_caller]
fn fails(answer: &Answer, code: i32, words: &[&str]) {
    assert_eq!(answer.code, Some(code), "{}", answer.stderr);
    for word in words {
        assert!(answer.stderr.contains(word), "{word}: {}", answer.stderr);
    }
}

#[test]
fn everything_that_is_missing_is_said_at_once() {
    let bare = Machine::new();
    let answer = bare.vmctl(&["up", "--runtime", "kind"]);
    fails(
        &answer,
        6,
        &[
            "docker: not on the PATH",
            "podman: not on the PATH",
            "--runtime embedded",
        ],
    );
    let old = Machine::equipped("0.29.0");
    let answer = old.vmctl(&["up", "--runtime=kind"]);
    fails(&answer, 6, &["0.29.0", "0.30 or newer"]);
    assert_eq!(old.acts(), Vec::<String>::new());
}

#[test]
fn the_runtime_is_chosen_by_what_the_machine_can() {
    let bare = Machine::new();
    fails(&bare.vmctl(&["up", "--offline"]), 6, &["download: skipped"]);
    let equipped = Machine::equipped("0.33.0");
    let up = equipped.vmctl(&["up", "--runtime", "kind"]);
    fails(&up, 6, &["the node image cannot be had"]);
    // From here on it is an environment of kind, whatever is said.
    let other = equipped.vmctl(&["up", "--runtime", "embedded"]);
    fails(&other, 5, &["is of runtime kind", "vmctl down --env dev"]);
    fails(&equipped.vmctl(&["up"]), 6, &["kind create"]);
    // Only the embedded runtime has an audit log.
    let audited = Machine::equipped("0.33.0").vmctl(&["up", "--audit-log", "--offline"]);
    fails(&audited, 6, &["download: skipped"]);
}

#[test]
fn where_nobody_asked_for_kind_and_it_makes_no_cluster_the_embedded_runtime_takes_over() {
    for args in [&["up"] as &[&str], &["up", "--offline"]] {
        let machine = Machine::equipped("0.33.0");
        let answer = machine.vmctl(args);
        let says = [
            "kind makes no cluster on this machine",
            "--node-image IMAGE insists",
        ];
        fails(&answer, 6, &says);
        assert!(
            !answer.stderr.contains("--runtime embedded"),
            "{}",
            answer.stderr
        );
        // Nothing of kind is left, neither at the engine nor in the environment.
        assert_eq!(fs::read_to_string(machine.path("nodes")).unwrap(), "");
        let dir = machine.sandbox.environment("dev");
        assert!(!dir.join("kind.json").exists());
        let down = machine.vmctl(&["down", "--verify"]);
        assert_eq!(down.code, Some(0), "{}", down.stderr);
    }
}

#[test]
fn whoever_names_an_image_means_kind() {
    for (option, words) in [
        ("--node-image=node:1", "the node image cannot be had"),
        ("--operator-image=operator:1", "operator:1"),
        ("--mock-image=mock:1", "mock:1"),
    ] {
        let machine = Machine::equipped("0.33.0");
        let answer = machine.vmctl(&["up", option]);
        fails(&answer, 6, &[words]);
        let said = &answer.stderr;
        assert!(!said.contains("taken instead"), "{option}: {said}");
    }
    let machine = Machine::equipped("0.33.0");
    machine.vmctl(&["up", "--node-image=node:1"]);
    assert_eq!(machine.record()["asked"], true);
}

#[test]
fn programs_are_told_that_another_runtime_took_over() {
    let machine = Machine::equipped("0.33.0");
    let answer = machine.vmctl(&["up", "--output", "json", "--offline"]);
    assert_eq!(answer.code, Some(6), "{}", answer.stderr);
    let lines = answer.stdout.lines();
    let events: Vec<Value> = lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let place = events
        .iter()
        .position(|event| event["status"] == "replaced");
    let after = &events[place.expect("an event says so") + 1];
    assert_eq!(after["step"], "preflight");
    assert_eq!(after["index"], 1);
    assert_eq!(after["total"], 12);
}

#[test]
fn what_does_not_go_together_is_refused_before_anything_is_made() {
    let machine = Machine::equipped("0.33.0");
    let audit = machine.vmctl(&["up", "--runtime=kind", "--audit-log"]);
    fails(&audit, 2, &["runtime embedded alone"]);
    let offline = machine.vmctl(&["up", "--runtime=kind", "--offline"]);
    fails(&offline, 6, &["--offline", "--node-image"]);
    assert_eq!(machine.acts(), Vec::<String>::new());
}

#[test]
fn what_a_failed_run_left_of_a_cluster_is_removed_before_the_next_one() {
    let machine = Machine::equipped("0.33.0");
    let up = ["up", "--runtime=kind", "--node-image=node:1"];
    fails(&machine.vmctl(&up), 6, &["kind create", "--node-image"]);
    let cluster = machine.record()["cluster"].as_str().unwrap().to_owned();
    assert!(cluster.starts_with("vmctl-dev-"), "{cluster}");
    assert_eq!(machine.record()["complete"], false);
    let create = |line: &String| {
        line.starts_with(&format!(
            "kind create cluster --name {cluster} --kubeconfig "
        )) && line.ends_with("--image node:1")
    };
    let acts = machine.acts();
    assert!(acts.len() == 1 && create(&acts[0]), "{acts:?}");

    fails(&machine.vmctl(&up), 6, &["kind create"]);
    let acts = machine.acts();
    assert_eq!(acts.len(), 2, "{acts:?}");
    assert_eq!(acts[0], "docker rm --force --volumes torso");
    assert!(create(&acts[1]), "{acts:?}");

    let down = machine.vmctl(&["down", "--verify"]);
    assert_eq!(down.code, Some(0), "{}", down.stderr);
    assert_eq!(machine.acts(), ["docker rm --force --volumes torso"]);
    assert!(!machine.sandbox.environment("dev").exists());
}

#[test]
fn a_cluster_without_its_record_is_found_and_one_without_an_engine_is_not_forgotten() {
    let machine = Machine::equipped("0.33.0");
    fails(&machine.vmctl(&["up", "--runtime=kind"]), 6, &[]);
    machine.acts();
    let docker = machine.path("bin").join("docker");
    let away = machine.path("docker-away");
    fs::rename(&docker, &away).unwrap();
    let answer = machine.vmctl(&["down"]);
    fails(
        &answer,
        6,
        &["no container engine answers", "start the engine"],
    );
    assert!(machine.sandbox.environment("dev").exists());

    fs::rename(&away, &docker).unwrap();
    fs::remove_dir_all(machine.sandbox.environment("dev")).unwrap();
    let answer = machine.vmctl(&["down", "--verify"]);
    assert_eq!(answer.code, Some(0), "{}", answer.stderr);
    assert_eq!(machine.acts(), ["docker rm --force --volumes torso"]);
}

#[test]
fn install_and_uninstall_want_a_cluster_named() {
    let machine = Machine::new();
    for verb in ["install", "uninstall"] {
        let answer = machine.vmctl(&[verb]);
        fails(&answer, 2, &["clusters made by hand", "--context NAME"]);
    }
}

#[test]
fn doctor_judges_what_a_cluster_stands_on_and_starts_nothing() {
    let machine = Machine::equipped("0.29.0");
    let root = machine.path("empty").display().to_string();
    machine.program(
        "docker",
        &format!(
            "case \"$1\" in version) echo 99.0 ;; info) printf '1\\t{root}\\t[name=rootless]\\n' ;; image) exit 1 ;; esac"
        ),
    );
    let checks = |args: &[&str]| -> Vec<Value> {
        let answer = machine.vmctl(&[&["doctor", "-o", "json"], args].concat());
        let doctor: Value = serde_json::from_str(&answer.stdout).unwrap();
        let mut checks = doctor["checks"].as_array().unwrap().clone();
        checks.retain(|check| check["category"] == "containers");
        checks
    };
    let found = checks(&["--pre", "--node-image", "node:1"]);
    for (id, verdict, words) in [
        ("DOC-ENGINE", "ok", "docker 99.0 answers"),
        ("DOC-KIND", "warn", "needed is 0.30 or newer"),
        ("DOC-NODE-IMAGE", "warn", "node:1 is not there"),
        ("DOC-CGROUPS", "fail", "without the rights of root"),
        ("DOC-ENGINE-DISK", "ok", root.as_str()),
    ] {
        let check = found.iter().find(|check| check["id"] == id);
        let check = check.unwrap_or_else(|| panic!("{id}: {found:?}"));
        assert_eq!(check["verdict"], verdict, "{check}");
        assert!(check["note"].as_str().unwrap().contains(words), "{check}");
        assert_eq!(
            check["fix"].is_string(),
            verdict != "ok",
            "each has its remedy: {check}"
        );
    }
    assert_eq!(machine.acts(), Vec::<String>::new());

    machine.program(
        "docker",
        "echo 'Cannot connect to the Docker daemon' >&2; exit 1",
    );
    let silent = checks(&["--pre"]);
    assert_eq!(silent.len(), 1, "{silent:?}");
    assert_eq!(
        (&silent[0]["id"], &silent[0]["verdict"]),
        (&"DOC-ENGINE".into(), &"warn".into())
    );
    assert!(
        silent[0]["note"]
            .as_str()
            .unwrap()
            .contains("Cannot connect to the Docker daemon"),
        "{silent:?}"
    );
    let none = Machine::new();
    let answer = none.vmctl(&["doctor", "--pre"]);
    assert!(
        answer
            .stdout
            .contains("none: environments run as processes"),
        "{}",
        answer.stdout
    );
}

#[test]
fn a_rehearsal_on_kind_asks_the_engine_and_makes_nothing() {
    let machine = Machine::equipped("0.33.0");
    let rehearsed = machine.vmctl(&["up", "--runtime=kind", "--node-image=node:1", "--dry-run"]);
    assert_eq!(rehearsed.code, Some(0), "{}", rehearsed.stderr);
    for words in [
        "environment dev (kind): ",
        "+ cluster          make vmctl-dev-",
        "node image node:1",
        "+ operator ",
    ] {
        assert!(
            rehearsed.stdout.contains(words),
            "{words}: {}",
            rehearsed.stdout
        );
    }
    assert_eq!(machine.acts(), Vec::<String>::new());
    assert!(!machine.sandbox.environment("dev").exists());
    let missing = Machine::new().vmctl(&["up", "--runtime=kind", "--dry-run"]);
    fails(&missing, 6, &["--runtime embedded"]);
}
