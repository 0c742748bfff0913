//! The page of metrics as collectors and dashboards see it.

use std::collections::{BTreeMap, BTreeSet};

use crate::e2e::until_or;
use crate::stage::Stage;

/// The names of series with their labels, values left out.
fn series(metrics: &str) -> BTreeSet<String> {
    let lines = metrics
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty());
    let name = |line: &str| line.rsplit_once(' ').map(|(name, _)| name.to_owned());
    // What was refused, and by which status the API server answered, are series of events, not of VMs: a bounded
    // number, but not the same in every run.
    let steady = |name: &String| {
        !name.starts_with("rest_client_requests") && !name.starts_with("vmoperator_watch_failures")
    };
    lines.filter_map(name).filter(steady).collect()
}

/// 10 VMs, 1,000, none: the same series each time.
#[test]
fn the_number_of_series_is_the_same_at_10_vms_at_1000_and_after_deleting_them() {
    const MANY: usize = 1000;
    let stage = Stage::with(crate::e2e::cloud::prompt(), |url| {
        let rate =
            serde_json::json!({ "requestsPerSecond": 1000, "burst": 1000, "maxInFlight": 50 });
        serde_json::json!({ "endpoint": url, "timeoutSeconds": 30, "rateLimit": rate })
    });
    let operator = stage.start("metrics", &["--concurrency=32"], None).ready();
    stage.until_leads("metrics");
    stage.create_many("few", 10);
    stage.all_ready(10);
    let few = series(&operator.metrics());
    assert!(few.len() > 200, "{few:#?}");
    for part in 0..4 {
        stage.create_many(
            &format!("many-{part}"),
            MANY / 4 - 3 * usize::from(part == 0),
        );
    }
    let count = MANY - 3 + 10;
    stage.all_ready(count);
    let running = r#"vmoperator_virtual_machines{phase="Running"}"#;
    let shown = || {
        let metrics = operator.metrics();
        let line = metrics
            .lines()
            .find(|line| line.starts_with(running))
            .map(str::to_owned);
        line.unwrap_or_default()
    };
    until_or(
        "they are counted",
        || shown() == format!("{running} {count}"),
        shown,
    );
    let many = series(&operator.metrics());
    assert_eq!(
        few,
        many,
        "{:#?}",
        few.symmetric_difference(&many).collect::<Vec<_>>()
    );
    stage.end();
    let none = series(&operator.metrics());
    assert_eq!(
        few,
        none,
        "{:#?}",
        few.symmetric_difference(&none).collect::<Vec<_>>()
    );
}

/// What else controller-runtime's users query: metric, and the labels that they group or filter by.
const SERIES: &[(&str, &[&str])] = &[
    (
        "controller_runtime_max_concurrent_reconciles",
        &["controller"],
    ),
    (
        "controller_runtime_terminal_reconcile_errors_total",
        &["controller"],
    ),
    ("controller_runtime_reconcile_panics_total", &["controller"]),
    (
        "controller_runtime_reconcile_timeouts_total",
        &["controller"],
    ),
    (
        "controller_runtime_reconcile_time_seconds_bucket",
        &["controller", "le"],
    ),
    (
        "controller_runtime_reconcile_time_seconds_sum",
        &["controller"],
    ),
    (
        "controller_runtime_reconcile_time_seconds_count",
        &["controller"],
    ),
    ("workqueue_longest_running_processor_seconds", &["name"]),
    ("leader_election_master_status", &["name"]),
    ("rest_client_requests_total", &["code", "method", "host"]),
    ("process_virtual_memory_bytes", &[]),
    ("process_open_fds", &[]),
    ("process_max_fds", &[]),
    ("process_start_time_seconds", &[]),
];

/// Label names of a series, and its value.
fn parts(line: &str) -> Option<(String, BTreeMap<String, String>, f64)> {
    let (left, value) = line.rsplit_once(' ')?;
    let (name, labels) = left.split_once('{').unwrap_or((left, ""));
    let labels = labels.trim_end_matches('}');
    let pair = |pair: &str| {
        let (key, value) = pair.split_once('=')?;
        Some((key.to_owned(), value.trim_matches('"').to_owned()))
    };
    let labels = labels.split(',').filter_map(pair).collect();
    Some((name.to_owned(), labels, value.parse().ok()?))
}

#[test]
fn series_of_controller_runtime_are_there_with_their_labels_and_add_up() {
    let stage = Stage::set();
    let operator = stage.leader("panels");
    stage.create("web");
    stage.ready("web");
    let metrics = operator.metrics();
    let all: Vec<_> = metrics.lines().filter_map(parts).collect();
    for (metric, labels) in SERIES {
        let of: Vec<_> = all.iter().filter(|(name, _, _)| name == metric).collect();
        assert!(!of.is_empty(), "no {metric}");
        for (_, found, _) in &of {
            for label in *labels {
                assert!(
                    found.contains_key(*label),
                    "{metric} without {label}: {found:?}"
                );
            }
        }
    }
    assert_histograms_are_whole(&all);
    // What a panel would show: this much work was done.
    let sum = |metric: &str, label: (&str, &str)| -> f64 {
        let of = all.iter().filter(|(name, labels, _)| {
            name == metric && labels.get(label.0).map(String::as_str) == Some(label.1)
        });
        of.map(|(_, _, value)| value).sum()
    };
    let controller = ("controller", "virtualmachine");
    let passes = sum("controller_runtime_reconcile_total", controller);
    assert!(passes >= 3.0, "{passes} passes");
    assert_eq!(
        passes,
        sum(
            "controller_runtime_reconcile_time_seconds_count",
            controller
        )
    );
    assert!(sum("workqueue_adds_total", ("name", "virtualmachine")) >= passes);
    assert_eq!(
        sum(
            "leader_election_master_status",
            ("name", "vmoperator-leader")
        ),
        1.0
    );
    stage.end();
}

/// Buckets grow, the last one is +Inf and equal to the count: `histogram_quantile` needs that.
fn assert_histograms_are_whole(all: &[(String, BTreeMap<String, String>, f64)]) {
    let mut last: BTreeMap<(String, String), (String, f64)> = BTreeMap::new();
    for (name, labels, value) in all
        .iter()
        .filter(|(_, labels, _)| labels.contains_key("le"))
    {
        let mut others = labels.clone();
        let le = others.remove("le").unwrap_or_default();
        let key = (
            name.trim_end_matches("_bucket").to_owned(),
            format!("{others:?}"),
        );
        let before = last.insert(key, (le, *value));
        assert!(
            before.is_none_or(|(_, before)| before <= *value),
            "{name} {labels:?}"
        );
    }
    assert!(last.len() > 10, "{last:?}");
    for ((name, labels), (le, value)) in &last {
        assert_eq!(le, "+Inf", "{name} {labels}");
        let count = all.iter().find(|(other, found, _)| {
            *other == format!("{name}_count") && format!("{found:?}") == *labels
        });
        assert_eq!(
            count.map(|(_, _, count)| count),
            Some(value),
            "{name} {labels}"
        );
    }
}
