//! `vmctl dash` beside real replicas: by TLS, with one of several lost, and where they are pods.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::{Value, json};

use crate::e2e::operator::Operator;
use crate::e2e::{until, until_or};
use crate::secure::{bundle, token};
use crate::stage::Stage;

/// `vmctl dash --json` for this stage.
fn dash(stage: &Stage, options: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vmctl"));
    command
        .args(["dash", "--json", "--kubeconfig"])
        .arg(&stage.house.plane.kubeconfig)
        .args(["-n", &stage.namespace])
        .args(["--operator-namespace", &stage.namespace])
        .args(options)
        .env("XDG_STATE_HOME", stage.house.plane.dir())
        .env_remove("VMCTL_ENV")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn shown(answer: &Output) -> Value {
    let talk = String::from_utf8_lossy(&answer.stderr);
    assert!(answer.status.success(), "{talk}");
    serde_json::from_slice(&answer.stdout).expect("JSON")
}

/// How a source of a replica is: `live`, `lost` and so on, and why.
fn source(shown: &Value, kind: &str, of: &str) -> (String, String) {
    let all = shown["sources"].as_array().expect("sources");
    let found = all
        .iter()
        .find(|one| one["source"] == kind && one["of"] == of);
    let found = found.unwrap_or_else(|| panic!("no {kind} of {of:?}: {all:#?}"));
    let text = |name: &str| found[name].as_str().unwrap_or_default().to_owned();
    (text("is"), text("why"))
}

fn port(operator: &Operator) -> String {
    let address = operator.addresses()[0].clone();
    address.rsplit_once(':').expect("a port").1.to_owned()
}

#[test]
fn metrics_by_tls_are_read_with_a_token_and_what_lacks_without_is_told() {
    let stage = Stage::set();
    let operator = stage.start("told", &["--metrics-secure"], None).ready();
    stage.until_leads("told");
    bundle(&stage, 1);
    let folder = tempfile::tempdir().expect("a directory");
    let write = |name: &str, token: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, token).expect("it can be written");
        path.to_str().expect("a path in UTF-8").to_owned()
    };
    let reader = write("reader", &token(&stage, "dash-reader", true));
    let other = write("other", &token(&stage, "dash-other", false));
    let url = format!("https://localhost:{}/metrics", port(&operator));
    let of = format!("localhost:{}", port(&operator));
    let look = |more: &[&str]| {
        let options = [&["--metrics-url", &url, "--duration=3s"], more].concat();
        let answer = dash(&stage, &options).output().expect("vmctl runs");
        shown(&answer)
    };

    let mut seen = Value::Null;
    until_or(
        "the reader reads",
        || {
            seen = look(&["--metrics-token-file", &reader]);
            source(&seen, "metrics", &of).0 == "live"
        },
        || format!("{:#}", look(&["--metrics-token-file", &reader])["sources"]),
    );
    assert_eq!(seen["leader"]["state"], "agreed", "{seen:#}");
    assert_eq!(seen["queue"]["replica"], of.as_str(), "{seen:#}");
    assert_eq!(seen["replicas"], json!({ "known": 1, "answering": 1 }));

    let without = look(&[]);
    let (is, why) = source(&without, "metrics", &of);
    assert!(
        is == "lost" && why.contains("--metrics-token-file"),
        "{why}"
    );
    let forbidden = look(&["--metrics-token-file", &other]);
    let (is, why) = source(&forbidden, "metrics", &of);
    assert!(is == "lost" && why.contains("403"), "{why}");
    // The rest works.
    assert_eq!(forbidden["virtualMachines"]["listed"], true);
    assert_eq!(forbidden["leader"]["names"], seen["leader"]["names"]);
    assert_eq!(source(&forbidden, "state", &of).0, "live", "{forbidden:#}");
}

fn recorded(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .map(|fact| fact["message"].clone())
        .collect()
}

/// So many scrapes of a replica were recorded.
fn scrapes(path: &Path, of: &str) -> usize {
    let facts = recorded(path);
    let of = |fact: &&Value| fact["type"] == "scrape" && fact["replica"] == of;
    facts.iter().filter(of).count()
}

