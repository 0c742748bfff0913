//! Nothing of an environment stays behind and nothing of it is lost, whoever is killed.
#![cfg(test)]

#[path = "up_survival/boundaries.rs"]
#[cfg(test)]
mod boundaries;
#[path = "up_survival/isolation.rs"]
#[cfg(test)]
mod isolation;
mod sandbox;

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Command, Stdio};

use rustix::process::Signal;
use serde_json::Value;

use sandbox::{Sandbox, is_running, signal, until};

fn mark(sandbox: &Sandbox) {
    sandbox.succeed(&[
        "kubectl",
        "create",
        "configmap",
        "kept",
        "--from-literal=word=kept",
    ]);
}

fn is_marked(sandbox: &Sandbox) -> bool {
    sandbox.vmctl(&["kubectl", "get", "configmap", "kept"]).code == Some(0)
}

#[test]
fn a_killed_supervisor_takes_all_with_it_and_up_goes_on_with_the_data() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&["up"]);
    mark(&sandbox);
    let server = sandbox.state("dev")["server"].clone();
    signal(sandbox.pid("dev", "supervisor").unwrap(), Signal::KILL);
    until("no process is left", || sandbox.processes().is_empty());
    let status = sandbox.vmctl(&["status"]);
    assert_eq!(status.code, Some(3), "{}", status.stdout);
    assert!(status.stdout.contains("dead"), "{}", status.stdout);
    assert_eq!(sandbox.vmctl(&["kubectl", "get", "pods"]).code, Some(6));
    let short = sandbox.vmctl(&["status", "--wait", "--timeout", "200ms"]);
    assert_eq!(short.code, Some(3), "{}", short.stderr);
    assert!(
        short
            .stderr
            .contains("environment dev: the supervisor does not run"),
        "{}",
        short.stderr
    );
    let waiting = sandbox.start(&["status", "--wait"]);
    sandbox.succeed(&["up"]);
    let waited = waiting.wait_with_output().unwrap();
    assert!(
        waited.status.success(),
        "{}",
        String::from_utf8_lossy(&waited.stderr)
    );
    assert!(String::from_utf8_lossy(&waited.stdout).starts_with("environment dev: ready"));
    assert!(is_marked(&sandbox));
    assert_eq!(
        sandbox.state("dev")["server"],
        server,
        "the address stays, so old kubeconfigs stay valid"
    );
}

#[test]
fn a_killed_child_is_started_again_with_its_data() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&["up"]);
    mark(&sandbox);
    for program in ["etcd", "kube-apiserver", "mock-provider", "operator"] {
        let before = sandbox.pid("dev", program).unwrap();
        signal(before, Signal::KILL);
        until("it is started again", || {
            sandbox.pid("dev", program).is_some_and(|pid| pid != before)
                && sandbox.state("dev")["phase"] == "running"
        });
        assert!(!is_running(before));
        // An operator that was away from its API server for too long has ended, and comes again.
        until("all of it runs", || {
            sandbox.vmctl(&["status"]).code == Some(0)
        });
        assert!(is_marked(&sandbox), "after {program} was killed");
    }
}

#[test]
fn down_works_without_state_and_journal_and_with_a_dead_cluster() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&["up"]);
    let environment = sandbox.environment("dev");
    fs::remove_file(environment.join("state.json")).unwrap();
    fs::remove_file(environment.join("journal.jsonl")).unwrap();
    assert!(!sandbox.processes().is_empty());
    sandbox.succeed(&["down", "--verify"]);
    assert_eq!(sandbox.processes(), Vec::<u32>::new());
    assert!(!environment.exists());
}

#[test]
fn a_strangers_pid_in_the_state_is_never_touched() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&["up"]);
    let mut state = sandbox.state("dev");
    signal(sandbox.pid("dev", "supervisor").unwrap(), Signal::KILL);
    until("no process is left", || sandbox.processes().is_empty());
    let mut stranger = Command::new("sleep")
        .arg("600")
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    state["supervisor"]["pid"] = stranger.id().into();
    for child in state["children"].as_array_mut().unwrap() {
        child["process"]["pid"] = stranger.id().into();
    }
    fs::write(
        sandbox.environment("dev").join("state.json"),
        state.to_string(),
    )
    .unwrap();
    assert_eq!(
        sandbox.vmctl(&["status"]).code,
        Some(3),
        "a stranger is not our supervisor"
    );
    sandbox.succeed(&["down", "--verify"]);
    assert!(
        stranger.try_wait().unwrap().is_none(),
        "the stranger must still run"
    );
    stranger.kill().unwrap();
    stranger.wait().unwrap();
}

