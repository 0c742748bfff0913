//! Deletion, in any order and whatever is missing.

use mock_provider::Options;
use serde_json::{Value, json};

use crate::e2e::checker;
use crate::e2e::client::{condition, events_about};
use crate::e2e::cloud::{Cloud, prompt};
use crate::e2e::house::{House, manifest};
use crate::e2e::{is_ready, until_or};
use crate::scene::{Tenant, locked_cloud, total};

/// A namespace with a Secret, a ProviderConfig that names it, and so many Ready VMs.
fn furnished<'c>(house: &House, cloud: &'c Cloud, count: usize) -> (String, &'c Cloud) {
    let namespace = house.namespace();
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "stringData": { "apiKey": "a-key" },
        "metadata": { "name": "cloud", "namespace": namespace },
    });
    let spec =
        json!({ "endpoint": cloud.url, "timeoutSeconds": 1, "secretRef": { "name": "cloud" } });
    let config = json!({
        "apiVersion": "compute.example.com/v1", "kind": "ProviderConfig",
        "metadata": { "name": "default", "namespace": namespace }, "spec": spec,
    });
    let mut all = vec![secret, config];
    all.extend((0..count).map(|number| manifest(&namespace, &format!("vm-{number}"))));
    house.apply_all(&all);
    (namespace, cloud)
}

fn here(house: &House, namespace: &str) -> Vec<Value> {
    let mut vms = house.vms();
    vms.retain(|vm| vm["metadata"]["namespace"] == namespace);
    vms
}

fn all_ready(house: &House, namespace: &str, count: usize) {
    let ready = || {
        here(house, namespace)
            .iter()
            .filter(|vm| is_ready(vm))
            .count()
    };
    until_or(
        &format!("{count} VMs of {namespace} are Ready"),
        || ready() == count,
        || format!("{} are", ready()),
    );
}

fn namespace_gone(house: &House, namespace: &str) {
    until_or(
        &format!("namespace {namespace} is gone"),
        || house.client.get("/api/v1/namespaces", namespace).is_none(),
        || {
            let left = house.client.get("/api/v1/namespaces", namespace);
            format!("{left:#?}\n{:#?}", here(house, namespace))
        },
    );
}

/// Case 5 and reliability 7: 50 VMs with their config and Secret, in the background and in the foreground.
#[test]
fn a_namespace_with_fifty_vms_config_and_secret_goes_by_itself_in_background_and_foreground() {
    let (house, _operator) = House::with_operator();
    let cloud = locked_cloud("tests=a-key\n");
    let places = ["background", "foreground"].map(|how| (how, furnished(house, &cloud, 50).0));
    for (_, namespace) in &places {
        all_ready(house, namespace, 50);
    }
    // Nothing is deleted at once, so that config and Secret have every chance to go first.
    cloud.set(json!({ "deleteDelayMilliseconds": 2000 }));
    for (how, namespace) in &places {
        // One more that may be anywhere on its way.
        house.create(namespace, "late");
        let cascade = format!("--cascade={how}");
        house
            .plane
            .kubectl(&["delete", "namespace", namespace, &cascade, "--wait=false"]);
    }
    for (_, namespace) in &places {
        namespace_gone(house, namespace);
    }
    assert_eq!(cloud.ours(), Vec::<Value>::new());
    checker::check(house, &cloud);
}

