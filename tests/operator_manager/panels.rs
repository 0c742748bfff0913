//! The panels of the Grafana dashboards that kubebuilder makes for controller-runtime, evaluated on our metrics.
//!
//! What they query was read off kubebuilder's grafana plugin (v1-alpha): dashboards *Controller-Runtime-Metrics* and
//! *Controller-Resources-Metrics*. Each row here is one query; the evaluation knows the four forms that occur there.

use std::collections::BTreeMap;

use crate::stage::Stage;

/// Labels of a series or of a point.
type Labels = BTreeMap<String, String>;

/// The form of a query.
#[derive(Clone, Copy, Debug)]
enum Form {
    /// `metric{…}`.
    Instant,
    /// `rate(metric{…}[5m])`.
    Rate,
    /// `sum(rate(metric{…}[5m])) by (…)`.
    SumOfRate(&'static [&'static str]),
    /// `histogram_quantile(q, sum(rate(metric{…}[5m])) by (…, le))` for each of the three quantiles.
    Quantiles(&'static [&'static str]),
}

/// A panel: title, metric, the labels that it selects by, the form, and whether work shows in it as more than nothing.
struct Panel {
    title: &'static str,
    metric: &'static str,
    selects: &'static [&'static str],
    form: Form,
    moves: bool,
}

const fn panel(title: &'static str, metric: &'static str, form: Form, moves: bool) -> Panel {
    Panel {
        title,
        metric,
        selects: &["job", "namespace"],
        form,
        moves,
    }
}

const fn resource(title: &'static str, metric: &'static str, form: Form) -> Panel {
    Panel {
        title,
        metric,
        selects: &["job", "namespace", "pod"],
        form,
        moves: true,
    }
}

const BY_POD: &[&str] = &["instance", "pod"];
const BY_QUEUE: &[&str] = &["instance", "name"];

const PANELS: &[Panel] = &[
    panel(
        "Number of workers in use",
        "controller_runtime_active_workers",
        Form::Instant,
        false,
    ),
    panel(
        "Total Reconciliation Count Per Controller",
        "controller_runtime_reconcile_total",
        Form::SumOfRate(BY_POD),
        true,
    ),
    panel(
        "Reconciliation Error Count Per Controller",
        "controller_runtime_reconcile_errors_total",
        Form::SumOfRate(BY_POD),
        true,
    ),
    panel("WorkQueue Depth", "workqueue_depth", Form::Instant, false),
    panel(
        "Seconds For Items Stay In Queue",
        "workqueue_queue_duration_seconds_bucket",
        Form::Quantiles(BY_QUEUE),
        true,
    ),
    panel(
        "Work Queue Add Rate",
        "workqueue_adds_total",
        Form::SumOfRate(BY_QUEUE),
        true,
    ),
    panel(
        "Unfinished Seconds",
        "workqueue_unfinished_work_seconds",
        Form::Rate,
        false,
    ),
    panel(
        "Seconds Processing Items From WorkQueue",
        "workqueue_work_duration_seconds_bucket",
        Form::Quantiles(BY_QUEUE),
        true,
    ),
    panel(
        "Work Queue Retries Rate",
        "workqueue_retries_total",
        Form::SumOfRate(BY_QUEUE),
        true,
    ),
    resource(
        "Controller CPU Usage",
        "process_cpu_seconds_total",
        Form::Rate,
    ),
    resource(
        "Controller Memory Usage",
        "process_resident_memory_bytes",
        Form::Instant,
    ),
];

/// What a collector adds to every series; a series that brings one of these names itself would get it renamed.
const COLLECTOR: &[(&str, &str)] = &[
    ("job", "vmoperator"),
    ("namespace", "vmoperator-system"),
    ("instance", "10.0.0.1:8443"),
    ("pod", "vmoperator-0"),
];

/// One scrape: series with the collector's labels, and their values.
struct Scrape(Vec<(String, Labels, f64)>);

impl Scrape {
    fn of(metrics: &str) -> Self {
        let lines = metrics.lines().filter(|line| !line.starts_with('#'));
        let mut series: Vec<_> = lines.filter_map(parts).collect();
        for (name, labels, _) in &mut series {
            for (label, value) in COLLECTOR {
                let own = labels.insert((*label).to_owned(), (*value).to_owned());
                assert_eq!(own, None, "{name} has a label that the collector gives");
            }
        }
        Self(series)
    }

    /// The series of a metric, which have to bear these labels.
    fn select(&self, metric: &str, labels: &[&str]) -> Vec<(&Labels, f64)> {
        let of = self.0.iter().filter(|(name, _, _)| name == metric);
        let of: Vec<_> = of.map(|(_, labels, value)| (labels, *value)).collect();
        assert!(!of.is_empty(), "no series {metric}");
        for (found, _) in &of {
            for label in labels {
                assert!(found.contains_key(*label), "{metric} without {label}");
            }
        }
        of
    }
}

/// Name, labels and value of a line.
fn parts(line: &str) -> Option<(String, Labels, f64)> {
    let (left, value) = line.rsplit_once(' ')?;
    let (name, labels) = left.split_once('{').unwrap_or((left, ""));
    let pair = |pair: &str| {
        let (key, value) = pair.split_once('=')?;
        Some((key.to_owned(), value.trim_matches('"').to_owned()))
    };
    let labels = labels.trim_end_matches('}').split(',').filter_map(pair);
    Some((name.to_owned(), labels.collect(), value.parse().ok()?))
}

