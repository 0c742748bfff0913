//! Arithmetic on scrapes: rates of counters that may start anew, percentiles of histograms over all replicas, gaps that
//! stay gaps. What is shown is computed here and nowhere else.

mod exposition;
mod quantile;
mod readings;
mod replica;

use std::collections::{BTreeMap, BTreeSet};

pub use exposition::{Sample, parse};
pub use quantile::{Estimate, quantile};
pub use readings::{Counter, Levels, Readings, Series};
pub use replica::{Interval, Replica};

use crate::age::Stamp;

/// Rates and percentiles are those of so many seconds before now.
pub const WINDOW: f64 = 60.0;
/// So much of the past is kept for charts, in seconds.
pub const KEPT: f64 = 900.0;
/// A replica of which nothing was heard for so long is forgotten, in seconds.
const FORGOTTEN: f64 = KEPT;
/// Most replicas that are kept; the longest silent goes first.
const REPLICAS: usize = 64;

/// Everything that scrapes have told, of every replica.
#[derive(Clone, Debug, Default)]
pub struct Numbers {
    replicas: BTreeMap<String, Replica>,
}

/// Calls of one operation at providers, within the window.
#[derive(Clone, Debug, PartialEq)]
pub struct Calls {
    /// The operation.
    pub operation: String,
    /// The ProviderConfig, where the metrics tell it.
    pub config: Option<String>,
    /// Calls per second; `None` where nothing was measured.
    pub rate: Option<f64>,
    /// Median.
    pub p50: Option<Estimate>,
    /// 95th percentile.
    pub p95: Option<Estimate>,
    /// 99th percentile.
    pub p99: Option<Estimate>,
}

/// A point of a chart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bins {
    /// Where the last one ends.
    pub end: Stamp,
    /// Seconds of each.
    pub width: f64,
    /// How many.
    pub count: usize,
}

impl Bins {
    /// Bins that end at a multiple of their width, so that a chart moves by whole bins and rests in between.
    #[must_use]
    pub fn until(now: Stamp, width: f64, count: usize) -> Self {
        let step = ((width * 1000.0) as i64).max(1);
        let end = now.0.div_euclid(step).saturating_mul(step);
        Self {
            end: Stamp(end),
            width,
            count,
        }
    }

    /// Begin and end of a bin.
    #[must_use]
    pub fn edges(&self, index: usize) -> (Stamp, Stamp) {
        let after = (self.count.saturating_sub(index + 1)) as f64 * self.width;
        (self.end.before(after + self.width), self.end.before(after))
    }

    /// The bin that a moment is in.
    #[must_use]
    pub fn index(&self, at: Stamp) -> Option<usize> {
        let back = self.end.seconds_since(at) / self.width;
        // A bin holds its end and not its begin, as an interval between scrapes does.
        let back = if back < 0.0 {
            return None;
        } else {
            back.floor() as usize
        };
        self.count.checked_sub(back.checked_add(1)?)
    }
}

impl Numbers {
    /// Takes a scrape.
    pub fn take(&mut self, name: &str, at: Stamp, text: &str) {
        let readings = Readings::of(at, &parse(text));
        let replica = self.replicas.entry(name.to_owned()).or_default();
        replica.take(readings);
        let silent = |replica: &Replica| {
            replica
                .heard()
                .is_none_or(|then| at.seconds_since(then) > FORGOTTEN)
        };
        self.replicas.retain(|_, replica| !silent(replica));
        while self.replicas.len() > REPLICAS {
            let oldest = self
                .replicas
                .iter()
                .min_by_key(|(_, replica)| replica.heard());
            let Some(name) = oldest.map(|(name, _)| name.clone()) else {
                break;
            };
            self.replicas.remove(&name);
        }
    }

    /// A replica is not looked for any more. What it did stays in rates and charts until it is out of them.
    pub fn end(&mut self, name: &str) {
        if let Some(replica) = self.replicas.get_mut(name) {
            replica.end();
        }
    }

