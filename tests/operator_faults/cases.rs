//! What users of such operators have suffered in public; the number of the case stands at each test.

use std::fs;

use mock_provider::Options;
use serde_json::{Value, json};

use crate::e2e::checker::{self, Evidence};
use crate::e2e::client::condition;
use crate::e2e::cloud::{Cloud, prompt};
use crate::e2e::house::{OPERATOR, manifest};
use crate::e2e::{audit, until_or};
use crate::scene::Tenant;

/// Case 21: `kubectl wait` right after an edit returns when the edit is carried out, not before.
#[test]
fn kubectl_wait_right_after_an_edit_does_not_return_early() {
    let tenant = Tenant::new(prompt());
    tenant.create(&["web"]);
    tenant.ready(&["web"]);
    let kubectl = |args: &[&str]| {
        let all = [&["-n", &tenant.namespace], args].concat();
        tenant.house.plane.kubectl(&all)
    };
    let slices = format!(
        "/apis/discovery.k8s.io/v1/namespaces/{}/endpointslices",
        tenant.namespace
    );
    for port in [8080, 9090, 7070] {
        let edit =
            json!({ "spec": { "service": { "ports": [{ "name": "http", "port": port }] } } });
        kubectl(&[
            "patch",
            "vm",
            "web",
            "--type=merge",
            "-p",
            &edit.to_string(),
        ]);
        kubectl(&["wait", "--for=condition=Ready", "vm/web", "--timeout=120s"]);
        let slice = tenant
            .house
            .client
            .get(&slices, "web-ipv4")
            .expect("it is there");
        assert_eq!(
            slice["ports"][0]["port"], port,
            "wait returned before the edit was carried out"
        );
        let vm = tenant
            .house
            .vm(&tenant.namespace, "web")
            .expect("it is there");
        assert_eq!(
            vm["status"]["observedGeneration"],
            vm["metadata"]["generation"]
        );
    }
    tenant.clear();
}

/// Case 22: what differs from its spec is not Ready, and says so in Ready itself.
#[test]
fn an_instance_that_is_not_as_ordered_is_not_ready() {
    let tenant = Tenant::new(prompt());
    tenant.create(&["web"]);
    let id = tenant.house.ready(&tenant.namespace, "web");
    tenant.cloud.drift(&id, json!({ "cpu": 8 }));
    tenant.house.until_vm(
        &tenant.namespace,
        "web",
        "is not Ready because of drift",
        |vm| {
            let drift = Some(("False".to_owned(), "DriftDetected".to_owned()));
            condition(vm, "Ready") == drift && condition(vm, "Synced") == drift
        },
    );
    tenant.cloud.drift(&id, json!({ "cpu": 2 }));
    tenant.ready(&["web"]);
    tenant.clear();
    checker::check(tenant.house, &tenant.cloud);
}

/// Case 9, its variants: a provider that writes the same size otherwise, and tags of its own, is no drift.
#[test]
fn the_same_size_in_other_words_is_no_drift_and_costs_no_write() {
    let tenant = Tenant::new(prompt());
    let mut vm = manifest(&tenant.namespace, "web");
    vm["spec"]["memory"] = json!("4096Mi");
    tenant.house.plane.apply(&vm.to_string());
    let id = tenant.house.ready(&tenant.namespace, "web");
    let writes = || audit::writes(tenant.house, &tenant.namespace);
    tenant.cloud.drift(&id, json!({ "memory": "4Gi" }));
    let polls = |more: usize| {
        let begun = tenant.cloud.calls("changes").0;
        until_or(
            "polls",
            || tenant.cloud.calls("changes").0 >= begun + more,
            String::new,
        );
    };
    polls(2);
    // The instance is shown as it is; nothing else is written, and then nothing at all.
    let before = writes();
    for memory in ["4096Mi", "4Gi", "4294967296"] {
        tenant.cloud.drift(&id, json!({ "memory": memory }));
        polls(2);
    }
    tenant
        .house
        .until_vm(&tenant.namespace, "web", "stays Ready and in sync", |vm| {
            crate::e2e::is_ready(vm)
                && condition(vm, "Synced").is_some_and(|(status, _)| status == "True")
        });
    let more: Vec<String> = writes().split_off(before.len());
    assert!(more.len() <= 3, "a write for each look: {more:?}");
    assert_eq!(tenant.cloud.calls("create").1, 2, "the stranger's and ours");
    tenant.clear();
}

