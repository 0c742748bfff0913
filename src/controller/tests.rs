mod children;
mod cloud;
mod double;
mod events;
mod inventory;
mod owned;
mod rig;
mod sweep;
mod waiting;

use serde_json::{Value, json};

use super::*;
use crate::domain::ErrorKind;
use crate::lifecycle::fixtures::{no_config, policy, secs};
use double::{Fault, has_finalizer, key};
use rig::Rig;

#[tokio::test]
async fn a_vm_comes_to_run_with_three_writes_and_one_create() {
    let mut rig = Rig::with_object();
    let first = rig.pass().await;
    assert_eq!((first.action, first.requeue), ("intend", Requeue::Now));
    assert_eq!(
        rig.cloud.lock().calls.len(),
        0,
        "nothing outside before the intent"
    );
    assert!(has_finalizer(&rig.api.object().unwrap()));
    let second = rig.pass().await;
    assert_eq!(
        (second.action, second.id.as_deref()),
        ("create", Some("i-1"))
    );
    let status = rig.status();
    assert_eq!(
        (&status["id"], &status["incarnation"]),
        (&json!("i-1"), &json!(1))
    );
    rig.until_running().await;
    assert_eq!(rig.api.writes(), ["metadata", "status", "status"]);
    assert_eq!((rig.cloud.count("create"), rig.instances()), (1, 1));
}

#[tokio::test]
async fn at_rest_nothing_is_written() {
    let mut rig = Rig::with_object();
    rig.until_running().await;
    let before = rig.api.object();
    for _ in 0..50 {
        rig.time.0.advance(secs(30));
        let pass = rig.pass().await;
        assert_eq!(
            (pass.action, pass.requeue),
            ("hold", Requeue::Steady(secs(30)))
        );
    }
    assert_eq!(rig.api.writes().len(), 3);
    assert_eq!(rig.api.object(), before);
    assert_eq!(rig.cloud.count("create"), 1);
}

#[tokio::test]
async fn a_whole_life_takes_at_most_five_writes() {
    let mut rig = Rig::with_object();
    rig.until_running().await;
    rig.api.delete();
    rig.deliver();
    let actions = rig.settle().await;
    assert_eq!(actions, ["delete", "remove-finalizer"]);
    assert_eq!(rig.api.object(), None);
    assert_eq!((rig.instances(), rig.cloud.count("delete")), (0, 1));
    assert_eq!(rig.api.writes().len(), 5, "{:?}", rig.api.writes());
    assert_eq!(rig.departed, [], "nothing is left to look for");
}

#[tokio::test]
async fn an_end_that_is_seen_before_it_is_answered_owes_no_look() {
    let mut rig = Rig::with_object();
    rig.until_running().await;
    rig.api.delete();
    rig.deliver();
    rig.watching = false;
    while rig.api.object().is_some() {
        rig.pass().await;
        rig.time.0.advance(secs(1));
    }
    let finds = rig.cloud.count("find");
    rig.deliver();
    assert_eq!(rig.departed, []);
    assert_eq!(rig.cloud.count("find"), finds);
}

#[tokio::test]
async fn a_create_whose_answer_is_lost_makes_one_vm() {
    for crashes in [false, true] {
        let mut rig = Rig::with_object();
        rig.pass().await;
        rig.cloud.lock().faults = [Fault::AnswerLost].into();
        rig.pass().await;
        assert_eq!((rig.instances(), rig.status()["id"].is_null()), (1, true));
        assert_eq!(rig.reason("Provisioned"), "CreateResultUnknown");
        if crashes {
            rig.crash();
        }
        rig.until_running().await;
        assert_eq!(
            (rig.instances(), rig.status()["id"].clone()),
            (1, json!("i-1"))
        );
        let bodies = &rig.cloud.lock().bodies;
        assert!(
            bodies.iter().all(|body| body == &bodies[0]),
            "the same bytes"
        );
    }
}

#[tokio::test]
async fn a_create_that_never_arrived_is_sent_again() {
    for crashes in [false, true] {
        let mut rig = Rig::with_object();
        rig.pass().await;
        rig.cloud.lock().faults = [Fault::RequestLost].into();
        rig.pass().await;
        if crashes {
            rig.crash();
        }
        rig.until_running().await;
        assert_eq!((rig.instances(), rig.cloud.count("create")), (1, 2));
    }
}

#[tokio::test]
async fn an_id_that_met_a_conflict_is_recorded_by_the_next_pass() {
    let mut rig = Rig::with_object();
    rig.pass().await;
    rig.api.faults(&[Fault::Overtaken]);
    let created = rig.pass().await;
    assert_eq!(
        (created.action, created.requeue),
        ("create", Requeue::After(AFTER_CONFLICT))
    );
    assert!(rig.status().is_null(), "nothing was written");
    rig.pass().await;
    assert_eq!(rig.status()["id"], "i-1");
    assert_eq!((rig.instances(), rig.cloud.count("create")), (1, 1));
}

