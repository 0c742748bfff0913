//! `vmctl up` and `down` as a user sees them.
#![cfg(test)]

mod sandbox;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::SystemTime;

use serde_json::Value;

use sandbox::Sandbox;

/// Files that vmctl writes, with content and time; etcd, logs and the mock's data live their own lives.
fn files(environment: &Path) -> BTreeMap<PathBuf, (Vec<u8>, SystemTime)> {
    let mut files = BTreeMap::new();
    for folder in ["", "pki", "operator"] {
        for entry in fs::read_dir(environment.join(folder))
            .into_iter()
            .flatten()
            .flatten()
        {
            let path = entry.path();
            if path.is_file() {
                let modified = entry.metadata().unwrap().modified().unwrap();
                files.insert(path.clone(), (fs::read(&path).unwrap(), modified));
            }
        }
    }
    files
}

/// What the administrator wrote by now; a dry run stores nothing and does not count.
fn writes(environment: &Path) -> usize {
    let text = fs::read_to_string(environment.join("logs").join("audit.log")).unwrap();
    let events = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    events
        .filter(|event| event["user"]["username"] == "vmctl-admin")
        .filter(|event| !["get", "list", "watch"].contains(&event["verb"].as_str().unwrap()))
        .filter(|event| !event["requestURI"].as_str().unwrap().contains("dryRun=All"))
        .count()
}

#[test]
fn up_makes_an_environment_again_changes_nothing_and_down_leaves_nothing() {
    let sandbox = Sandbox::new();
    let rehearsed = sandbox.succeed(&["up", "--audit-log", "--dry-run"]);
    for words in [
        "steps would change something",
        "+ control-plane",
        "+ definitions      apply 2 objects",
        "+ smoke",
    ] {
        assert!(rehearsed.contains(words), "{words}: {rehearsed}");
    }
    assert_eq!(
        fs::read_dir(sandbox.state_home()).unwrap().count(),
        0,
        "nothing was made"
    );
    let first = sandbox.succeed(&["up", "--audit-log"]);
    assert!(
        first.contains("environment dev is up (") && first.contains("next:"),
        "{first}"
    );
    let environment = sandbox.environment("dev");
    let (before, wrote) = (files(&environment), writes(&environment));
    assert!(
        wrote >= 14,
        "definitions, rights, Secret and ProviderConfig were applied: {wrote}"
    );

    let second = sandbox.vmctl(&["up"]);
    assert_eq!(second.code, Some(0), "{}", second.stderr);
    assert!(
        second.stdout.contains("is up, unchanged"),
        "{}",
        second.stdout
    );
    assert!(
        second.stderr.lines().all(|line| line.contains("unchanged")),
        "{}",
        second.stderr
    );
    let stamped = |line: &str| line.get(2..3) == Some(":") && line.get(8..10) == Some("Z ");
    assert!(
        second.stderr.lines().all(stamped),
        "each line has its time: {}",
        second.stderr
    );
    let rehearsed = sandbox.succeed(&["up", "--dry-run"]);
    assert!(
        rehearsed.starts_with("environment dev (embedded): nothing would be changed"),
        "{rehearsed}"
    );
    assert_eq!(writes(&environment), wrote);
    assert!(
        files(&environment) == before,
        "a second up must not write a file"
    );

    assert!(
        sandbox
            .succeed(&["status"])
            .starts_with("environment dev: ready")
    );
    assert!(
        sandbox
            .succeed(&["down", "--verify"])
            .contains("nothing is left")
    );
    assert_eq!(sandbox.processes(), Vec::<u32>::new());
    assert_eq!(fs::read_dir(sandbox.state_home()).unwrap().count(), 0);
    let again = sandbox.vmctl(&["down", "--verify"]);
    assert_eq!(
        again.code,
        Some(0),
        "removing what is not there succeeds: {}",
        again.stderr
    );
}

#[test]
fn json_and_quiet_keep_stdout_for_programs() {
    let sandbox = Sandbox::new();
    let json = sandbox.vmctl(&["up", "--env", "json", "-o", "json"]);
    assert_eq!((json.code, json.stderr.as_str()), (Some(0), ""));
    let events: Vec<Value> = json
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(events.iter().all(|event| event["version"] == 1));
    let ended = events
        .iter()
        .filter(|event| event["seconds"].is_number() && event["type"] == "step")
        .count();
    assert_eq!(Some(ended as u64), events[0]["total"].as_u64());
    let summary = events.last().unwrap();
    assert_eq!(
        (&summary["type"], &summary["environment"]),
        (&Value::from("summary"), &Value::from("json"))
    );

    let quiet = sandbox.vmctl(&["up", "--env", "json", "--quiet"]);
    let kubeconfig = sandbox.environment("json").join("kubeconfig");
    assert_eq!(
        (quiet.stdout.trim(), quiet.stderr.as_str()),
        (kubeconfig.to_str().unwrap(), "")
    );

    let status: Value =
        serde_json::from_str(&sandbox.succeed(&["status", "--env=json", "-o=json"])).unwrap();
    assert_eq!(
        (&status["ready"], &status["lack"]),
        (&Value::Bool(true), &Value::Null)
    );
    secrets_stay_private(&sandbox);
    pass_through(&sandbox);
    drift_is_repaired(&sandbox);
    output_that_nobody_reads_is_no_panic(&sandbox);
    what_cannot_be_changed_in_place_is_told_and_made_anew_only_when_that_is_asked_for(&sandbox);
}