/// How fast a counter grew between two scrapes, per scrape; a series that was not there before began at its value.
fn rates<'a>(before: &'a Scrape, after: &'a Scrape, panel: &Panel) -> Vec<(&'a Labels, f64)> {
    let then = before.select(panel.metric, panel.selects);
    let now = after.select(panel.metric, panel.selects);
    let grown = |(labels, value): (&'a Labels, f64)| {
        let old = then.iter().find(|(old, _)| *old == labels);
        (labels, value - old.map_or(value, |(_, old)| *old))
    };
    now.into_iter().map(grown).collect()
}

/// Sums by the values of some labels.
fn sum_by(series: &[(&Labels, f64)], by: &[&str]) -> BTreeMap<Vec<String>, f64> {
    let mut sums = BTreeMap::new();
    for (labels, value) in series {
        let group = by.iter().map(|label| {
            let value = labels.get(*label);
            value.unwrap_or_else(|| panic!("no label {label} in {labels:?}"))
        });
        *sums.entry(group.cloned().collect()).or_insert(0.0) += value;
    }
    sums
}

/// As Prometheus has it: linear within a bucket, and the last bound where it lies beyond; `None` for NaN.
fn quantile(q: f64, buckets: &mut [(f64, f64)]) -> Option<f64> {
    buckets.sort_by(|one, other| one.0.total_cmp(&other.0));
    let (last, total) = *buckets.last()?;
    assert_eq!(last, f64::INFINITY, "the last bucket is not +Inf");
    if total <= 0.0 {
        return None;
    }
    let rank = q * total;
    let at = buckets.iter().position(|(_, count)| *count >= rank)?;
    let (lower, below) = at.checked_sub(1).map_or((0.0, 0.0), |at| buckets[at]);
    let (upper, count) = buckets[at];
    if upper.is_infinite() {
        return Some(lower);
    }
    Some(lower + (upper - lower) * (rank - below) / (count - below))
}

/// The points that a panel shows.
fn evaluate(panel: &Panel, before: &Scrape, after: &Scrape) -> Vec<f64> {
    match panel.form {
        Form::Instant => {
            let series = after.select(panel.metric, panel.selects);
            series.into_iter().map(|(_, value)| value).collect()
        }
        Form::Rate => {
            let rates = rates(before, after, panel);
            rates.into_iter().map(|(_, rate)| rate).collect()
        }
        Form::SumOfRate(by) => sum_by(&rates(before, after, panel), by)
            .into_values()
            .collect(),
        Form::Quantiles(by) => {
            let with_bounds = [by, &["le"]].concat();
            let mut groups: BTreeMap<Vec<String>, Vec<(f64, f64)>> = BTreeMap::new();
            for (mut group, count) in sum_by(&rates(before, after, panel), &with_bounds) {
                let bound = group.pop().expect("le");
                let bound = bound.trim_start_matches('+').parse().expect("a bound");
                groups.entry(group).or_default().push((bound, count));
            }
            let three = groups
                .into_values()
                .flat_map(|mut buckets| [0.5, 0.9, 0.99].map(|q| quantile(q, &mut buckets)));
            three.flatten().collect()
        }
    }
}

#[test]
fn every_panel_of_the_usual_dashboards_shows_something_and_what_was_done() {
    let stage = Stage::set();
    let operator = stage.leader("panels");
    stage.house.usable(&stage.namespace);
    let before = Scrape::of(&operator.metrics());
    // Work, a failure and its retry.
    stage.cloud.fault(serde_json::json!({
        "operation": "create", "count": 1, "effect": { "kind": "status", "status": 503 },
    }));
    for name in ["one", "two", "three"] {
        stage.create(name);
    }
    for name in ["one", "two", "three"] {
        stage.ready(name);
    }
    let after = Scrape::of(&operator.metrics());
    for panel in PANELS {
        let points = evaluate(panel, &before, &after);
        println!("{}: {points:?}", panel.title);
        assert!(!points.is_empty(), "{}: no points", panel.title);
        let sound = |point: &f64| point.is_finite() && *point >= 0.0;
        let may_fall = matches!(panel.form, Form::Rate) && !panel.moves;
        assert!(
            may_fall || points.iter().all(sound),
            "{}: {points:?}",
            panel.title
        );
        assert!(
            !panel.moves || points.iter().any(|point| *point > 0.0),
            "{}: nothing moves: {points:?}",
            panel.title
        );
    }
    // The dashboards find their data source by these labels of this metric.
    after.select(
        "controller_runtime_reconcile_total",
        &["namespace", "job", "pod", "controller", "result"],
    );
    // A legend of each panel names one of these.
    after.select(
        "controller_runtime_active_workers",
        &["controller", "instance"],
    );
    after.select("workqueue_depth", &["name", "controller", "priority"]);
    stage.end();
}

/// The evaluation itself, on figures worked out by hand.
#[test]
fn quantiles_are_linear_within_a_bucket_and_none_without_work() {
    let inf = f64::INFINITY;
    let mut buckets = [(inf, 10.0), (1.0, 4.0), (2.0, 8.0)];
    assert_eq!(quantile(0.2, &mut buckets), Some(0.5));
    assert_eq!(quantile(0.5, &mut buckets), Some(1.25));
    assert_eq!(quantile(0.99, &mut buckets), Some(2.0));
    assert_eq!(quantile(0.5, &mut [(1.0, 0.0), (inf, 0.0)]), None);
}
