//! What the two servers answer, and to whom.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{ConnectInfo, DefaultBodyLimit, Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::get;
use futures::future::BoxFuture;
use prometheus_client::registry::Registry;
use serde_json::Value;

use super::Peer;
use crate::telemetry::access::{Access, Authority, Refusal};
use crate::telemetry::health::{Checks, Verdict};
use crate::telemetry::log::LogHandle;
use crate::telemetry::metrics;

/// Longest text of a log level, in bytes.
const LONGEST_LEVEL: usize = 4096;

/// Who decides on requests to a secure server.
pub trait Gate: Send + Sync + 'static {
    /// Lets a request through, or says why not.
    fn check<'a>(
        &'a self,
        headers: &'a HeaderMap,
        method: &'a Method,
        path: &'a str,
    ) -> BoxFuture<'a, Result<(), Refusal>>;
}

impl<A: Authority> Gate for Access<A> {
    fn check<'a>(
        &'a self,
        headers: &'a HeaderMap,
        method: &'a Method,
        path: &'a str,
    ) -> BoxFuture<'a, Result<(), Refusal>> {
        Box::pin(Self::check(self, headers, method, path))
    }
}

/// What the metrics server tells.
pub struct Pages {
    /// `/metrics`.
    pub registry: Arc<Registry>,
    /// `/debug/state`.
    pub state: Box<dyn Fn() -> Value + Send + Sync>,
    /// `/debug/log-level`.
    pub log: LogHandle,
    /// Who is let in; `None` on a plain server, which shows metrics to everybody and the rest to the loopback.
    pub gate: Option<Arc<dyn Gate>>,
}

/// One set of paths with the rule for them.
#[derive(Clone)]
struct Door {
    gate: Option<Arc<dyn Gate>>,
    /// Whether these paths are for callers on this machine without further question, and on a plain server for them
    /// alone.
    local: bool,
}

impl Pages {
    /// The paths of the metrics server.
    pub fn router(self) -> Router {
        let door = |local| {
            let gate = self.gate.clone();
            from_fn_with_state(Door { gate, local }, enter)
        };
        let metrics = Router::new()
            .route("/metrics", get(metrics_text).with_state(self.registry))
            .layer(door(false));
        let state: Arc<DebugState> = Arc::from(self.state);
        let debug = Router::new()
            .route("/debug/state", get(debug_state).with_state(state))
            .route(
                "/debug/log-level",
                get(log_level).put(set_log_level).with_state(self.log),
            )
            .layer(DefaultBodyLimit::max(LONGEST_LEVEL))
            .layer(door(true));
        metrics.merge(debug)
    }
}

/// `/livez`, `/readyz`, and `/healthz` as another name for the first.
pub fn health_router(live: Checks, ready: Checks) -> Router {
    let probe = |checks: Checks| get(move || async move { verdict(checks.verdict()) });
    Router::new()
        .route("/livez", probe(live.clone()))
        .route("/healthz", probe(live))
        .route("/readyz", probe(ready))
}

type DebugState = dyn Fn() -> Value + Send + Sync;

async fn enter(
    State(door): State<Door>,
    ConnectInfo(Peer(peer)): ConnectInfo<Peer>,
    request: Request,
    next: Next,
) -> Response {
    if door.local && is_local(peer) {
        return next.run(request).await;
    }
    match &door.gate {
        // The state names objects of every tenant.
        None if door.local => {
            let why = "only for callers on the loopback: use kubectl port-forward\n";
            (StatusCode::FORBIDDEN, why).into_response()
        }
        None => next.run(request).await,
        Some(gate) => {
            let path = request.uri().path().to_owned();
            let checked = gate.check(request.headers(), request.method(), &path).await;
            match checked {
                Ok(()) => next.run(request).await,
                Err(refusal) => turned_away(&refusal),
            }
        }
    }
}

fn is_local(peer: SocketAddr) -> bool {
    peer.ip().to_canonical().is_loopback()
}

fn turned_away(refusal: &Refusal) -> Response {
    let (status, text) = refusal.words();
    let mut answer = (status, text).into_response();
    if status == StatusCode::UNAUTHORIZED {
        let bearer = header::HeaderValue::from_static("Bearer");
        answer
            .headers_mut()
            .insert(header::WWW_AUTHENTICATE, bearer);
    }
    answer
}

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

async fn debug_state(State(state): State<Arc<DebugState>>) -> Response {
    Json(state()).into_response()
}

async fn log_level(State(log): State<LogHandle>) -> String {
    format!("{}\n", log.level())
}

async fn set_log_level(State(log): State<LogHandle>, level: String) -> Response {
    let (before, level) = (log.level(), level.trim());
    // Told on both sides: one of them may be silent.
    tracing::info!(before, level, "log level is to change");
    match log.set_level(level) {
        Ok(()) => {
            tracing::info!(before, level, "log level changed");
            format!("{level}\n").into_response()
        }
        Err(error) => (StatusCode::BAD_REQUEST, format!("{error}\n")).into_response(),
    }
}