fn what_cannot_be_changed_in_place_is_told_and_made_anew_only_when_that_is_asked_for(
    sandbox: &Sandbox,
) {
    let configmap = ["create", "configmap", "kept", "--from-literal=word=kept"];
    sandbox.succeed(&[&["kubectl", "--env=json"], &configmap[..]].concat());
    let supervisor = sandbox.pid("json", "supervisor");
    let told = sandbox.vmctl(&["up", "--env=json", "--audit-log"]);
    assert_eq!(told.code, Some(0), "{}", told.stderr);
    assert!(
        told.stderr.contains("audit log: not recorded, wanted")
            && told.stderr.contains("vmctl up --env json --recreate"),
        "{}",
        told.stderr
    );
    let same = sandbox.vmctl(&["up", "--env=json", "--recreate"]);
    assert!(same.stdout.contains("is up, unchanged"), "{}", same.stdout);
    assert_eq!(sandbox.pid("json", "supervisor"), supervisor);
    sandbox.succeed(&["up", "--env=json", "--audit-log", "--recreate"]);
    assert_ne!(sandbox.pid("json", "supervisor"), supervisor);
    let kept = ["kubectl", "--env=json", "get", "configmap", "kept"];
    assert_eq!(sandbox.vmctl(&kept).code, Some(1), "its data is gone");
    let logs = sandbox.environment("json").join("logs");
    assert!(logs.join("audit.log").exists());
}

fn secrets_stay_private(sandbox: &Sandbox) {
    let environment = sandbox.environment("json");
    let keys = fs::read_to_string(environment.join("mock").join("api-keys")).unwrap();
    let key = keys.trim().split_once('=').unwrap().1;
    assert!(key.len() >= 32);
    let mut folders = vec![environment];
    while let Some(folder) = folders.pop() {
        assert_eq!(
            fs::metadata(&folder).unwrap().permissions().mode() & 0o077,
            0,
            "{}",
            folder.display()
        );
        for entry in fs::read_dir(&folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "log") {
                let log = fs::read(&path).unwrap();
                assert!(
                    !String::from_utf8_lossy(&log).contains(key),
                    "{}",
                    path.display()
                );
            }
        }
    }
    for pid in sandbox.processes() {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        assert!(
            !String::from_utf8_lossy(&line).contains(key),
            "process {pid} shows the key"
        );
    }
}

fn pass_through(sandbox: &Sandbox) {
    let namespace = sandbox.succeed(&[
        "kubectl",
        "--env",
        "json",
        "get",
        "namespace",
        "default",
        "-o=name",
    ]);
    assert_eq!(namespace, "namespace/default\n");
    let unknown = sandbox.vmctl(&["kubectl", "--env", "json", "get", "no-such-kind"]);
    assert_eq!(unknown.code, Some(1));
    let version = sandbox.succeed(&["version", "--env", "json"]);
    assert!(
        version.starts_with("vmctl ") && version.contains("Kubernetes v1."),
        "{version}"
    );
}

fn drift_is_repaired(sandbox: &Sandbox) {
    let patch = r#"{"spec":{"endpoint":"http://127.0.0.1:1"}}"#;
    let kubectl = ["kubectl", "--env=json"];
    sandbox.succeed(
        &[
            &kubectl[..],
            &[
                "patch",
                "providerconfig",
                "default",
                "--type=merge",
                "-p",
                patch,
            ],
        ]
        .concat(),
    );
    sandbox.succeed(
        &[
            &kubectl[..],
            &["delete", "clusterrole", "vmoperator-manager-role"],
        ]
        .concat(),
    );
    let rehearsed = sandbox.succeed(&["up", "--env=json", "--dry-run", "-o=json"]);
    let plan: Value = serde_json::from_str(&rehearsed).unwrap();
    let steps = plan["steps"].as_array().unwrap();
    let acts: Vec<&Value> = steps
        .iter()
        .filter(|step| step["acts"] == true)
        .map(|step| &step["step"])
        .collect();
    assert_eq!(acts, ["rights"], "{plan}");
    let role = [
        &kubectl[..],
        &["get", "clusterrole", "vmoperator-manager-role"],
    ]
    .concat();
    assert_eq!(
        sandbox.vmctl(&role).code,
        Some(1),
        "a rehearsal repairs nothing"
    );
    let up = sandbox.vmctl(&["up", "--env=json"]);
    assert_eq!(up.code, Some(0), "{}", up.stderr);
    let drift =
        "ProviderConfig default: spec.endpoint: \"http://127.0.0.1:1\" -> \"http://127.0.0.1:";
    for words in ["1 created, 0 changed", "0 created, 1 changed", drift] {
        assert!(up.stderr.contains(words), "{words}: {}", up.stderr);
    }
    let read = [
        "get",
        "providerconfig",
        "default",
        "-o=jsonpath={.spec.endpoint}",
    ];
    let endpoint = sandbox.succeed(&[&kubectl[..], &read].concat());
    assert_eq!(
        endpoint,
        sandbox.state("json")["mock"]["endpoint"].as_str().unwrap()
    );
}

