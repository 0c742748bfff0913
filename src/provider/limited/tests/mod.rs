//! Limits under paused time, against a cloud that does what a test says.

mod breaker;
mod feed;
mod fence;
mod rate;
mod refused;
mod turn;

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
use crate::provider::measured::Metrics;
use crate::provider::testing::{WHENEVER, create, owner, tokio_time};
use crate::provider::time::Time;
use crate::provider::{Changes, Provider};

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
    async fn create(
        &self,
        _: &IdempotencyKey,
        _: &CreateBody,
        _: Moment,
    ) -> Result<Instance, ProviderError> {
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
    async fn changes(&self, since: u64, _: Duration) -> Result<Changes, ProviderError> {
        self.0.call(Operation::Changes).await?;
        Ok(Changes {
            upserts: Vec::new(),
            deletions: Vec::new(),
            revision: since,
        })
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

    async fn poll(&self) -> Result<Changes, ProviderError> {
        self.limited.changes(1, Duration::from_secs(30)).await
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

/// Opens the breaker by five failed reads.
async fn open(rig: &Rig) {
    rig.cloud.fail(ErrorKind::Unavailable);
    for _ in 0..5 {
        assert_eq!(rig.find().await.unwrap_err().kind, ErrorKind::Unavailable);
    }
    assert!(rig.limits.breaker_is_open());
}
