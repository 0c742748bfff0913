//! The loop with the objects that a VM owns.

use std::time::Duration;

use serde_json::json;

use super::double::key;
use super::rig::Rig;
use crate::controller::{ClusterError, Reconciler, Target};
use crate::domain::{ErrorKind, InstancePhase};
use crate::lifecycle::fixtures::{policy, secs};
use crate::lifecycle::{ChildKind, Requeue};
use crate::runtime::clock::Clock as _;

const MADE: [&str; 2] = ["create web-1-connection", "create web-1"];

async fn running() -> Rig {
    let mut rig = Rig::with_object();
    rig.until_running().await;
    assert_eq!(rig.api.owned().writes, MADE);
    rig.api.owned().writes.clear();
    rig
}

/// Writes and live reads of owned objects.
fn counts(rig: &Rig) -> (usize, usize) {
    let owned = rig.api.owned();
    (owned.writes.len(), owned.reads)
}

#[tokio::test]
async fn each_is_made_once_before_ready_and_the_vm_costs_no_further_write() {
    let mut rig = running().await;
    assert_eq!(rig.api.writes(), ["metadata", "status", "status"]);
    assert_eq!(rig.reason("Ready"), "Running");
    rig.api.delete();
    rig.deliver();
    rig.settle().await;
    assert_eq!(rig.api.writes().len(), 5, "a whole life");
    assert_eq!(counts(&rig), (0, 0));
}

#[tokio::test]
async fn a_vm_that_came_up_is_told_in_the_turn_that_makes_what_it_owns() {
    let mut rig = Rig::with_object();
    let target = Target::Object(key());
    assert_eq!(rig.loop_.turn(&target, 0).await.action, "create");
    rig.deliver();
    rig.cloud.all_are(&InstancePhase::Running);
    let turn = rig.loop_.turn(&target, 0).await;
    assert_eq!(rig.api.owned().writes, MADE);
    assert_eq!(rig.status()["phase"], "Running");
    // The log line tells of the write, not of the look after it.
    assert_eq!(
        (turn.action, turn.requeue),
        ("apply-child", Requeue::Steady(secs(30)))
    );
    assert_eq!(rig.api.writes(), ["metadata", "status", "status"]);
}

#[tokio::test]
async fn nothing_is_written_or_read_at_rest_nor_by_the_next_process() {
    let mut rig = running().await;
    rig.crash();
    for _ in 0..20 {
        rig.time.0.advance(secs(30));
        assert_eq!(rig.pass().await.requeue, Requeue::Steady(secs(30)));
    }
    assert_eq!(counts(&rig), (0, 0));
    assert_eq!(rig.api.writes().len(), 3);
}

#[tokio::test]
async fn what_is_removed_or_edited_is_put_back_without_a_word_in_the_status() {
    let mut rig = running().await;
    rig.time.0.advance(secs(5));
    rig.api.owned().remove(ChildKind::Service);
    rig.api.owned().edit(ChildKind::Connection);
    rig.deliver();
    assert_eq!(rig.settle().await, ["apply-child", "apply-child"]);
    assert_eq!(
        rig.api.owned().writes,
        ["patch web-1-connection", "create web-1"]
    );
    assert_eq!(rig.api.writes().len(), 3);
}

#[tokio::test]
async fn nothing_shows_or_leads_to_a_lost_vm_whose_successor_is_refused_until_an_edit_repairs_that()
{
    let mut rig = running().await;
    rig.cloud.lock().instances.clear();
    rig.cloud.lock().refuses = Some(ErrorKind::Invalid);
    while rig.cloud.count("create") < 2 {
        rig.settle().await;
    }
    let status = rig.status();
    assert!(
        status["id"].is_null() && status["instance"].is_null() && status["addresses"].is_null()
    );
    assert_eq!(
        (&status["incarnation"], &status["phase"]),
        (&json!(1), &json!("Pending"))
    );
    assert_eq!(rig.api.owned().writes, ["delete web-1-connection"]);
    rig.cloud.lock().refuses = None;
    rig.api.edit(&json!({ "spec": { "image": "debian-12" } }));
    rig.deliver();
    rig.until_running().await;
    assert_eq!(
        (rig.status()["incarnation"].clone(), rig.instances()),
        (json!(3), 1)
    );
    assert_eq!(rig.api.owned().writes.last().unwrap(), MADE[0]);
}

#[tokio::test]
async fn a_tool_that_removes_it_in_a_loop_gets_it_back_once_a_second() {
    let mut rig = running().await;
    let began = rig.time.0.now();
    for _ in 0..50 {
        if rig.api.owned().shown().contains_key(&ChildKind::Service) {
            rig.api.owned().remove(ChildKind::Service);
            rig.deliver();
        }
        match rig.pass().await.requeue {
            Requeue::After(wait) => rig.time.0.advance(wait),
            Requeue::Now | Requeue::Steady(_) | Requeue::OnChange => {}
            Requeue::Retry(wait) => rig.time.0.advance(wait.unwrap_or(secs(1))),
        }
    }
    let seconds = rig.time.0.now().since(began).as_secs();
    let writes = rig.api.owned().writes.len() as u64;
    assert!(
        (2..=seconds + 1).contains(&writes),
        "{writes} in {seconds} s"
    );
}