fn output_that_nobody_reads_is_no_panic(sandbox: &Sandbox) {
    for args in [
        &["status", "--env=json"][..],
        &["up", "--env=json"],
        &["version"],
        &["--help"],
    ] {
        let mut process = sandbox
            .command(args)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        drop(process.stdout.take());
        let output = process.wait_with_output().unwrap();
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            matches!(output.status.code(), Some(0 | 141)),
            "{args:?}: {} {words}",
            output.status
        );
        assert!(!words.contains("panicked"), "{args:?}: {words}");
    }
}

/// An API server that takes no VirtualMachine fails `up` at one of its last steps.
#[test]
fn a_run_that_fails_leaves_a_healthy_environment_as_it_was() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&["up"]);
    let spec = ["--image=ubuntu-22.04", "--cpu=1", "--memory=1Gi"];
    sandbox.succeed(&[&["create", "vm", "kept"][..], &spec].concat());
    let supervisor = sandbox.pid("dev", "supervisor");
    let none = "--hard=count/virtualmachines.compute.example.com=0";
    sandbox.succeed(&["kubectl", "create", "quota", "none", none]);
    let failed = sandbox.vmctl(&["up"]);
    assert_eq!(failed.code, Some(1), "{}", failed.stderr);
    assert!(failed.stderr.contains("[VMC-MACHINE]"), "{}", failed.stderr);
    sandbox.succeed(&["status"]);
    assert_eq!(sandbox.pid("dev", "supervisor"), supervisor);
    let kept = sandbox.succeed(&["get", "vm", "kept", "--no-headers"]);
    assert!(kept.contains("Running"), "{kept}");
    sandbox.succeed(&["kubectl", "delete", "quota", "none"]);
    assert!(sandbox.succeed(&["up"]).contains("is up, unchanged"));
}

#[test]
fn wrong_and_unsafe_calls_are_refused_with_what_to_do() {
    let sandbox = Sandbox::new();
    for (args, code, words) in [
        (&["status"][..], 4, "vmctl up --env dev"),
        (&["kubectl", "get", "pods"], 4, "vmctl up --env dev"),
        (&["up", "--env", "Not a name"], 2, "a name has"),
        (&["up", "--runtime", "cloud"], 2, "embedded"),
        (&["fly"], 2, "unrecognized"),
    ] {
        let answer = sandbox.vmctl(args);
        assert_eq!(answer.code, Some(code), "{args:?}: {}", answer.stderr);
        assert!(answer.stderr.contains(words), "{args:?}: {}", answer.stderr);
        assert_eq!(answer.stdout, "", "{args:?}");
    }
    fs::create_dir_all(sandbox.environment("kept")).unwrap();
    let all = sandbox.vmctl(&["down", "--all"]);
    assert_eq!(all.code, Some(5), "{}", all.stderr);
    assert!(sandbox.environment("kept").is_dir());
}

#[test]
fn without_programs_the_error_names_every_place_and_offline_asks_no_host() {
    let sandbox = Sandbox::new();
    let empty = tempfile::tempdir().unwrap();
    let mut command = sandbox.command(&["up", "--offline"]);
    command
        .env("XDG_CACHE_HOME", empty.path())
        .env("KUBEBUILDER_ASSETS", empty.path());
    let output = command.output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(6), "{words}");
    for place in [
        "KUBEBUILDER_ASSETS=",
        "there is no etcd",
        "cache",
        "download: skipped",
        "build: skipped",
        "[VMC-OFFLINE]",
        "what to do",
    ] {
        assert!(words.contains(place), "{place} is missing: {words}");
    }
    let flagged = sandbox.vmctl(&["up", "--assets", empty.path().to_str().unwrap()]);
    assert_eq!(flagged.code, Some(6), "{}", flagged.stderr);
    assert!(
        flagged.stderr.contains("--assets") && flagged.stderr.contains("there is no etcd"),
        "{}",
        flagged.stderr
    );
}
