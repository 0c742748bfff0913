//! `controller_runtime_*`.

use crate::runtime::schedule::Outcome;
use crate::runtime::workers::{Ending, Observer};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

/// Metrics of the passes of every controller of the process.
#[derive(Clone)]
pub struct PassMetrics {
    total: Family<Result, Counter>,
    errors: Family<Controller, Counter>,
    terminal_errors: Family<Controller, Counter>,
    panics: Family<Controller, Counter>,
    timeouts: Family<Controller, Counter>,
    time: Family<Controller, Histogram, fn() -> Histogram>,
    most: Family<Controller, Gauge>,
    active: Family<Controller, Gauge>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Controller {
    controller: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Result {
    controller: String,
    result: &'static str,
}

/// controller-runtime's results.
const RESULTS: [&str; 4] = ["success", "error", "requeue", "requeue_after"];

/// controller-runtime's buckets, in seconds.
const BUCKETS: [f64; 40] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9,
    1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0,
    25.0, 30.0, 40.0, 50.0, 60.0,
];

fn histogram() -> Histogram {
    Histogram::new(BUCKETS)
}

impl PassMetrics {
    /// Registers the metrics; once per process.
    pub fn register(registry: &mut Registry) -> Self {
        let m = Self {
            total: Family::default(),
            errors: Family::default(),
            terminal_errors: Family::default(),
            panics: Family::default(),
            timeouts: Family::default(),
            time: Family::new_with_constructor(histogram),
            most: Family::default(),
            active: Family::default(),
        };
        let r = registry.sub_registry_with_prefix("controller_runtime");
        r.register(
            "reconcile",
            "Passes per controller and result",
            m.total.clone(),
        );
        r.register("reconcile_errors", "Passes that failed", m.errors.clone());
        r.register(
            "terminal_reconcile_errors",
            "Passes that failed in a way that waits for a change",
            m.terminal_errors.clone(),
        );
        r.register("reconcile_panics", "Passes that panicked", m.panics.clone());
        r.register(
            "reconcile_timeouts",
            "Passes that reached their time limit",
            m.timeouts.clone(),
        );
        r.register(
            "reconcile_time_seconds",
            "How long a pass takes",
            m.time.clone(),
        );
        r.register("max_concurrent_reconciles", "Workers", m.most.clone());
        r.register("active_workers", "Workers in a pass", m.active.clone());
        m
    }

    /// What the workers of `controller` are given when they start. Every series exists from then on, so that a rate
    /// over the first failure is not lost.
    pub fn observer(&self, controller: &str, concurrency: NonZeroUsize) -> Arc<dyn Observer> {
        let name = controller.to_owned();
        for result in RESULTS {
            drop(self.total.get_or_create(&Result {
                controller: name.clone(),
                result,
            }));
        }
        let label = Controller { controller: name };
        for family in [
            &self.errors,
            &self.terminal_errors,
            &self.panics,
            &self.timeouts,
        ] {
            drop(family.get_or_create(&label));
        }
        drop((
            self.time.get_or_create(&label),
            self.active.get_or_create(&label),
        ));
        self.most
            .get_or_create(&label)
            .set(i64::try_from(concurrency.get()).unwrap_or(i64::MAX));
        Arc::new(PassObserver {
            metrics: self.clone(),
            label,
        })
    }
}

struct PassObserver {
    metrics: PassMetrics,
    label: Controller,
}

impl Observer for PassObserver {
    fn began(&self) {
        self.metrics.active.get_or_create(&self.label).inc();
    }

    fn ended(&self, ending: Ending, took: Duration) {
        let (m, label) = (&self.metrics, &self.label);
        m.active.get_or_create(label).dec();
        m.time.get_or_create(label).observe(took.as_secs_f64());
        match ending {
            Ending::Answered(_) => {}
            Ending::Panicked => drop(m.panics.get_or_create(label).inc()),
            Ending::TimedOut => drop(m.timeouts.get_or_create(label).inc()),
        }
        let result = match ending.outcome() {
            Outcome::Settled => "success",
            Outcome::After(wait) | Outcome::Again(wait) if wait.is_zero() => "requeue",
            Outcome::After(_) | Outcome::Again(_) | Outcome::Resync(_) => "requeue_after",
            Outcome::Failed { .. } => "error",
            Outcome::Terminal => {
                m.terminal_errors.get_or_create(label).inc();
                "error"
            }
        };
        if result == "error" {
            m.errors.get_or_create(label).inc();
        }
        m.total
            .get_or_create(&Result {
                controller: label.controller.clone(),
                result,
            })
            .inc();
    }
}
