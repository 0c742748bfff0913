//! Limits under paused time, against a cloud that does what a test says.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::{BoxFuture, join_all};
use futures::{FutureExt, poll};
use prometheus_client::registry::Registry;

use super::{LimitOptions, Limited, Limits};
use crate::domain::term::{Term, TermHolder};
use crate::domain::time::Moment;
use crate::domain::{
    Capabilities, CreateBody, ErrorKind, IdempotencyKey, Instance, InstanceId, Operation, Owner,
    ProviderError,
};
use crate::provider::Provider;
use crate::provider::measured::Metrics;
use crate::provider::testing::{create, owner, tokio_time};
use crate::provider::time::Time;

type Answer = BoxFuture<'static, Result<(), ProviderError>>;
type Script = Box<dyn Fn(Operation) -> Answer + Send + Sync>;

/// A cloud that remembers what reached it and when.
struct Cloud {
    log: Mutex<Vec<(Operation, Moment)>>,
    under_way: AtomicUsize,
    most: AtomicUsize,
    script: Mutex<Script>,
    time: Arc<dyn Time>,
}

#[derive(Clone)]
struct Shared(Arc<Cloud>);

struct Rig {
    cloud: Arc<Cloud>,
    limits: Arc<Limits>,
    limited: Limited<Shared>,
    time: Arc<dyn Time>,
    metrics: Metrics,
}

impl Cloud {
    async fn call(&self, operation: Operation) -> Result<(), ProviderError> {
        self.log.lock().unwrap().push((operation, self.time.now()));
        let now = self.under_way.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        let answer = (self.script.lock().unwrap())(operation);
        let result = answer.await;
        self.under_way.fetch_sub(1, Ordering::SeqCst);
        result
    }

    fn calls(&self) -> Vec<Operation> {
        let log = self.log.lock().unwrap();
        log.iter().map(|(operation, _)| *operation).collect()
    }

    fn say(&self, script: impl Fn(Operation) -> Answer + Send + Sync + 'static) {
        *self.script.lock().unwrap() = Box::new(script);
    }

    fn fail(&self, kind: ErrorKind) {
        self.say(move |operation| err(kind, operation, None));
    }

    fn succeed(&self) {
        self.say(|_| async { Ok(()) }.boxed());
    }
}

impl Provider for Shared {
    async fn capabilities(&self) -> Result<Capabilities, ProviderError> {
        let result = self.0.call(Operation::Capabilities).await;
        result.map(|()| Capabilities::default())
    }
    async fn create(&self, _: &IdempotencyKey, _: &CreateBody) -> Result<Instance, ProviderError> {
        let operation = Operation::Create;
        self.0.call(operation).await?;
        Err(ProviderError::without_answer(ErrorKind::Invalid, operation))
    }
    async fn get(&self, _: &InstanceId) -> Result<Instance, ProviderError> {
        let operation = Operation::Get;
        self.0.call(operation).await?;
        Err(ProviderError::without_answer(
            ErrorKind::NotFound,
            operation,
        ))
    }
    async fn find(&self, _: &Owner) -> Result<Vec<Instance>, ProviderError> {
        self.0.call(Operation::List).await.map(|()| Vec::new())
    }
    async fn delete(&self, _: &InstanceId) -> Result<(), ProviderError> {
        self.0.call(Operation::Delete).await
    }
}

fn err(kind: ErrorKind, operation: Operation, retry_after: Option<u64>) -> Answer {
    let error = ProviderError {
        retry_after: retry_after.map(Duration::from_secs),
        ..ProviderError::without_answer(kind, operation)
    };
    async move { Err(error) }.boxed()
}

fn after(wait: Duration) -> Answer {
    let time = tokio_time();
    time.sleep(wait).map(Ok).boxed()
}

fn rig_with(options: LimitOptions, term: Term) -> Rig {
    let time = tokio_time();
    let metrics = Metrics::new();
    let cloud = Arc::new(Cloud {
        log: Mutex::default(),
        under_way: AtomicUsize::new(0),
        most: AtomicUsize::new(0),
        script: Mutex::new(Box::new(|_| async { Ok(()) }.boxed())),
        time: time.clone(),
    });
    let limits = Arc::new(Limits::new(options, metrics.clone(), time.clone()));
    let limited = Limited::new(Shared(cloud.clone()), limits.clone(), term);
    Rig {
        cloud,
        limits,
        limited,
        time,
        metrics,
    }
}

fn rig() -> Rig {
    rig_with(LimitOptions::default(), Term::unlimited())
}

fn number(value: u32) -> NonZeroU32 {
    NonZeroU32::new(value).unwrap()
}

impl Rig {
    async fn find(&self) -> Result<Vec<Instance>, ProviderError> {
        self.limited.find(&owner()).await
    }

    async fn delete(&self) -> Result<(), ProviderError> {
        self.limited.delete(&InstanceId::new("vm-1")).await
    }

    fn text(&self) -> String {
        let mut registry = Registry::default();
        self.metrics.register(&mut registry);
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        text
    }
}

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

#[tokio::test(start_paused = true)]
async fn writes_are_sent_only_while_leading_and_reads_always() {
    let mut holder = TermHolder::new();
    let rig = rig_with(LimitOptions::default(), holder.term());
    let (key, body) = create();
    let refused = rig.delete().await.unwrap_err();
    assert_eq!(refused.kind, ErrorKind::NotLeading);
    assert!(!refused.may_have_happened());
    let refused = rig.limited.create(&key, &body).await.unwrap_err();
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

/// Opens the breaker by five failed reads.
async fn open(rig: &Rig) {
    rig.cloud.fail(ErrorKind::Unavailable);
    for _ in 0..5 {
        assert_eq!(rig.find().await.unwrap_err().kind, ErrorKind::Unavailable);
    }
    assert!(rig.limits.breaker_is_open());
}

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
