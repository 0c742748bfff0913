//! Credentials: they are told to nobody but the provider, and rotation needs no restart.

use std::collections::BTreeMap;
use std::process::Command;

use k8s_openapi::ByteString;
use serde_json::{Value, json};

use super::e2e::client::events_about;
use super::e2e::cloud::{Cloud, prompt};
use super::e2e::house::{House, OPERATOR, manifest};
use super::e2e::{audit, checker, is_ready, until_or};
use super::{configure, operator, put_secret, waits_for};
use mock_provider::Options;

/// Keys with every character that an encoding changes.
const CANARY: &str = r#"canary-7f3a"\+/=&%<>~"#;
const WRONG: &str = r#"wrong-canary-91c"\+/=&%<>~"#;

/// A cloud that lets a key in.
fn locked(key: &str) -> Cloud {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), format!("tests={key}\n")).expect("it can be written");
    Cloud::start(Options {
        api_key_file: Some(file.path().to_owned()),
        ..prompt()
    })
}

fn base64(bytes: &[u8]) -> String {
    let text = serde_json::to_value(ByteString(bytes.to_vec())).expect("base64");
    text.as_str().unwrap_or_default().to_owned()
}

/// Every form in which a key could be written somewhere.
fn forms(key: &str) -> Vec<String> {
    let json = |text: &str| {
        let quoted = Value::from(text).to_string();
        quoted[1..quoted.len() - 1].to_owned()
    };
    let each = |form: fn(&u8) -> String, between: &str| {
        let bytes: Vec<String> = key.as_bytes().iter().map(form).collect();
        bytes.join(between)
    };
    let mut forms = vec![
        key.to_owned(),
        json(key),
        json(&json(key)),
        url::form_urlencoded::byte_serialize(key.as_bytes()).collect(),
        each(|byte| format!("{byte}"), ", "),
        each(|byte| format!("{byte:02x}"), ""),
    ];
    // In base64 what stands before it matters too: the inner part of each of three positions.
    for before in ["", "x", "xx"] {
        let text = base64(format!("{before}{key}").as_bytes());
        let inner = &text[4..text.len() - 4];
        forms.push(inner.to_owned());
        forms.push(inner.replace('+', "-").replace('/', "_"));
    }
    forms
}

fn holds_a_key(text: &str) -> Option<String> {
    [CANARY, WRONG]
        .into_iter()
        .flat_map(forms)
        .find(|form| text.contains(form))
}

/// Everything that anybody but the provider can read, by where it stands.
fn everything(
    house: &House,
    operator: &super::Operator,
    namespace: &str,
) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    let mut add = |name: &str, text: String| drop(all.insert(name.to_owned(), text));
    add("log", operator.text());
    add("metrics", operator.metrics());
    add("debug page", operator.debug_state());
    add(
        "health",
        operator.health("/readyz?verbose").1 + &operator.health("/livez?verbose").1,
    );
    for path in [
        "/apis/compute.example.com/v1/virtualmachines",
        "/apis/compute.example.com/v1/providerconfigs",
        "/apis/events.k8s.io/v1/events",
        "/apis/discovery.k8s.io/v1/endpointslices",
        "/apis/coordination.k8s.io/v1/leases",
        "/api/v1/services",
        "/api/v1/configmaps",
        "/api/v1/events",
    ] {
        add(path, house.client.text(path));
    }
    let mut secrets = house.client.list("/api/v1/secrets");
    secrets.retain(|secret| secret["metadata"]["name"] != "cloud");
    add("other Secrets", Value::from(secrets).to_string());
    let audit = house.plane.audit().into_iter();
    let ours = audit.filter(|event| event["user"]["username"] == OPERATOR);
    add("audit log", ours.map(|event| event.to_string()).collect());
    for args in [
        &["get", "vm", "-o", "yaml"][..],
        &["get", "pcfg", "-o", "yaml"],
        &["get", "vm", "-o", "wide"],
        &["get", "pcfg", "-o", "json"],
        &["describe", "vm"],
        &["describe", "pcfg", "default"],
        &["events"],
        &["events", "-o", "json"],
        // What fails tells why.
        &["wait", "vm", "web", "--for=phase=Stopped", "--timeout=1s"],
        &["get", "vm", "nobody"],
    ] {
        add(&format!("vmctl {args:?}"), vmctl(house, namespace, args));
    }
    let described = house
        .plane
        .kubectl(&["-n", namespace, "describe", "vm,pcfg"]);
    add("kubectl describe", described);
    all
}

