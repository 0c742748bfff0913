//! The cluster of an environment in kind, found by its name at the engine and not by what we remember.

use crate::env::Environment;
use crate::hint::{Exit, Failure};
use crate::output::Talk;
use crate::runtime::kind::cluster_name;
use crate::runtime::kind::engine::{Container, Engine};

/// A cluster that is there, or that there is a record of.
pub(super) struct Cluster {
    engine: Engine,
    name: String,
    nodes: Vec<Container>,
    /// Whether it is on record that kind ended its work on it; nothing where there is no record.
    complete: Option<bool>,
}

/// The cluster of an environment. An embedded one has none, and no engine is asked about it.
///
/// # Errors
/// There is a record of a cluster, and no engine that could be asked.
pub(super) async fn of(environment: &Environment) -> Result<Option<Cluster>, Failure> {
    // What is damaged is removed like anything else; the name of the cluster is known without it.
    let record = environment.kind().unwrap_or_default();
    if record.is_none() && environment.plan().is_ok_and(|plan| plan.is_some()) {
        return Ok(None);
    }
    let known = record.as_ref().map(|record| record.cluster.clone());
    let name =
        known.unwrap_or_else(|| cluster_name(environment.name().as_str(), environment.dir()));
    let unknown = |lacks: Vec<String>| {
        let cause = format!("cluster {name} cannot be removed: no container engine answers");
        Failure::new(Exit::Environment, "VMC-ENGINE", cause)
            .evidence(lacks)
            .fix("start the engine, then run the same command again")
    };
    let engine = match Engine::find(environment.dir()).await {
        Ok(engine) => engine,
        Err(lacks) if record.is_some() => return Err(unknown(lacks)),
        Err(_lacks) => return Ok(None),
    };
    let nodes = match engine.nodes(&name).await {
        Ok(nodes) => nodes,
        Err(error) => return Err(error.into_failure("VMC-ENGINE")),
    };
    let complete = record.map(|record| record.complete);
    Ok(Some(Cluster {
        engine,
        name,
        nodes,
        complete,
    }))
}

impl Cluster {
    /// Whether its API server may answer.
    pub(super) fn runs(&self) -> bool {
        self.complete == Some(true)
            && !self.nodes.is_empty()
            && self.nodes.iter().all(|node| node.running)
    }

    /// Whether kind was cut off while it made it.
    pub(super) fn is_half_made(&self) -> bool {
        self.complete == Some(false)
    }

    /// Removes its containers with their volumes.
    ///
    /// # Errors
    /// The engine fails.
    pub(super) async fn remove(&self, talk: &Talk) -> Result<(), Failure> {
        let removed = self.engine.remove(&self.name).await;
        match removed.map_err(|error| error.into_failure("VMC-ENGINE"))? {
            0 => {}
            count => talk.line(&format!("removed {count} nodes of cluster {}", self.name)),
        }
        Ok(())
    }

    /// Containers that are still there.
    ///
    /// # Errors
    /// The engine fails.
    pub(super) async fn left(&self) -> Result<Vec<String>, Failure> {
        let nodes = self.engine.nodes(&self.name).await;
        let nodes = nodes.map_err(|error| error.into_failure("VMC-ENGINE"))?;
        Ok(nodes
            .into_iter()
            .map(|node| format!("container {}", node.name))
            .collect())
    }
}