/// Case 27: a provider whose clock is ten minutes ahead. (The API server's clock cannot be moved here; the operator
/// compares no two clocks but for words, and measures all its own times by a monotonic one.)
#[test]
fn a_provider_whose_clock_is_ahead_changes_nothing() {
    let tenant = Tenant::new(Options {
        provisioning_delay: std::time::Duration::from_secs(3),
        ..Options::default()
    });
    tenant.create(&["before"]);
    tenant.cloud.step(600_000);
    tenant.create(&["after"]);
    tenant.ready(&["before", "after"]);
    for name in ["before", "after"] {
        let vm = tenant
            .house
            .vm(&tenant.namespace, name)
            .expect("it is there");
        assert_eq!(
            condition(&vm, "Provisioned"),
            Some(("True".to_owned(), "Created".to_owned()))
        );
    }
    let (calls, made) = tenant.cloud.calls("create");
    assert_eq!((calls, made), (3, 3), "the stranger's and two of ours");
    assert_eq!(tenant.cloud.calls("delete").0, 0);
    tenant.clear();
}

/// Case 23, with 3,000 foreign Secrets in place of 30,000 unless `VMOPERATOR_TEST_FOREIGN_SECRETS` says otherwise: none
/// of them is read, none is kept.
#[test]
fn secrets_that_nobody_names_are_neither_read_nor_kept() {
    let count: usize = std::env::var("VMOPERATOR_TEST_FOREIGN_SECRETS")
        .ok()
        .map_or(3_000, |text| text.parse().expect("a number"));
    let tenant = Tenant::new(prompt());
    let (_, operator) = crate::e2e::house::House::with_operator();
    let foreign = tenant.house.namespace();
    let memory = || resident(operator.pid());
    let before = memory();
    let path = format!("/api/v1/namespaces/{foreign}/secrets");
    let secrets: Vec<Value> = (0..count)
        .map(|number| {
            json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": format!("foreign-{number}") },
                "stringData": { "password": "x".repeat(500) } })
        })
        .collect();
    tenant.house.client.create_all(&path, &secrets);
    // The operator has seen them all once a change of a Secret that it knows has been noticed after them.
    let other = Cloud::start(prompt());
    let namespace = tenant.house.namespace();
    tenant.house.configure_with(
        &namespace,
        json!({ "endpoint": other.url, "pollIntervalSeconds": 3600, "secretRef": { "name": "late" } }),
    );
    tenant
        .house
        .until_config(&namespace, "misses its Secret", |config| {
            condition(config, "Ready").is_some_and(|(_, reason)| reason == "SecretNotFound")
        });
    let late = json!({
        "apiVersion": "v1", "kind": "Secret", "stringData": { "apiKey": "any" },
        "metadata": { "name": "late", "namespace": namespace },
    });
    tenant.house.plane.apply(&late.to_string());
    tenant.house.usable(&namespace);
    let requests = audit::requests(tenant.house);
    let read: Vec<_> = requests
        .iter()
        .filter(|request| request.user == OPERATOR && request.namespace == foreign)
        .collect();
    assert!(
        read.is_empty(),
        "foreign Secrets were read: {} times, {:?}",
        read.len(),
        read[0]
    );
    let grown = memory().saturating_sub(before);
    println!(
        "{count} foreign Secrets: resident memory grew by {} KiB",
        grown / 1024
    );
    // Other tests share the process; 5 KiB for each Secret is what keeping them would cost at least.
    let bound = (count as u64 * 5).max(16 << 10) << 10;
    assert!(grown < bound, "memory grew by {grown} bytes");
    tenant
        .house
        .plane
        .kubectl(&["delete", "namespace", &foreign, "--wait=false"]);
}

