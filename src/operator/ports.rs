//! The two servers: their ports, opened before anything else starts, so that a wrong one is known at once.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use futures::future::BoxFuture;
use tokio::net::TcpListener;

use super::secure::Secure;
use super::{Error, Parts};
use crate::settings::Settings;
use crate::telemetry::server::{self, Gate, Pages, health_router};
use crate::telemetry::tls::{ServedCertificate, TlsListener};

const METRICS: &str = "--metrics-bind-address";
const HEALTH: &str = "--health-probe-bind-address";

/// A part of the process that runs until it is dropped.
pub(super) type Task = BoxFuture<'static, ()>;

/// Open ports that nothing is served at yet.
pub(super) struct Ports {
    metrics: Option<(TcpListener, SocketAddr)>,
    health: Option<(TcpListener, SocketAddr)>,
}

impl Ports {
    pub(super) async fn open(settings: &Settings) -> Result<Self, Error> {
        let wrong = |error: server::Error| Error::Settings(error.into());
        Ok(Self {
            metrics: open(METRICS, &settings.metrics_bind_address)
                .await
                .map_err(wrong)?,
            health: open(HEALTH, &settings.health_probe_bind_address)
                .await
                .map_err(wrong)?,
        })
    }

    /// Whether metrics are to be served by TLS, to whom the API server allows it.
    pub(super) fn is_secure(&self, settings: &Settings) -> bool {
        let address = self.metrics.as_ref().map(|(_, address)| address.ip());
        address.is_some_and(|ip| {
            settings
                .metrics_secure
                .unwrap_or(!ip.to_canonical().is_loopback())
        })
    }

    /// The servers, as tasks, and what keeps the certificate up to date.
    pub(super) fn serve(
        self,
        parts: &Parts,
        pages: impl FnOnce(Option<Arc<dyn Gate>>) -> Pages,
        health: (
            crate::telemetry::health::Checks,
            crate::telemetry::health::Checks,
        ),
        secure: Option<Secure>,
    ) -> Result<Vec<Task>, Error> {
        let mut tasks: Vec<Task> = Vec::new();
        if let Some((listener, address)) = self.metrics {
            let served = secure.as_ref().map(Secure::served);
            let gate = secure.as_ref().map(|_| Secure::gate(parts));
            if let Some(secure) = secure {
                tasks.push(secure.upkeep(parts));
            } else if !address.ip().to_canonical().is_loopback() {
                tracing::warn!(%address, "metrics are served in plain text to everybody who reaches this address");
            }
            tasks.push(task(
                parts,
                (listener, address),
                pages(gate).router(),
                served,
            )?);
        }
        if let Some(port) = self.health {
            let router = health_router(health.0, health.1);
            tasks.push(task(parts, port, router, None)?);
        }
        Ok(tasks)
    }
}

async fn open(
    flag: &'static str,
    text: &str,
) -> Result<Option<(TcpListener, SocketAddr)>, server::Error> {
    let Some(address) = server::parse_address(flag, text)? else {
        return Ok(None);
    };
    let listener = server::listen(flag, address).await?;
    let address = listener.local_addr().unwrap_or(address);
    Ok(Some((listener, address)))
}

fn task(
    parts: &Parts,
    (listener, address): (TcpListener, SocketAddr),
    router: Router,
    served: Option<ServedCertificate>,
) -> Result<Task, Error> {
    let tls = served.map(|served| served.config()).transpose();
    let tls = tls.map_err(|error| Error::Settings(error.into()))?;
    tracing::info!(%address, secure = tls.is_some(), "serving");
    let stop = parts.shutdown.clone();
    Ok(Box::pin(async move {
        let stop = async move { stop.immediate().await };
        let served = match tls {
            Some(tls) => server::serve(TlsListener::new(listener, tls), router, stop).await,
            None => server::serve(listener, router, stop).await,
        };
        if let Err(error) = served {
            tracing::error!(%error, "a server ended");
        }
    }))
}
