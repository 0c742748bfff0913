//! Calls that are refused: too many, no quota, a part of the cloud down.

use std::collections::BTreeMap;

use serde_json::json;

use crate::e2e::cloud::prompt;
use crate::e2e::house::{House, manifest};
use crate::e2e::{audit, checker, is_ready, until_or};
use crate::scene::{NEW, OLD, Scene, Tenant, rules};

/// Retry-After as no sane server would say it, and what it is taken for.
#[test]
fn a_429_with_an_absurd_retry_after() {
    let scene = Scene::new(prompt());
    let throttled = |after: &str| {
        json!({ "operation": "create", "count": 1, "effect":
            { "kind": "status", "status": 429, "code": "RateLimited", "retryAfter": after } })
    };
    // Nonsense and the past are waited for in seconds.
    let rules = ["-1", "soon", "0", "Thu, 01 Jan 1970 00:00:00 GMT"].map(throttled);
    scene.afflict(&rules);
    scene.neighbour_goes_on();
    scene.struck();
    scene.recovers();
    // Eternity is not: nothing is sent, and it is said when the next try is due.
    scene
        .tenant
        .cloud
        .fault(throttled("99999999999999999999999"));
    let creates = scene.tenant.cloud.calls("create").0;
    // One after the other: two that are under way at the same time may both be sent, and either be refused.
    scene.tenant.create(&["late-0"]);
    scene.struck();
    scene.tenant.create(&["late-1"]);
    scene.says("late-0", "Ready", "RateLimited");
    scene.says_when("late-0", "RateLimited");
    scene.everyone_says_why();
    let calls = scene.tenant.cloud.calls("create").0 - creates;
    assert_eq!(
        calls, 1,
        "others were sent although the provider asked for a pause"
    );
    // A person who knows better writes another limit: that begins anew.
    scene
        .tenant
        .configure(json!({ "rateLimit": { "requestsPerSecond": 40 } }));
    scene.tenant.ready(&["late-0", "late-1"]);
    scene.tenant.cloud.mend();
    scene.ends();
}

#[test]
fn a_quota_that_is_used_up() {
    let scene = Scene::new(prompt());
    // Two old ones and the stranger's.
    scene.tenant.cloud.set(json!({ "quota": 3 }));
    scene.tenant.create(&NEW);
    scene.says(NEW[0], "Provisioned", "QuotaExceeded");
    scene.says(NEW[2], "Provisioned", "QuotaExceeded");
    scene.says_when(NEW[0], "QuotaExceeded");
    scene.only_the_neighbour_goes_on();
    scene.everyone_says_why();
    // No quota refuses a deletion. What it frees is used at once, not after the minute that a refusal is worth.
    scene.tenant.delete(OLD[0]);
    let ready = || {
        let vms = scene.tenant.vms();
        vms.iter()
            .filter(|vm| NEW.iter().any(|new| vm["metadata"]["name"] == *new) && is_ready(vm))
            .count()
    };
    until_or(
        "one of them has the place",
        || ready() == 1,
        || format!("{:#?}", scene.tenant.vms()),
    );
    // A person who has raised the quota need not wait either.
    scene.tenant.cloud.set(json!({ "quota": -1 }));
    let args = [
        "-n",
        &scene.tenant.namespace,
        "annotate",
        "vm",
        "--all",
        "compute.example.com/reconcile-at=now",
    ];
    scene.tenant.house.plane.kubectl(&args);
    scene.recovers();
    scene.ends();
}