fn resident(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("the process runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
    kib.expect("a size") * 1024
}

/// Makes ten VMs of a ProviderConfig; gives their names.
fn ten_of(tenant: &Tenant, kind: &str, config: &str) -> Vec<String> {
    let names: Vec<String> = (0..10).map(|number| format!("{kind}-{number}")).collect();
    let vms = names.iter().map(|name| {
        let mut vm = manifest(&tenant.namespace, name);
        vm["spec"]["providerRef"] = json!(config);
        vm
    });
    tenant.house.apply_all(&vms.collect::<Vec<_>>());
    names
}

/// Two ProviderConfigs of one namespace. One's provider is down, then throttled: the VMs of the other go on, in order
/// and at their usual cost.
#[test]
fn of_two_configs_the_one_in_trouble_holds_up_none_of_the_others_vms() {
    let tenant = Tenant::new(prompt());
    let (house, namespace) = (tenant.house, tenant.namespace.as_str());
    let sound = Cloud::start(prompt());
    let config = json!({
        "apiVersion": "compute.example.com/v1", "kind": "ProviderConfig",
        "metadata": { "name": "sound", "namespace": namespace },
        "spec": { "endpoint": sound.url, "timeoutSeconds": 1, "pollIntervalSeconds": 5 },
    });
    house.plane.apply(&config.to_string());
    let troubles = [
        (
            "down",
            json!({ "kind": "status", "status": 503, "code": "Unavailable" }),
        ),
        (
            "throttled",
            json!({ "kind": "status", "status": 429, "code": "RateLimited", "retryAfter": "2" }),
        ),
    ];
    for (trouble, effect) in troubles {
        tenant.cloud.fault(json!({ "effect": effect }));
        // Those of the sound one come last.
        let held = ten_of(&tenant, &format!("held-{trouble}"), "default");
        for name in ten_of(&tenant, &format!("free-{trouble}"), "sound") {
            house.ready(namespace, &name);
        }
        let early = tenant.vms().into_iter().filter(|vm| {
            let name = vm["metadata"]["name"].as_str().unwrap_or_default();
            crate::e2e::is_ready(vm) && held.iter().any(|one| one == name)
        });
        assert_eq!(early.count(), 0, "{trouble}: the trouble did not stand");
        let silent = || crate::e2e::judge::unexplained(&tenant.vms());
        until_or(
            "those held say why",
            || silent().is_empty(),
            || silent().join("\n"),
        );
        house.delete(namespace, &format!("free-{trouble}-0"));
        house.gone(namespace, &format!("free-{trouble}-0"));
        assert!(tenant.cloud.mend()[0] > 0, "{trouble} never struck");
        for name in held {
            house.ready(namespace, &name);
        }
    }
    assert_eq!(
        Evidence::gather(house, &sound).unharmed(),
        Vec::<String>::new()
    );
    assert_eq!(
        sound.calls("create"),
        (21, 21),
        "twenty of ours and the stranger's"
    );
    assert_eq!(tenant.cloud.calls("create").1, 21);
    tenant.clear();
    checker::check(house, &sound);
    checker::check(house, &tenant.cloud);
}

/// Case 4, the part that no unit test shows: lists that break off after their first page, over and over, while nothing
/// is remembered by a feed. Nothing is deleted and nothing made anew.
#[test]
fn lists_that_break_off_delete_nothing_and_make_nothing_anew() {
    let tenant = Tenant::new(Options {
        page_size: 10,
        ..prompt()
    });
    let names: Vec<String> = (0..30).map(|number| format!("vm-{number}")).collect();
    let vms: Vec<Value> = names
        .iter()
        .map(|name| manifest(&tenant.namespace, name))
        .collect();
    tenant.house.apply_all(&vms);
    for name in &names {
        tenant.house.ready(&tenant.namespace, name);
    }
    let failing = json!({ "kind": "status", "status": 500, "code": "Internal" });
    tenant
        .cloud
        .fault(json!({ "operation": "changes", "effect": failing }));
    // Every second page fails, the rest are cut or show another VM in the first place.
    tenant
        .cloud
        .fault(json!({ "operation": "list", "probability": 0.5, "effect": failing }));
    tenant.cloud.fault(
        json!({ "operation": "list", "probability": 0.5, "effect": { "kind": "truncated" } }),
    );
    tenant
        .cloud
        .fault(json!({ "operation": "list", "effect": { "kind": "wrongId" } }));
    let begun = tenant.cloud.calls("list").0;
    until_or(
        "it was listed ten times",
        || tenant.cloud.calls("list").0 >= begun + 10,
        || tenant.cloud.calls("list").0.to_string(),
    );
    assert_eq!(
        tenant.cloud.calls("create").0,
        31,
        "thirty of ours and the stranger's"
    );
    assert_eq!(tenant.cloud.calls("delete").0, 0);
    tenant.cloud.mend();
    for name in &names {
        tenant.house.ready(&tenant.namespace, name);
    }
    tenant.clear();
    checker::check(tenant.house, &tenant.cloud);
}
