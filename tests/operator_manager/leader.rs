//! One leader at a time, whatever happens to it. Each test is a row of the fault matrix; the history of the Lease and
//! the provider's log are joined at its end (I7).

use mock_provider::Options;
use rustix::process::Signal;
use serde_json::json;

use crate::e2e::cloud::prompt;
use crate::e2e::operator::Operator;
use crate::e2e::proxy::{Effect, Proxy};
use crate::e2e::{terms, until, until_or};
use crate::stage::Stage;

/// Creates take their time, so that one is under way when something happens.
fn slow_create(stage: &Stage, milliseconds: u64) {
    stage.cloud.fault(json!({
        "operation": "create", "count": 1,
        "effect": { "kind": "delay", "milliseconds": milliseconds, "applied": false },
    }));
}

fn exit_code(operator: &mut Operator) -> Option<i32> {
    operator.wait().code()
}

/// Lists that an operator has made of all kinds.
fn lists(operator: &Operator) -> u64 {
    let state = operator.state();
    let watches = state["watches"].as_array().expect("watches").iter();
    let lists: u64 = watches.filter_map(|watch| watch["lists"].as_u64()).sum();
    assert!(lists > 0, "{state:#}");
    lists
}

/// D6: SIGTERM with a call under way: it settles, then the Lease is given back, then the next one leads.
#[test]
fn a_leader_asked_to_stop_lets_its_call_settle_and_then_hands_over() {
    let stage = Stage::set();
    let mut first = stage.leader("first");
    let second = stage.replica("second");
    stage.house.usable(&stage.namespace);
    let warm = lists(&second);
    slow_create(&stage, 2000);
    stage.create("web");
    stage.until_calling(&first);
    first.signal(Signal::TERM);
    assert_eq!(exit_code(&mut first), Some(0));
    stage.until_leads("second");
    stage.ready("web");
    assert_eq!(lists(&second), warm, "a follower had to list once it led");
    let history = terms::lease_writes(stage.house, &stage.namespace);
    let given_back = history
        .iter()
        .position(|write| write.holder.is_empty())
        .expect("it was given back");
    let after = &history[given_back + 1..];
    assert!(
        after
            .iter()
            .all(|write| write.holder.starts_with("second_"))
    );
    println!(
        "handed over in {:#}",
        after[0].at.duration_since(history[given_back].at)
    );
    let log = stage.cloud.log();
    let is_ours =
        |call: &&serde_json::Value| call["operation"] == "create" && !call["userAgent"].is_null();
    let creates: Vec<_> = log.iter().filter(is_ours).collect();
    assert_eq!(creates.len(), 1, "{creates:#?}");
    let settled: jiff::Timestamp = creates[0]["time"].as_str().unwrap().parse().unwrap();
    assert!(settled < history[given_back].at, "{history:#?}");
    stage.end();
    drop(second);
}

/// D2: the leader stands still in the middle of a create for longer than the Lease, and wakes.
#[test]
fn a_leader_that_stood_still_past_its_lease_writes_nothing_more_and_exits() {
    let stage = Stage::set();
    let mut first = stage.leader("first");
    let second = stage.replica("second");
    stage.house.usable(&stage.namespace);
    slow_create(&stage, 1500);
    stage.create("under-way");
    stage.until_calling(&first);
    first.signal(Signal::STOP);
    stage.create("later");
    stage.until_leads("second");
    stage.ready("under-way");
    stage.ready("later");
    first.signal(Signal::CONT);
    assert_eq!(exit_code(&mut first), Some(1));
    assert_eq!(stage.cloud.ours().len(), 2);
    stage.end();
    drop(second);
}

