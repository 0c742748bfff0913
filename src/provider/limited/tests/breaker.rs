//! Calls that are held back, and the probe.

use super::*;
use crate::provider::breaker::Position;

#[tokio::test(start_paused = true)]
async fn after_failures_in_a_row_calls_are_held_back_and_told_how_long() {
    let rig = rig();
    assert!(rig.text().contains("breaker_open 0"));
    open(&rig).await;
    assert!(rig.text().contains("breaker_open 1"));
    let error = rig.find().await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::HeldBack);
    assert_eq!(error.retry_after, Some(Duration::from_secs(1)));
    assert!(!error.may_have_happened());
    let error = rig.limited.capabilities().await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::HeldBack);
    assert_eq!(rig.cloud.calls().len(), 5);
}

#[tokio::test(start_paused = true)]
async fn the_probe_is_a_neutral_read_and_then_the_call_itself_goes() {
    let rig = rig();
    open(&rig).await;
    rig.time.sleep(Duration::from_secs(1)).await;
    assert_eq!(rig.delete().await.unwrap_err().kind, ErrorKind::HeldBack);
    assert_eq!(rig.cloud.calls()[5..], [Operation::Capabilities]);
    rig.cloud.succeed();
    rig.time.sleep(Duration::from_secs(2)).await;
    assert_eq!(rig.delete().await, Ok(()));
    assert_eq!(
        rig.cloud.calls()[6..],
        [Operation::Capabilities, Operation::Delete]
    );
    assert!(rig.text().contains("breaker_open 0"));
    // A neutral read is its own probe.
    open_again(&rig).await;
    rig.time.sleep(Duration::from_secs(300)).await;
    rig.cloud.succeed();
    let before = rig.cloud.calls().len();
    assert!(rig.limited.capabilities().await.is_ok());
    assert_eq!(rig.cloud.calls().len(), before + 1);
}

async fn open_again(rig: &Rig) {
    open(rig).await;
}

#[tokio::test(start_paused = true)]
async fn while_a_probe_is_under_way_the_others_are_held_back() {
    let rig = rig();
    open(&rig).await;
    rig.time.sleep(Duration::from_secs(1)).await;
    rig.cloud.say(|_| after(Duration::from_secs(2)));
    let (first, others) = tokio::join!(rig.delete(), async {
        tokio::task::yield_now().await;
        join_all((0..20).map(|_| rig.find())).await
    });
    assert_eq!(first, Ok(()));
    for other in others {
        assert_eq!(other.unwrap_err().kind, ErrorKind::HeldBack);
    }
    assert_eq!(
        rig.cloud.calls()[5..],
        [Operation::Capabilities, Operation::Delete]
    );
}

#[tokio::test(start_paused = true)]
async fn a_dropped_probe_does_not_close_the_way_for_ever() {
    let rig = rig();
    open(&rig).await;
    rig.time.sleep(Duration::from_secs(1)).await;
    rig.cloud.say(|_| futures::future::pending().boxed());
    let mut probing = Box::pin(rig.delete());
    assert!(poll!(&mut probing).is_pending());
    drop(probing);
    assert!(rig.limits.breaker_is_open());
    rig.cloud.succeed();
    assert_eq!(rig.delete().await, Ok(()));
}

#[tokio::test(start_paused = true)]
async fn garbage_and_refusals_never_hold_calls_back() {
    let rig = rig();
    for kind in [
        ErrorKind::Malformed,
        ErrorKind::Invalid,
        ErrorKind::Unauthorized,
    ] {
        rig.cloud.fail(kind);
        for _ in 0..20 {
            assert_eq!(rig.find().await.unwrap_err().kind, kind);
        }
    }
    assert!(!rig.limits.breaker_is_open());
}

#[tokio::test(start_paused = true)]
async fn what_is_not_sent_is_counted_and_an_open_breaker_leaves_with_its_limits() {
    let rig = rig_with(LimitOptions::default(), TermHolder::new().term());
    open(&rig).await;
    let _ = rig.find().await;
    rig.time.sleep(Duration::from_secs(1)).await;
    rig.cloud.succeed();
    let _ = rig.delete().await;
    let text = rig.text();
    for line in [
        r#"vmoperator_provider_errors_total{operation="list",kind="held_back"} 1"#,
        r#"vmoperator_provider_errors_total{operation="delete",kind="not_leading"} 1"#,
    ] {
        assert!(text.contains(line), "{text}");
    }
    open(&rig).await;
    let metrics = rig.metrics.clone();
    drop(rig.limited);
    drop(rig.limits);
    let mut registry = Registry::default();
    metrics.register(&mut registry);
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
    assert!(text.contains("breaker_open 0"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn how_the_limits_stand_is_told() {
    let rig = rig();
    let calm = rig.limits.standing();
    assert_eq!(calm.breaker, Position::Closed);
    assert_eq!((calm.held_back, calm.paused), (None, Duration::ZERO));
    assert_eq!(calm.in_flight, 0);
    open(&rig).await;
    let held = rig.limits.standing();
    assert_eq!(held.breaker, Position::Open);
    // A second, shortened by up to a quarter.
    let wait = held.held_back.expect("calls are held back");
    assert!((750..=1000).contains(&wait.as_millis()), "{wait:?}");
    rig.time.sleep(Duration::from_secs(1)).await;
    rig.cloud.say(|_| after(Duration::from_secs(2)));
    let (_, probing) = tokio::join!(rig.delete(), async {
        tokio::task::yield_now().await;
        rig.limits.standing()
    });
    assert_eq!(probing.breaker, Position::Probing);
    assert_eq!(probing.in_flight, 1);
}
