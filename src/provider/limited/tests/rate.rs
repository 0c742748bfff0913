//! Rate, calls in flight, pauses.

use super::*;

#[tokio::test(start_paused = true)]
async fn after_a_burst_calls_start_at_the_given_rate_and_in_turn() {
    let options = LimitOptions {
        requests_per_second: number(10),
        burst: number(5),
        max_in_flight: number(100),
        ..LimitOptions::default()
    };
    let rig = rig_with(options, Term::unlimited());
    let start = rig.time.now();
    let order = Mutex::new(Vec::new());
    let calls = (0..30).map(|number| {
        let (rig, order) = (&rig, &order);
        async move {
            rig.find().await.unwrap();
            order.lock().unwrap().push(number);
        }
    });
    join_all(calls).await;
    let log = rig.cloud.log.lock().unwrap();
    let at_once = log.iter().filter(|(_, at)| *at == start).count();
    assert_eq!(at_once, 5);
    let last = log.last().unwrap().1.since(start);
    assert!(last >= Duration::from_millis(2500), "{last:?}");
    assert!(last <= Duration::from_millis(2600), "{last:?}");
    assert!(order.lock().unwrap().is_sorted());
    assert!(
        rig.text().contains("throttled_seconds_total 3"),
        "{}",
        rig.text()
    );
}

#[tokio::test(start_paused = true)]
async fn no_more_calls_are_under_way_than_allowed() {
    let options = LimitOptions {
        max_in_flight: number(3),
        ..LimitOptions::default()
    };
    let rig = rig_with(options, Term::unlimited());
    rig.cloud.say(|_| after(Duration::from_millis(100)));
    let all = join_all((0..30).map(|_| rig.find())).await;
    assert!(all.iter().all(Result::is_ok));
    assert_eq!(rig.cloud.most.load(Ordering::SeqCst), 3);
    assert_eq!(rig.cloud.calls().len(), 30);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_would_wait_long_is_refused_and_not_sent() {
    let options = LimitOptions {
        max_in_flight: number(1),
        max_wait: Duration::from_secs(2),
        ..LimitOptions::default()
    };
    let rig = rig_with(options, Term::unlimited());
    rig.cloud.say(|_| after(Duration::from_secs(60)));
    let start = rig.time.now();
    let (first, second) = tokio::join!(rig.find(), async {
        let result = rig.find().await;
        (result, rig.time.now().since(start))
    });
    assert!(first.is_ok());
    let error = second.0.unwrap_err();
    assert_eq!(error.kind, ErrorKind::RateLimited);
    assert_eq!(error.retry_after, Some(Duration::from_secs(1)));
    assert_eq!(error.status, None);
    assert!(second.1 < Duration::from_secs(3));
    assert_eq!(rig.cloud.calls().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_for_its_rate_pauses_every_call_of_the_configuration() {
    let rig = rig();
    rig.cloud
        .say(|operation| err(ErrorKind::RateLimited, operation, Some(30)));
    assert_eq!(rig.find().await.unwrap_err().kind, ErrorKind::RateLimited);
    rig.cloud.succeed();
    // Another client of the same configuration, as after a rotation of its credentials.
    let other = Limited::new(
        Shared(rig.cloud.clone()),
        rig.limits.clone(),
        Term::unlimited(),
    );
    let error = other.find(&owner()).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::RateLimited);
    assert_eq!(error.retry_after, Some(Duration::from_secs(30)));
    assert_eq!(rig.cloud.calls().len(), 1);
    // Near its end the rest is waited for.
    rig.time.sleep(Duration::from_secs(27)).await;
    let before = rig.time.now();
    assert!(rig.find().await.is_ok());
    assert!(rig.time.now().since(before) >= Duration::from_millis(2900));
    assert_eq!(rig.cloud.calls().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_without_a_time_pauses_too() {
    let rig = rig();
    rig.cloud.fail(ErrorKind::RateLimited);
    let _ = rig.find().await;
    rig.cloud.succeed();
    let before = rig.time.now();
    assert!(rig.find().await.is_ok());
    assert!(rig.time.now().since(before) >= Duration::from_millis(4900));
}

#[tokio::test(start_paused = true)]
async fn a_dropped_wait_takes_no_place_and_no_turn() {
    let options = LimitOptions {
        requests_per_second: number(1),
        burst: number(1),
        max_in_flight: number(1),
        ..LimitOptions::default()
    };
    let rig = rig_with(options, Term::unlimited());
    rig.find().await.unwrap();
    for _ in 0..10 {
        let mut waiting = Box::pin(rig.find());
        assert!(poll!(&mut waiting).is_pending());
        drop(waiting);
    }
    let before = rig.time.now();
    rig.find().await.unwrap();
    let waited = rig.time.now().since(before);
    assert!(waited <= Duration::from_millis(1100), "{waited:?}");
    // A call that is dropped under way gives its place back.
    rig.cloud.say(|_| futures::future::pending().boxed());
    rig.time.sleep(Duration::from_secs(1)).await;
    let mut under_way = Box::pin(rig.find());
    assert!(poll!(&mut under_way).is_pending());
    assert_eq!(rig.cloud.calls().len(), 3);
    drop(under_way);
    rig.cloud.succeed();
    assert!(rig.find().await.is_ok());
}
