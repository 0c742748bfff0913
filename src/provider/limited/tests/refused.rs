//! Credentials that are refused in the middle of work.

use super::*;

/// A rig that counts how often it was told to check its credentials.
fn told() -> (Rig, Arc<AtomicUsize>) {
    let (mut rig, count) = (rig(), Arc::new(AtomicUsize::new(0)));
    let counter = Arc::clone(&count);
    let (cloud, limits) = (Shared(rig.cloud.clone()), rig.limits.clone());
    rig.limited = Limited::new(cloud, limits, Term::unlimited()).on_refusal(move || {
        counter.fetch_add(1, Ordering::SeqCst);
    });
    (rig, count)
}

#[tokio::test(start_paused = true)]
async fn after_the_first_refusal_nothing_is_sent_but_the_check_and_that_is_asked_for_once() {
    let (rig, count) = told();
    rig.cloud.fail(ErrorKind::Unauthorized);
    assert_eq!(rig.find().await.unwrap_err().kind, ErrorKind::Unauthorized);
    for _call in 0..3 {
        assert_eq!(rig.find().await.unwrap_err().kind, ErrorKind::Unauthorized);
        assert_eq!(
            rig.delete().await.unwrap_err().kind,
            ErrorKind::Unauthorized
        );
        assert_eq!(rig.poll().await.unwrap_err().kind, ErrorKind::Unauthorized);
    }
    let error = rig.delete().await.unwrap_err();
    assert_eq!(
        error.operation,
        Operation::Delete,
        "it speaks of this call, not of the refused one"
    );
    assert_eq!(rig.cloud.calls(), [Operation::List]);
    assert_eq!(count.load(Ordering::SeqCst), 1);
    // A check that is refused too changes nothing; one that is answered frees the others.
    assert!(rig.limited.capabilities().await.is_err());
    assert!(rig.find().await.is_err());
    rig.cloud.succeed();
    assert!(rig.limited.capabilities().await.is_ok());
    assert!(rig.find().await.is_ok());
    assert_eq!(count.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn calls_that_wait_for_their_turn_when_another_is_refused_are_not_sent() {
    let options = LimitOptions {
        max_in_flight: number(1),
        ..LimitOptions::default()
    };
    let rig = rig_with(options, Term::unlimited());
    rig.cloud.say(|operation| {
        async move {
            tokio_time().sleep(Duration::from_secs(1)).await;
            err(ErrorKind::Unauthorized, operation, None).await
        }
        .boxed()
    });
    let results = join_all((0..4).map(|_| rig.find())).await;
    assert!(results.iter().all(Result::is_err));
    assert_eq!(rig.cloud.calls().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_refuses_one_call_and_accepts_the_check_is_not_checked_in_a_loop() {
    let (rig, count) = told();
    rig.cloud.say(|operation| match operation {
        Operation::Capabilities => async { Ok(()) }.boxed(),
        _ => err(ErrorKind::Unauthorized, operation, None),
    });
    for _round in 0..10 {
        assert!(rig.find().await.is_err());
        assert!(rig.limited.capabilities().await.is_ok());
    }
    assert_eq!(count.load(Ordering::SeqCst), 1);
    rig.time.sleep(Duration::from_mins(1)).await;
    assert!(rig.find().await.is_err());
    assert_eq!(count.load(Ordering::SeqCst), 2);
}
