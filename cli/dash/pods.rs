//! The operator's replicas where they are pods: which there are, a way into each one, and what each writes down.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::{AsyncBufReadExt, StreamExt};
use k8s_openapi::api::core::v1::{Container, Pod};
use kube::api::{ListParams, LogParams};
use kube::{Api, Client, ResourceExt};
use vm_tui::{Health, Message, Source};

use super::out::Out;
use super::read;
use crate::clock;
use crate::hint::chain;

/// Longest time for a list.
const LIMIT: Duration = Duration::from_secs(2);
/// Time until a log that ended is asked for again.
const AGAIN: Duration = Duration::from_secs(2);
/// What the pods of operators are labelled with.
const LABEL: &str = "app.kubernetes.io/name=vmoperator";
/// Name of the port of metrics.
const METRICS: &str = "metrics";
/// Lines of a log that are shown from before.
const TAIL: i64 = 200;
/// Most lines that are told at once.
const LINES: usize = 200;

/// One pod of the operator that runs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Replica {
    /// Name of the pod.
    pub(super) name: String,
    /// The container that serves metrics.
    container: String,
    /// Its port.
    pub(super) port: u16,
}

/// The pods of the operator in its namespace.
#[derive(Clone)]
pub(super) struct Pods {
    /// For forwarding ports and reading logs.
    pub(super) api: Api<Pod>,
    following: Arc<AtomicUsize>,
}

impl Pods {
    /// Those of a namespace.
    pub(super) fn new(client: &Client, namespace: &str) -> Self {
        Self {
            api: Api::namespaced(client.clone(), namespace),
            following: Arc::default(),
        }
    }

    /// Those that run now.
    ///
    /// # Errors
    /// They cannot be listed; why and what to do, in words.
    pub(super) async fn list(&self) -> Result<Vec<Replica>, String> {
        let filter = ListParams::default().labels(LABEL);
        let instead = "name replicas yourself with --metrics-url";
        match tokio::time::timeout(LIMIT, self.api.list(&filter)).await {
            Ok(Ok(list)) => Ok(list.items.iter().filter_map(replica).collect()),
            Ok(Err(error)) => Err(format!(
                "the operator's pods cannot be listed: {}; {instead}",
                chain(&error)
            )),
            Err(_elapsed) => Err(format!(
                "the operator's pods cannot be listed: no answer; {instead}"
            )),
        }
    }

    /// Tells what a pod writes down, for ever.
    pub(super) async fn follow_log(&self, pod: &Replica, out: &Out) {
        let mut params = LogParams {
            container: Some(pod.container.clone()),
            follow: true,
            tail_lines: Some(TAIL),
            ..LogParams::default()
        };
        loop {
            let why = match self.api.log_stream(&pod.name, &params).await {
                Ok(stream) => {
                    let _one = Following::begin(&self.following);
                    out.health(&Source::Logs, Health::Live).await;
                    let why = tell(stream, &pod.name, out).await;
                    // From here on only what is new.
                    params.tail_lines = None;
                    params.since_seconds = Some(1);
                    why
                }
                Err(error) => chain(&error),
            };
            // One that is read is a source that lives.
            if self.following.load(Ordering::Relaxed) == 0 {
                out.lost(&Source::Logs, format!("pod {}: {why}", pod.name))
                    .await;
            }
            clock::sleep(AGAIN).await;
            params.since_seconds = params.since_seconds.map(|since| (since + 2).min(600));
        }
    }
}

/// A log that is read at this moment.
struct Following(Arc<AtomicUsize>);

impl Following {
    fn begin(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(count))
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Tells lines until there are no more; says why.
async fn tell(stream: impl futures::AsyncBufRead, pod: &str, out: &Out) -> String {
    let stream = std::pin::pin!(stream);
    let mut chunks = stream.lines().ready_chunks(LINES);
    while let Some(chunk) = chunks.next().await {
        let now = out.clock.now();
        let mut lines = Vec::new();
        for line in chunk {
            match line {
                Ok(line) => lines.push(read::log_line(&line, pod, now)),
                Err(error) => return chain(&error),
            }
        }
        out.send(Message::Logs { lines, dropped: 0 }).await;
    }
    "its log ended".to_owned()
}

/// A pod that runs and serves metrics. One that is about to go is followed as long as it runs: it may lead.
fn replica(pod: &Pod) -> Option<Replica> {
    let phase = pod
        .status
        .as_ref()
        .and_then(|status| status.phase.as_deref());
    if phase != Some("Running") {
        return None;
    }
    let serves = |container: &Container| -> Option<Replica> {
        let mut ports = container.ports.iter().flatten();
        let port = ports.find(|port| port.name.as_deref() == Some(METRICS))?;
        Some(Replica {
            name: pod.name_any(),
            container: container.name.clone(),
            port: u16::try_from(port.container_port).ok()?,
        })
    };
    pod.spec.as_ref()?.containers.iter().find_map(serves)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(phase: &str, port: &str) -> Pod {
        serde_json::from_value(json!({
            "metadata": { "name": "vmoperator-1" }, "status": { "phase": phase },
            "spec": { "containers": [
                { "name": "sidecar", "ports": [{ "name": "admin", "containerPort": 1 }] },
                { "name": "manager", "ports": [{ "name": port, "containerPort": 8443 }] } ] },
        }))
        .unwrap()
    }

    #[test]
    fn a_pod_is_a_replica_while_it_runs_and_names_a_port_of_metrics() {
        let found = replica(&pod("Running", "metrics")).unwrap();
        assert_eq!(
            (found.name.as_str(), found.container.as_str(), found.port),
            ("vmoperator-1", "manager", 8443)
        );
        for phase in ["Pending", "Succeeded", "Failed"] {
            assert_eq!(replica(&pod(phase, "metrics")), None);
        }
        assert_eq!(replica(&pod("Running", "health")), None);
        assert_eq!(replica(&Pod::default()), None);
    }
}
