//! Latency and errors of provider calls: the one place where they are measured.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::time::Time;
use super::{Changes, Page, Provider};
use crate::domain::{
    Capabilities, CreateBody, ErrorKind, IdempotencyKey, Instance, InstanceId, Moment, Operation,
    Owner, ProviderError,
};

/// Upper bounds in seconds: from a neighbour's answer to the longest time-out that the API allows.
const BUCKETS: [f64; 14] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0,
];

/// Metrics of all providers together. Their labels are operations and kinds of error, so that the number of
/// series depends on nothing that users make. Clones share the same series.
#[derive(Clone, Debug)]
pub struct Metrics {
    duration: Family<OperationLabel, Histogram, fn() -> Histogram>,
    errors: Family<ErrorLabel, Counter>,
    in_flight: Gauge,
    throttled: Counter<f64, AtomicU64>,
    breaker_open: Gauge,
}

/// A provider whose calls are measured.
pub struct Measured<P> {
    inner: P,
    metrics: Metrics,
    time: Arc<dyn Time>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OperationLabel {
    operation: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ErrorLabel {
    operation: &'static str,
    kind: &'static str,
}

/// A call under way; its end is counted also when the call is dropped.
struct InFlight<'a>(&'a Metrics);

impl Metrics {
    /// Metrics in which every series is there, at zero.
    #[must_use]
    pub fn new() -> Self {
        let metrics = Self {
            duration: Family::new_with_constructor(|| Histogram::new(BUCKETS)),
            errors: Family::default(),
            in_flight: Gauge::default(),
            throttled: Counter::default(),
            breaker_open: Gauge::default(),
        };
        for operation in Operation::ALL {
            let label = operation.label();
            let _ = metrics
                .duration
                .get_or_create(&OperationLabel { operation: label });
            for kind in ErrorKind::ALL {
                let _ = metrics.errors.get_or_create(&ErrorLabel {
                    operation: label,
                    kind: kind.label(),
                });
            }
        }
        metrics
    }

    /// Registers them under their names.
    pub fn register(&self, registry: &mut Registry) {
        registry.register(
            "vmoperator_provider_call_duration_seconds",
            "Duration of calls to providers, failed ones too; a find counts as one list",
            self.duration.clone(),
        );
        registry.register(
            "vmoperator_provider_errors",
            "Calls to providers that failed, also those that were not sent",
            self.errors.clone(),
        );
        registry.register(
            "vmoperator_provider_in_flight",
            "Calls to providers under way",
            self.in_flight.clone(),
        );
        registry.register(
            "vmoperator_provider_throttled_seconds",
            "Time that calls to providers waited for our own limits",
            self.throttled.clone(),
        );
        registry.register(
            "vmoperator_provider_breaker_open",
            "Provider configurations whose calls are held back after failures in a row",
            self.breaker_open.clone(),
        );
    }

    /// Counts a call that failed, by the operation and kind that the error names.
    pub(super) fn failed(&self, error: &ProviderError) {
        let label = ErrorLabel {
            operation: error.operation.label(),
            kind: error.kind.label(),
        };
        self.errors.get_or_create(&label).inc();
    }

    /// Adds to the time that calls waited.
    pub(super) fn throttled(&self, waited: Duration) {
        self.throttled.inc_by(waited.as_secs_f64());
    }

    /// One more or one less breaker is open.
    pub(super) fn breaker_moved(&self, open: bool) {
        self.breaker_open.inc_by(if open { 1 } else { -1 });
    }

    fn ended(&self, operation: Operation, took: Duration) {
        let label = OperationLabel {
            operation: operation.label(),
        };
        let series = self.duration.get_or_create(&label);
        series.observe(took.as_secs_f64());
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl<P> Measured<P> {
    /// Measures the calls of `inner`.
    pub fn new(inner: P, metrics: Metrics, time: Arc<dyn Time>) -> Self {
        Self {
            inner,
            metrics,
            time,
        }
    }

    async fn measure<T>(
        &self,
        operation: Operation,
        call: impl Future<Output = Result<T, ProviderError>>,
    ) -> Result<T, ProviderError> {
        let started: Moment = self.time.now();
        let under_way = InFlight::begin(&self.metrics);
        let result = call.await;
        drop(under_way);
        self.metrics
            .ended(operation, self.time.now().since(started));
        if let Err(error) = &result {
            self.metrics.failed(error);
        }
        result
    }
}

impl<'a> InFlight<'a> {
    fn begin(metrics: &'a Metrics) -> Self {
        metrics.in_flight.inc();
        Self(metrics)
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.in_flight.dec();
    }
}

impl<P: Provider> Provider for Measured<P> {
    async fn capabilities(&self) -> Result<Capabilities, ProviderError> {
        let call = self.inner.capabilities();
        self.measure(Operation::Capabilities, call).await
    }

    async fn create(
        &self,
        key: &IdempotencyKey,
        body: &CreateBody,
        start_before: Moment,
    ) -> Result<Instance, ProviderError> {
        let call = self.inner.create(key, body, start_before);
        self.measure(Operation::Create, call).await
    }

    async fn get(&self, id: &InstanceId) -> Result<Instance, ProviderError> {
        self.measure(Operation::Get, self.inner.get(id)).await
    }

    async fn find(&self, owner: &Owner) -> Result<Vec<Instance>, ProviderError> {
        self.measure(Operation::List, self.inner.find(owner)).await
    }

    async fn page(&self, token: Option<&str>) -> Result<Page, ProviderError> {
        self.measure(Operation::List, self.inner.page(token)).await
    }

    async fn changes(&self, since: u64, wait: Duration) -> Result<Changes, ProviderError> {
        let call = self.inner.changes(since, wait);
        self.measure(Operation::Changes, call).await
    }

    async fn delete(&self, id: &InstanceId) -> Result<(), ProviderError> {
        self.measure(Operation::Delete, self.inner.delete(id)).await
    }
}

#[cfg(test)]
mod tests;