#[tokio::test]
async fn an_object_of_somebody_else_is_named_and_left_alone() {
    let mut rig = Rig::with_object();
    rig.api.owned().stranger(ChildKind::Connection);
    rig.until_running().await;
    assert_eq!(rig.reason("Ready"), "OwnedObjectConflict");
    assert_eq!(rig.api.owned().writes, MADE[1..]);
    let writes = rig.api.writes().len();
    // Looked at again after five minutes, by one attempt.
    for _ in 0..9 {
        rig.time.0.advance(secs(30));
        rig.settle().await;
    }
    assert_eq!((rig.api.writes().len(), rig.api.owned().reads), (writes, 1));
    rig.api.owned().remove(ChildKind::Connection);
    rig.time.0.advance(secs(30));
    rig.settle().await;
    assert_eq!(rig.reason("Ready"), "Running");
    assert_eq!(rig.api.owned().writes.last().unwrap(), MADE[0]);
}

#[tokio::test]
async fn one_of_ours_that_the_watch_does_not_show_is_found_and_written_over() {
    // Its label was removed, or the watch lags: the name is taken, and it is ours.
    let mut rig = running().await;
    rig.time.0.advance(secs(9));
    rig.api.owned().edit(ChildKind::Connection);
    let (uid, there) = rig.api.owned().shown()[&ChildKind::Connection].clone();
    rig.loop_
        .owned()
        .vanished(&uid, ChildKind::Connection, &there.held);
    rig.watching = false;
    rig.pass().await;
    assert_eq!(rig.api.owned().reads, 1);
    rig.settle().await;
    assert_eq!(rig.api.owned().writes, ["patch web-1-connection"]);
}

#[tokio::test]
async fn a_write_that_met_a_newer_version_or_none_is_decided_anew() {
    for gone in [false, true] {
        let mut rig = running().await;
        rig.time.0.advance(secs(9));
        rig.api.owned().edit(ChildKind::Service);
        rig.deliver();
        if gone {
            rig.api.owned().remove(ChildKind::Service);
        } else {
            rig.api.owned().edit(ChildKind::Service);
        }
        rig.settle().await;
        let expected = if gone { "create web-1" } else { "patch web-1" };
        assert_eq!(rig.api.owned().writes, [expected]);
        assert_eq!(rig.api.writes().len(), 3);
    }
}

#[tokio::test]
async fn a_refusal_is_told_and_tried_again_after_five_minutes() {
    let mut rig = Rig::with_object();
    let why = "exceeded quota".to_owned();
    rig.api.owned().faults = [ClusterError::Refused(why)].into();
    rig.until_running().await;
    assert_eq!(rig.reason("Ready"), "OwnedObjectRefused");
    assert_eq!(rig.reason("Stalled"), "", "it may mend by itself");
    assert!(
        rig.status()["conditions"]
            .to_string()
            .contains("exceeded quota")
    );
    rig.time.0.advance(policy().longest_backoff);
    rig.settle().await;
    assert_eq!(rig.reason("Ready"), "Running");
}

#[tokio::test]
async fn an_api_server_that_fails_on_them_keeps_no_status_back() {
    let mut rig = Rig::with_object();
    let silence = ClusterError::Unknown("webhook is down".to_owned());
    rig.api.owned().faults = vec![silence; 30].into();
    rig.until_running().await;
    assert_eq!(rig.status()["phase"], "Running");
    assert_eq!(rig.reason("Ready"), "OwnedObjectRefused");
    rig.api.owned().faults.clear();
    rig.time.0.advance(secs(30));
    rig.settle().await;
    assert_eq!(rig.reason("Ready"), "Running");
}

#[tokio::test]
async fn what_is_switched_off_goes_and_what_is_switched_on_comes() {
    let mut rig = running().await;
    rig.time.0.advance(secs(9));
    let switch = |on: bool| json!({ "spec": { "connectionSecret": { "enabled": on }, "service": { "enabled": on } } });
    for (on, expected) in [
        (false, ["delete web-1-connection", "delete web-1"]),
        (true, MADE),
    ] {
        rig.api.edit(&switch(on));
        rig.deliver();
        rig.settle().await;
        assert_eq!(std::mem::take(&mut rig.api.owned().writes), expected);
        assert_eq!(rig.reason("Ready"), "Running");
        rig.time.0.advance(secs(9));
    }
}

#[tokio::test]
async fn before_the_watches_have_listed_nothing_is_made_and_ready_stays() {
    let mut rig = running().await;
    let blind = Reconciler::new(rig.api.clone(), rig.sky.clone(), rig.time.clone(), policy());
    blind.lead();
    blind.arrived(rig.api.view().unwrap(), false);
    rig.loop_ = blind;
    rig.watching = false;
    let pass = rig.pass().await;
    assert_eq!(pass.requeue, Requeue::After(Duration::from_secs(1)));
    assert_eq!(rig.api.writes().len(), 3);
    assert_eq!(rig.api.owned().writes.len(), 0);
}