    /// Whether anything was ever measured.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.replicas.is_empty()
    }

    /// The replicas, by name.
    pub fn replicas(&self) -> impl Iterator<Item = (&str, &Replica)> {
        self.replicas
            .iter()
            .map(|(name, replica)| (name.as_str(), replica))
    }

    /// One of them.
    #[must_use]
    pub fn replica(&self, name: &str) -> Option<&Replica> {
        self.replicas.get(name)
    }

    /// How much a counter grew per second over all replicas, within the window before `now`. `None` where nothing was
    /// measured.
    #[must_use]
    pub fn rate(&self, now: Stamp, wanted: impl Fn(&Counter) -> bool) -> Option<f64> {
        let from = now.before(WINDOW);
        let mut sum = 0.0;
        let mut spans = Vec::new();
        for interval in self.intervals(from, now) {
            sum += interval.counted(&wanted);
            spans.push((interval.from, interval.to));
        }
        let covered = union(spans);
        (covered > 0.0).then(|| sum / covered)
    }

    /// The same for each bin of a chart; what of an interval lies in a bin counts there in proportion.
    #[must_use]
    pub fn rates(&self, bins: Bins, wanted: impl Fn(&Counter) -> bool) -> Vec<Option<f64>> {
        let mut sums = vec![0.0; bins.count];
        let mut spans: Vec<Vec<(Stamp, Stamp)>> = vec![Vec::new(); bins.count];
        for interval in self.replicas.values().flat_map(Replica::intervals) {
            let length = interval.to.seconds_since(interval.from);
            let grown = interval.counted(&wanted);
            let first = bins.index(interval.from.max(bins.edges(0).0)).unwrap_or(0);
            for index in first..bins.count {
                let (begin, end) = bins.edges(index);
                if begin >= interval.to {
                    break;
                }
                let part = (interval.from.max(begin), interval.to.min(end));
                let seconds = part.1.seconds_since(part.0);
                if seconds > 0.0
                    && let (Some(sum), Some(spans)) = (sums.get_mut(index), spans.get_mut(index))
                {
                    *sum += grown * seconds / length;
                    spans.push(part);
                }
            }
        }
        let value = |(sum, spans): (f64, Vec<_>)| {
            let covered = union(spans);
            (covered > 0.0).then(|| sum / covered)
        };
        sums.into_iter().zip(spans).map(value).collect()
    }

    /// Every pair of operation and ProviderConfig that was ever seen, with its calls within the window.
    #[must_use]
    pub fn calls(&self, now: Stamp) -> Vec<Calls> {
        let from = now.before(WINDOW);
        let known: BTreeSet<Series> = self
            .replicas
            .values()
            .flat_map(|replica| replica.series().cloned())
            .collect();
        let spans = self.intervals(from, now).map(|one| (one.from, one.to));
        let covered = union(spans.collect());
        let row = |series: Series| {
            let buckets = self.buckets(from, now, |one| *one == series);
            let total = buckets.last().map_or(0.0, |(_, count)| *count);
            Calls {
                rate: (covered > 0.0).then(|| total / covered),
                p50: quantile(0.50, &buckets),
                p95: quantile(0.95, &buckets),
                p99: quantile(0.99, &buckets),
                operation: series.operation,
                config: series.config,
            }
        };
        known.into_iter().map(row).collect()
    }

    /// Kinds of failure that were counted within what is kept.
    #[must_use]
    pub fn kinds(&self) -> BTreeSet<String> {
        let intervals = self.replicas.values().flat_map(Replica::intervals);
        let counters = intervals.flat_map(|interval| interval.counters.keys());
        counters
            .filter_map(|counter| match counter {
                Counter::Failures(kind) => Some(kind.clone()),
                Counter::Passes(_)
                | Counter::Adds
                | Counter::Retries
                | Counter::Throttled
                | Counter::Cpu => None,
            })
            .collect()
    }

    /// A percentile over the window, of the operations that are wanted together.
    #[must_use]
    pub fn percentile(
        &self,
        now: Stamp,
        q: f64,
        wanted: impl Fn(&Series) -> bool,
    ) -> Option<Estimate> {
        quantile(q, &self.buckets(now.before(WINDOW), now, wanted))
    }

    /// A percentile for each bin of a chart; an interval counts where it ends. `None` where nothing was observed.
    #[must_use]
    pub fn percentiles(
        &self,
        bins: Bins,
        q: f64,
        wanted: impl Fn(&Series) -> bool,
    ) -> Vec<Option<Estimate>> {
        let of_bin = |index| {
            let (begin, end) = bins.edges(index);
            quantile(q, &self.buckets(begin, end, &wanted))
        };
        (0..bins.count).map(of_bin).collect()
    }

    /// A level for each bin: the last in it that `of` wants to be seen. `of` picks the leader's, say.
    #[must_use]
    pub fn levels(&self, bins: Bins, of: impl Fn(&Levels) -> Option<f64>) -> Vec<Option<f64>> {
        let mut values: Vec<Option<(Stamp, f64)>> = vec![None; bins.count];
        for levels in self.replicas.values().flat_map(Replica::levels) {
            let slot = bins
                .index(levels.at)
                .and_then(|index| values.get_mut(index));
            if let (Some(slot), Some(value)) = (slot, of(levels))
                && slot.is_none_or(|(at, _)| at <= levels.at)
            {
                *slot = Some((levels.at, value));
            }
        }
        values
            .into_iter()
            .map(|value| value.map(|(_, value)| value))
            .collect()
    }

    /// Intervals that end within `(from, to]`.
    fn intervals(&self, from: Stamp, to: Stamp) -> impl Iterator<Item = &Interval> {
        let all = self.replicas.values().flat_map(Replica::intervals);
        all.filter(move |interval| interval.to > from && interval.to <= to)
    }

    /// Cumulative buckets of a time, summed over replicas and series before anything is interpolated.
    fn buckets(&self, from: Stamp, to: Stamp, wanted: impl Fn(&Series) -> bool) -> Vec<(f64, f64)> {
        let mut sums: BTreeMap<u64, (f64, f64)> = BTreeMap::new();
        for interval in self.intervals(from, to) {
            for (series, buckets) in &interval.buckets {
                if !wanted(series) {
                    continue;
                }
                for (bound, count) in buckets {
                    // Bounds are positive: their bits have their order.
                    sums.entry(bound.to_bits()).or_insert((*bound, 0.0)).1 += count;
                }
            }
        }
        sums.into_values().collect()
    }
}

/// Seconds that are in at least one of the spans.
fn union(mut spans: Vec<(Stamp, Stamp)>) -> f64 {
    spans.sort_unstable();
    let mut covered = 0.0;
    let mut reached: Option<Stamp> = None;
    for (from, to) in spans {
        let begin = reached.map_or(from, |reached| reached.max(from));
        if to > begin {
            covered += to.seconds_since(begin);
            reached = Some(to);
        }
    }
    covered
}

#[cfg(test)]
mod tests;
