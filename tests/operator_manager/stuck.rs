//! What panics, blocks or stops turning.

use rustix::process::Signal;
use serde_json::Value;

use crate::e2e::operator::Operator;
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