#[tokio::test]
async fn an_intent_that_met_a_conflict_or_no_answer_makes_one_vm() {
    for fault in [Fault::Overtaken, Fault::AnswerLost, Fault::RequestLost] {
        let mut rig = Rig::with_object();
        rig.api.faults(std::slice::from_ref(&fault));
        let first = rig.pass().await;
        assert_eq!(first.action, "intend");
        assert_eq!(rig.cloud.count("create"), 0, "{fault:?}: not acknowledged");
        rig.until_running().await;
        assert_eq!(
            (rig.instances(), rig.cloud.count("create")),
            (1, 1),
            "{fault:?}"
        );
        assert_eq!(rig.status()["incarnation"], 1, "{fault:?}");
    }
}

#[tokio::test]
async fn a_deletion_with_a_create_in_doubt_settles_it_and_leaves_nothing() {
    for fault in [Fault::AnswerLost, Fault::RequestLost] {
        for crashes in [false, true] {
            let mut rig = Rig::with_object();
            rig.pass().await;
            rig.cloud.lock().faults = [fault.clone()].into();
            rig.pass().await;
            rig.api.delete();
            rig.deliver();
            if crashes {
                rig.crash();
            }
            let actions = rig.settle().await;
            assert_eq!(actions.last(), Some(&"remove-finalizer"), "{actions:?}");
            assert!(
                actions.contains(&"settle"),
                "the key is used up: {actions:?}"
            );
            let arrived = fault == Fault::AnswerLost;
            assert_eq!(actions[0] == "delete", arrived, "found first: {actions:?}");
            assert_eq!((rig.api.object(), rig.instances()), (None, 0), "{fault:?}");
        }
    }
}

#[tokio::test]
async fn a_settling_create_that_is_refused_does_not_hold_the_deletion() {
    for kind in [
        ErrorKind::Invalid,
        ErrorKind::QuotaExceeded,
        ErrorKind::KeyOfDeleted,
    ] {
        let mut rig = Rig::with_object();
        rig.pass().await;
        rig.cloud.lock().faults = [Fault::RequestLost].into();
        rig.pass().await;
        rig.api.delete();
        rig.deliver();
        rig.cloud.lock().faults = [Fault::Fine, Fault::Refused(kind)].into();
        let began = Clock::now(&rig.time);
        let actions = rig.settle().await;
        assert_eq!(rig.api.object(), None, "{kind:?}: {actions:?}");
        assert!(Clock::now(&rig.time).since(began) < secs(60), "{kind:?}");
    }
}

#[tokio::test]
async fn a_refused_create_is_repaired_by_an_edit_under_the_next_incarnation() {
    let mut rig = Rig::with_object();
    rig.pass().await;
    rig.cloud.lock().faults = [Fault::Refused(ErrorKind::Invalid)].into();
    let refused = rig.pass().await;
    let slow = Requeue::Steady(policy().longest_backoff);
    assert_eq!(refused.requeue, slow, "by itself in the slow round alone");
    assert_eq!(rig.reason("Stalled"), "InvalidRequest");
    let writes = rig.api.writes().len();
    rig.settle().await;
    assert_eq!(rig.cloud.count("create"), 1, "one create call, then none");
    assert_eq!(rig.api.writes().len(), writes, "and no write");
    rig.api
        .edit(&json!({ "spec": { "image": "ubuntu-24.04" } }));
    rig.deliver();
    rig.until_running().await;
    assert_eq!((rig.instances(), rig.cloud.count("create")), (1, 2));
    assert_eq!(rig.status()["incarnation"], 2);
    assert!(rig.cloud.lock().bodies[1].contains("ubuntu-24.04"));
}

#[tokio::test]
async fn a_lost_vm_is_made_anew_under_the_next_incarnation() {
    let mut rig = Rig::with_object();
    rig.until_running().await;
    rig.cloud.lock().instances.clear();
    let suspected = rig.pass().await;
    assert_eq!((suspected.action, suspected.reason), ("hold", Reason::Lost));
    rig.until_running().await;
    let status = rig.status();
    assert_eq!(
        (&status["id"], &status["incarnation"]),
        (&json!("i-2"), &json!(2))
    );
    assert_eq!(rig.instances(), 1);
}

#[tokio::test]
async fn an_object_that_cannot_be_read_is_deleted_like_any_other_and_written_to_once() {
    let mut rig = Rig::with_object();
    rig.until_running().await;
    rig.api.edit(&json!({ "spec": { "cpu": "two" } }));
    rig.deliver();
    rig.settle().await;
    let writes = rig.api.writes().len();
    for _ in 0..5 {
        rig.time.0.advance(secs(30));
        rig.pass().await;
    }
    assert_eq!(rig.api.writes().len(), writes, "no write at rest");
    assert_eq!(rig.status()["id"], "i-1", "what was known stays");
    rig.api.delete();
    rig.deliver();
    rig.settle().await;
    assert_eq!((rig.api.object(), rig.instances()), (None, 0));
}

