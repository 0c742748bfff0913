//! A server for tests that gives prepared answers.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use axum::http::{Request, Response};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};

use super::Cluster;

/// What was asked, in order.
pub(crate) type Asked = Arc<Mutex<Vec<String>>>;

/// A cluster that gives these answers, one after the other and then none, and notes what it was asked.
pub(crate) fn cluster(answers: Vec<(u16, String)>) -> (Cluster, Asked) {
    let asked = Asked::default();
    let (answers, notes) = (
        Arc::new(Mutex::new(VecDeque::from(answers))),
        Arc::clone(&asked),
    );
    let service = tower::service_fn(move |request: Request<Body>| {
        let query = request.uri().query().unwrap_or_default().to_owned();
        notes.lock().unwrap().push(query);
        let answer = answers.lock().unwrap().pop_front();
        async move {
            let Some((code, body)) = answer else {
                return std::future::pending().await;
            };
            let response = Response::builder()
                .status(code)
                .body(Body::from(body.into_bytes()));
            Ok::<_, Infallible>(response.unwrap())
        }
    });
    (Cluster::for_tests(Client::new(service, "default")), asked)
}

pub(crate) fn machine(name: &str, uid: &str, version: &str) -> Value {
    json!({ "metadata": { "namespace": "default", "name": name, "uid": uid, "resourceVersion": version } })
}

pub(crate) fn list(version: &str, items: &[Value]) -> (u16, String) {
    (
        200,
        json!({ "metadata": { "resourceVersion": version }, "items": items }).to_string(),
    )
}

pub(crate) fn watch(events: &[(&str, Value)]) -> (u16, String) {
    let lines = events
        .iter()
        .map(|(kind, object)| json!({ "type": kind, "object": object }).to_string() + "\n");
    (200, lines.collect())
}

pub(crate) fn status(code: u16) -> Value {
    json!({ "kind": "Status", "status": "Failure", "code": code, "message": "no" })
}
