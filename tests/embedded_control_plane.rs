//! The embedded control plane: what it offers, and that nothing of it stays behind.
#![cfg(test)]

mod support;

use rustix::process::Signal;
use support::{ControlPlane, is_running, signal, until};

const CONFIG_MAP: &str =
    r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"kept"},"data":{"word":"kept"}}"#;

#[test]
fn it_is_ready_when_it_says_so_and_records_requests_without_bodies() {
    let plane = ControlPlane::start();
    plane.kubectl(&[
        "create",
        "secret",
        "generic",
        "canary",
        "--from-literal=key=tweet-4711",
    ]);
    assert_eq!(plane.kubectl(&["auth", "can-i", "*", "*"]).trim(), "yes");
    let audit = plane.audit();
    let created = audit
        .iter()
        .find(|event| event["verb"] == "create" && event["objectRef"]["name"] == "canary");
    let created = created.expect("the audit log has the creation");
    assert_eq!(created["user"]["username"], "vmctl-admin");
    assert!(!format!("{audit:?}").contains("tweet-4711"));
}

#[test]
fn rights_are_checked() {
    let plane = ControlPlane::start_with(&["--no-controller-manager"]);
    let answer = plane.try_kubectl(
        &[
            "get",
            "secrets",
            "--as=system:serviceaccount:default:nobody",
        ],
        "",
    );
    assert!(
        !answer.success && answer.stderr.contains("forbidden"),
        "{answer:?}"
    );
}

#[test]
fn namespaces_finish_deleting_and_owned_objects_are_collected() {
    let plane = ControlPlane::start();
    plane.kubectl(&["create", "namespace", "short-lived"]);
    plane.kubectl(&["delete", "namespace", "short-lived", "--timeout=60s"]);
    plane.apply(CONFIG_MAP);
    let uid = plane.kubectl(&["get", "configmap", "kept", "-o=jsonpath={.metadata.uid}"]);
    plane.apply(&format!(
        r#"{{"apiVersion":"v1","kind":"Secret","metadata":{{"name":"owned","ownerReferences":[
            {{"apiVersion":"v1","kind":"ConfigMap","name":"kept","uid":"{uid}"}}]}}}}"#
    ));
    plane.kubectl(&["delete", "configmap", "kept"]);
    plane.kubectl(&["wait", "--for=delete", "secret/owned", "--timeout=60s"]);
}

#[test]
fn the_api_server_restarts_on_its_port_with_its_objects() {
    let mut plane = ControlPlane::start_with(&["--no-controller-manager"]);
    plane.apply(CONFIG_MAP);
    let before = (plane.apiserver_pid, plane.etcd_pid);
    plane.restart_api_server();
    assert_ne!(plane.apiserver_pid, before.0);
    assert!(is_running(before.1), "etcd must not be restarted");
    assert_eq!(
        plane.kubectl(&["get", "configmap", "kept", "-o=jsonpath={.data.word}"]),
        "kept"
    );
}

#[test]
fn killing_vmctl_leaves_no_process_behind() {
    let plane = ControlPlane::start();
    let pids = plane.pids();
    assert!(pids.len() >= 2 && pids.iter().all(|pid| is_running(*pid)));
    signal(plane.vmctl_pid(), Signal::KILL);
    until("all children are gone", || {
        !pids.iter().any(|pid| is_running(*pid))
    });
}

#[test]
fn closing_stdin_and_a_signal_end_it_in_order() {
    for close in [true, false] {
        let plane = ControlPlane::start_with(&["--no-controller-manager"]);
        let pids = plane.pids();
        if !close {
            signal(plane.vmctl_pid(), Signal::TERM);
        }
        let (status, words) = plane.wait(close);
        assert!(status.success(), "{status}: {words}");
        assert!(!pids.iter().any(|pid| is_running(*pid)));
    }
}

#[test]
fn when_etcd_or_the_api_server_dies_the_other_one_goes_too_and_the_cause_is_named() {
    for victim in ["etcd", "kube-apiserver"] {
        let plane = ControlPlane::start_with(&["--no-controller-manager"]);
        let pids = plane.pids();
        signal(
            if victim == "etcd" {
                plane.etcd_pid
            } else {
                plane.apiserver_pid
            },
            Signal::KILL,
        );
        let (status, words) = plane.wait(false);
        assert_eq!(status.code(), Some(6), "{words}");
        assert!(
            words.contains(&format!("{victim} ended: signal: 9")),
            "{words}"
        );
        assert!(!pids.iter().any(|pid| is_running(*pid)));
    }
}