/// Everything that `vmctl` prints, its errors too.
fn vmctl(house: &House, namespace: &str, args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_vmctl"))
        .args(args)
        .args(["--context", "vmctl", "-n", namespace])
        .arg("--kubeconfig")
        .arg(&house.plane.kubeconfig)
        .output()
        .expect("vmctl can be run");
    let fails = args.contains(&"wait") || args.contains(&"nobody");
    assert!(output.status.success() != fails, "{args:?}: {output:?}");
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

/// Waits until an object of this kind has told this; whoever searches events must find some.
fn told(house: &House, namespace: &str, about: (&str, &str), reason: &str) {
    let events = || events_about(&house.client, namespace, about);
    until_or(
        &format!("{about:?} has told {reason}"),
        || {
            events().iter().any(|event| {
                let note = event["note"].as_str().unwrap_or_default();
                event["reason"] == reason && !note.is_empty()
            })
        },
        || format!("{:#?}", events()),
    );
}

#[test]
fn an_api_key_stands_nowhere_but_in_its_secret_whatever_goes_wrong() {
    let (house, operator) = operator();
    let cloud = locked(CANARY);
    let namespace = house.namespace();
    put_secret(house, &namespace, json!({ "apiKey": CANARY }));
    configure(house, &cloud, &namespace);
    house.create(&namespace, "web");
    house.ready(&namespace, "web");
    // Every kind of trouble, each with its own words.
    for effect in [
        json!({ "kind": "html" }),
        json!({ "kind": "dropAfter" }),
        json!({ "kind": "status", "status": 307, "location": "http://127.0.0.1:1/elsewhere" }),
    ] {
        cloud.fault(json!({ "operation": "create", "count": 1, "effect": effect }));
    }
    house.create(&namespace, "late");
    house.ready(&namespace, "late");
    for (key, reason) in [
        (WRONG.to_owned(), "CredentialsRejected"),
        (format!("{CANARY}\n"), "SecretInvalid"),
        (format!("{CANARY} {WRONG}"), "SecretInvalid"),
    ] {
        put_secret(house, &namespace, json!({ "apiKey": key }));
        waits_for(house, &namespace, reason);
        told(house, &namespace, ("VirtualMachine", "web"), reason);
        told(house, &namespace, ("ProviderConfig", "default"), reason);
        let all = everything(house, operator, &namespace);
        for (place, text) in &all {
            assert_eq!(holds_a_key(text), None, "{place}, after {reason}");
        }
    }
    put_secret(
        house,
        &namespace,
        json!({ "apiKey": CANARY, "theirs": WRONG }),
    );
    house.ready(&namespace, "web");
    let all = everything(house, operator, &namespace);
    for (place, text) in &all {
        assert!(!text.is_empty(), "{place} is empty: nothing was searched");
        assert_eq!(holds_a_key(text), None, "{place}");
    }
    // The notes of events are among what was searched, in both forms in which they can be read.
    for path in ["/apis/events.k8s.io/v1/events", "/api/v1/events"] {
        let notes = ["CredentialsRejected", "put a valid one into the Secret"];
        assert!(notes.iter().all(|note| all[path].contains(note)), "{path}");
    }
    // The search finds what it looks for, and the log is as full as can be.
    let secrets = house
        .client
        .text(&format!("/api/v1/namespaces/{namespace}/secrets"));
    assert!(holds_a_key(&secrets).is_some());
    assert!(all["log"].contains(r#""level":"TRACE""#) && all["log"].contains("hyper"));
    house.delete(&namespace, "web");
    house.delete(&namespace, "late");
    house.gone(&namespace, "web");
    house.gone(&namespace, "late");
    checker::check(house, &cloud);
}

#[test]
fn every_form_of_a_key_is_searched_for() {
    let key = CANARY;
    let doctored = [
        format!("GET {key}"),
        format!("{key:?}"),
        format!("{:?}", key.as_bytes()),
        Value::from(format!("{key:?}")).to_string(),
        base64(format!("Bearer {key}").as_bytes()),
        base64(key.as_bytes()),
    ];
    for text in doctored {
        assert!(holds_a_key(&text).is_some(), "{text}");
    }
    assert_eq!(holds_a_key("nothing of the kind"), None);
}

/// VMs of a namespace, so many of them with this prefix.
fn vms(namespace: &str, prefix: &str, count: usize) -> Vec<Value> {
    (0..count)
        .map(|number| manifest(namespace, &format!("{prefix}-{number}")))
        .collect()
}

fn all_ready(house: &House, namespace: &str, count: usize) {
    let ready = || {
        let vms = house.vms();
        let here = vms
            .iter()
            .filter(|vm| vm["metadata"]["namespace"] == namespace);
        here.filter(|vm| is_ready(vm)).count()
    };
    until_or(
        &format!("{count} VMs are Ready"),
        || ready() == count,
        || format!("{} are", ready()),
    );
}

/// Case 11: 20 VMs at rest and 20 on their way while the old key is revoked before the new one is written.
#[test]
fn a_key_rotated_under_load_is_used_from_then_on_and_the_old_one_never_again() {
    let (house, _operator) = operator();
    let cloud = locked("the-old-key");
    let namespace = house.namespace();
    put_secret(house, &namespace, json!({ "apiKey": "the-old-key" }));
    configure(house, &cloud, &namespace);
    house.usable(&namespace);
    house.apply_all(&vms(&namespace, "steady", 20));
    all_ready(house, &namespace, 20);
    // Slow enough that they are still on their way when the key changes.
    let slow = json!({ "kind": "delay", "milliseconds": 300 });
    cloud.fault(json!({ "operation": "create", "effect": slow }));
    house.apply_all(&vms(&namespace, "moving", 20));
    let old = cloud.revoke("tests");
    cloud.admit("tests", "the-new-key");
    let refused = || cloud.log().iter().any(|call| call["status"] == 401);
    until_or("the old key is refused", refused, String::new);
    put_secret(house, &namespace, json!({ "apiKey": "the-new-key" }));
    all_ready(house, &namespace, 40);
    let log = cloud.log();
    let first = log.iter().position(|call| call["status"] == 401);
    let after = log.iter().skip(first.expect("a refusal") + 1);
    let late: Vec<&Value> = after
        .filter(|call| old.iter().any(|print| call["apiKey"] == print.as_str()))
        .collect();
    // What was under way at that moment, of five workers and the feed; and the checks of the key itself.
    let work = late
        .iter()
        .filter(|call| call["operation"] != "capabilities");
    assert!(work.count() <= 6, "{late:#?}");
    assert!(late.len() <= 12, "{late:#?}");
    let made = log
        .iter()
        .filter(|call| call["operation"] == "create" && call["applied"] == true);
    assert_eq!(made.count(), 40);
    // Who was at rest said at most once that the key is refused, and once that all is well.
    let mut writes: BTreeMap<String, usize> = BTreeMap::new();
    for write in audit::writes(house, &namespace) {
        *writes.entry(write).or_default() += 1;
    }
    writes.retain(|write, count| write.contains("status steady") && *count > 4);
    assert_eq!(writes, BTreeMap::new());
    checker::check(house, &cloud);
}
