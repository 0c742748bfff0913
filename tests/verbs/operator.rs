//! `vmctl run` and `vmctl logs`.

use std::process::{Child, Stdio};

use serde_json::Value;

use crate::sandbox::{Sandbox, signal, until};

fn holder(sandbox: &Sandbox) -> String {
    let lease = ["lease", "vmoperator-leader", "-n", "vmoperator-system"];
    let path = ["-o", "jsonpath={.spec.holderIdentity}"];
    let answer = sandbox.vmctl(&[&["kubectl", "get"][..], &lease, &path].concat());
    answer.stdout
}

fn interrupted(mut child: Child) -> (Option<i32>, String) {
    signal(child.id(), rustix::process::Signal::INT);
    let mut words = String::new();
    let mut stderr = child.stderr.take().expect("stderr is piped");
    std::io::Read::read_to_string(&mut stderr, &mut words).expect("stderr can be read");
    (child.wait().expect("it ends").code(), words)
}

#[test]
fn replicas_of_this_build_take_the_operators_place_and_give_it_back() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&["up"]);
    let arguments = [
        "run",
        "--replicas=2",
        "--output=json",
        "--",
        "--concurrency=7",
    ];
    let mut run = sandbox.command(&arguments);
    let run = run
        .stdout(Stdio::null())
        .spawn()
        .expect("vmctl can be started");
    until("a replica leads", || holder(&sandbox).starts_with("run-"));
    let own = sandbox.pid("dev", "operator");
    assert_eq!(own, None, "the environment's own operator runs beside them");
    let spec = ["web", "--image=ubuntu-22.04", "--cpu=2", "--memory=4Gi"];
    sandbox.succeed(&[&["create", "vm"][..], &spec].concat());

    let told = sandbox.succeed(&["logs", "run-1", "run-2", "--vm", "web", "--tail=500"]);
    let is_about = |line: &str| line.starts_with("run-") && line.contains("default/web");
    assert!(told.lines().count() >= 2, "{told}");
    assert!(told.lines().all(is_about), "{told}");
    let raw = sandbox.succeed(&["logs", "run-1", "-o", "json", "--tail", "3"]);
    assert_eq!(raw.lines().count(), 3, "{raw}");
    for line in raw.lines() {
        serde_json::from_str::<serde_json::Value>(line).expect("JSON");
    }
    all_tellers_are_heard_in_order(&sandbox, &["run-"]);
    let none = sandbox.vmctl(&["logs", "nobody"]);
    assert_eq!(none.code, Some(4), "{none:?}");
    assert!(none.stderr.contains("VMC-NO-LOG") && none.stderr.contains("kube-apiserver"));
    let busy = sandbox.vmctl(&["down"]);
    assert_eq!(busy.code, Some(5), "{busy:?}");

    let (code, words) = interrupted(run);
    assert_eq!(code, Some(130), "{words}");
    assert!(words.contains("has its own operator again"), "{words}");
    until("the operator is back", || {
        sandbox.pid("dev", "operator").is_some() && holder(&sandbox).starts_with("vmoperator")
    });
    sandbox.succeed(&["delete", "vm", "web"]);
    // Of an object that is gone, too; and of every replica that ever had to do with it.
    all_tellers_are_heard_in_order(&sandbox, &["run-", "operator"]);
}

/// Lines of replicas, calls to the provider and events, merged by time.
fn all_tellers_are_heard_in_order(sandbox: &Sandbox, replicas: &[&str]) {
    let told = sandbox.succeed(&["logs", "vm", "web", "-o", "json", "--tail", "1000"]);
    let entries: Vec<Value> = told
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let of = |source: &str| {
        entries
            .iter()
            .filter(|entry| entry["source"] == source)
            .count()
    };
    assert!(
        of("operator") >= 2 && of("provider") >= 1 && of("event") >= 1,
        "{told}"
    );
    let replica = |entry: &Value| entry["replica"].as_str().unwrap_or_default().to_owned();
    for wanted in replicas {
        assert!(
            entries
                .iter()
                .any(|entry| replica(entry).starts_with(wanted)),
            "{wanted}: {told}"
        );
    }
    let times: Vec<&str> = entries
        .iter()
        .map(|entry| entry["time"].as_str().unwrap())
        .collect();
    let times: Vec<jiff::Timestamp> = times.iter().map(|time| time.parse().unwrap()).collect();
    assert!(times.is_sorted(), "{told}");
    let create = entries
        .iter()
        .find(|entry| entry["line"]["operation"] == "create")
        .unwrap();
    assert_eq!(create["line"]["status"], 201, "{told}");
    assert!(!told.contains("apiKey"), "{told}");
    let text = sandbox.succeed(&["logs", "vm/web", "--tail", "1000"]);
    assert_eq!(text.lines().count(), entries.len(), "{text}");
    assert!(
        text.contains(" provider     create 201 vm-") && text.contains(" event        Normal "),
        "{text}"
    );
    let none = sandbox.vmctl(&["logs", "vm", "nobody"]);
    assert_eq!(none.code, Some(4), "{none:?}");
}

#[test]
fn logs_are_followed_until_ctrl_c() {
    let sandbox = Sandbox::new();
    let none = sandbox.vmctl(&["logs"]);
    assert_eq!(none.code, Some(4), "{none:?}");
    let folder = sandbox.environment("dev").join("logs");
    std::fs::create_dir_all(&folder).expect("a directory");
    let log = folder.join("operator.log");
    std::fs::write(&log, "first\n").expect("it can be written");
    let mut child = sandbox.start(&["logs", "-f"]);
    let stdout = child.stdout.take().expect("stdout is piped");
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(stdout));
    let mut next = || lines.next().expect("a line").expect("it can be read");
    assert_eq!(next(), "first");
    let file = std::fs::OpenOptions::new().append(true).open(&log);
    std::io::Write::write_all(&mut file.expect("it opens"), b"second\n").expect("it is written");
    assert_eq!(next(), "second");
    let (code, _) = interrupted(child);
    assert_eq!(code, Some(130));
}
