//! Polls of the change feed, which wait for as long as nothing happens.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_poll_takes_no_place_among_the_calls_in_flight() {
    let options = LimitOptions {
        max_in_flight: number(1),
        ..LimitOptions::default()
    };
    let rig = rig_with(options, Term::unlimited());
    rig.cloud.say(|operation| match operation {
        Operation::Changes => after(Duration::from_secs(30)),
        _ => async { Ok(()) }.boxed(),
    });
    let mut polling = Box::pin(rig.poll());
    assert!(poll!(&mut polling).is_pending());
    let start = rig.time.now();
    assert!(rig.find().await.is_ok());
    assert_eq!(rig.time.now(), start);
    assert!(polling.await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn polls_that_fail_do_not_open_the_breaker_and_are_held_back_by_it() {
    let rig = rig();
    rig.cloud.fail(ErrorKind::Unavailable);
    for _ in 0..20 {
        assert_eq!(rig.poll().await.unwrap_err().kind, ErrorKind::Unavailable);
    }
    assert!(!rig.limits.breaker_is_open());
    open(&rig).await;
    assert_eq!(rig.poll().await.unwrap_err().kind, ErrorKind::HeldBack);
    assert_eq!(rig.cloud.calls().len(), 25);
}

#[tokio::test(start_paused = true)]
async fn a_pause_that_the_provider_asks_for_holds_polls_and_calls_alike() {
    let rig = rig();
    rig.cloud
        .say(|operation| err(ErrorKind::RateLimited, operation, Some(60)));
    assert_eq!(rig.poll().await.unwrap_err().kind, ErrorKind::RateLimited);
    rig.cloud.succeed();
    for error in [rig.poll().await.unwrap_err(), rig.find().await.unwrap_err()] {
        assert_eq!(error.kind, ErrorKind::RateLimited);
        assert_eq!(error.retry_after, Some(Duration::from_secs(60)));
    }
    assert_eq!(rig.cloud.calls(), [Operation::Changes]);
    rig.time.sleep(Duration::from_secs(60)).await;
    assert!(rig.poll().await.is_ok());
}
