//! What is not believed at once: that many VMs are lost, and that they are at another host now.

use serde_json::{Value, json};

use crate::e2e::client::condition;
use crate::e2e::cloud::{Cloud, prompt};
use crate::e2e::house::House;
use crate::e2e::{self, checker, until_or};

fn configure(house: &House, namespace: &str, endpoint: &str) {
    let spec = json!({ "endpoint": endpoint, "timeoutSeconds": 1, "pollIntervalSeconds": 5 });
    house.configure_with(namespace, spec);
}

fn annotate(house: &House, namespace: &str, text: &str) {
    let words = [
        "-n",
        namespace,
        "annotate",
        "--overwrite",
        "pcfg/default",
        text,
    ];
    house.plane.kubectl(&words);
}

fn because(object: &Value, kind: &str, reason: &str) -> bool {
    condition(object, kind).is_some_and(|(status, why)| status == "False" && why == reason)
}

#[test]
fn many_vms_that_vanish_at_once_are_made_anew_once_a_person_says_so() {
    let (house, _operator) = House::with_operator();
    let cloud = Cloud::start(prompt());
    let namespace = house.namespace();
    configure(house, &namespace, &cloud.url);
    house.usable(&namespace);
    let names: Vec<String> = (0..5).map(|number| format!("vm-{number}")).collect();
    for name in &names {
        house.create(&namespace, name);
    }
    let ids: Vec<String> = names
        .iter()
        .map(|name| house.ready(&namespace, name))
        .collect();
    let before = cloud.calls("create");
    for id in &ids[..3] {
        cloud.happen(id, "vanish");
    }
    for name in &names[..3] {
        house.until_vm(&namespace, name, "waits for a confirmation", |vm| {
            because(vm, "Provisioned", "MassLossSuspected") && vm["status"]["phase"] == "Lost"
        });
    }
    house.until_config(&namespace, "suspects a mass loss", |config| {
        because(config, "Ready", "MassLossSuspected")
    });
    assert_eq!(cloud.calls("create"), before, "something was made anew");
    // Two are not what is missing.
    annotate(house, &namespace, "compute.example.com/confirm-loss=2");
    let checks = cloud.calls("capabilities").0;
    until_or(
        "two checks go by",
        || cloud.calls("capabilities").0 >= checks + 2,
        || format!("{:?}", cloud.calls("capabilities")),
    );
    assert_eq!(cloud.calls("create"), before, "something was made anew");
    annotate(house, &namespace, "compute.example.com/confirm-loss=3");
    for (name, id) in names.iter().zip(&ids).take(3) {
        house.until_vm(&namespace, name, "is made anew", |vm| {
            e2e::is_ready(vm) && vm["status"]["id"] != id.as_str()
        });
    }
    house.until_config(
        &namespace,
        "is as before, its confirmation used up",
        |config| {
            let annotations = &config["metadata"]["annotations"];
            e2e::is_ready(config) && annotations["compute.example.com/confirm-loss"].is_null()
        },
    );
    assert_eq!(cloud.calls("create").1, before.1 + 3);
    checker::check_counting(house, &cloud, 2);
}

#[test]
fn vms_are_not_looked_for_at_another_host_before_somebody_confirms_it() {
    let (house, _operator) = House::with_operator();
    let cloud = Cloud::start(prompt());
    let namespace = house.namespace();
    configure(house, &namespace, &cloud.url);
    house.create(&namespace, "web");
    let id = house.ready(&namespace, "web");
    let elsewhere = cloud.url.replace("127.0.0.1", "127.0.0.9");
    configure(house, &namespace, &elsewhere);
    house.until_vm(&namespace, "web", "is held", |vm| {
        because(vm, "ProviderReady", "EndpointChanged")
    });
    // Confirmed by name, it is asked; nobody is there.
    annotate(
        house,
        &namespace,
        "compute.example.com/confirm-endpoint=127.0.0.9",
    );
    house.until_vm(&namespace, "web", "is looked for there", |vm| {
        because(vm, "ProviderReady", "ProviderUnreachable")
    });
    configure(house, &namespace, &cloud.url);
    assert_eq!(house.ready(&namespace, "web"), id);
    assert_eq!(cloud.calls("create"), (2, 2), "the stranger's and ours");
    checker::check(house, &cloud);
}
