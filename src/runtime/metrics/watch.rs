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
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

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

#[derive(Clone)]
struct Watches {
    clock: Arc<dyn Clock>,
    list: Arc<Mutex<Vec<Arc<WatchStatus>>>>,
}

impl fmt::Debug for Watches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watches")
    }
}

impl Collector for Watches {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        let now = self.clock.now();
        // A kind may be watched twice, for two ends: one series all the same, of the one that has been silent longest.
        let mut watches: BTreeMap<String, (f64, f64)> = BTreeMap::new();
        for status in self
            .list
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
        {
            let age = now.since(status.last_heard()).as_secs_f64();
            let (oldest, lists) = watches.entry(status.kind().to_owned()).or_default();
            *oldest = oldest.max(age);
            *lists += status.lists() as f64;
        }
        let watches: Vec<_> = watches.into_iter().collect();
        let kind = |kind: &str| vec![("kind", kind.to_owned())];
        let age = "Time since the API server last said anything about a kind";
        write(
            &mut encoder,
            ("vmoperator_watch_last_event_age_seconds", age, Gauge),
            &watches,
            |(name, (age, _))| (kind(name), *age),
        )?;
        let lists = "Complete lists of a kind";
        write(
            &mut encoder,
            ("vmoperator_watch_lists", lists, Total),
            &watches,
            |(name, (_, lists))| (kind(name), *lists),
        )
    }
}
