//! A scrape of the operator's metrics, and what a person wants to know of it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

/// One line of a scrape.
#[derive(Clone, Debug, PartialEq)]
struct Sample {
    name: String,
    labels: BTreeMap<String, String>,
    value: f64,
}

/// The samples of one scrape.
#[derive(Clone, Debug, Default)]
pub(super) struct Scrape {
    samples: Vec<Sample>,
}

/// A quantile of a histogram.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Quantile {
    /// There was no observation.
    None,
    /// About so many seconds.
    About(f64),
    /// More than the largest bound that is told apart.
    Beyond(f64),
}

impl Quantile {
    fn words(self) -> String {
        let time = |seconds: f64| {
            if seconds < 1.0 {
                format!("{:.0}ms", seconds * 1000.0)
            } else {
                format!("{seconds:.1}s")
            }
        };
        match self {
            Self::None => "-".to_owned(),
            Self::About(seconds) => time(seconds),
            Self::Beyond(seconds) => format!(">{}", time(seconds)),
        }
    }
}

/// The histogram of calls to providers.
const DURATION: &str = "vmoperator_provider_call_duration_seconds";
/// The quantiles that are told.
const SHARES: [(&str, f64); 3] = [("p50", 0.5), ("p95", 0.95), ("p99", 0.99)];

/// The calls of one operation.
struct Calls {
    operation: String,
    count: i64,
    errors: i64,
    quantiles: [(&'static str, Quantile); 3],
}

impl Calls {
    fn as_json(&self) -> Value {
        let mut row =
            json!({ "operation": self.operation, "calls": self.count, "errors": self.errors });
        for (name, quantile) in self.quantiles {
            row[name] = match quantile {
                Quantile::About(seconds) => json!(seconds),
                Quantile::None => Value::Null,
                Quantile::Beyond(bound) => {
                    row[format!("{name}Above")] = json!(bound);
                    Value::Null
                }
            };
        }
        row
    }
}

/// Gauges of work at hand: of a replica that does not lead they tell of objects that it only keeps in mind.
const AT_HAND: [&str; 3] = [
    "workqueue_depth",
    "workqueue_delayed_depth",
    "controller_runtime_active_workers",
];

impl Scrape {
    /// All replicas as one: what was counted is added up, work at hand is the leader's. While nobody leads, no work is
    /// at hand.
    pub(super) fn of_replicas(texts: &[String]) -> Self {
        let scrapes = texts.iter().map(|text| Self::parse(text));
        let samples = scrapes.flat_map(|scrape| {
            let leads = texts.len() == 1 || scrape.sum("leader_election_master_status", &[]) > 0;
            let counts = move |sample: &Sample| leads || !AT_HAND.contains(&sample.name.as_str());
            scrape.samples.into_iter().filter(counts)
        });
        Self {
            samples: samples.collect(),
        }
    }

    /// Reads the text form; lines that are none are left out.
    pub(super) fn parse(text: &str) -> Self {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        Self {
            samples: lines.filter_map(sample).collect(),
        }
    }

    /// A row per queue: name, ready, delayed, running, passes, errors.
    pub(super) fn queues(&self) -> Vec<Vec<Value>> {
        let row = |name: &String| {
            let of = |metric: &str, label: &str| json!(self.sum(metric, &[(label, name)]));
            vec![
                json!(name),
                of("workqueue_depth", "name"),
                of("workqueue_delayed_depth", "name"),
                of("controller_runtime_active_workers", "controller"),
                of("controller_runtime_reconcile_total", "controller"),
                of("controller_runtime_reconcile_errors_total", "controller"),
            ]
        };
        let mut names = self.values("workqueue_depth", "name");
        names.extend(self.values("controller_runtime_reconcile_total", "controller"));
        names.iter().map(row).collect()
    }

    /// A row per operation: name, calls, errors, three quantiles of their duration.
    pub(super) fn calls(&self) -> Vec<Vec<Value>> {
        let row = |calls: Calls| {
            let words = |(_, quantile): &(&str, Quantile)| json!(quantile.words());
            let mut row = vec![
                json!(calls.operation),
                json!(calls.count),
                json!(calls.errors),
            ];
            row.extend(calls.quantiles.iter().map(words));
            row
        };
        self.all_calls().into_iter().map(row).collect()
    }

    fn all_calls(&self) -> Vec<Calls> {
        let of = |operation: &String| {
            let label = [("operation", operation.as_str())];
            let quantile = |(name, share)| (name, self.quantile(DURATION, &label, share));
            Calls {
                operation: operation.clone(),
                count: self.sum(&format!("{DURATION}_count"), &label),
                errors: self.sum("vmoperator_provider_errors_total", &label),
                quantiles: SHARES.map(quantile),
            }
        };
        let operations = self.values(&format!("{DURATION}_count"), "operation");
        operations.iter().map(of).collect()
    }

    /// Both for programs: quantiles in seconds. One that cannot be told is null; where it lies beyond the largest bound,
    /// that bound stands beside it.
    pub(super) fn summary(&self) -> Value {
        let calls: Vec<Value> = self.all_calls().iter().map(Calls::as_json).collect();
        json!({ "version": 1, "queues": rows(&["name", "ready", "delayed", "running", "passes", "errors"], self.queues()),
            "providerCalls": calls })
    }

    fn values(&self, metric: &str, label: &str) -> BTreeSet<String> {
        let of = self.samples.iter().filter(|sample| sample.name == metric);
        of.filter_map(|sample| sample.labels.get(label).cloned())
            .collect()
    }

    /// The sum of all series that bear the labels; counts are whole numbers.
    fn sum(&self, metric: &str, labels: &[(&str, &str)]) -> i64 {
        let sum: f64 = self
            .matching(metric, labels)
            .map(|sample| sample.value)
            .filter(|value| value.is_finite())
            .sum();
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the cast of a float saturates"
        )]
        let whole = sum.round() as i64;
        whole
    }

