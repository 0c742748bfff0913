//! `vmoperator_watch_*`.

use super::write;
use crate::runtime::clock::Clock;
use crate::runtime::watch::{Failure, Observer, WatchStatus};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet};
use prometheus_client::metrics::MetricType::{Counter as Total, Gauge};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Metrics of every watch of the process; give a clone of the `Arc` to each watch as its observer.
pub struct WatchMetrics {
    broken: Family<Kind, Counter>,
    failures: Family<Refusal, Counter>,
    watches: Watches,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Kind {
    kind: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Refusal {
    kind: String,
    step: &'static str,
    code: String,
}

impl WatchMetrics {
    /// Registers the metrics; once per process.
    pub fn register(registry: &mut Registry, clock: Arc<dyn Clock>) -> Arc<Self> {
        let watches = Watches {
            clock,
            list: Arc::default(),
        };
        let metrics = Self {
            broken: Family::default(),
            failures: Family::default(),
            watches,
        };
        registry.register(
            "vmoperator_watch_undecodable_objects",
            "Arrivals of objects that do not fit the operator's types",
            metrics.broken.clone(),
        );
        registry.register(
            "vmoperator_watch_failures",
            "Lists and watches that failed, by HTTP status or none",
            metrics.failures.clone(),
        );
        registry.register_collector(Box::new(metrics.watches.clone()));
        Arc::new(metrics)
    }

    /// Adds a watch to what is computed at each scrape.
    pub fn watch(&self, status: Arc<WatchStatus>) {
        drop(self.broken.get_or_create(&Kind {
            kind: status.kind().to_owned(),
        }));
        self.watches
            .list
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(status);
    }

    /// Every watch of the process, as it was added.
    pub fn statuses(&self) -> Vec<Arc<WatchStatus>> {
        self.watches.statuses()
    }
}

impl Observer for WatchMetrics {
    fn broken(&self, kind: &str) {
        self.broken
            .get_or_create(&Kind {
                kind: kind.to_owned(),
            })
            .inc();
    }

    fn failed(&self, kind: &str, failure: &Failure) {
        let code = failure
            .code
            .map_or_else(|| "none".to_owned(), |code| code.to_string());
        let label = Refusal {
            kind: kind.to_owned(),
            step: failure.step,
            code,
        };
        self.failures.get_or_create(&label).inc();
    }
}

/// What is told of a kind that several watches share, one for each namespace.
struct OfKind {
    kind: String,
    /// The longest silence of any of them.
    silence: Duration,
    lists: u64,
}

#[derive(Clone)]
struct Watches {
    clock: Arc<dyn Clock>,
    list: Arc<Mutex<Vec<Arc<WatchStatus>>>>,
}

impl Watches {
    fn statuses(&self) -> Vec<Arc<WatchStatus>> {
        let list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        list.clone()
    }

    fn by_kind(&self) -> Vec<OfKind> {
        let now = self.clock.now();
        let mut kinds: Vec<OfKind> = Vec::new();
        for status in self.statuses() {
            let silence = now.since(status.last_heard());
            match kinds.iter_mut().find(|of| of.kind == status.kind()) {
                Some(of) => {
                    of.silence = of.silence.max(silence);
                    of.lists += status.lists();
                }
                None => kinds.push(OfKind {
                    kind: status.kind().to_owned(),
                    silence,
                    lists: status.lists(),
                }),
            }
        }
        kinds
    }
}

impl fmt::Debug for Watches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watches")
    }
}

impl Collector for Watches {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        let kinds = self.by_kind();
        let kind = |of: &OfKind| vec![("kind", of.kind.clone())];
        let age = "Time since the API server last said anything about a kind, the longest where it is watched in several namespaces";
        write(
            &mut encoder,
            ("vmoperator_watch_last_event_age_seconds", age, Gauge),
            &kinds,
            |of| (kind(of), of.silence.as_secs_f64()),
        )?;
        let lists = "Complete lists of a kind";
        write(
            &mut encoder,
            ("vmoperator_watch_lists", lists, Total),
            &kinds,
            |of| (kind(of), of.lists as f64),
        )
    }
}
