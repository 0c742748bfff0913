//! An API server that holds one Lease and checks resource versions.

use crate::runtime::clock::{Clock, TokioClock, wait_until};
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use kube::client::Body;
use kube::{Api, Client};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tower::service_fn;

type Request = axum::http::Request<Body>;
type Response = axum::http::Response<Body>;

/// What is wrong with the server.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fault {
    /// Every request is answered with this status and does nothing.
    Refuse(u16),
    /// Requests vanish.
    Silence,
    /// Requests do their work, answers vanish.
    LoseAnswers,
    /// Requests do their work at once, answers take three seconds.
    SlowAnswers,
}

/// What is wrong on the way of one candidate.
pub(super) type Link = Arc<Mutex<Option<Fault>>>;

#[derive(Clone, Default)]
pub(super) struct LeaseServer(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    lease: Option<Lease>,
    version: u64,
    fault: Option<Fault>,
    requests: Vec<String>,
}

impl LeaseServer {
    pub(super) fn api(&self) -> Api<Lease> {
        self.api_behind(Link::default())
    }

    /// For one of several candidates: what is wrong with its link is wrong for it alone.
    pub(super) fn api_behind(&self, link: Link) -> Api<Lease> {
        let state = Arc::clone(&self.0);
        let service = service_fn(move |request| {
            let (state, link) = (Arc::clone(&state), link.clone());
            async move { Ok::<_, Infallible>(handle(state, link, request).await) }
        });
        Api::namespaced(Client::new(service, "default"), "default")
    }

    pub(super) fn spec(&self) -> Option<LeaseSpec> {
        self.0
            .lock()
            .unwrap()
            .lease
            .clone()
            .and_then(|lease| lease.spec)
    }

    pub(super) fn set_fault(&self, fault: Option<Fault>) {
        self.0.lock().unwrap().fault = fault;
    }

    pub(super) fn requests(&self) -> Vec<String> {
        self.0.lock().unwrap().requests.clone()
    }

    pub(super) fn edit(&self, edit: impl FnOnce(&mut LeaseSpec)) {
        let mut state = self.0.lock().unwrap();
        let mut lease = state.lease.clone().unwrap();
        edit(lease.spec.as_mut().unwrap());
        state.store(lease);
    }

    pub(super) fn delete(&self) {
        self.0.lock().unwrap().lease = None;
    }
}

impl State {
    fn store(&mut self, mut lease: Lease) -> (u16, Value) {
        self.version += 1;
        lease.metadata.resource_version = Some(self.version.to_string());
        self.lease = Some(lease.clone());
        (200, serde_json::to_value(lease).unwrap())
    }

    fn answer(&mut self, method: &str, body: &[u8]) -> (u16, Value) {
        match (method, &self.lease) {
            ("GET", Some(lease)) => (200, serde_json::to_value(lease).unwrap()),
            ("GET" | "PUT", None) => error(404, "NotFound"),
            ("POST", None) => self.store(serde_json::from_slice(body).unwrap()),
            ("POST", Some(_)) => error(409, "AlreadyExists"),
            ("PUT", Some(lease)) => {
                let new: Lease = serde_json::from_slice(body).unwrap();
                // Without a version the write would be unconditional: the real server allows it, we never want it.
                assert!(new.metadata.resource_version.is_some());
                if new.metadata.resource_version == lease.metadata.resource_version {
                    self.store(new)
                } else {
                    error(409, "Conflict")
                }
            }
            other => panic!("unexpected {other:?}"),
        }
    }
}

fn error(code: u16, reason: &str) -> (u16, Value) {
    let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason,
        "message": reason, "code": code});
    (code, status)
}

async fn handle(state: Arc<Mutex<State>>, link: Link, request: Request) -> Response {
    let method = request.method().to_string();
    let body = request.into_body().collect_bytes().await.unwrap();
    let (fault, answer) = {
        let mut state = state.lock().unwrap();
        state.requests.push(method.clone());
        let fault = link.lock().unwrap().or(state.fault);
        let answer = match fault {
            Some(Fault::Refuse(code)) => error(code, "Refused"),
            Some(Fault::Silence) => error(0, "never sent"),
            Some(Fault::LoseAnswers | Fault::SlowAnswers) | None => state.answer(&method, &body),
        };
        (fault, answer)
    };
    if matches!(fault, Some(Fault::Silence | Fault::LoseAnswers)) {
        std::future::pending::<()>().await;
    }
    if matches!(fault, Some(Fault::SlowAnswers)) {
        let clock = TokioClock::new();
        wait_until(&clock, clock.now() + Duration::from_secs(3)).await;
    }
    let (code, value) = answer;
    let body = Body::from(serde_json::to_vec(&value).unwrap());
    axum::http::Response::builder()
        .status(code)
        .body(body)
        .unwrap()
}
