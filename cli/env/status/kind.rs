//! How an environment in kind is.

use serde_json::json;

use super::verdict;
use crate::env::Environment;
use crate::env::counts::Counts;
use crate::env::report::Format;
use crate::env::workload::{self, MOCK, OPERATOR};
use crate::hint::{Failure, chain};
use crate::output;
use crate::runtime::embedded::plane;
use crate::runtime::kind::engine::Engine;
use crate::runtime::kind::record::Record;

/// What was found by looking.
#[derive(Default)]
struct Found {
    nodes: Vec<String>,
    leader: Option<String>,
    lack: Option<String>,
    /// What is inside, once it is ready.
    counts: Option<Counts>,
}

/// Says how it is.
///
/// # Errors
/// Something of it does not run.
pub(super) async fn run(
    environment: &Environment,
    record: &Record,
    format: Format,
) -> Result<(), Failure> {
    let found = found(environment, record).await;
    output::data(&match format {
        Format::Text => text(environment, record, &found),
        Format::Json => json!({
            "version": 1, "environment": environment.name().as_str(), "ready": found.lack.is_none(),
            "lack": found.lack, "kubeconfig": environment.kubeconfig(), "kind": record,
            "nodes": found.nodes, "leader": found.leader,
            "inside": found.counts.as_ref().map(Counts::as_json),
        })
        .to_string(),
    })?;
    verdict(environment, found.lack)
}

/// What it lacks; `None` when it is ready.
pub(super) async fn lack(environment: &Environment, record: &Record) -> Option<String> {
    found(environment, record).await.lack
}

async fn found(environment: &Environment, record: &Record) -> Found {
    let mut found = Found::default();
    found.lack = look(environment, record, &mut found)
        .await
        .unwrap_or_else(|failure| Some(failure.cause));
    found
}

/// The same, and what was found on the way.
async fn look(
    environment: &Environment,
    record: &Record,
    found: &mut Found,
) -> Result<Option<String>, Failure> {
    if !record.complete {
        return Ok(Some("the cluster is not complete".to_owned()));
    }
    let engine = match Engine::find(environment.dir()).await {
        Ok(engine) => engine,
        Err(lacks) => return Ok(Some(format!("no engine answers: {}", lacks.join("; ")))),
    };
    let nodes = engine.nodes(&record.cluster).await;
    let nodes = nodes.map_err(|error| error.into_failure("VMC-ENGINE"))?;
    for node in &nodes {
        let state = if node.running { "runs" } else { "stopped" };
        found.nodes.push(format!("{} {state}", node.name));
    }
    if nodes.is_empty() {
        return Ok(Some("the cluster is gone".to_owned()));
    }
    if let Some(node) = nodes.iter().find(|node| !node.running) {
        return Ok(Some(format!("node {} does not run", node.name)));
    }
    let client = environment.client().await?;
    if let Some(lack) = plane::not_ready(&client).await {
        return Ok(Some(format!("the API server lacks {lack}")));
    }
    for name in [MOCK, OPERATOR] {
        match workload::lack(&client, name).await {
            Ok(None) => {}
            Ok(Some(lack)) => return Ok(Some(format!("{name} lacks {lack}"))),
            Err(error) => return Ok(Some(chain(&error))),
        }
    }
    found.leader = workload::leader(&client).await.ok().flatten();
    if found.leader.is_none() {
        return Ok(Some("no replica of the operator leads".to_owned()));
    }
    found.counts = Some(Counts::of(&client).await);
    Ok(None)
}

fn text(environment: &Environment, record: &Record, found: &Found) -> String {
    let mut lines = vec![format!(
        "environment {}: {}",
        environment.name(),
        found.lack.as_deref().unwrap_or("ready")
    )];
    lines.push(format!(
        "kubeconfig   {}",
        environment.kubeconfig().display()
    ));
    let version = record.kubernetes.as_deref().unwrap_or("-");
    lines.push(format!(
        "cluster      {} in {} ({version})",
        record.cluster, record.engine
    ));
    lines.extend(
        found
            .nodes
            .iter()
            .map(|node| format!("node         {node}")),
    );
    match &found.counts {
        Some(counts) => {
            let told = counts.lines();
            lines.extend(told.iter().map(|line| output::clean(line)));
        }
        None => {
            let leader = found.leader.as_deref().unwrap_or("-");
            lines.push(format!("leader       {leader}"));
        }
    }
    lines.join("\n")
}