/// Case 5: VMs, config and Secret in each of their six orders.
#[test]
fn vms_config_and_secret_may_be_deleted_in_every_order() {
    let (house, _operator) = House::with_operator();
    let cloud = locked_cloud("tests=a-key\n");
    let orders = [
        ["vm", "pcfg", "secret"],
        ["vm", "secret", "pcfg"],
        ["pcfg", "vm", "secret"],
        ["pcfg", "secret", "vm"],
        ["secret", "vm", "pcfg"],
        ["secret", "pcfg", "vm"],
    ];
    let places = orders.map(|order| (order, furnished(house, &cloud, 3).0));
    for (_, namespace) in &places {
        all_ready(house, namespace, 3);
    }
    cloud.set(json!({ "deleteDelayMilliseconds": 1500 }));
    for (order, namespace) in &places {
        for kind in order {
            let delete = ["-n", namespace, "delete", kind, "--all", "--wait=false"];
            house.plane.kubectl(&delete);
        }
    }
    for (order, namespace) in &places {
        let left = || {
            let config = house.config(namespace, "default");
            let secrets = format!("/api/v1/namespaces/{namespace}/secrets");
            let secret = house.client.get(&secrets, "cloud");
            let mut left = here(house, namespace);
            left.extend(config);
            left.extend(secret);
            left
        };
        until_or(
            &format!("{order:?} leaves nothing"),
            || left().is_empty(),
            || format!("{:#?}", left()),
        );
    }
    assert_eq!(cloud.ours(), Vec::<Value>::new());
    checker::check(house, &cloud);
}

fn says(house: &House, namespace: &str, name: &str, kind: &str, reason: &str) -> String {
    let mut message = String::new();
    house.until_vm(namespace, name, &format!("shows {kind} {reason}"), |vm| {
        let conditions = vm["status"]["conditions"].as_array().cloned();
        let mut all = conditions.unwrap_or_default().into_iter();
        let found = all.find(|one| one["type"] == kind);
        message = found
            .map(|one| one["message"].to_string())
            .unwrap_or_default();
        condition(vm, kind).is_some_and(|(_, shown)| shown == reason)
    });
    message
}

fn annotate(house: &House, namespace: &str, what: &[&str], annotation: &str) {
    let args = [&["-n", namespace, "annotate"], what, &[annotation]].concat();
    house.plane.kubectl(&args);
}

/// Case 5, its end: the Secret torn out by its finalizer. Deletion says what it waits for, goes on when the Secret is
/// back, and lets go when it is told to.
#[test]
fn a_secret_that_was_torn_out_is_named_put_back_or_done_without() {
    let (house, operator) = House::with_operator();
    let cloud = locked_cloud("tests=a-key\n");
    let (namespace, _) = furnished(house, &cloud, 2);
    all_ready(house, &namespace, 2);
    let strip = r#"{"metadata":{"finalizers":null}}"#;
    let kubectl = |args: &[&str]| house.plane.kubectl(&[&["-n", &namespace], args].concat());
    kubectl(&["delete", "secret", "cloud", "--wait=false"]);
    kubectl(&["patch", "secret", "cloud", "--type=merge", "-p", strip]);
    house.until_config(&namespace, "misses its Secret", |config| {
        condition(config, "Ready").is_some_and(|(_, reason)| reason == "SecretNotFound")
    });
    for name in ["vm-0", "vm-1"] {
        house.delete(&namespace, name);
        let message = says(house, &namespace, name, "Deleting", "DeletionBlocked");
        assert!(
            message.contains("cloud"),
            "the Secret is not named: {message}"
        );
    }
    let before = total(&operator.metrics(), "vmoperator_orphaned_total");
    annotate(
        house,
        &namespace,
        &["vm", "vm-1"],
        "compute.example.com/force-orphan=accepted",
    );
    house.gone(&namespace, "vm-1");
    assert_eq!(cloud.ours().len(), 2, "letting go deletes nothing");
    let after = total(&operator.metrics(), "vmoperator_orphaned_total");
    assert!(
        after > before,
        "what was let go is not counted: {before} {after}"
    );
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "stringData": { "apiKey": "a-key" },
        "metadata": { "name": "cloud", "namespace": namespace },
    });
    house.plane.apply(&secret.to_string());
    house.gone(&namespace, "vm-0");
    assert_eq!(cloud.ours().len(), 1, "the orphan alone is left");
}

