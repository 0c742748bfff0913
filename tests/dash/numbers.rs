//! Numbers of the dashboard, computed a second time from the raw scrapes of its own recording, over a restart of the
//! operator and a change of leader. The second way shares nothing with the first: it walks over lines of text.

use std::collections::{BTreeMap, BTreeSet};

use rustix::process::Signal;
use serde_json::Value;

use crate::sandbox::{Sandbox, signal, until};

/// Seconds that rates and percentiles are about.
const WINDOW: f64 = 60.0;

/// A scrape: when, and the value of each line that has one, by everything before it.
struct Scrape {
    at: f64,
    values: BTreeMap<String, f64>,
}

fn scrapes(recording: &str) -> Vec<Scrape> {
    let facts = recording
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let scrapes = facts.filter(|fact| fact["message"]["type"] == "scrape");
    let scrape = |fact: Value| {
        let text = fact["message"]["text"].as_str().unwrap().to_owned();
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let values = lines.filter_map(|line| {
            let (series, value) = line.rsplit_once(' ')?;
            Some((series.to_owned(), value.parse().ok()?))
        });
        Scrape {
            at: fact["message"]["at"].as_f64().unwrap() / 1000.0,
            values: values.collect(),
        }
    };
    scrapes.map(scrape).collect()
}

/// By how much each series grew within the window, and the seconds that this is about.
fn growth(scrapes: &[Scrape], now: f64) -> (BTreeMap<String, f64>, f64) {
    let (mut grown, mut seconds) = (BTreeMap::new(), 0.0);
    for pair in scrapes.windows(2) {
        let (old, new) = (&pair[0], &pair[1]);
        let start = |scrape: &Scrape| scrape.values["process_start_time_seconds"];
        let within = new.at > now - WINDOW && new.at <= now;
        if !within || (start(old) - start(new)).abs() > 1.5 || new.at - old.at > 30.0 {
            continue;
        }
        seconds += new.at - old.at;
        for (series, value) in &new.values {
            let before = old.values.get(series).copied().unwrap_or(0.0);
            *grown.entry(series.clone()).or_insert(0.0) += value - before;
        }
    }
    (grown, seconds)
}

/// The percentile as Prometheus' documentation describes it, of the creates.
fn create_percentile(grown: &BTreeMap<String, f64>, q: f64) -> Option<f64> {
    let mut buckets: Vec<(f64, f64)> = Vec::new();
    for (series, count) in grown {
        if series.starts_with("vmoperator_provider_call_duration_seconds_bucket{")
            && series.contains("operation=\"create\"")
        {
            let bound = series.split("le=\"").nth(1)?.split('"').next()?;
            let bound = if bound == "+Inf" {
                f64::INFINITY
            } else {
                bound.parse().ok()?
            };
            match buckets.iter_mut().find(|(known, _)| *known == bound) {
                Some((_, sum)) => *sum += count,
                None => buckets.push((bound, *count)),
            }
        }
    }
    buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
    let wanted = q * buckets.last()?.1;
    let at = buckets.iter().position(|(_, count)| *count >= wanted)?;
    let (low, below) = if at == 0 { (0.0, 0.0) } else { buckets[at - 1] };
    Some(low + (buckets[at].0 - low) * (wanted - below) / (buckets[at].1 - below))
}

fn close(shown: &Value, computed: f64, what: &str) {
    let shown = shown.as_f64().unwrap_or(f64::NAN);
    let bound = 1e-9 * computed.abs().max(1.0);
    assert!(
        (shown - computed).abs() <= bound,
        "{what}: shown {shown}, computed {computed}"
    );
}