/// D8: the leader is cut off from the API server alone; the provider answers it all the time, and there is work. A
/// follower that is cut off too lives on.
#[test]
fn a_leader_cut_off_from_the_api_server_stops_at_its_deadline_and_a_follower_lives_on() {
    let stage = Stage::with(prompt(), |url| {
        let rate = json!({ "requestsPerSecond": 4, "burst": 1, "maxInFlight": 1 });
        json!({ "endpoint": url, "timeoutSeconds": 5, "rateLimit": rate })
    });
    let proxy = Proxy::start(stage.house);
    let mut leader = stage
        .start_at(&proxy.kubeconfig, "leader", &[], None)
        .ready();
    stage.until_leads("leader");
    let mut cut_off = stage
        .start_at(&proxy.kubeconfig, "cut-off", &[], None)
        .ready();
    stage.create_many("vm", 12);
    stage.all_ready(12);
    stage.delete_all();
    until("the first deletion has reached the provider", || {
        stage.cloud.calls("delete").1 > 0
    });
    proxy.rule(&[], Effect::Silence, usize::MAX);
    // It is ready before it may lead: what it does then is its own.
    let successor = stage.replica("successor");
    assert_eq!(exit_code(&mut leader), Some(1));
    stage.until_leads("successor");
    until("every VM is gone", || stage.vms().is_empty());
    assert!(cut_off.ended().is_none(), "the follower ended");
    let (code, report) = cut_off.health("/livez");
    assert_eq!(code, 200, "{report}");
    assert_eq!(cut_off.state()["leader"]["leading"], false);
    proxy.clear();
    stage.end();
    drop(successor);
}

/// B18: the Lease is deleted, then edited by hand.
#[test]
fn a_lease_that_people_delete_or_edit_has_one_leader_again_and_no_vm_is_made_twice() {
    let stage = Stage::set();
    let mut replicas = [stage.leader("a"), stage.replica("b")];
    let lease = |args: &[&str]| {
        let mut all = vec!["-n", stage.namespace.as_str()];
        all.extend(args);
        stage.house.plane.kubectl(&all);
    };
    stage.create("before");
    lease(&["delete", "lease", "vmoperator-leader"]);
    stage.create("deleted");
    until("somebody leads again", || !stage.holder().is_empty());
    stage.ready("deleted");
    let leading = stage.holder();
    let edit = r#"{"spec":{"holderIdentity":"intruder"}}"#;
    lease(&[
        "patch",
        "lease",
        "vmoperator-leader",
        "--type=merge",
        "-p",
        edit,
    ]);
    let replaced = usize::from(leading.starts_with("b_"));
    assert_eq!(exit_code(&mut replicas[replaced]), Some(1));
    stage.create("edited");
    until_or(
        "the other one leads",
        || !stage.holder().is_empty() && stage.holder() != "intruder",
        || stage.holder(),
    );
    for name in ["before", "deleted", "edited"] {
        stage.ready(name);
    }
    assert_eq!(stage.cloud.ours().len(), 3);
    stage.end();
    drop(replicas);
}

/// A14: dies in the middle of acquiring, renewing and releasing the Lease.
#[test]
fn dying_over_the_lease_itself_leaves_it_to_the_next_one() {
    let stage = Stage::with(Options { ..prompt() }, |url| json!({ "endpoint": url }));
    let killed = |operator: &mut Operator| {
        let status = operator.wait();
        let signal = std::os::unix::process::ExitStatusExt::signal(&status);
        assert_eq!(signal, Some(9), "it ended otherwise: {status}");
    };
    // Before the first try, and in the middle of a term.
    killed(&mut stage.start("acquiring", &[], Some("election:1")));
    let mut renewing = stage.start("renewing", &[], Some("election:4"));
    killed(&mut renewing);
    for (name, point) in [("releasing", "release"), ("released", "released")] {
        let mut operator = stage.start(name, &[], Some(point)).ready();
        stage.until_leads(name);
        stage.create(name);
        stage.ready(name);
        operator.signal(Signal::TERM);
        killed(&mut operator);
    }
    let last = stage.leader("last");
    stage.create("last");
    stage.ready("last");
    assert_eq!(stage.cloud.ours().len(), 3);
    stage.end();
    drop(last);
}
