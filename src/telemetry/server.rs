//! The two small HTTP servers: health for the kubelet, metrics and state for people and Prometheus.

use super::health::{Checks, Verdict};
use super::metrics;
use axum::Router;
use axum::extract::{ConnectInfo, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::get;
use prometheus_client::registry::Registry;
use serde_json::Value;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use thiserror::Error;
use tokio::net::TcpListener;

/// Why a server cannot listen.
#[derive(Debug, Error)]
pub enum Error {
    /// The address is no address.
    #[error(
        "{flag}={text:?} is no address: write host:port or :port, for example :8081, or 0 to switch it off"
    )]
    Address {
        /// The flag that gave it.
        flag: &'static str,
        /// What it said.
        text: String,
    },
    /// Another program has the port.
    #[error(
        "{flag}={address}: the port is in use; stop the program that has it, or choose another port (:0 takes a free one)"
    )]
    InUse {
        /// The flag that gave the address.
        flag: &'static str,
        /// The address.
        address: SocketAddr,
    },
    /// The port needs more rights.
    #[error(
        "{flag}={address}: not allowed; ports below 1024 need rights that the operator does not have, choose a higher one"
    )]
    NotAllowed {
        /// The flag that gave the address.
        flag: &'static str,
        /// The address.
        address: SocketAddr,
    },
    /// Anything else.
    #[error("{flag}={address}: cannot listen; the address must be one of this machine")]
    Listen {
        /// The flag that gave the address.
        flag: &'static str,
        /// The address.
        address: SocketAddr,
        /// What the system says.
        #[source]
        source: io::Error,
    },
}

/// Reads an address as kubebuilder's flags write it: `:8081`, `127.0.0.1:8081`, `[::1]:8081`; `0` switches the server
/// off and gives `None`. An empty host means every address of the machine.
///
/// # Errors
/// When the text is no address.
pub fn parse_address(flag: &'static str, text: &str) -> Result<Option<SocketAddr>, Error> {
    if text == "0" {
        return Ok(None);
    }
    let full = match text.strip_prefix(':') {
        Some(port) => format!("[::]:{port}"),
        None => text.replacen("localhost:", "127.0.0.1:", 1),
    };
    full.parse().map(Some).map_err(|_| Error::Address {
        flag,
        text: text.to_owned(),
    })
}

/// Opens the port, so that a wrong one is known before anything else starts. Falls back from every IPv6 address to
/// every IPv4 address on a machine without IPv6.
///
/// # Errors
/// When the port cannot be had; the text says what to do.
pub async fn listen(flag: &'static str, address: SocketAddr) -> Result<TcpListener, Error> {
    let listener = match TcpListener::bind(address).await {
        Err(error)
            if error.raw_os_error() == Some(rustix::io::Errno::AFNOSUPPORT.raw_os_error()) =>
        {
            TcpListener::bind(SocketAddr::from(([0, 0, 0, 0], address.port()))).await
        }
        other => other,
    };
    listener.map_err(|source| match source.kind() {
        io::ErrorKind::AddrInUse => Error::InUse { flag, address },
        io::ErrorKind::PermissionDenied => Error::NotAllowed { flag, address },
        _ => Error::Listen {
            flag,
            address,
            source,
        },
    })
}

/// `/livez`, `/readyz`, and `/healthz` as another name for the first.
pub fn health_router(live: Checks, ready: Checks) -> Router {
    let probe = |checks: Checks| get(move || async move { verdict(checks.verdict()) });
    Router::new()
        .route("/livez", probe(live.clone()))
        .route("/healthz", probe(live))
        .route("/readyz", probe(ready))
}

/// `/metrics`, and `/debug/state` for callers on the same machine.
pub fn metrics_router(
    registry: Arc<Registry>,
    state: impl Fn() -> Value + Send + Sync + 'static,
) -> Router {
    Router::new()
        .route("/metrics", get(metrics_text).with_state(registry))
        .route(
            "/debug/state",
            get(debug_state).with_state(Arc::new(state) as Arc<DebugState>),
        )
}

/// Serves until `stop` is done, then lets answers under way finish.
///
/// # Errors
/// When the listener fails.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    stop: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let service = router.into_make_service_with_connect_info::<SocketAddr>();
    axum::serve(listener, service)
        .with_graceful_shutdown(stop)
        .await
}

type DebugState = dyn Fn() -> Value + Send + Sync;

fn verdict(verdict: Verdict) -> Response {
    let status = if verdict.healthy {
        StatusCode::OK
    } else {
        StatusCode::INTERNAL_SERVER_ERROR
    };
    let text = if verdict.report.is_empty() {
        "ok\n".to_owned()
    } else {
        verdict.report
    };
    (status, text).into_response()
}

async fn metrics_text(State(registry): State<Arc<Registry>>) -> Response {
    match metrics::text(&registry) {
        Ok(text) => ([(header::CONTENT_TYPE, metrics::CONTENT_TYPE)], text).into_response(),
        Err(_) => (
            StatusCode::INTERNAL_SERVER_ERROR,
            "a metric cannot be written\n",
        )
            .into_response(),
    }
}

/// The state names objects of every tenant, so only callers on the machine itself (a port-forward, too) see it.
async fn debug_state(
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    State(state): State<Arc<DebugState>>,
) -> Response {
    if !peer.ip().to_canonical().is_loopback() {
        let why = "only for callers on the loopback: use kubectl port-forward\n";
        return (StatusCode::FORBIDDEN, why).into_response();
    }
    Json(state()).into_response()
}

#[cfg(test)]
mod tests;