#[test]
fn what_is_shown_is_what_the_scrapes_say_over_a_restart_and_a_change_of_leader() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&["up"]);
    let file = sandbox.state_home().join("seen.jsonl");
    let path = file.to_str().unwrap().to_owned();
    let dash = sandbox.start(&[
        "dash",
        "--json",
        "--duration=55s",
        "--interval=500ms",
        "--record",
        &path,
    ]);
    let create = |prefix: &str| {
        for number in 0..4 {
            let name = format!("{prefix}-{number}");
            sandbox.succeed(&[
                "create",
                "vm",
                &name,
                "--image=ubuntu-22.04",
                "--cpu=2",
                "--memory=4Gi",
                "--wait=false",
            ]);
        }
    };
    let seen = || std::fs::read_to_string(&file).unwrap_or_default();
    until("it records", || {
        seen().matches("\"type\":\"scrape\"").count() > 2
    });
    create("before");
    let created = |text: &str| {
        let name = "vmoperator_provider_call_duration_seconds_count{";
        let last = scrapes(text).pop();
        let values = last.into_iter().flat_map(|scrape| scrape.values);
        let creates = values.filter(|(series, _)| {
            series.starts_with(name) && series.contains("operation=\"create\"")
        });
        creates.map(|(_, count)| count).sum::<f64>()
    };
    until("creates are counted", || created(&seen()) >= 4.0);
    signal(sandbox.pid("dev", "operator").unwrap(), Signal::KILL);
    create("after");
    let answer = dash.wait_with_output().unwrap();
    assert!(
        answer.status.success(),
        "{}",
        String::from_utf8_lossy(&answer.stderr)
    );
    let shown: Value = serde_json::from_slice(&answer.stdout).unwrap();
    let recording = seen();

    let scrapes = scrapes(&recording);
    let starts: BTreeSet<u64> = scrapes
        .iter()
        .map(|one| one.values["process_start_time_seconds"].to_bits())
        .collect();
    assert_eq!(starts.len(), 2, "two processes were scraped");
    let now = shown["at"].as_f64().unwrap() / 1000.0;
    let (grown, seconds) = growth(&scrapes, now);
    let of = |name: &str, labels: &[&str]| -> f64 {
        let wanted = |series: &str| {
            series.starts_with(name) && labels.iter().all(|label| series.contains(label))
        };
        grown
            .iter()
            .filter(|(series, _)| wanted(series))
            .map(|(_, grown)| grown)
            .sum()
    };
    for (field, label) in [
        ("success", "success"),
        ("error", "error"),
        ("requeue", "requeue"),
        ("requeueAfter", "requeue_after"),
    ] {
        let label = format!("result=\"{label}\"");
        let passes = of(
            "controller_runtime_reconcile_total{",
            &["controller=\"virtualmachine\"", &label],
        );
        close(&shown["passesPerSecond"][field], passes / seconds, field);
    }
    let calls = shown["provider"]["calls"].as_array().unwrap();
    let creates = calls
        .iter()
        .find(|one| one["operation"] == "create")
        .unwrap();
    let counted = of(
        "vmoperator_provider_call_duration_seconds_count{",
        &["operation=\"create\""],
    );
    assert!(counted >= 4.0, "{counted} creates");
    close(&creates["callsPerSecond"], counted / seconds, "creates");
    for (field, q) in [("p50", 0.5), ("p95", 0.95), ("p99", 0.99)] {
        close(
            &creates[field],
            create_percentile(&grown, q).unwrap(),
            field,
        );
    }

    assert_eq!(shown["virtualMachines"]["total"], 8);
    assert_eq!(shown["leader"]["state"], "agreed");
    assert!(
        shown["leader"]["changesSeen"].as_u64().unwrap() >= 1,
        "{}",
        shown["leader"]
    );
    // The recording is the same thing again.
    let again = sandbox.succeed(&["dash", "--json", "--replay", &path]);
    let again: Value = serde_json::from_str(&again).unwrap();
    assert_eq!(again["virtualMachines"], shown["virtualMachines"]);
    assert_eq!(again["leader"]["names"], shown["leader"]["names"]);
    // Thresholds judge it.
    let judged =
        |expression: &str| sandbox.vmctl(&["dash", "--replay", &path, "--fail-if", expression]);
    assert_eq!(judged("vms>100 or failed>0").code, Some(0));
    let crossed = judged("vms>7");
    assert_eq!(crossed.code, Some(1), "{crossed:?}");
    assert!(
        crossed.stderr.contains("VMC-THRESHOLD") && crossed.stdout.contains("before-1"),
        "{crossed:?}"
    );
}
