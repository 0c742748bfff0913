//! The way to the API server: one client that never retries, counted.

use std::time::Duration;

use kube::client::ClientBuilder;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use super::Error;
use crate::controller::ClusterError;
use crate::controller::kube::KubeCluster;
use crate::domain::ClusterId;
use crate::runtime::clock::{Clock, wait_until};
use crate::runtime::shutdown::Shutdown;
use crate::settings::Settings;
use crate::telemetry::requests::CountRequests;

/// Builds a client as the settings say. Nothing is sent.
pub(super) async fn build(settings: &Settings, requests: CountRequests) -> Result<Client, Error> {
    let mut config = config(settings).await?;
    // One place retries, the queue: a retried write would be a second writer, and minutes would pass inside one call.
    config.default_retry = false;
    let wrong = |error: kube::Error| Error::Client(error.to_string());
    Ok(ClientBuilder::try_from(config)
        .map_err(wrong)?
        .with_layer(&requests)
        .build())
}

async fn config(settings: &Settings) -> Result<Config, Error> {
    let wrong = |error: &dyn std::error::Error| Error::Client(super::chain(error));
    let Some(path) = &settings.kubeconfig else {
        return Config::infer().await.map_err(|error| wrong(&error));
    };
    let file = Kubeconfig::read_from(path).map_err(|error| wrong(&error))?;
    Config::from_custom_kubeconfig(file, &KubeConfigOptions::default())
        .await
        .map_err(|error| wrong(&error))
}

/// The cluster's identity, from the flag or from the cluster. Waits for an API server that does not answer yet.
pub(super) async fn cluster_id(
    settings: &Settings,
    client: &Client,
    shutdown: &Shutdown,
    clock: &dyn Clock,
) -> Result<ClusterId, Error> {
    if let Some(id) = &settings.cluster_id {
        return Ok(ClusterId::new(id.as_str()));
    }
    let mut wait = Duration::from_secs(1);
    loop {
        match KubeCluster::cluster_id(client).await {
            Ok(id) if !id.as_str().is_empty() => return Ok(id),
            Err(ClusterError::Unknown(why)) => {
                tracing::warn!(error = why, "API server does not answer; trying on");
            }
            Ok(_) => return Err(Error::ClusterId("it has no uid".to_owned())),
            Err(error) => return Err(Error::ClusterId(error.to_string())),
        }
        tokio::select! {
            () = wait_until(clock, clock.now() + wait) => {}
            () = shutdown.draining() => return Err(Error::Client("stopped".to_owned())),
        }
        wait = (wait * 2).min(Duration::from_secs(30));
    }
}
