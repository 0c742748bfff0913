//! Deletions that the provider refuses for ever, or that never get done there: the object stays and says why, the
//! provider is asked seldom, and nothing is let go of.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::e2e::client::condition;
use crate::e2e::cloud::{Cloud, prompt};
use crate::e2e::{checker, until_or};
use crate::scene::Tenant;

const DAY: Duration = Duration::from_hours(24);

/// The object as it stands, with everything that holds it.
fn held(tenant: &Tenant, name: &str) -> Value {
    let vm = tenant.house.vm(&tenant.namespace, name);
    let vm = vm.expect("the object was let go of");
    let finalizers = vm["metadata"]["finalizers"].to_string();
    assert!(
        finalizers.contains("compute.example.com/vm-cleanup"),
        "the finalizer went before the VM did: {finalizers}"
    );
    vm
}

/// When each deletion was asked for.
fn deletions(cloud: &Cloud) -> Vec<Timestamp> {
    let log = cloud.log().into_iter();
    let deletions = log.filter(|call| call["operation"] == "delete");
    let time = |call: Value| call["time"].as_str().and_then(|time| time.parse().ok());
    deletions.filter_map(time).collect()
}

/// C11: 409 at each DELETE.
#[test]
fn a_deletion_that_is_refused_as_busy_is_told_and_tried_seldom_until_the_provider_gives_way() {
    let tenant = Tenant::new(prompt());
    let (house, cloud, namespace) = (tenant.house, &tenant.cloud, tenant.namespace.as_str());
    tenant.create(&["web", "other"]);
    tenant.ready(&["web", "other"]);
    let id = house.ready(namespace, "web");
    let busy =
        json!({ "kind": "status", "status": 409, "code": "Busy", "message": "a snapshot is made" });
    cloud.fault(json!({ "vmId": id, "operation": "delete", "effect": busy }));
    tenant.delete("web");
    house.until_vm(namespace, "web", "says what it waits for", |vm| {
        let blocked = ("True".to_owned(), "DeletionBlocked".to_owned());
        let operation = &vm["status"]["operation"];
        condition(vm, "Deleting") == Some(blocked)
            && (operation["type"] == "Delete" && operation["lastErrorReason"] == "Busy")
            && operation["nextAttemptAt"].is_string()
    });
    until_or(
        "it was tried four times",
        || deletions(cloud).len() >= 4,
        || format!("{:?}", deletions(cloud)),
    );
    let vm = held(&tenant, "web");
    let conditions = vm["status"]["conditions"].as_array().cloned();
    let mut conditions = conditions.unwrap_or_default().into_iter();
    let deleting = conditions.find(|one| one["type"] == "Deleting");
    let message = deleting.unwrap_or_default()["message"].to_string();
    assert!(
        message.contains("another operation is under way") && message.contains("Busy"),
        "{message}"
    );
    // Pauses of at least 0.7, 1.5 and 3 s: a busy machine makes them longer, nothing may make them shorter.
    let asked = deletions(cloud);
    let soon = asked[0] + Duration::from_secs(4);
    let early = asked.iter().filter(|at| **at < soon).count();
    assert!(early <= 3, "{early} tries within four seconds: {asked:?}");
    // Nobody else waits with it.
    tenant.delete("other");
    house.gone(namespace, "other");
    held(&tenant, "web");
    assert_eq!(cloud.ours().len(), 1);
    assert!(cloud.mend()[0] >= 4);
    house.gone(namespace, "web");
    assert_eq!(cloud.ours(), Vec::<Value>::new());
    checker::check(house, cloud);
}

/// C11: a deletion that is accepted and under way for ever. It is not sent again, whatever the looks show.
#[test]
fn a_deletion_that_is_under_way_for_ever_is_asked_for_once_and_waited_for() {
    let tenant = Tenant::new(prompt());
    let (house, cloud, namespace) = (tenant.house, &tenant.cloud, tenant.namespace.as_str());
    tenant.create(&["web"]);
    tenant.ready(&["web"]);
    cloud.set(json!({ "deleteDelayMilliseconds": DAY.as_millis() }));
    tenant.delete("web");
    let phase = || {
        cloud
            .ours()
            .first()
            .map(|vm| vm["phase"].clone())
            .unwrap_or_default()
    };
    until_or(
        "the provider deletes it",
        || phase() == "Deleting",
        || phase().to_string(),
    );
    let looks = || cloud.calls("changes").0 + cloud.calls("get").0 + cloud.calls("list").0;
    let before = looks();
    until_or(
        "the provider was looked at again and again",
        || looks() >= before + 4,
        || format!("{} times", looks() - before),
    );
    let vm = held(&tenant, "web");
    let deleting = ("True".to_owned(), "Deleting".to_owned());
    assert_eq!(condition(&vm, "Deleting"), Some(deleting), "{vm:#}");
    assert_eq!(vm["status"]["phase"], "Deleting");
    assert_eq!(cloud.calls("delete").0, 1, "it was asked for again");
    let day = u64::try_from(DAY.as_millis()).expect("a day fits");
    cloud.step(day);
    house.gone(namespace, "web");
    assert_eq!(cloud.ours(), Vec::<Value>::new());
    assert_eq!(cloud.calls("delete").0, 1);
    checker::check(house, cloud);
}