    fn matching<'a>(
        &'a self,
        metric: &'a str,
        labels: &'a [(&'a str, &'a str)],
    ) -> impl Iterator<Item = &'a Sample> {
        self.samples.iter().filter(move |sample| {
            sample.name == metric
                && labels.iter().all(|(label, value)| {
                    sample
                        .labels
                        .get(*label)
                        .is_some_and(|found| found == value)
                })
        })
    }

    /// By straight lines between the bounds of the buckets, as Prometheus has it.
    fn quantile(&self, metric: &str, labels: &[(&str, &str)], share: f64) -> Quantile {
        let name = format!("{metric}_bucket");
        let mut sums: Vec<(f64, f64)> = Vec::new();
        for sample in self.matching(&name, labels) {
            let bound = sample
                .labels
                .get("le")
                .and_then(|bound| bound.parse::<f64>().ok());
            let Some(bound) = bound else { continue };
            match sums
                .iter_mut()
                .find(|(known, _)| known.total_cmp(&bound).is_eq())
            {
                Some((_, count)) => *count += sample.value,
                None => sums.push((bound, sample.value)),
            }
        }
        sums.sort_by(|a, b| a.0.total_cmp(&b.0));
        let total = sums.last().map_or(0.0, |(_, count)| *count);
        if total <= 0.0 {
            return Quantile::None;
        }
        let rank = share * total;
        let (mut low, mut below) = (0.0, 0.0);
        for (bound, count) in sums {
            if count >= rank && bound.is_infinite() {
                return Quantile::Beyond(low);
            }
            if count >= rank {
                let part = if count > below {
                    (rank - below) / (count - below)
                } else {
                    1.0
                };
                return Quantile::About(low + (bound - low) * part);
            }
            (low, below) = (bound, count);
        }
        Quantile::None
    }
}

fn rows(names: &[&str], rows: Vec<Vec<Value>>) -> Vec<Value> {
    let object = |row: Vec<Value>| {
        let fields = names.iter().map(|name| (*name).to_owned()).zip(row);
        Value::Object(fields.collect())
    };
    rows.into_iter().map(object).collect()
}

fn sample(line: &str) -> Option<Sample> {
    let (series, value) = match line.rfind('}') {
        Some(end) => line.split_at(end + 1),
        None => line.split_once(' ')?,
    };
    let (name, labels) = match series.split_once('{') {
        Some((name, labels)) => (name, pairs(labels.strip_suffix('}')?)?),
        None => (series, BTreeMap::new()),
    };
    let value = value.split_whitespace().next()?.parse().ok()?;
    Some(Sample {
        name: name.to_owned(),
        labels,
        value,
    })
}

