//! The judge finds what he looks for: sound evidence has no findings, and each way to doctor it has its own.

use serde_json::{Value, json};

use crate::e2e::audit::Request;
use crate::e2e::checker::Evidence;
use crate::e2e::house::OPERATOR;
use crate::e2e::judge::unexplained;

const START: &str = "2030-01-01T00:00:00Z";

fn at(seconds: i64) -> jiff::Timestamp {
    let start: jiff::Timestamp = START.parse().expect("a time");
    start + jiff::SignedDuration::from_secs(seconds)
}

fn vm(id: &str, name: &str) -> Value {
    json!({
        "id": id, "image": "ubuntu-22.04", "cpu": 2, "memory": "4Gi", "phase": "Running", "deletedAt": null,
        "addresses": [{ "type": "InternalIP", "address": "198.18.0.1" }],
        "tags": { "vmoperator/uid": format!("uid-{name}"), "vmoperator/namespace": "here", "vmoperator/name": name },
    })
}

fn object(id: &str, name: &str) -> Value {
    json!({
        "metadata": { "namespace": "here", "name": name, "uid": format!("uid-{name}"), "generation": 1 },
        "status": {
            "id": id, "phase": "Running", "addresses": [{ "type": "InternalIP", "address": "198.18.0.1" }],
            "instance": { "image": "ubuntu-22.04", "cpu": 2, "memory": "4Gi" },
            "conditions": [{ "type": "Ready", "status": "True", "reason": "Running", "message": "runs", "observedGeneration": 1 }],
        },
    })
}

fn request(user: &str, verb: &str, resource: &str, name: &str, seconds: i64) -> Request {
    Request {
        user: user.to_owned(),
        verb: verb.to_owned(),
        resource: resource.to_owned(),
        group: "compute.example.com".to_owned(),
        namespace: "here".to_owned(),
        name: name.to_owned(),
        code: 200,
        denied: false,
        received: at(seconds),
        agent: String::new(),
        query: String::new(),
        holder: String::new(),
    }
}

fn call(operation: &str, id: &str, name: &str, seconds: i64) -> Value {
    let time = at(seconds).to_string();
    json!({
        "operation": operation, "vmId": id, "uid": format!("uid-{name}"), "time": time, "status": 200, "applied": true,
    })
}

/// `kept` was made and stays; `gone` was made, deleted by a user, and is no more.
fn sound() -> Evidence {
    let mut gone = vm("vm-2", "gone");
    gone["deletedAt"] = json!(START);
    let stranger = json!({ "id": "vm-9", "tags": {}, "deletedAt": null });
    Evidence {
        vms: vec![vm("vm-1", "kept"), gone, stranger.clone()],
        log: vec![
            call("create", "vm-9", "stranger", 1),
            call("create", "vm-1", "kept", 3),
            call("create", "vm-2", "gone", 3),
            call("delete", "vm-2", "gone", 6),
        ],
        strangers: vec![stranger],
        objects: vec![object("vm-1", "kept")],
        requests: vec![
            request(OPERATOR, "patch", "virtualmachines", "kept", 2),
            request(OPERATOR, "patch", "virtualmachines", "gone", 2),
            request("admin", "delete", "virtualmachines", "gone", 5),
            request(OPERATOR, "patch", "virtualmachines", "gone", 7),
        ],
    }
}

fn findings(evidence: &Evidence) -> Vec<String> {
    let mut findings = evidence.always(1);
    findings.extend(evidence.settled());
    findings.extend(evidence.unharmed());
    findings
}

/// One change makes findings of exactly these invariants.
fn finds(doctor: impl FnOnce(&mut Evidence), invariants: &[&str]) {
    let mut evidence = sound();
    doctor(&mut evidence);
    let findings = findings(&evidence);
    let mut found: Vec<&str> = findings
        .iter()
        .map(|finding| finding.split(':').next().unwrap_or_default())
        .collect();
    found.dedup();
    assert_eq!(found, invariants, "{findings:#?}");
}

#[test]
fn sound_evidence_has_no_findings() {
    assert_eq!(findings(&sound()), Vec::<String>::new());
}

#[test]
fn a_second_vm_of_an_object_is_found() {
    let twin = |evidence: &mut Evidence| {
        evidence.vms.push(vm("vm-3", "kept"));
        evidence.log.push(call("create", "vm-3", "kept", 4));
    };
    finds(twin, &["I1", "I3"]);
}

