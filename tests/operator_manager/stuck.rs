//! What panics, blocks or stops turning.

use rustix::process::Signal;
use serde_json::Value;

use crate::e2e::operator::Operator;
use crate::e2e::proxy::{Effect, Proxy};
use crate::e2e::until_or;
use crate::stage::Stage;

/// The value of a series in the text of metrics.
fn value(metrics: &str, series: &str) -> Option<f64> {
    let line = metrics.lines().find(|line| line.starts_with(series))?;
    line.rsplit_once(' ')?.1.parse().ok()
}

#[test]
fn a_panic_in_one_pass_is_counted_and_logged_without_its_payload_and_stops_nothing() {
    let stage = Stage::set();
    let mut operator = stage.start("panics", &[], Some("panic!pass:2")).ready();
    stage.until_leads("panics");
    for name in ["one", "two", "three"] {
        stage.create(name);
    }
    for name in ["one", "two", "three"] {
        stage.ready(name);
    }
    let metrics = operator.metrics();
    let panics = r#"controller_runtime_reconcile_panics_total{controller="virtualmachine"}"#;
    assert_eq!(value(&metrics, panics), Some(1.0), "{metrics}");
    let lines = operator.lines();
    let told = lines.iter().find(|line| {
        let message = line["message"].as_str().unwrap_or_default();
        message.starts_with("pass panicked")
    });
    let told = told.expect("a line about it");
    assert_eq!(told["namespace"], stage.namespace.as_str());
    assert!(["one", "two", "three"].contains(&told["name"].as_str().unwrap_or_default()));
    for line in &lines {
        assert!(!line.to_string().contains("may be a credential"), "{line}");
    }
    assert!(operator.ended().is_none());
    stage.end();
}

/// D7: a pass blocks its thread for ever, and the process is asked to stop.
#[test]
fn a_pass_that_blocks_for_ever_holds_up_neither_the_end_nor_the_lease() {
    let stage = Stage::set();
    let grace = "--shutdown-grace=2s";
    let mut operator = stage
        .start("blocked", &[grace], Some("hang!pass:1"))
        .ready();
    stage.until_leads("blocked");
    stage.create("web");
    until_or(
        "the pass is under way",
        || running(&operator) == 1,
        || format!("{:#}", operator.state()),
    );
    operator.signal(Signal::TERM);
    assert_eq!(operator.wait().code(), Some(0));
    assert_eq!(stage.holder(), "", "the lease was given back");
    let next = stage.leader("next");
    stage.ready("web");
    stage.end();
    drop(next);
}

fn running(operator: &Operator) -> usize {
    let state = operator.state();
    let queue = state["queue"].as_array().cloned().unwrap_or_default();
    let runs = |line: &&Value| line["state"] == "running";
    queue.iter().filter(runs).count()
}

#[test]
fn a_stuck_election_fails_the_liveness_of_a_follower() {
    let stage = Stage::set();
    let leader = stage.leader("leader");
    let follower = stage
        .start("follower", &[], Some("hang!election:3"))
        .ready();
    until_or(
        "the follower is to be restarted",
        || follower.health("/livez").0 == 500,
        || follower.health("/livez").1,
    );
    let (_, report) = follower.health("/livez");
    let expected = "[-]election-turns failed: no try";
    assert!(report.contains(expected), "{report}");
    assert_eq!(leader.health("/livez").0, 200);
}

/// The thread beside the runtime sees what nothing inside it can.
#[test]
fn a_leader_whose_election_is_stuck_ends_at_its_deadline() {
    let stage = Stage::set();
    let mut stuck = stage.start("stuck", &[], Some("hang!election:3"));
    stage.until_leads("stuck");
    stage.create("web");
    assert_eq!(stuck.wait().code(), Some(1));
    let next = stage.leader("next");
    stage.ready("web");
    stage.end();
    drop(next);
}