/// `a="b",c="d"`, where a value may hold escaped quotes.
fn pairs(text: &str) -> Option<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (name, tail) = rest.split_once("=\"")?;
        let mut value = String::new();
        let mut chars = tail.char_indices();
        let end = loop {
            match chars.next()? {
                (_, '\\') => match chars.next()?.1 {
                    'n' => value.push('\n'),
                    other => value.push(other),
                },
                (at, '"') => break at,
                (_, other) => value.push(other),
            }
        };
        found.insert(name.to_owned(), value);
        rest = tail.get(end + 1..)?.trim_start_matches(',');
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    mod fuzz;

    use super::*;

    const TEXT: &str = r#"# TYPE x histogram
vmoperator_provider_call_duration_seconds_count{operation="create"} 10
vmoperator_provider_call_duration_seconds_bucket{operation="create",le="0.1"} 5
vmoperator_provider_call_duration_seconds_bucket{operation="create",le="1.0"} 9
vmoperator_provider_call_duration_seconds_bucket{operation="create",le="+Inf"} 10
vmoperator_provider_call_duration_seconds_count{operation="get"} 0
vmoperator_provider_call_duration_seconds_bucket{operation="get",le="+Inf"} 0
vmoperator_provider_errors_total{operation="create",kind="quota"} 2
vmoperator_provider_errors_total{operation="create",kind="o\"d,d}"} 1
workqueue_depth{name="vm",priority="0"} 3.0
workqueue_depth{name="vm",priority="-100"} 4.0
no number
"#;

    #[test]
    fn quantiles_lie_between_bounds_and_say_when_they_cannot_be_told() {
        let scrape = Scrape::parse(TEXT);
        assert_eq!(
            scrape.calls(),
            [
                vec![
                    json!("create"),
                    json!(10),
                    json!(3),
                    json!("100ms"),
                    json!(">1.0s"),
                    json!(">1.0s")
                ],
                vec![
                    json!("get"),
                    json!(0),
                    json!(0),
                    json!("-"),
                    json!("-"),
                    json!("-")
                ],
            ]
        );
        let metric = "vmoperator_provider_call_duration_seconds";
        assert_eq!(
            scrape.quantile(metric, &[("operation", "create")], 0.7),
            Quantile::About(0.55)
        );
    }

    #[test]
    fn of_replicas_counts_are_added_up_and_work_at_hand_is_the_leaders() {
        let replica = |leads: u8| {
            let passes =
                r#"controller_runtime_reconcile_total{controller="vm",result="success"} 5"#;
            format!("{TEXT}{passes}\nleader_election_master_status{{name=\"lease\"}} {leads}\n")
        };
        let told = |texts: &[String]| {
            let scrape = Scrape::of_replicas(texts);
            let (queue, create) = (scrape.queues().remove(0), scrape.calls().remove(0));
            (
                queue[1].clone(),
                queue[4].clone(),
                create[1].clone(),
                create[3].clone(),
            )
        };
        let as_is = |depth: i64, passes: i64, calls: i64| {
            (json!(depth), json!(passes), json!(calls), json!("100ms"))
        };
        assert_eq!(told(&[replica(0), replica(1)]), as_is(7, 10, 20));
        assert_eq!(told(&[replica(0), replica(0)]), as_is(0, 10, 20));
        // One alone needs no lease.
        assert_eq!(
            told(&[TEXT.to_owned() + "controller_runtime_reconcile_total{controller=\"vm\"} 5"]),
            as_is(7, 5, 10)
        );
    }

    #[test]
    fn for_programs_a_quantile_is_a_number_of_seconds_or_null() {
        let summary = Scrape::parse(TEXT).summary();
        let create = json!({ "operation": "create", "calls": 10, "errors": 3, "p50": 0.1, "p95": null, "p95Above": 1.0,
            "p99": null, "p99Above": 1.0 });
        let get = json!({ "operation": "get", "calls": 0, "errors": 0, "p50": null, "p95": null, "p99": null });
        assert_eq!(summary["providerCalls"], json!([create, get]));
    }

    #[test]
    fn series_of_one_queue_are_added_up() {
        assert_eq!(
            Scrape::parse(TEXT).queues()[0][..2],
            [json!("vm"), json!(7)]
        );
    }
}
