//! What of a scrape the dashboard needs.

use std::collections::BTreeMap;

use super::exposition::Sample;
use crate::age::Stamp;

/// The queue that VirtualMachines wait in.
const QUEUE: &str = "virtualmachine";

/// A counter that rates are made of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Counter {
    /// Passes of the VirtualMachines' loop with this result.
    Passes(String),
    /// Keys that became ready.
    Adds,
    /// Keys that went into back-off.
    Retries,
    /// Failed calls to providers, by kind.
    Failures(String),
    /// Seconds that calls to providers waited for our own limits.
    Throttled,
    /// CPU seconds of the process.
    Cpu,
}

/// A histogram's labels.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Series {
    /// The ProviderConfig, where there is such a label.
    pub config: Option<String>,
    /// The operation.
    pub operation: String,
}

/// What is read as it is, not as a difference. Whatever a scrape lacks is absent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Levels {
    /// When.
    pub at: Stamp,
    /// Whether the replica leads.
    pub leading: Option<bool>,
    /// Keys that are ready, of every priority.
    pub ready: Option<f64>,
    /// Keys that wait for a timer.
    pub delayed: Option<f64>,
    /// Passes under way.
    pub active: Option<f64>,
    /// How many there may be.
    pub workers: Option<f64>,
    /// Age of the key that is ready for longest, in seconds.
    pub oldest: Option<f64>,
    /// How long the longest pass under way has run, in seconds.
    pub longest: Option<f64>,
    /// Calls to providers under way.
    pub calls: Option<f64>,
    /// ProviderConfigs whose calls are held back.
    pub breakers: Option<f64>,
    /// Age of the oldest inventory that follows a feed, in seconds.
    pub inventory: Option<f64>,
    /// Resident memory in bytes.
    pub memory: Option<f64>,
}

/// A scrape.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Readings {
    /// Levels, and when they were read.
    pub levels: Levels,
    /// When the process began, in seconds since 1970; tells restarts apart.
    pub start: Option<f64>,
    /// Counters.
    pub counters: BTreeMap<Counter, f64>,
    /// Cumulative buckets by upper bound, the infinite one last.
    pub buckets: BTreeMap<Series, Vec<(f64, f64)>>,
}

impl Readings {
    /// Picks what is needed from the samples of a scrape. Values that no counter or bucket can have are left out.
    #[must_use]
    pub fn of(at: Stamp, samples: &[Sample<'_>]) -> Self {
        let mut readings = Self::default();
        readings.levels.at = at;
        for sample in samples {
            readings.take(sample);
        }
        for buckets in readings.buckets.values_mut() {
            buckets.sort_by(|one, other| one.0.total_cmp(&other.0));
        }
        readings
    }

    fn take(&mut self, sample: &Sample<'_>) {
        let value = sample.value;
        if !value.is_finite() || value < 0.0 {
            return;
        }
        match sample.name {
            "process_start_time_seconds" => self.start = Some(value),
            "vmoperator_provider_call_duration_seconds_bucket" => self.bucket(sample),
            name => match counter(name, sample) {
                Some(counter) => *self.counters.entry(counter).or_default() += value,
                None => self.level(sample),
            },
        }
    }

    fn bucket(&mut self, sample: &Sample<'_>) {
        let bound = match sample.label("le") {
            "+Inf" => f64::INFINITY,
            text => match text.parse::<f64>() {
                Ok(bound) if bound >= 0.0 => bound,
                Ok(_) | Err(_) => return,
            },
        };
        let series = Series {
            config: Some(sample.label("provider_config").to_owned())
                .filter(|name| !name.is_empty()),
            operation: sample.label("operation").to_owned(),
        };
        // Series that differ in other labels, such as the outcome, are one to us.
        let buckets = self.buckets.entry(series).or_default();
        match buckets.iter_mut().find(|(known, _)| *known == bound) {
            Some((_, count)) => *count += sample.value,
            None => buckets.push((bound, sample.value)),
        }
    }

    fn level(&mut self, sample: &Sample<'_>) {
        let levels = &mut self.levels;
        let ours = sample.label("name") == QUEUE || sample.label("controller") == QUEUE;
        let slot = match sample.name {
            "leader_election_master_status" => {
                let leading = levels.leading.unwrap_or(false) || sample.value >= 1.0;
                levels.leading = Some(leading);
                return;
            }
            "workqueue_depth" if ours => &mut levels.ready,
            "workqueue_delayed_depth" if ours => &mut levels.delayed,
            "controller_runtime_active_workers" if ours => &mut levels.active,
            "controller_runtime_max_concurrent_reconciles" if ours => &mut levels.workers,
            "workqueue_oldest_age_seconds" if ours => &mut levels.oldest,
            "workqueue_longest_running_processor_seconds" if ours => &mut levels.longest,
            "vmoperator_provider_in_flight" => &mut levels.calls,
            "vmoperator_provider_breaker_open" => &mut levels.breakers,
            "vmoperator_inventory_age_seconds" if sample.label("source") == "feed" => {
                &mut levels.inventory
            }
            "process_resident_memory_bytes" => &mut levels.memory,
            _other => return,
        };
        // Priorities of the queue, and configurations where calls are told one by one, add up.
        *slot = Some(slot.unwrap_or(0.0) + sample.value);
    }
}

fn counter(name: &str, sample: &Sample<'_>) -> Option<Counter> {
    let ours = sample.label("name") == QUEUE || sample.label("controller") == QUEUE;
    match name {
        "controller_runtime_reconcile_total" if ours => {
            Some(Counter::Passes(sample.label("result").to_owned()))
        }
        "workqueue_adds_total" if ours => Some(Counter::Adds),
        "workqueue_retries_total" if ours => Some(Counter::Retries),
        "vmoperator_provider_errors_total" => {
            Some(Counter::Failures(sample.label("kind").to_owned()))
        }
        "vmoperator_provider_throttled_seconds_total" => Some(Counter::Throttled),
        "process_cpu_seconds_total" => Some(Counter::Cpu),
        _other => None,
    }
}