/// Whose tags somebody took off a VM in the cloud's console: it is nobody's until they are back. It is not made anew, and
/// a deletion of its object waits and says so.
#[test]
fn a_vm_whose_tags_are_gone_is_left_alone_until_they_are_back_even_by_a_deletion() {
    let tenant = Tenant::new(prompt());
    let (house, cloud, namespace) = (tenant.house, &tenant.cloud, &tenant.namespace);
    let (creates, deletes) = (cloud.calls("create"), cloud.calls("delete"));
    for name in ["stays", "goes"] {
        house.create(namespace, name);
        let id = house.ready(namespace, name);
        let live = cloud.ours();
        let tags = live.iter().find(|vm| vm["id"] == id.as_str());
        let tags = tags.map(|vm| vm["tags"].clone()).expect("it is there");
        cloud.act(&id, "strip-tags");
        let message = says(house, namespace, name, "Provisioned", "OwnershipUnproven");
        assert!(message.contains("no owner tags"), "{message}");
        if name == "goes" {
            house.delete(namespace, name);
            says(house, namespace, name, "Deleting", "DeletionBlocked");
        }
        // Long enough for two looks and whatever would follow from them.
        let looks = cloud.calls("changes").0 + cloud.calls("get").0;
        until_or(
            "the provider is asked again",
            || cloud.calls("changes").0 + cloud.calls("get").0 >= looks + 3,
            || format!("{:?}", cloud.calls("changes")),
        );
        assert_eq!(cloud.calls("delete"), deletes, "it was touched");
        cloud.tag(&id, &tags);
        if name == "goes" {
            house.gone(namespace, name);
        } else {
            assert_eq!(house.ready(namespace, name), id);
        }
    }
    let made = cloud.calls("create");
    assert_eq!(made, (creates.0 + 2, creates.1 + 2), "one was made anew");
    assert_eq!(cloud.ours().len(), 1);
    checker::check(house, cloud);
}

/// Case 6: what was never made needs no provider to go, and is deleted from none.
#[test]
fn what_was_never_made_goes_whatever_is_broken() {
    let (house, _operator) = House::with_operator();
    let cloud = locked_cloud("tests=a-key\n");
    // Refused for its image, with an intent.
    let (sound, _) = furnished(house, &cloud, 0);
    house.usable(&sound);
    let refused =
        json!({ "kind": "status", "status": 422, "code": "InvalidImage", "message": "unknown" });
    cloud.fault(json!({ "operation": "create", "effect": refused }));
    house.create(&sound, "unknown-image");
    says(
        house,
        &sound,
        "unknown-image",
        "Provisioned",
        "InvalidImage",
    );
    // The counter-test of case 8: refused for good is asked for once.
    assert_eq!(cloud.calls("create"), (1, 0));
    // A wrong key, and no config at all: no intent.
    let (locked, _) = furnished(house, &cloud, 0);
    let wrong = json!({
        "apiVersion": "v1", "kind": "Secret", "stringData": { "apiKey": "wrong" },
        "metadata": { "name": "cloud", "namespace": locked },
    });
    house.plane.apply(&wrong.to_string());
    house.create(&locked, "wrong-key");
    says(
        house,
        &locked,
        "wrong-key",
        "ProviderReady",
        "CredentialsRejected",
    );
    let bare = house.namespace();
    house.create(&bare, "no-config");
    says(
        house,
        &bare,
        "no-config",
        "ProviderReady",
        "ProviderConfigNotFound",
    );
    for (namespace, name) in [
        (&sound, "unknown-image"),
        (&locked, "wrong-key"),
        (&bare, "no-config"),
    ] {
        house.delete(namespace, name);
        house.gone(namespace, name);
    }
    assert_eq!(cloud.calls("delete").0, 0);
    // The deletion of the refused one settles its create by repeating it, which is refused again.
    assert_eq!(cloud.calls("create").1, 0);
    checker::check(house, &cloud);
}

/// Waits until an event says that a VM is paused, or held by that, and what to do about it.
fn tells_of_the_pause(house: &House, namespace: &str, name: &str, (reason, tone): (&str, &str)) {
    let told = || events_about(&house.client, namespace, ("VirtualMachine", name));
    let is_it = |event: &Value| {
        let note = event["note"].as_str().unwrap_or_default();
        event["reason"] == reason
            && event["type"] == tone
            && note.contains("compute.example.com/paused")
    };
    until_or(
        &format!("{name} has told {reason}"),
        || told().iter().any(is_it),
        || format!("{:#?}", told()),
    );
}