#[test]
fn a_port_that_a_stranger_took_meanwhile_is_named_and_left_to_him() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&["up"]);
    mark(&sandbox);
    let server = sandbox.state("dev")["server"].clone();
    signal(sandbox.pid("dev", "supervisor").unwrap(), Signal::KILL);
    until("no process is left", || sandbox.processes().is_empty());
    let address = server.as_str().unwrap().trim_start_matches("https://");
    // A process of several threads may seem gone a moment before its sockets are.
    let mut stranger = None;
    until("the port is free", || {
        stranger = std::net::TcpListener::bind(address).ok();
        stranger.is_some()
    });
    let doctor = sandbox.vmctl(&["doctor"]);
    let port = doctor
        .stdout
        .lines()
        .find(|line| line.contains("DOC-PORTS"))
        .unwrap();
    let named = format!("is held by process {} (", std::process::id());
    assert!(
        port.contains("warn") && port.contains(&named),
        "{}",
        doctor.stdout
    );
    sandbox.succeed(&["up"]);
    assert_ne!(sandbox.state("dev")["server"], server);
    assert!(is_marked(&sandbox), "another port, the same data");
    drop(stranger);
}

#[test]
fn an_interrupted_up_keeps_what_it_made_and_the_next_one_goes_on() {
    let sandbox = Sandbox::new();
    for (sent, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let mut up = sandbox.start(&["up"]);
        let mut stderr = BufReader::new(up.stderr.take().unwrap());
        let mut words = String::new();
        // The first line is the first step's: by then it listens to signals.
        stderr.read_line(&mut words).unwrap();
        signal(up.id(), sent);
        stderr.read_to_string(&mut words).unwrap();
        let output = up.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{words}");
        assert!(
            words.contains("vmctl up --env dev") && words.contains("vmctl down --env dev"),
            "{words}"
        );
        assert!(sandbox.environment("dev").is_dir());
    }
    sandbox.succeed(&["up"]);
    sandbox.succeed(&["down", "--verify"]);
}

#[test]
fn a_killed_up_leaves_what_can_be_gone_on_with_or_removed() {
    let sandbox = Sandbox::new();
    for next in ["up", "down"] {
        let mut up = sandbox.start(&["up"]);
        until("the supervisor is there", || {
            sandbox.pid("dev", "supervisor").is_some()
        });
        up.kill().unwrap();
        up.wait().unwrap();
        sandbox.succeed(&[next]);
    }
    assert_eq!(sandbox.processes(), Vec::<u32>::new());
    assert!(!sandbox.environment("dev").exists());
}

#[test]
fn the_operators_credential_is_a_token_with_the_shipped_rights_and_no_more() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&["up"]);
    let environment = sandbox.environment("dev");
    let kubeconfig = environment.join("operator").join("kubeconfig");

    let kubectl = |args: &[&str]| {
        let flag = format!("--kubeconfig={}", kubeconfig.display());
        let answer = sandbox.vmctl(&[&["kubectl", &flag], args].concat());
        format!("{}{}", answer.stdout, answer.stderr)
    };
    let who = kubectl(&["auth", "whoami", "-o=jsonpath={.status.userInfo.username}"]);
    assert_eq!(
        who,
        "system:serviceaccount:vmoperator-system:vmoperator-controller-manager"
    );
    assert_eq!(
        kubectl(&["auth", "can-i", "patch", "virtualmachines", "-A"]).trim(),
        "yes"
    );
    for (verb, what) in [
        ("delete", "virtualmachines"),
        ("create", "pods"),
        ("*", "*"),
    ] {
        assert!(
            kubectl(&["auth", "can-i", verb, what, "-A"]).contains("no"),
            "{verb} {what}"
        );
    }
    let text = fs::read_to_string(&kubeconfig).unwrap();
    assert!(
        text.contains("tokenFile") && !text.contains("client-key-data"),
        "{text}"
    );
}

#[test]
fn an_api_server_that_cannot_run_fails_up_with_its_words_and_leaves_no_etcd() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&["up"]);
    let plan = fs::read(sandbox.environment("dev").join("plan.json")).unwrap();
    let plan: Value = serde_json::from_slice(&plan).unwrap();
    sandbox.succeed(&["down"]);

    let assets = tempfile::tempdir().unwrap();
    let etcd = plan["binaries"]["etcd"].as_str().unwrap();
    symlink(etcd, assets.path().join("etcd")).unwrap();
    let broken = assets.path().join("kube-apiserver");
    let script = "#!/bin/sh\n[ \"$1\" = --version ] && echo 'Kubernetes v1.0.0' && exit 0\necho 'the disk is on fire' >&2\nexit 1\n";
    fs::write(&broken, script).unwrap();
    fs::set_permissions(&broken, fs::Permissions::from_mode(0o755)).unwrap();

    let up = sandbox.vmctl(&["up", "--assets", assets.path().to_str().unwrap()]);
    assert_eq!(up.code, Some(6), "{}", up.stderr);
    for words in [
        "kube-apiserver ended: exit status: 1",
        "the disk is on fire",
        "what to do",
    ] {
        assert!(up.stderr.contains(words), "{words}: {}", up.stderr);
    }
    until("no process is left", || sandbox.processes().is_empty());
    assert_eq!(sandbox.vmctl(&["status"]).code, Some(3));
    sandbox.succeed(&["up"]);
}
