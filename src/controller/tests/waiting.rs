//! Creates that wait for their turn at the provider, and what goes before them in one turn.

use super::*;

fn target() -> Target {
    Target::Object(key())
}

/// So many turns that come too late, each as long after the one before as a back-off lasts.
async fn waits(rig: &mut Rig, kind: ErrorKind, times: u32) {
    rig.cloud.lock().held = Some(kind);
    for failures in 0..times {
        let pass = rig.loop_.turn(&target(), failures).await;
        assert_eq!(pass.action, "create");
        assert!(matches!(pass.requeue, Requeue::Retry(_)), "{pass:?}");
        rig.deliver();
        // Half the life of the key is not over after thirty of them.
        rig.time.0.advance(secs(30));
    }
}

#[tokio::test]
async fn a_turn_that_comes_too_late_again_and_again_costs_no_write() {
    for kind in [
        ErrorKind::RateLimited,
        ErrorKind::TooLate,
        ErrorKind::HeldBack,
    ] {
        let mut rig = Rig::with_object();
        waits(&mut rig, kind, 1).await;
        assert_eq!(rig.api.writes(), ["metadata", "status"], "{kind:?}");
        let told = rig.status();
        assert_eq!(told["operation"]["attempts"], 1);
        assert!(told["operation"]["nextAttemptAt"].is_string(), "{told:#}");
        waits(&mut rig, kind, 30).await;
        // At most that the provider is not usable, once that is certain.
        let writes = rig.api.writes();
        assert!(writes.len() <= 3, "{kind:?}: {writes:?}");
        // Its turn has come: the attempt is noted and sent in one.
        rig.cloud.lock().held = None;
        let pass = rig.loop_.turn(&target(), 31).await;
        assert_eq!((pass.action, pass.id.as_deref()), ("create", Some("i-1")));
        assert_eq!(rig.api.writes().len(), writes.len() + 2);
        rig.deliver();
        assert!(rig.status()["operation"].is_null());
        rig.until_running().await;
        assert_eq!((rig.cloud.count("create"), rig.instances()), (1, 1));
    }
}

#[tokio::test]
async fn what_never_had_its_turn_leaves_no_doubt() {
    let mut rig = Rig::with_object();
    waits(&mut rig, ErrorKind::RateLimited, 5).await;
    rig.api.delete();
    rig.deliver();
    rig.settle().await;
    assert!(rig.api.object().is_none(), "it is not let go");
    assert_eq!(rig.cloud.count("create"), 0, "nothing had to be settled");
}

#[tokio::test]
async fn a_lost_answer_is_looked_for_while_the_create_waits_for_its_next_turn() {
    let mut rig = Rig::with_object();
    rig.cloud.lock().faults = [Fault::AnswerLost].into();
    rig.loop_.turn(&target(), 0).await;
    rig.deliver();
    rig.crash();
    rig.cloud.lock().held = Some(ErrorKind::HeldBack);
    rig.until_running().await;
    assert_eq!((rig.cloud.count("create"), rig.instances()), (1, 1));
}

#[tokio::test]
async fn a_create_follows_the_write_that_licenses_it_in_one_turn() {
    // A thousand objects whose writes were over before their next turn once wrote again and again, for ever.
    let rig = Rig::with_object();
    let target = target();
    assert_eq!(rig.loop_.turn(&target, 0).await.action, "create");
    let mut rig = Rig::with_object();
    rig.pass().await;
    rig.time.0.advance(secs(6));
    assert_eq!(rig.loop_.turn(&target, 0).await.action, "create");
}

#[tokio::test]
async fn an_accepted_deletion_is_looked_after_at_once_and_told_only_where_it_takes_time() {
    // The look once waited two seconds each time: what the pass had just done counted as done before.
    let mut rig = Rig::with_object();
    rig.until_running().await;
    rig.api.delete();
    rig.deliver();
    let writes = rig.api.writes().len();
    let pass = rig.pass().await;
    assert_eq!((pass.action, pass.requeue), ("delete", Requeue::Now));
    assert_eq!(rig.api.writes().len(), writes, "nothing is told yet");
    // Its list lags, so the second look has to wait, and that is told.
    let pass = rig.pass().await;
    assert!(
        matches!(pass.requeue, Requeue::After(_)),
        "{:?}",
        pass.requeue
    );
    assert_eq!(rig.api.writes().len(), writes + 1);
    assert_eq!(rig.reason("Deleting"), "Deleting");
}
