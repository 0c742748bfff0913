//! The one log line of a pass, as the workers write it.

use super::capture;
use crate::domain::key::ObjectKey;
use crate::runtime::clock::{Clock, TokioClock, wait_until};
use crate::runtime::queue::{self, WorkQueue};
use crate::runtime::schedule::{self, Job, Lane, Outcome};
use crate::runtime::workers::{Options, Pass, Reconcile, Unobserved, Workers};
use crate::telemetry::log::Format;
use serde_json::Value;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;
use tracing::Span;

const SECRET: &str = "canary-credential";

struct ByName;

impl Reconcile<ObjectKey> for ByName {
    fn span(&self, job: &Job<ObjectKey>, pass: u64) -> Span {
        tracing::info_span!("pass", namespace = %job.key.namespace, name = %job.key.name, pass)
    }

    async fn reconcile(&self, job: &Job<ObjectKey>) -> Pass {
        let name = job.key.name.to_string();
        let outcome = match name.as_str() {
            "panics" => panic!("{SECRET}"),
            "fails" => Outcome::Failed { at_least: None },
            _ => Outcome::Settled,
        };
        Pass {
            outcome,
            summary: format!("{name} was looked at"),
            changed: name != "quiet",
        }
    }
}

/// The lines that `secs` seconds with this key leave.
async fn lines_of(name: &str, secs: u64) -> Vec<Value> {
    let (lines, _, _guard) = capture(Format::Json, "info");
    let clock = Arc::new(TokioClock::new());
    let random = fastrand::Rng::with_seed(1);
    let queue = WorkQueue::new(
        schedule::Options::default(),
        random,
        clock.clone(),
        Arc::new(queue::Unobserved),
    );
    let options = Options {
        concurrency: NonZeroUsize::MIN,
        pass_limit: Duration::from_secs(60),
    };
    let _workers = Workers::start(
        queue.clone(),
        options,
        Arc::new(ByName),
        clock.clone(),
        Arc::new(Unobserved),
    );
    queue.add(ObjectKey::new("default", name), Lane::High);
    let until = clock.now() + Duration::from_secs(secs);
    wait_until(clock.as_ref(), until).await;
    assert!(!lines.text().contains(SECRET), "{}", lines.text());
    lines.json()
}

#[tokio::test(start_paused = true)]
async fn a_pass_is_one_line_with_the_fields_of_its_span() {
    let lines = lines_of("web", 1).await;
    assert_eq!(lines.len(), 1);
    assert_eq!(lines[0]["message"], "web was looked at");
    assert_eq!(lines[0]["level"], "INFO");
    assert_eq!(
        (&lines[0]["namespace"], &lines[0]["name"]),
        (&"default".into(), &"web".into())
    );
    assert_eq!(lines[0]["pass"], 1);
}

#[tokio::test(start_paused = true)]
async fn a_pass_that_changed_nothing_is_told_at_debug_level_only() {
    assert_eq!(lines_of("quiet", 1).await, Vec::<Value>::new());
}

#[tokio::test(start_paused = true)]
async fn a_pass_that_panics_is_told_without_what_the_panic_carries() {
    let lines = lines_of("panics", 1).await;
    let told: Vec<_> = lines
        .iter()
        .filter(|line| line["name"] == "panics" && line["took_ms"].is_u64())
        .collect();
    assert_eq!(told[0]["level"], "ERROR");
    assert_eq!(told[0]["failures"], 1);
}

#[tokio::test(start_paused = true)]
async fn a_key_that_goes_on_failing_is_told_ever_more_rarely() {
    let lines = lines_of("fails", 3600).await;
    let failures: Vec<u64> = lines
        .iter()
        .map(|line| line["failures"].as_u64().unwrap())
        .collect();
    assert_eq!(failures, [1, 2, 4, 8, 16]);
}