#[test]
fn a_create_before_its_intent_is_found() {
    let early = |evidence: &mut Evidence| evidence.log[1] = call("create", "vm-1", "kept", 1);
    finds(early, &["I2"]);
    // The operator died over its write: stored or not, the server says that it took too long.
    let answered = |code: u64| {
        move |evidence: &mut Evidence| {
            let patch =
                |one: &&mut Request| one.verb == "patch" && one.resource == "virtualmachines";
            for one in evidence.requests.iter_mut().filter(patch) {
                one.code = code;
            }
        }
    };
    finds(answered(504), &[]);
    for refused in [409, 422, 500] {
        finds(answered(refused), &["I2"]);
    }
}

#[test]
fn a_vm_without_its_object_and_a_create_after_the_end_are_found() {
    let leaked = |evidence: &mut Evidence| evidence.vms[1]["deletedAt"] = Value::Null;
    finds(leaked, &["I3"]);
    let late = |evidence: &mut Evidence| evidence.log.push(call("create", "vm-2", "gone", 8));
    // It also took more creates than VMs.
    finds(late, &["I3", "I8"]);
}

#[test]
fn a_status_that_is_not_what_is_there_is_found() {
    let parts: [fn(&mut Value); 4] = [
        |object| object["status"]["phase"] = json!("Stopped"),
        |object| object["status"]["addresses"] = json!([]),
        |object| object["status"]["instance"]["cpu"] = json!(4),
        |object| object["status"]["instance"] = Value::Null,
    ];
    for part in parts {
        finds(|evidence| part(&mut evidence.objects[0]), &["I4"]);
    }
    let forgotten = |evidence: &mut Evidence| {
        let mut other = object("vm-3", "other");
        other["status"]["id"] = Value::Null;
        evidence.objects.push(other);
    };
    finds(forgotten, &["I4"]);
}

#[test]
fn what_a_neighbour_suffered_is_found() {
    let refused = |evidence: &mut Evidence| evidence.log[1]["status"] = json!(503);
    finds(refused, &["I8"]);
    let dropped = |evidence: &mut Evidence| evidence.log[3]["dropped"] = json!(true);
    finds(dropped, &["I8"]);
    let again = |evidence: &mut Evidence| evidence.log.push(call("create", "vm-1", "kept", 4));
    finds(again, &["I8"]);
    let told = |evidence: &mut Evidence| {
        for second in 3..8 {
            let write = request(OPERATOR, "patch", "virtualmachines/status", "kept", second);
            evidence.requests.push(write);
        }
    };
    finds(told, &["I8"]);
}

#[test]
fn a_loop_of_calls_or_writes_is_found() {
    let calls = |evidence: &mut Evidence| {
        for _call in 0..50 {
            evidence.log.push(call("get", "vm-1", "kept", 4));
        }
    };
    finds(calls, &["I9"]);
    let writes = |evidence: &mut Evidence| {
        for _write in 0..50 {
            let write = request(OPERATOR, "patch", "virtualmachines/status", "kept", 4);
            evidence.requests.push(write);
        }
    };
    finds(writes, &["I9", "I8"]);
}

#[test]
fn whoever_is_not_ready_without_a_word_is_found() {
    let parts: [fn(&mut Value); 4] = [
        |object| object["status"]["conditions"] = json!([]),
        |object| {
            object["status"]["conditions"][0]["status"] = json!("False");
            object["status"]["conditions"][0]["reason"] = json!("");
        },
        |object| {
            object["status"]["conditions"][0]["status"] = json!("Unknown");
            object["status"]["conditions"][0]["message"] = Value::Null;
        },
        |object| {
            object["status"]["conditions"][0]["status"] = json!("False");
            object["metadata"]["generation"] = json!(2);
        },
    ];
    for part in parts {
        finds(|evidence| part(&mut evidence.objects[0]), &["I11"]);
    }
    let mut said = object("vm-1", "kept");
    said["status"]["conditions"][0]["status"] = json!("False");
    assert_eq!(unexplained(&[said]), Vec::<String>::new());
}

#[test]
fn a_deletion_that_no_user_asked_for_and_a_changed_stranger_are_found() {
    let unasked = |evidence: &mut Evidence| drop(evidence.requests.remove(2));
    finds(unasked, &["I12"]);
    let touched = |evidence: &mut Evidence| evidence.vms[2]["deletedAt"] = json!(START);
    finds(touched, &["I12"]);
}

#[test]
fn a_missing_right_is_found() {
    let denied = |evidence: &mut Evidence| {
        let mut one = request(OPERATOR, "delete", "virtualmachines", "kept", 4);
        one.denied = true;
        one.code = 403;
        evidence.requests.push(one);
    };
    finds(denied, &["the operator's right is missing"]);
}
