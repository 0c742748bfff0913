use std::sync::Arc;
use std::time::Duration;

use futures::poll;
use prometheus_client::registry::Registry;

use super::{Measured, Metrics};
use crate::domain::{
    Capabilities, CreateBody, ErrorKind, IdempotencyKey, Instance, InstanceId, Moment, Operation,
    Owner, ProviderError,
};
use crate::provider::Provider;
use crate::provider::testing::{WHENEVER, create, owner, tokio_time};
use crate::provider::time::Time;

/// Takes a second for each call; all but the reads of the list fail.
struct Slow(Arc<dyn Time>);

impl Slow {
    async fn fail<T>(&self, operation: Operation) -> Result<T, ProviderError> {
        self.0.sleep(Duration::from_secs(1)).await;
        Err(ProviderError::without_answer(
            ErrorKind::Unavailable,
            operation,
        ))
    }
}

impl Provider for Slow {
    async fn capabilities(&self) -> Result<Capabilities, ProviderError> {
        self.fail(Operation::Capabilities).await
    }
    async fn create(
        &self,
        _: &IdempotencyKey,
        _: &CreateBody,
        _: Moment,
    ) -> Result<Instance, ProviderError> {
        self.fail(Operation::Create).await
    }
    async fn get(&self, _: &InstanceId) -> Result<Instance, ProviderError> {
        self.fail(Operation::Get).await
    }
    async fn find(&self, _: &Owner) -> Result<Vec<Instance>, ProviderError> {
        self.0.sleep(Duration::from_secs(1)).await;
        Ok(Vec::new())
    }
    async fn delete(&self, _: &InstanceId) -> Result<(), ProviderError> {
        self.fail(Operation::Delete).await
    }
}

fn text(metrics: &Metrics) -> String {
    let mut registry = Registry::default();
    metrics.register(&mut registry);
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
    text
}

#[test]
fn every_series_is_there_from_the_start_and_their_number_is_fixed() {
    let text = text(&Metrics::new());
    for operation in Operation::ALL {
        let operation = operation.label();
        let count = format!(
            "vmoperator_provider_call_duration_seconds_count{{operation=\"{operation}\"}} 0"
        );
        assert!(text.contains(&count), "{text}");
        for kind in ErrorKind::ALL {
            let kind = kind.label();
            let errors = format!(
                "vmoperator_provider_errors_total{{operation=\"{operation}\",kind=\"{kind}\"}} 0"
            );
            assert!(text.contains(&errors), "{text}");
        }
    }
    for line in [
        "vmoperator_provider_in_flight 0",
        "vmoperator_provider_throttled_seconds_total 0",
        "vmoperator_provider_breaker_open 0",
    ] {
        assert!(text.contains(line), "{text}");
    }
    let series = text.lines().filter(|line| !line.starts_with('#')).count();
    assert_eq!(series, 6 * 17 + 6 * ErrorKind::ALL.len() + 3);
}

#[tokio::test(start_paused = true)]
async fn each_call_counts_once_with_its_time_and_failures_by_kind() {
    let time = tokio_time();
    let metrics = Metrics::new();
    let measured = Measured::new(Slow(time.clone()), metrics.clone(), time);
    let id = InstanceId::new("vm-1");
    let (key, body) = create();
    assert!(measured.find(&owner()).await.is_ok());
    assert!(measured.capabilities().await.is_err());
    assert!(measured.create(&key, &body, WHENEVER).await.is_err());
    assert!(measured.get(&id).await.is_err());
    assert!(measured.delete(&id).await.is_err());
    let text = text(&metrics);
    for operation in ["capabilities", "create", "get", "list", "delete"] {
        let count = format!("call_duration_seconds_count{{operation=\"{operation}\"}} 1");
        assert!(text.contains(&count), "{operation} {text}");
        let errors = u32::from(operation != "list");
        let errors =
            format!("errors_total{{operation=\"{operation}\",kind=\"unavailable\"}} {errors}");
        assert!(text.contains(&errors), "{text}");
    }
    let slow = "call_duration_seconds_bucket{le=\"0.5\",operation=\"list\"} 0";
    assert!(text.contains(slow), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_is_no_longer_under_way() {
    let time = tokio_time();
    let metrics = Metrics::new();
    let measured = Measured::new(Slow(time.clone()), metrics.clone(), time);
    let owner = owner();
    let mut call = Box::pin(measured.find(&owner));
    assert!(poll!(&mut call).is_pending());
    assert!(text(&metrics).contains("in_flight 1"));
    drop(call);
    assert!(text(&metrics).contains("in_flight 0"));
}