#[tokio::test]
async fn an_unreadable_object_that_is_new_makes_nothing_and_goes_at_once() {
    let mut rig = Rig::new();
    rig.api.create("u-1");
    rig.api.edit(&json!({ "spec": { "cpu": "two" } }));
    rig.deliver();
    rig.settle().await;
    assert_eq!(rig.reason("Provisioned"), "SpecUnreadable");
    rig.api.delete();
    rig.deliver();
    rig.settle().await;
    assert_eq!((rig.api.object(), rig.cloud.count("create")), (None, 0));
}

#[tokio::test]
async fn an_object_of_which_nothing_was_sent_goes_without_a_call_whatever_is_broken() {
    let mut rig = Rig::with_object();
    *rig.sky.config.lock().unwrap() = Err(no_config());
    rig.settle().await;
    rig.api.delete();
    rig.deliver();
    rig.settle().await;
    assert_eq!(rig.api.object(), None);
    assert_eq!(rig.cloud.lock().calls, [""; 0]);
    assert_eq!(rig.departed, []);
}

#[tokio::test]
async fn what_vanishes_with_its_marks_stripped_is_cleaned_up_by_its_uid() {
    let mut rig = Rig::with_object();
    rig.until_running().await;
    rig.api
        .edit(&json!({ "metadata": { "finalizers": null, "annotations": null } }));
    rig.api.delete();
    rig.deliver();
    assert_eq!(rig.departed.len(), 1);
    let began = Clock::now(&rig.time);
    let actions = rig.settle().await;
    assert_eq!(actions, ["delete", "forget"]);
    assert_eq!(rig.instances(), 0);
    let long = secs(15 + 2 + 5);
    assert!(Clock::now(&rig.time).since(began) >= long, "a long pair");
}

#[tokio::test]
async fn a_follower_keeps_no_departed_keys() {
    let mut rig = Rig::new();
    let follower = Reconciler::new(rig.api.clone(), rig.sky.clone(), rig.time.clone(), policy());
    rig.loop_ = follower;
    rig.api.create("u-1");
    rig.deliver();
    rig.api.delete();
    rig.deliver();
    assert_eq!(rig.departed, []);
    let uid = Uid::new("u-1");
    assert!(rig.loop_.knowledge().departed(&uid).is_none());
}

#[tokio::test]
async fn a_live_read_that_fails_is_tried_again() {
    let mut rig = Rig::with_object();
    rig.watching = false;
    rig.pass().await;
    rig.time.0.advance(secs(6));
    rig.api.live_faults(&[Fault::RequestLost]);
    let pass = rig.pass().await;
    assert_eq!((pass.action, pass.requeue), ("none", Requeue::Retry(None)));
    assert_eq!(
        rig.cloud.count("create"),
        0,
        "nothing is decided on a doubtful version"
    );
    let pass = rig.pass().await;
    assert_eq!(pass.action, "note-attempt", "the intent is six seconds old");
}

#[tokio::test]
async fn a_copied_manifest_starts_anew_for_its_own_uid() {
    let mut rig = Rig::with_object();
    rig.until_running().await;
    let copied = rig.api.object().unwrap()["metadata"]["annotations"].clone();
    rig.api.delete();
    rig.deliver();
    rig.settle().await;
    rig.api.create("u-2");
    rig.api
        .edit(&json!({ "metadata": { "annotations": copied } }));
    rig.deliver();
    let uid = Uid::new("u-2");
    // What the first one owned holds the names, and no collector comes: each is removed, then made.
    let before = rig.api.owned().writes.len();
    rig.until_running().await;
    let owner = rig.cloud.lock().instances[0].owner.clone().unwrap();
    assert_eq!((owner.uid, owner.incarnation.get()), (uid.clone(), 1));
    let owned = rig.api.owned();
    let removed = owned.writes[before..]
        .iter()
        .filter(|write| write.starts_with("delete"));
    assert_eq!(removed.count(), 2, "{:?}", owned.writes);
    assert!(owned.shown().values().all(|(owner, _)| *owner == uid));
}

#[tokio::test]
async fn a_pause_holds_everything_and_its_end_lets_it_go_on() {
    let mut rig = Rig::with_object();
    let pause = |value: Value| json!({ "metadata": { "annotations": { "compute.example.com/paused": value } } });
    rig.pass().await;
    rig.api.edit(&pause(json!("true")));
    rig.deliver();
    rig.settle().await;
    assert_eq!(rig.cloud.lock().calls, [""; 0]);
    assert_eq!(rig.reason("Paused"), "Paused");
    rig.api.edit(&pause(Value::Null));
    rig.deliver();
    rig.until_running().await;
    assert_eq!((rig.instances(), rig.reason("Paused").as_str()), (1, ""));
}
