//! Watches behind a proxy that misbehaves.

use serde_json::Value;

use crate::e2e::operator::Operator;
use crate::e2e::proxy::{Effect, Proxy};
use crate::e2e::{until, until_or};
use crate::stage::Stage;

const VMS: &[&str] = &["/virtualmachines?", "watch=true"];

fn watch(operator: &Operator, kind: &str) -> Value {
    let state = operator.state();
    let watches = state["watches"].as_array().cloned().unwrap_or_default();
    let found = watches.into_iter().find(|watch| watch["kind"] == kind);
    found.unwrap_or_else(|| panic!("no watch on {kind}: {state:#}"))
}

/// B6: the stream of one kind goes dead, and nobody says so. B11: so do its new ones.
#[test]
fn a_black_holed_watch_is_noticed_and_does_not_slow_other_kinds() {
    let stage = Stage::set();
    let proxy = Proxy::start(stage.house);
    let operator = stage
        .start_at(&proxy.kubeconfig, "behind", &[], None)
        .ready();
    stage.until_leads("behind");
    stage.create("before");
    stage.ready("before");
    proxy.rule(VMS, Effect::Silence, usize::MAX);
    stage.create("during");
    // Another kind works all the while: a second ProviderConfig is found, checked and usable.
    let other = serde_json::json!({
        "apiVersion": "compute.example.com/v1", "kind": "ProviderConfig",
        "metadata": { "name": "other", "namespace": stage.namespace },
        "spec": { "endpoint": stage.cloud.url },
    });
    stage.house.plane.apply(&other.to_string());
    until("the other ProviderConfig is usable", || {
        let found = stage.house.config(&stage.namespace, "other");
        found.is_some_and(|config| crate::e2e::is_ready(&config))
    });
    assert_eq!(stage.cloud.ours().len(), 1, "the silence was none");
    until_or(
        "the silence is noticed",
        || !watch(&operator, "VirtualMachine")["failure"].is_null(),
        || format!("{:#}", watch(&operator, "VirtualMachine")),
    );
    assert!(watch(&operator, "ProviderConfig")["failure"].is_null());
    assert_eq!(operator.health("/livez").0, 200);
    proxy.clear();
    stage.ready("during");
    stage.end();
    drop(operator);
}

/// B3, B4, B5, B7: versions too old, refusals of every kind, watches that end at once.
#[test]
fn refusals_and_watches_that_end_at_once_cost_neither_a_list_each_nor_the_lease() {
    let stage = Stage::set();
    let proxy = Proxy::start(stage.house);
    proxy.rule(VMS, Effect::EndAtOnce, 4);
    proxy.rule(VMS, Effect::Status(410), 1);
    let mut operator = stage
        .start_at(&proxy.kubeconfig, "behind", &[], None)
        .ready();
    stage.until_leads("behind");
    let lists = || {
        watch(&operator, "VirtualMachine")["lists"]
            .as_u64()
            .unwrap_or_default()
    };
    until("four watches ended at once", || proxy.hits() >= 4);
    stage.create("during");
    until("the version was too old", || proxy.hits() >= 5);
    stage.ready("during");
    assert_eq!(
        lists(),
        2,
        "an end is no reason to list, an old version is one"
    );
    proxy.clear();
    for code in [429, 500, 503] {
        // Three renewals in a row: fewer than it takes to lose the lease.
        proxy.rule(&["/leases"], Effect::Status(code), 1);
        proxy.rule(&["/virtualmachines"], Effect::Status(code), 3);
    }
    stage.create("refused");
    until("everything was refused for a while", || proxy.hits() >= 12);
    stage.ready("refused");
    assert!(operator.ended().is_none(), "the operator ended");
    assert!(stage.holder().starts_with("behind_"));
    stage.end();
}

/// B8: the store falls behind while the provider tells news: what is decided on the old version does not pass its
/// guard, and a live read puts it right.
#[test]
fn what_is_decided_on_a_store_that_is_behind_meets_its_guard_and_is_put_right() {
    let stage = Stage::set();
    let proxy = Proxy::start(stage.house);
    let operator = stage
        .start_at(&proxy.kubeconfig, "behind", &[], None)
        .ready();
    stage.until_leads("behind");
    stage.create("web");
    let id = stage.ready("web");
    proxy.rule(VMS, Effect::Silence, usize::MAX);
    let touch = ["annotate", "vm", "web", "touched=meanwhile"];
    let place = ["-n", stage.namespace.as_str()];
    stage.house.plane.kubectl(&[&place[..], &touch].concat());
    // A write that met its guard; or a live read before one, where the store had not even caught up with our own.
    let put_right = || {
        let all = crate::e2e::audit::requests(stage.house);
        let ours = all
            .iter()
            .filter(|one| one.user == crate::e2e::house::OPERATOR);
        let here = ours.filter(|one| one.namespace == stage.namespace && one.name == "web");
        here.filter(|one| one.code == 409 || one.verb == "get" && one.resource == "virtualmachines")
            .count()
    };
    let before = put_right();
    stage.cloud.happen(&id, "stop");
    stage
        .house
        .until_vm(&stage.namespace, "web", "is shown as stopped", |vm| {
            vm["status"]["phase"] == "Stopped"
        });
    assert!(put_right() > before, "the store was not behind");
    assert_eq!(stage.cloud.calls("create").1, 2, "the stranger's and ours");
    assert_eq!(stage.cloud.calls("delete").0, 0);
    stage.cloud.happen(&id, "run");
    stage.ready("web");
    proxy.clear();
    stage.end();
    drop(operator);
}