/// Case 7: a pause holds a deletion, says so, and ends with its annotation.
#[test]
fn a_pause_blocks_the_deletion_of_its_namespace_and_says_so() {
    let (house, _operator) = House::with_operator();
    let cloud = locked_cloud("tests=a-key\n");
    let (namespace, _) = furnished(house, &cloud, 3);
    all_ready(house, &namespace, 3);
    annotate(
        house,
        &namespace,
        &["vm", "--all"],
        "compute.example.com/paused=true",
    );
    for number in 0..3 {
        says(
            house,
            &namespace,
            &format!("vm-{number}"),
            "Paused",
            "Paused",
        );
    }
    // Told here, because a namespace that is being deleted takes no event any more.
    house.delete(&namespace, "vm-0");
    says(house, &namespace, "vm-0", "Deleting", "BlockedByPause");
    for number in 0..3 {
        tells_of_the_pause(
            house,
            &namespace,
            &format!("vm-{number}"),
            ("Paused", "Normal"),
        );
    }
    tells_of_the_pause(house, &namespace, "vm-0", ("BlockedByPause", "Warning"));
    house
        .plane
        .kubectl(&["delete", "namespace", &namespace, "--wait=false"]);
    for number in 0..3 {
        says(
            house,
            &namespace,
            &format!("vm-{number}"),
            "Deleting",
            "BlockedByPause",
        );
    }
    let deletes = cloud.calls("delete").0;
    assert_eq!(deletes, 0, "a pause was not heeded");
    annotate(
        house,
        &namespace,
        &["vm", "--all"],
        "compute.example.com/paused-",
    );
    namespace_gone(house, &namespace);
    assert_eq!(cloud.ours(), Vec::<Value>::new());
    checker::check(house, &cloud);
}

/// Case 16, with 200 objects in place of 2,000: created, and deleted before, while and after their finalizer is written.
#[test]
fn objects_deleted_while_their_finalizer_is_written_leave_no_vm() {
    let tenant = Tenant::new(prompt());
    let (house, namespace) = (tenant.house, tenant.namespace.as_str());
    let path = format!(
        "{}/namespaces/{namespace}/virtualmachines",
        crate::e2e::client::GROUP
    );
    let names: Vec<String> = (0..200).map(|number| format!("hammer-{number}")).collect();
    for (number, name) in names.iter().enumerate() {
        house.client.create(&path, &manifest(namespace, name));
        // From none at all to as long as an intent takes.
        std::thread::sleep(std::time::Duration::from_millis(number as u64 % 20));
        house.client.delete(&path, name);
    }
    until_or(
        "all are gone",
        || tenant.vms().is_empty(),
        || format!("{:#?}", tenant.vms()),
    );
    // What vanished in spite of its finalizer is looked for and deleted without its object.
    until_or(
        "no VM is left",
        || tenant.cloud.ours().is_empty(),
        || format!("{:#?}", tenant.cloud.ours()),
    );
    checker::check(house, &tenant.cloud);
}

/// Case 17: a cloud that says 404 while a deletion is still under way. The finalizer stays until a list shows nothing.
#[test]
fn not_found_during_a_running_deletion_is_not_taken_for_its_end() {
    let tenant = Tenant::new(Options {
        delete_delay: std::time::Duration::from_secs(6),
        ..prompt()
    });
    tenant.create(&["web"]);
    tenant.ready(&["web"]);
    let away = json!({ "kind": "status", "status": 404, "code": "NotFound" });
    tenant
        .cloud
        .fault(json!({ "operation": "get", "effect": away }));
    tenant.delete("web");
    let mut live_at_the_end = None;
    until_or(
        "web is gone",
        || {
            let live = tenant.cloud.ours().len();
            let gone = tenant.house.vm(&tenant.namespace, "web").is_none();
            // As it was before the look that found the object gone.
            live_at_the_end = gone.then_some(live);
            gone
        },
        String::new,
    );
    assert_eq!(
        tenant.cloud.ours().len(),
        0,
        "the finalizer went before the VM did"
    );
    assert!(tenant.cloud.mend()[0] > 0, "it never said 404");
    checker::check(tenant.house, &tenant.cloud);
}
