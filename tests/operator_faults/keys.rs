//! Idempotency keys that the provider knows already, with another body than the operator's.

use serde_json::{Value, json};

use crate::e2e::client::condition;
use crate::e2e::cloud::{Cloud, prompt};
use crate::e2e::{checker, until_or};
use crate::scene::Tenant;

/// What somebody else asks for under our key.
fn other_body() -> Value {
    json!({ "name": "another", "image": "debian-12", "cpu": 1, "memory": "1Gi" })
}

/// The creates that were asked for, for this object.
fn creates(cloud: &Cloud, uid: &str) -> Vec<Value> {
    let mut log = cloud.log();
    log.retain(|call| call["operation"] == "create" && call["uid"] == uid);
    log
}

/// Lets no create of this name through, and waits until one was refused; gives the object and its key.
fn held_up(tenant: &Tenant, name: &str) -> (Value, String) {
    let (house, cloud) = (tenant.house, &tenant.cloud);
    let busy = json!({ "kind": "status", "status": 409, "code": "Busy" });
    let tag = format!("vmoperator/name={name}");
    cloud.fault(json!({ "operation": "create", "tag": tag, "effect": busy }));
    tenant.create(&[name]);
    let mut object = Value::Null;
    house.until_vm(&tenant.namespace, name, "has an intent", |vm| {
        object = vm.clone();
        vm["metadata"]["annotations"]["compute.example.com/create"].is_string()
    });
    let uid = object["metadata"]["uid"].as_str().expect("a uid");
    until_or(
        "its create was refused",
        || !creates(cloud, uid).is_empty(),
        || format!("{:#?}", cloud.log()),
    );
    let key = creates(cloud, uid)[0]["idempotencyKey"].clone();
    (object, key.as_str().expect("a key").to_owned())
}

fn uid(object: &Value) -> &str {
    object["metadata"]["uid"].as_str().expect("a uid")
}

/// C15: the key made something else before the operator's create came through. What bears our tags is ours and is
/// recorded; what does not is nobody of ours: another key makes the VM, and a deletion ends without one.
#[test]
fn a_key_that_is_known_with_another_body_makes_no_second_vm_and_holds_nobody_up() {
    let mut tenant = Tenant::new(prompt());
    let (taken, taken_key) = held_up(&tenant, "taken");
    let (_, leaving_key) = held_up(&tenant, "leaving");
    let (ours, our_key) = held_up(&tenant, "ours");
    for key in [&taken_key, &leaving_key] {
        let made = tenant.cloud.make_under(key, &other_body());
        tenant.cloud.disown(&made);
    }
    let intent = &ours["metadata"]["annotations"]["compute.example.com/create"];
    let intent: Value = serde_json::from_str(intent.as_str().expect("text")).expect("JSON");
    let mut body = intent["spec"].clone();
    body["cpu"] = json!(7);
    let tags = body["tags"].clone();
    // By its name alone the rule would hit it too.
    body["tags"]["vmoperator/name"] = json!("by-hand");
    let made = tenant.cloud.make_under(&our_key, &body);
    let made = made["id"].as_str().expect("an id");
    tenant.cloud.tag(made, &tags);
    tenant.delete("leaving");
    let (house, cloud, namespace) = (tenant.house, &tenant.cloud, tenant.namespace.as_str());
    assert!(cloud.mend().iter().all(|hits| *hits > 0));
    // Another incarnation has another key.
    house.ready(namespace, "taken");
    let mine = |vm: &&Value| vm["tags"]["vmoperator/uid"] == uid(&taken);
    let live = cloud.ours();
    let mine: Vec<&Value> = live.iter().filter(mine).collect();
    assert_eq!(mine.len(), 1, "{live:#?}");
    assert_eq!(mine[0]["tags"]["vmoperator/incarnation"], "2");
    // Found by its tags: recorded, and said to be other than ordered.
    house.until_vm(namespace, "ours", "has recorded what the key made", |vm| {
        let drift = ("False".to_owned(), "DriftDetected".to_owned());
        vm["status"]["id"] == made && condition(vm, "Synced") == Some(drift)
    });
    house.gone(namespace, "leaving");
    for object in [&taken, &ours] {
        let calls = creates(cloud, uid(object));
        let reused = |call: &&Value| call["code"] == "IdempotencyKeyReused";
        let reused = calls.iter().filter(reused).count();
        assert!(
            reused <= 2,
            "the refused body was sent again and again: {calls:#?}"
        );
    }
    let reused = creates(cloud, uid(&taken)).into_iter();
    let mut reused = reused.filter(|call| call["code"] == "IdempotencyKeyReused");
    assert!(reused.next().is_some(), "the key was never refused");
    assert_eq!(cloud.ours().len(), 2);
    checker::check(house, cloud);
    tenant.clear();
    assert_eq!(cloud.live().len(), 3, "the strangers' VMs are left alone");
    checker::check(house, cloud);
}
