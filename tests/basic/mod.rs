//! A provider that has the guide's three endpoints and nothing else, written in another language: what works with it,
//! and what the operator says of what cannot.

mod server;

use serde_json::{Value, json};

use crate::e2e;
use crate::e2e::client::condition;
use crate::e2e::house::House;
use crate::e2e::until_or;
use server::Basic;

/// A namespace whose VMs are made by the provider; a doubt is waited out within 6 s there.
fn configured(house: &House, cloud: &Basic) -> String {
    let namespace = house.namespace();
    configure(house, cloud, &namespace, false);
    house.usable(&namespace);
    namespace
}

fn configure(house: &House, cloud: &Basic, namespace: &str, allow: bool) {
    let spec = json!({
        "endpoint": cloud.url, "timeoutSeconds": 1, "pollIntervalSeconds": 5, "allowUnsafeCreate": allow,
    });
    house.configure_with(namespace, spec);
}

fn message(object: &Value, kind: &str) -> String {
    let conditions = object["status"]["conditions"].as_array();
    let all = conditions.into_iter().flatten();
    let found = all
        .filter(|one| one["type"] == kind)
        .find_map(|one| one["message"].as_str());
    found.unwrap_or_default().to_owned()
}

#[test]
fn a_vm_lives_its_whole_life_at_a_provider_of_three_endpoints() {
    let (house, _operator) = House::with_operator();
    let Some(cloud) = Basic::start() else { return };
    let namespace = configured(house, &cloud);
    house.until_config(&namespace, "says that creating is not safe", |config| {
        let unsafe_ = Some(("False".to_owned(), "SafeCreateUnsupported".to_owned()));
        condition(config, "SafeCreate") == unsafe_
    });
    for name in ["web-1", "web-2"] {
        house.create(&namespace, name);
    }
    let ids = ["web-1", "web-2"].map(|name| house.ready(&namespace, name));
    assert_ne!(ids[0], ids[1]);
    // What it asks of the provider is no more than it offers.
    let strange: Vec<String> = cloud
        .calls()
        .into_iter()
        .filter(|call| *call != "GET /capabilities" && *call != "POST /vms")
        .filter(|call| !ids.iter().any(|id| call.ends_with(&format!("/vms/{id}"))))
        .collect();
    assert_eq!(strange, Vec::<String>::new());
    // One that vanishes is made anew, as a single loss is no mass loss.
    house.delete(&namespace, "web-2");
    house.gone(&namespace, "web-2");
    cloud.order(&format!("vanish {}", ids[0]));
    house.until_vm(&namespace, "web-1", "is another instance", |vm| {
        e2e::is_ready(vm) && vm["status"]["id"] != ids[0].as_str()
    });
    assert_eq!(cloud.vms().len(), 1, "{:?}", cloud.vms());
    house.delete(&namespace, "web-1");
    house.gone(&namespace, "web-1");
    assert_eq!(cloud.vms(), Vec::<Value>::new());
    assert_eq!(cloud.posts(), 3);
}

#[test]
fn a_create_that_was_refused_is_tried_again_by_itself() {
    let (house, _operator) = House::with_operator();
    let Some(cloud) = Basic::start() else { return };
    let namespace = configured(house, &cloud);
    cloud.order("refuse 2");
    house.create(&namespace, "web");
    house.ready(&namespace, "web");
    assert_eq!((cloud.posts(), cloud.vms().len()), (3, 1));
}

#[test]
fn a_create_without_an_answer_waits_for_a_person_and_is_never_sent_twice_by_itself() {
    let (house, _operator) = House::with_operator();
    let Some(cloud) = Basic::start() else { return };
    let namespace = configured(house, &cloud);
    cloud.order("lose 1");
    house.create(&namespace, "web");
    let in_doubt = Some(("Unknown".to_owned(), "CreateInDoubt".to_owned()));
    house.until_vm(&namespace, "web", "is in doubt", |vm| {
        condition(vm, "Provisioned") == in_doubt
    });
    let vm = house.vm(&namespace, "web").expect("it is there");
    assert_eq!(
        condition(&vm, "Stalled"),
        Some(("True".to_owned(), "CreateInDoubt".to_owned()))
    );
    let told = message(&vm, "Provisioned");
    assert!(told.contains("allowUnsafeCreate"), "{told}");
    // The checks of the ProviderConfig go on, and with them the VM's slow round.
    let checks = || {
        let calls = cloud.calls();
        calls
            .iter()
            .filter(|call| *call == "GET /capabilities")
            .count()
    };
    let before = checks();
    until_or(
        "three polls go by",
        || checks() >= before + 3,
        || format!("{:?}", cloud.calls()),
    );
    assert_eq!((cloud.posts(), cloud.vms().len()), (1, 1));
    // A person looked, took the VM away, and lets it be made again.
    let lost = cloud.vms()[0]["id"].as_str().expect("an id").to_owned();
    cloud.order(&format!("vanish {lost}"));
    configure(house, &cloud, &namespace, true);
    house.ready(&namespace, "web");
    assert_eq!((cloud.posts(), cloud.vms().len()), (2, 1));
    // One that is deleted in doubt is let go of, and an event says so.
    configure(house, &cloud, &namespace, false);
    house.until_config(&namespace, "allows it no more", |config| {
        message(config, "SafeCreate").contains("waits for a person")
    });
    cloud.order("lose 1");
    house.create(&namespace, "doubt");
    house.until_vm(&namespace, "doubt", "is in doubt", |vm| {
        condition(vm, "Provisioned") == in_doubt
    });
    house.delete(&namespace, "doubt");
    house.gone(&namespace, "doubt");
    let path = format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events");
    let let_go =
        |event: &Value| event["reason"] == "Orphaned" && event["regarding"]["name"] == "doubt";
    until_or(
        "an event tells",
        || house.client.list(&path).iter().any(let_go),
        || format!("{:#?}", house.client.list(&path)),
    );
    assert_eq!(cloud.posts(), 3);
}