/// Fifty VMs at three calls a second of a provider that asks for a pause of six seconds again and again, longer than a
/// call stands in line: whoever waits for a turn says so once, and the wait costs no write however often the turn comes
/// too late.
#[test]
fn fifty_creates_that_wait_for_their_turn_cost_no_write_for_waiting() {
    const VMS: usize = 50;
    let tenant = Tenant::new(prompt());
    let (house, namespace) = (tenant.house, tenant.namespace.as_str());
    let (_, operator) = House::with_operator();
    // Nothing but the limits makes anybody wait, also on a busy machine.
    let few = json!({ "rateLimit": { "requestsPerSecond": 3, "burst": 1 }, "timeoutSeconds": 20 });
    tenant.configure(few);
    house.usable(namespace);
    let pause =
        json!({ "kind": "status", "status": 429, "code": "RateLimited", "retryAfter": "6" });
    let pauses = json!({ "operation": "create", "probability": 0.3, "count": 4, "effect": pause });
    tenant.cloud.fault(pauses);
    let names: Vec<String> = (0..VMS).map(|number| format!("vm-{number}")).collect();
    let manifests: Vec<_> = names.iter().map(|name| manifest(namespace, name)).collect();
    house.apply_all(&manifests);
    for name in &names {
        house.ready(namespace, name);
    }
    assert_eq!(tenant.cloud.mend(), [4], "the provider asked for no pause");
    let waits = operator.lines().into_iter().filter(|line| {
        let text = line.to_string();
        line["namespace"] == namespace && text.contains("create failed: rate_limited")
    });
    let waits = waits.count();
    assert_eq!(tenant.cloud.ours().len(), VMS);
    let mut writes: BTreeMap<String, usize> = BTreeMap::new();
    for write in audit::writes(house, namespace) {
        if write.contains("virtualmachines") {
            *writes.entry(write).or_default() += 1;
        }
    }
    let of = |word: &str| -> usize {
        let these = writes.iter().filter(|(write, _)| write.contains(word));
        these.map(|(_, count)| count).sum()
    };
    let (intents, states) = (of("virtualmachines "), of("virtualmachines/status "));
    println!(
        "{VMS} creates waited {waits} times: {intents} writes of metadata, {states} of status"
    );
    assert!(waits > VMS, "nobody waited: {waits}");
    assert_eq!(intents, VMS);
    // That it waits, that the wait lasts, that it is sent now, its id, that it runs; those that met the provider's own
    // refusal say so too, and are sent twice.
    assert!(states <= 6 * VMS, "{states} writes: {writes:#?}");
    writes.retain(|write, count| write.contains("/status ") && *count > 8);
    assert_eq!(writes, BTreeMap::new());
    for vm in tenant.vms() {
        assert!(vm["status"]["operation"].is_null(), "{vm:#}");
    }
    tenant.configure(json!({}));
    tenant.clear();
    checker::check(house, &tenant.cloud);
}

#[test]
fn a_cloud_that_takes_no_creates() {
    let scene = Scene::new(prompt());
    let away = json!({ "kind": "status", "status": 503, "code": "Unavailable" });
    scene.afflict(&rules(&["create"], 0, &away));
    scene.struck();
    scene.only_the_neighbour_goes_on();
    // What needs no create goes on.
    scene.tenant.house.gone(&scene.tenant.namespace, OLD[0]);
    scene.everyone_says_why();
    scene.recovers();
    scene.ends();
}

#[test]
fn a_cloud_that_shows_no_lists_and_no_changes() {
    let scene = Scene::new(prompt());
    let away = json!({ "kind": "status", "status": 503, "code": "Unavailable" });
    scene.afflict(&rules(&["list", "changes"], 0, &away));
    scene.struck();
    scene.neighbour_goes_on();
    // Nothing is in doubt, so nothing has to be looked for.
    scene.tenant.ready(&NEW);
    // Absence cannot be proved without a list: the object stays, and says why.
    scene.says(OLD[0], "Deleting", "DeletionBlocked");
    scene.everyone_says_why();
    scene.recovers();
    scene.ends();
}

#[test]
fn a_host_that_is_down_with_one_vm_on_it() {
    let scene = Scene::new(prompt());
    let id = scene.tenant.house.ready(&scene.tenant.namespace, OLD[0]);
    let down = json!({ "kind": "status", "status": 500, "code": "Internal" });
    scene.afflict(&[json!({ "vmId": id, "effect": down })]);
    scene.struck();
    // The others of the same account are served.
    scene.tenant.ready(&NEW);
    scene.neighbour_goes_on();
    scene.says(OLD[0], "Deleting", "DeletionBlocked");
    scene.everyone_says_why();
    scene.recovers();
    scene.ends();
}

#[test]
fn half_of_all_calls_failing() {
    let scene = Scene::new(prompt());
    let fails = json!({ "kind": "status", "status": 502, "code": "Unavailable", "applied": true });
    scene.afflict(&[json!({ "probability": 0.5, "effect": fails })]);
    scene.struck();
    scene.neighbour_goes_on();
    scene.everyone_says_why();
    scene.recovers();
    scene.ends();
}
