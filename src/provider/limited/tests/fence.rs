//! Writes and the term; creates and their last moment.

use super::*;

#[tokio::test(start_paused = true)]
async fn writes_are_sent_only_while_leading_and_reads_always() {
    let mut holder = TermHolder::new();
    let rig = rig_with(LimitOptions::default(), holder.term());
    let (key, body) = create();
    let refused = rig.delete().await.unwrap_err();
    assert_eq!(refused.kind, ErrorKind::NotLeading);
    assert!(!refused.may_have_happened());
    let refused = rig.limited.create(&key, &body, WHENEVER).await.unwrap_err();
    assert_eq!(refused.kind, ErrorKind::NotLeading);
    assert!(rig.cloud.calls().is_empty());
    assert!(rig.find().await.is_ok());

    holder.extend(rig.time.now() + Duration::from_secs(10));
    assert!(rig.delete().await.is_ok());
    rig.time.sleep(Duration::from_secs(10)).await;
    assert_eq!(rig.delete().await.unwrap_err().kind, ErrorKind::NotLeading);
    assert_eq!(rig.cloud.calls(), [Operation::List, Operation::Delete]);
}

#[tokio::test(start_paused = true)]
async fn the_term_is_looked_at_after_the_wait_and_not_before() {
    let mut holder = TermHolder::new();
    let options = LimitOptions {
        requests_per_second: number(1),
        burst: number(1),
        ..LimitOptions::default()
    };
    let rig = rig_with(options, holder.term());
    holder.extend(rig.time.now() + Duration::from_millis(500));
    rig.find().await.unwrap();
    // Leading when it is called, no longer when its turn comes.
    let error = rig.delete().await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotLeading);
    assert_eq!(rig.cloud.calls(), [Operation::List]);
}

#[tokio::test(start_paused = true)]
async fn a_create_whose_turn_comes_too_late_is_not_sent() {
    let options = LimitOptions {
        requests_per_second: number(1),
        burst: number(1),
        ..LimitOptions::default()
    };
    let rig = rig_with(options, Term::unlimited());
    let (key, body) = create();
    rig.find().await.unwrap();
    let soon = rig.time.now() + Duration::from_millis(500);
    let error = rig.limited.create(&key, &body, soon).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::TooLate);
    assert!(!error.may_have_happened());
    assert_eq!(rig.cloud.calls(), [Operation::List]);
    let counted = r#"errors_total{operation="create",kind="too_late"} 1"#;
    assert!(rig.text().contains(counted), "{}", rig.text());
    let later = rig.time.now() + Duration::from_millis(1500);
    let error = rig.limited.create(&key, &body, later).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Invalid);
    assert_eq!(rig.cloud.calls(), [Operation::List, Operation::Create]);
}

#[tokio::test(start_paused = true)]
async fn the_term_is_looked_at_after_the_probe_too() {
    let mut holder = TermHolder::new();
    let rig = rig_with(LimitOptions::default(), holder.term());
    open(&rig).await;
    holder.extend(rig.time.now() + Duration::from_secs(2));
    rig.time.sleep(Duration::from_secs(1)).await;
    rig.cloud.say(|_| after(Duration::from_secs(3)));
    let error = rig.delete().await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotLeading);
    assert_eq!(rig.cloud.calls()[5..], [Operation::Capabilities]);
}
