//! The metrics of every pod of the operator, once: for whoever wants figures and no screen.

use std::sync::Arc;

use futures::future::join_all;

use super::access::{Access, Caller, Credential, Place};
use super::forward::Forward;
use super::pods::{Pods, Replica};
use super::token::Tokens;
use crate::cluster::Cluster;
use crate::hint::chain;

/// What the replicas answered.
pub(crate) struct Scrapes {
    /// The text of each that did.
    pub(crate) texts: Vec<String>,
    /// Why others did not, a line each.
    pub(crate) silent: Vec<String>,
}

/// Asks every pod of the operator in its namespace, by a port-forward and with a token as the dashboard has them. Takes
/// seconds at most; dropped, it leaves no port open.
///
/// # Errors
/// There is no pod, they cannot be listed, or none of them answers; why, in words.
pub(crate) async fn of_pods(cluster: &Cluster, namespace: &str) -> Result<Scrapes, String> {
    let pods = Pods::new(&cluster.client, namespace);
    let replicas = pods.list().await?;
    if replicas.is_empty() {
        return Err(format!(
            "no pod of the operator runs in namespace {namespace}"
        ));
    }
    let tokens = Tokens::new(cluster.client.clone(), namespace);
    let access = Access {
        client: cluster.client.clone(),
        namespace: namespace.to_owned(),
        credential: Credential::Asked(Arc::new(tokens)),
    };
    let asked = replicas.iter().map(|replica| ask(&pods, replica, &access));
    let mut scrapes = Scrapes {
        texts: Vec::new(),
        silent: Vec::new(),
    };
    for (replica, answer) in replicas.iter().zip(join_all(asked).await) {
        match answer {
            Ok(text) => scrapes.texts.push(text),
            Err(why) => scrapes.silent.push(format!("pod {}: {why}", replica.name)),
        }
    }
    if scrapes.texts.is_empty() {
        return Err(scrapes.silent.join("; "));
    }
    Ok(scrapes)
}

async fn ask(pods: &Pods, replica: &Replica, access: &Access) -> Result<String, String> {
    let forward = Forward::open(pods.api.clone(), &replica.name, replica.port).await;
    let forward = forward.map_err(|error| format!("no port on this machine: {}", chain(&error)))?;
    let mut caller = Caller::new(access.clone());
    let answer = caller
        .get(&Place::Forwarded(forward.port), "/metrics")
        .await;
    // What is known of the way there says more than that nothing came by it.
    answer.map_err(|why| forward.trouble().unwrap_or(why))
}
