//! A create's turn: waited for before it is written down that one is sent.

use super::*;
use crate::provider::Turn;

fn slow() -> LimitOptions {
    LimitOptions {
        requests_per_second: number(1),
        burst: number(1),
        max_in_flight: number(1),
        ..LimitOptions::default()
    }
}

impl Rig {
    async fn create_in(&self, turn: Turn) -> ProviderError {
        let (key, body) = create();
        let made = self.limited.create_in(turn, &key, &body, WHENEVER).await;
        made.unwrap_err()
    }
}

#[tokio::test(start_paused = true)]
async fn a_turn_is_one_place_in_the_rate_and_none_among_the_calls_under_way() {
    let rig = rig_with(slow(), Term::unlimited());
    let turn = rig.limited.line_up().await.unwrap();
    assert!(rig.cloud.calls().is_empty(), "waiting sends nothing");
    // Another call of the same pass goes first: it waits for the rate, not for the place.
    rig.find().await.unwrap();
    let before = rig.time.now();
    assert_eq!(rig.create_in(turn).await.kind, ErrorKind::Invalid);
    assert_eq!(rig.time.now().since(before), Duration::ZERO);
    assert_eq!(
        rig.cloud.calls(),
        [Operation::List, Operation::Create],
        "the turn is used up by the create"
    );
}

#[tokio::test(start_paused = true)]
async fn turns_are_given_at_the_rate_and_one_that_is_not_soon_is_refused() {
    let rig = rig_with(slow(), Term::unlimited());
    let turns = join_all((0..20).map(|_| rig.limited.line_up())).await;
    let given = turns.iter().filter(|turn| turn.is_ok()).count();
    assert!((4..=7).contains(&given), "{given} in five seconds");
    let refused = turns.into_iter().filter_map(Result::err);
    for error in refused {
        assert_eq!((error.kind, error.status), (ErrorKind::RateLimited, None));
        assert!(error.is_wait() && error.retry_after.is_some());
    }
    assert!(rig.cloud.calls().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_pause_that_begins_after_the_turn_was_given_holds_the_create_too() {
    let rig = rig();
    let turn = rig.limited.line_up().await.unwrap();
    rig.cloud
        .say(|operation| err(ErrorKind::RateLimited, operation, Some(30)));
    assert_eq!(rig.find().await.unwrap_err().kind, ErrorKind::RateLimited);
    let error = rig.create_in(turn).await;
    assert_eq!(error.retry_after, Some(Duration::from_secs(30)));
    assert_eq!(rig.limited.line_up().await.unwrap_err().kind, error.kind);
    assert_eq!(rig.cloud.calls(), [Operation::List]);
}

#[tokio::test(start_paused = true)]
async fn lining_up_asks_the_breaker_and_tries_whether_the_provider_is_back() {
    let rig = rig();
    open(&rig).await;
    let error = rig.limited.line_up().await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::HeldBack);
    rig.cloud.succeed();
    rig.time.sleep(Duration::from_secs(2)).await;
    let turn = rig.limited.line_up().await.unwrap();
    assert_eq!(rig.cloud.calls().last(), Some(&Operation::Capabilities));
    assert_eq!(rig.create_in(turn).await.kind, ErrorKind::Invalid);
}

#[tokio::test(start_paused = true)]
async fn nobody_lines_up_with_refused_credentials_or_without_leading() {
    let rig = rig();
    rig.cloud.fail(ErrorKind::Unauthorized);
    let _ = rig.find().await;
    let error = rig.limited.line_up().await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unauthorized);
    let follower = rig_with(LimitOptions::default(), TermHolder::new().term());
    let error = follower.limited.line_up().await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotLeading);
    assert!(follower.cloud.calls().is_empty());
}
