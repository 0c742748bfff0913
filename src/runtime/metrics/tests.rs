use super::{LeaderMetrics, PassMetrics, QueueMetrics, WatchMetrics};
use crate::domain::key::ObjectKey;
use crate::runtime::clock::TokioClock;
use crate::runtime::leader::{Leader, Options};
use crate::runtime::queue::WorkQueue;
use crate::runtime::schedule::{self, Lane, Outcome};
use crate::runtime::watch::{Failure, Observer as _};
use crate::runtime::workers::Ending;
use prometheus_client::encoding::prometheus_text;
use prometheus_client::registry::Registry;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

fn text(registry: &Registry) -> String {
    let mut text = String::new();
    prometheus_text::encode(&mut text, registry).unwrap();
    text
}

fn assert_lines(text: &str, lines: &[&str]) {
    for line in lines {
        assert!(text.lines().any(|found| found == *line), "{line}\n{text}");
    }
}

fn queue(metrics: &QueueMetrics, name: &str) -> WorkQueue<ObjectKey> {
    let (options, random) = (schedule::Options::default(), fastrand::Rng::with_seed(1));
    let queue = WorkQueue::new(
        options,
        random,
        Arc::new(TokioClock::new()),
        metrics.observer(name),
    );
    metrics.watch(name, &queue);
    queue
}

#[tokio::test(start_paused = true)]
async fn queues_are_told_as_client_go_tells_them() {
    let mut registry = Registry::default();
    let metrics = QueueMetrics::register(&mut registry);
    let (vms, configs) = (
        queue(&metrics, "virtualmachine"),
        queue(&metrics, "providerconfig"),
    );
    for (name, lane) in [("a", Lane::High), ("b", Lane::High), ("c", Lane::Low)] {
        vms.add(ObjectKey::new("n", name), lane);
    }
    configs.add_after(ObjectKey::new("n", "late"), 9 * SECOND, Lane::Low);
    tokio::time::advance(2 * SECOND).await;
    let job = vms.next().await.unwrap();
    tokio::time::advance(3 * SECOND).await;
    let labels = r#"name="virtualmachine",controller="virtualmachine""#;
    let running = text(&registry);
    assert_lines(
        &running,
        &[
            &format!("workqueue_depth{{{labels},priority=\"0\"}} 1.0"),
            &format!("workqueue_depth{{{labels},priority=\"-100\"}} 1.0"),
            &format!("workqueue_unfinished_work_seconds{{{labels}}} 3.0"),
            &format!("workqueue_longest_running_processor_seconds{{{labels}}} 3.0"),
            &format!("workqueue_oldest_age_seconds{{{labels}}} 5.0"),
            &format!("workqueue_adds_total{{{labels}}} 3.0"),
            &format!("workqueue_queue_duration_seconds_sum{{{labels}}} 2.0"),
            r#"workqueue_delayed_depth{name="providerconfig",controller="providerconfig"} 1.0"#,
        ],
    );
    vms.done(&job.key, Outcome::Failed { at_least: None });
    assert_lines(
        &text(&registry),
        &[
            &format!("workqueue_retries_total{{{labels}}} 1.0"),
            &format!("workqueue_work_duration_seconds_sum{{{labels}}} 3.0"),
        ],
    );
}

#[test]
fn passes_are_told_as_controller_runtime_tells_them() {
    let mut registry = Registry::default();
    let metrics = PassMetrics::register(&mut registry);
    let observer = metrics.observer("vm", NonZeroUsize::new(5).unwrap());
    let endings = [
        Ending::Answered(Outcome::Settled),
        Ending::Answered(Outcome::After(Duration::ZERO)),
        Ending::Answered(Outcome::After(SECOND)),
        Ending::Answered(Outcome::Resync(SECOND)),
        Ending::Answered(Outcome::Terminal),
        Ending::Panicked,
        Ending::TimedOut,
    ];
    for ending in endings {
        observer.began();
        observer.ended(ending, SECOND);
    }
    observer.began();
    assert_lines(
        &text(&registry),
        &[
            r#"controller_runtime_reconcile_total{controller="vm",result="success"} 1"#,
            r#"controller_runtime_reconcile_total{controller="vm",result="requeue"} 1"#,
            r#"controller_runtime_reconcile_total{controller="vm",result="requeue_after"} 2"#,
            r#"controller_runtime_reconcile_total{controller="vm",result="error"} 3"#,
            r#"controller_runtime_reconcile_errors_total{controller="vm"} 3"#,
            r#"controller_runtime_terminal_reconcile_errors_total{controller="vm"} 1"#,
            r#"controller_runtime_reconcile_panics_total{controller="vm"} 1"#,
            r#"controller_runtime_reconcile_timeouts_total{controller="vm"} 1"#,
            r#"controller_runtime_reconcile_time_seconds_count{controller="vm"} 7"#,
            r#"controller_runtime_max_concurrent_reconciles{controller="vm"} 5"#,
            r#"controller_runtime_active_workers{controller="vm"} 1"#,
        ],
    );
}

#[test]
fn failed_watches_are_counted_by_status() {
    let mut registry = Registry::default();
    let metrics = WatchMetrics::register(
        &mut registry,
        Arc::new(crate::runtime::clock::ManualClock::default()),
    );
    let failure = |code| Failure {
        step: "watch",
        code,
        message: String::new(),
    };
    metrics.failed("Secret", &failure(Some(403)));
    metrics.failed("Secret", &failure(Some(403)));
    metrics.failed("Secret", &failure(None));
    metrics.broken("VirtualMachine");
    assert_lines(
        &text(&registry),
        &[
            r#"vmoperator_watch_failures_total{kind="Secret",step="watch",code="403"} 2"#,
            r#"vmoperator_watch_failures_total{kind="Secret",step="watch",code="none"} 1"#,
            r#"vmoperator_watch_undecodable_objects_total{kind="VirtualMachine"} 1"#,
        ],
    );
}

#[tokio::test]
async fn a_candidate_is_no_master() {
    let mut registry = Registry::default();
    let service = tower::service_fn(|_| {
        std::future::pending::<Result<axum::http::Response<axum::body::Body>, std::io::Error>>()
    });
    let api = kube::Api::namespaced(kube::Client::new(service, "n"), "n");
    let clock = Arc::new(TokioClock::new());
    let leader = Leader::new(
        api,
        Options::new("vmoperator-leader", "a"),
        clock,
        fastrand::Rng::with_seed(1),
    );
    LeaderMetrics::register(&mut registry, leader.status());
    assert_lines(
        &text(&registry),
        &[r#"leader_election_master_status{name="vmoperator-leader"} 0.0"#],
    );
}