fn begin(stage: &Stage, replicas: &[&Operator], record: &Path) -> Child {
    let mut options = vec!["--duration=40s", "--interval=500ms", "--record"];
    options.push(record.to_str().expect("a path in UTF-8"));
    let urls: Vec<String> = replicas
        .iter()
        .map(|one| format!("http://{}/metrics", one.addresses()[0]))
        .collect();
    for url in &urls {
        options.extend(["--metrics-url", url]);
    }
    dash(stage, &options).spawn().expect("vmctl runs")
}

#[test]
fn one_of_three_replicas_is_lost_and_the_figures_of_the_others_go_on() {
    let stage = Stage::set();
    let (first, second, third) = (
        stage.leader("first"),
        stage.replica("second"),
        stage.replica("third"),
    );
    let names = [&first, &second, &third].map(|one| one.addresses()[0].clone());
    let folder = tempfile::tempdir().expect("a directory");
    let record = folder.path().join("seen.jsonl");
    let watching = begin(&stage, &[&first, &second, &third], &record);
    until("all three are scraped", || {
        names.iter().all(|name| scrapes(&record, name) > 2)
    });
    third.kill();
    let at_death = scrapes(&record, &names[0]);
    stage.create("after");
    stage.ready("after");
    until("the others are scraped on", || {
        names[..2]
            .iter()
            .all(|name| scrapes(&record, name) > at_death + 5)
    });
    let answer = watching.wait_with_output().expect("vmctl ends");
    let seen = shown(&answer);
    assert_eq!(seen["replicas"], json!({ "known": 3, "answering": 2 }));
    for name in &names[..2] {
        assert_eq!(source(&seen, "metrics", name).0, "live", "{seen:#}");
    }
    for kind in ["metrics", "state"] {
        let (is, why) = source(&seen, kind, &names[2]);
        assert!(is == "lost" && !why.is_empty(), "{is}: {why}");
    }
    assert_eq!(seen["leader"]["state"], "agreed");
    assert!(
        seen["leader"]["names"][0]
            .as_str()
            .is_some_and(|name| name.starts_with("first_")),
        "{}",
        seen["leader"]
    );
    assert_eq!(
        seen["leader"]["changesSeen"], 0,
        "a follower that dies is no change"
    );
    assert_eq!(seen["queue"]["replica"], names[0].as_str());
    let calls = seen["provider"]["calls"].as_array().expect("calls");
    let create = calls.iter().find(|one| one["operation"] == "create");
    let rate = create.and_then(|one| one["callsPerSecond"].as_f64());
    assert!(rate.is_some_and(|rate| rate > 0.0), "{calls:#?}");
    assert_eq!(seen["virtualMachines"]["phases"]["Running"], 1);
    drop((first, second));
}

/// A pod as a kubelet would have made it, on a node that is none.
fn pod(namespace: &str, name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": name, "namespace": namespace, "labels": { "app.kubernetes.io/name": "vmoperator" } },
        "spec": { "automountServiceAccountToken": false, "containers": [
            { "name": "manager", "image": "vmoperator:0", "ports": [{ "name": "metrics", "containerPort": 8443 }] } ] },
    })
}

#[test]
fn where_replicas_are_pods_each_is_found_and_why_it_cannot_be_reached_is_told() {
    let stage = Stage::set();
    let look = || {
        let answer = dash(&stage, &["--duration=6s"])
            .output()
            .expect("vmctl runs");
        shown(&answer)
    };
    let (is, why) = source(&look(), "metrics", "");
    assert!(
        is == "absent" && why.contains("no pod of the operator"),
        "{why}"
    );
    let plane = &stage.house.plane;
    for name in ["one", "two", "pending"] {
        plane.apply(&pod(&stage.namespace, name).to_string());
    }
    for name in ["one", "two"] {
        let running = r#"{"status":{"phase":"Running"}}"#;
        plane.kubectl(&[
            "-n",
            &stage.namespace,
            "patch",
            "pod",
            name,
            "--subresource=status",
            "--type=merge",
            "-p",
            running,
        ]);
    }
    let seen = look();
    assert_eq!(seen["replicas"], json!({ "known": 2, "answering": 0 }));
    for name in ["one", "two"] {
        for kind in ["metrics", "state"] {
            let (is, why) = source(&seen, kind, name);
            assert!(is == "lost" && why.contains("port-forward"), "{is}: {why}");
        }
    }
    assert_eq!(seen["virtualMachines"]["listed"], true);
}