/// One worker, blocked for ever: no canary comes through. One of five: the others go on, and nobody is ended.
#[test]
fn workers_that_are_all_stuck_fail_the_liveness_and_one_of_several_does_not() {
    let (stage, beside) = (Stage::set(), Stage::set());
    let limit = "--pass-limit=2s";
    let flags = ["--concurrency=1", limit];
    let stuck = stage.start("stuck", &flags, Some("hang!pass:1")).ready();
    let busy = beside.start("busy", &[limit], Some("hang!pass:1")).ready();
    for (stage, name) in [(&stage, "stuck"), (&beside, "busy")] {
        stage.until_leads(name);
        stage.create("web");
    }
    until_or(
        "a pass is under way in both",
        || running(&stuck) == 1 && running(&busy) == 1,
        || format!("{:#} {:#}", stuck.state(), busy.state()),
    );
    beside.create("other");
    beside.ready("other");
    assert_eq!(stuck.health("/livez").0, 200, "not as soon as that");
    until_or(
        "the stuck one is to be restarted",
        || stuck.health("/livez").0 == 500,
        || stuck.health("/livez").1,
    );
    let (_, report) = stuck.health("/livez");
    let expected = "[-]workers-turn failed: no worker has taken a key";
    assert!(report.contains(expected), "{report}");
    assert_eq!(busy.health("/livez").0, 200);
    beside.create("third");
    beside.ready("third");
    // What the kubelet does then.
    stuck.kill();
    busy.kill();
    for stage in [&stage, &beside] {
        let next = stage.leader("next");
        stage.ready("web");
        stage.end();
        drop(next);
    }
}

/// A watch that has stopped turning is noticed. An API server that gives no answer for just as long is no reason to end
/// a follower, nor is one that refuses everything.
#[test]
fn a_watch_that_is_stuck_fails_the_liveness_and_an_outage_as_long_does_not() {
    let stage = Stage::set();
    let leader = stage.leader("leader");
    let outages = [Effect::Silence, Effect::Status(503)].map(|effect| {
        let proxy = Proxy::start(stage.house);
        let name = format!("{effect:?}").to_lowercase();
        let follower = stage.start_at(&proxy.kubeconfig, &name[..6], &[], None);
        let follower = follower.ready();
        proxy.rule(&[], effect, usize::MAX);
        proxy.end_streams();
        (proxy, follower)
    });
    let stuck = stage.start("stuck", &[], Some("hang!watch:9")).ready();
    // Three minutes without a try, and the usual patience.
    let failed = || stuck.health("/livez").0 == 500;
    for _wait in 0..2 {
        crate::e2e::look_for(failed);
    }
    let (code, report) = stuck.health("/livez");
    assert_eq!(code, 500, "{report}");
    let expected = "[-]watches-turn failed: the watch on ";
    assert!(report.contains(expected), "{report}");
    for (proxy, mut follower) in outages {
        let (code, report) = follower.health("/livez");
        assert_eq!(code, 200, "{report}");
        assert!(follower.ended().is_none());
        let state = follower.state();
        let failures = state["watches"].as_array().expect("watches").iter();
        assert!(
            failures.clone().all(|watch| !watch["failure"].is_null()),
            "no outage: {state:#}"
        );
        proxy.clear();
    }
    stage.create("web");
    stage.ready("web");
    stage.end();
    drop(leader);
}

/// A pass that waits for longer than it may is dropped and counted, and its object tried again.
#[test]
fn a_pass_over_its_time_limit_is_dropped_and_counted_and_makes_no_second_vm() {
    let stage = Stage::set();
    let operator = stage.start("limit", &["--pass-limit=1s"], None).ready();
    stage.until_leads("limit");
    stage.house.usable(&stage.namespace);
    stage.cloud.fault(serde_json::json!({
        "operation": "create", "count": 1,
        "effect": { "kind": "delay", "milliseconds": 3000, "applied": true },
    }));
    stage.create("web");
    stage.ready("web");
    let metrics = operator.metrics();
    let timeouts = r#"controller_runtime_reconcile_timeouts_total{controller="virtualmachine"}"#;
    assert!(value(&metrics, timeouts) >= Some(1.0), "{metrics}");
    assert_eq!(stage.cloud.ours().len(), 1);
    stage.end();
}
