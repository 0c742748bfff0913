//! The verbs in an environment of `vmctl up`, with the real operator and the mock provider.

use std::fs;
use std::io::Read;

use serde_json::{Value, json};

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

    the_environment_is_told(&sandbox);
    nothing_secret_is_in_the_archive(&sandbox);

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

fn the_environment_is_told(sandbox: &Sandbox) {
    let described = sandbox.succeed(&["describe", "vm", "web-1"]);
    for words in [
        "├─ Secret web-1-connection\n",
        "Provider calls, the latest last:\n",
        " create ",
        "201",
        "  operator: ",
    ] {
        assert!(described.contains(words), "{words}: {described}");
    }
    let top = sandbox.succeed(&["top", "operator"]);
    assert!(
        top.contains("PROVIDER CALL") && top.contains("\ncreate ") && top.contains("QUEUE"),
        "{top}"
    );
    let top: Value =
        serde_json::from_str(&sandbox.succeed(&["top", "operator", "-o", "json"])).unwrap();
    let calls = top["providerCalls"].as_array().unwrap();
    let create = calls
        .iter()
        .find(|call| call["operation"] == "create")
        .unwrap();
    // The first `up` made one too.
    assert!(create["p50"].is_number() && create["calls"] == 2, "{top}");
    let status: Value = serde_json::from_str(&sandbox.succeed(&["status", "-o=json"])).unwrap();
    assert_eq!(status["inside"]["leader"]["fresh"], true, "{status}");
    assert_eq!(
        status["inside"]["virtualMachines"]["phases"],
        json!({ "Running": 1 }),
        "{status}"
    );
    let doctor: Value = serde_json::from_str(&sandbox.succeed(&["doctor", "-o=json"])).unwrap();
    let verdicts = doctor["checks"].as_array().unwrap();
    assert!(doctor["ok"] == true && verdicts.len() > 20, "{doctor}");
    for id in [
        "DOC-API",
        "DOC-DEFINITIONS",
        "DOC-LEADER",
        "DOC-PROVIDER-CONFIGS",
        "DOC-CHILDREN",
        "DOC-PORTS",
        "DOC-TOOLS",
    ] {
        let check = verdicts
            .iter()
            .find(|check| check["id"] == id)
            .unwrap_or_else(|| panic!("{id}: {doctor}"));
        assert_eq!(check["verdict"], "ok", "{check}");
    }
    assert!(
        sandbox
            .succeed(&["env", "list"])
            .contains("dev    running   embedded   v1.")
    );
    let export = sandbox.succeed(&["env", "export"]);
    let file = sandbox.environment("dev").join("kubeconfig");
    assert_eq!(
        export,
        format!(
            "export KUBECONFIG='{}'\nexport VMCTL_ENV='dev'\n",
            file.display()
        )
    );
}

/// Every credential of the environment, as it is and in base64, planted where a log might hold it.
fn nothing_secret_is_in_the_archive(sandbox: &Sandbox) {
    let environment = sandbox.environment("dev");
    let read = |path: &str| fs::read_to_string(environment.join(path)).unwrap();
    let key = read("mock/api-keys")
        .trim()
        .split_once('=')
        .unwrap()
        .1
        .to_owned();
    let token = read("operator/token");
    let kubeconfig: Value = serde_saphyr::from_str(&read("kubeconfig")).unwrap();
    let pem = kubeconfig["users"][0]["user"]["client-key-data"]
        .as_str()
        .unwrap()
        .to_owned();
    let base64 = sandbox.succeed(&[
        "kubectl",
        "get",
        "secret",
        "mock-provider",
        "-o=jsonpath={.data.apiKey}",
    ]);
    let foreign = "a-key-that-somebody-made";
    sandbox.succeed(&[
        "kubectl",
        "create",
        "secret",
        "generic",
        "other",
        &format!("--from-literal=apiKey={foreign}"),
    ]);
    let secrets = [
        key,
        token.trim().to_owned(),
        pem,
        base64,
        foreign.to_owned(),
    ];
    is_without(sandbox, &secrets);
}

/// What an archive has.
const PARTS: [&str; 11] = [
    "doctor.json",
    "state.json",
    "journal.jsonl",
    "logs/operator.log",
    "logs/planted.log",
    "objects/virtualmachine.json",
    "objects/event.json",
    "metrics.txt",
    "debug-state.json",
    "provider-log.jsonl",
    "missing.txt",
];

fn is_without(sandbox: &Sandbox, secrets: &[String]) {
    let environment = sandbox.environment("dev");
    let log = environment.join("logs").join("planted.log");
    let lines = secrets
        .iter()
        .map(|secret| format!("{{\"note\":\"{secret}\"}}\nplain {secret} text\n"));
    fs::write(
        &log,
        lines.collect::<String>() + "http://me:hunter2@host/\n",
    )
    .unwrap();

    let archive = sandbox.state_home().join("diag.tar.gz");
    sandbox.succeed(&["diag", "-f", archive.to_str().unwrap()]);
    fs::remove_file(log).unwrap();
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(
        fs::File::open(archive).unwrap(),
    ));
    let mut names = Vec::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let name = entry.path().unwrap().display().to_string();
        let mut text = String::new();
        entry.read_to_string(&mut text).unwrap();
        for secret in secrets
            .iter()
            .map(String::as_str)
            .chain(["hunter2", "PRIVATE KEY"])
        {
            assert!(!text.contains(secret), "{name} has {secret}");
        }
        if name.ends_with("planted.log") {
            assert!(
                text.contains("plain [REDACTED] text") && text.contains("[REDACTED]@host"),
                "{text}"
            );
        }
        names.push(name);
    }
    for part in PARTS {
        assert!(
            names
                .iter()
                .any(|name| name == &format!("vmctl-diag/{part}")),
            "{part}: {names:?}"
        );
    }
}
