//! `workqueue_*`.

use super::{Labels, write};
use crate::runtime::queue::{Observer, Stats, WorkQueue};
use crate::runtime::schedule::{Lane, Outcome, Tenant};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet};
use prometheus_client::metrics::MetricType::{Counter, Gauge};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use std::fmt;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Metrics of every queue of the process.
#[derive(Clone)]
pub struct QueueMetrics {
    queue_duration: Family<Name, Histogram, fn() -> Histogram>,
    work_duration: Family<Name, Histogram, fn() -> Histogram>,
    queues: Queues,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Name {
    name: String,
    controller: String,
}

/// client-go's buckets: 10 ns to 1000 s.
fn histogram() -> Histogram {
    Histogram::new(exponential_buckets(10e-9, 10.0, 12))
}

impl QueueMetrics {
    /// Registers the metrics; once per process.
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Self {
            queue_duration: Family::new_with_constructor(histogram),
            work_duration: Family::new_with_constructor(histogram),
            queues: Queues::default(),
        };
        registry.register(
            "workqueue_queue_duration_seconds",
            "How long a key stays ready before it is taken",
            metrics.queue_duration.clone(),
        );
        registry.register(
            "workqueue_work_duration_seconds",
            "How long processing a key takes",
            metrics.work_duration.clone(),
        );
        registry.register_collector(Box::new(metrics.queues.clone()));
        metrics
    }

    /// What the queue `name` is given when it is made.
    pub fn observer(&self, name: &str) -> Arc<dyn Observer> {
        let name = Name {
            name: name.to_owned(),
            controller: name.to_owned(),
        };
        Arc::new(QueueObserver {
            queue_duration: self.queue_duration.get_or_create_owned(&name),
            work_duration: self.work_duration.get_or_create_owned(&name),
        })
    }

    /// Adds a queue to what is computed at each scrape.
    pub fn watch<K: Clone + Eq + Hash + Tenant + Send + 'static>(
        &self,
        name: &str,
        queue: &WorkQueue<K>,
    ) {
        let (name, queue) = (name.to_owned(), queue.clone());
        let mut queues = self.queues.0.lock().unwrap_or_else(PoisonError::into_inner);
        queues.push((name, Box::new(move || queue.stats())));
    }
}

struct QueueObserver {
    queue_duration: Histogram,
    work_duration: Histogram,
}

impl Observer for QueueObserver {
    fn taken(&self, _lane: Lane, waited: Duration) {
        self.queue_duration.observe(waited.as_secs_f64());
    }

    fn done(&self, _outcome: Outcome, took: Duration) {
        self.work_duration.observe(took.as_secs_f64());
    }
}

type Probe = Box<dyn Fn() -> Stats + Send>;

#[derive(Clone, Default)]
struct Queues(Arc<Mutex<Vec<(String, Probe)>>>);

impl fmt::Debug for Queues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Queues")
    }
}

impl Collector for Queues {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        let queues = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let rows: Vec<(String, Stats)> = queues
            .iter()
            .map(|(name, probe)| (name.clone(), probe()))
            .collect();
        drop(queues);
        // controller-runtime's numbers for its two usual priorities.
        let depths: Vec<(String, &str, usize)> = rows
            .iter()
            .flat_map(|(name, stats)| {
                [
                    (name.clone(), "0", stats.high),
                    (name.clone(), "-100", stats.low),
                ]
            })
            .collect();
        let depth = ("workqueue_depth", "Keys that are ready", Gauge);
        write(&mut encoder, depth, &depths, |(name, priority, depth)| {
            let mut labels = labels(name);
            labels.push(("priority", (*priority).to_owned()));
            (labels, number(*depth))
        })?;
        let mut each = |name, help, kind, value: fn(&Stats) -> f64| {
            write(&mut encoder, (name, help, kind), &rows, |(name, stats)| {
                (labels(name), value(stats))
            })
        };
        each(
            "workqueue_delayed_depth",
            "Keys that wait for a timer",
            Gauge,
            |s| number(s.delayed),
        )?;
        each(
            "workqueue_oldest_age_seconds",
            "Age of the key that is ready for longest",
            Gauge,
            |s| s.oldest_ready.as_secs_f64(),
        )?;
        each(
            "workqueue_unfinished_work_seconds",
            "Sum of how long running keys have run",
            Gauge,
            |s| s.unfinished.as_secs_f64(),
        )?;
        each(
            "workqueue_longest_running_processor_seconds",
            "How long the longest running key has run",
            Gauge,
            |s| s.longest_running.as_secs_f64(),
        )?;
        each("workqueue_adds", "Times a key became ready", Counter, |s| {
            s.counts.adds as f64
        })?;
        each(
            "workqueue_retries",
            "Times a key failed and was to be tried again",
            Counter,
            |s| s.counts.retries as f64,
        )
    }
}

fn labels(name: &str) -> Labels {
    vec![("name", name.to_owned()), ("controller", name.to_owned())]
}

fn number(count: usize) -> f64 {
    count as f64
}
