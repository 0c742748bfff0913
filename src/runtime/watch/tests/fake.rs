//! An API server that gives prepared answers.

use axum::body::Bytes;
use futures::stream;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::client::Body;
use kube::{Api, Client};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tower::service_fn;

use crate::runtime::watch::Arrival;

/// What a request gets.
#[derive(Clone, Debug)]
pub(super) enum Answer {
    Json(Value),
    Watch(Vec<Line>),
    Refuse(u16),
    /// To whoever asks whether a version is known: it is. What is given where nothing else was prepared for the question.
    Known,
    /// To whoever asks whether a version is known: it is of the future.
    Future,
    Hang,
}

/// One step of a watch. After the last the stream stays open.
#[derive(Clone, Debug)]
pub(super) enum Line {
    Json(Value),
    Raw(&'static str),
    /// So many seconds of silence.
    After(u64),
    End,
    Hang,
}

impl Answer {
    pub(super) fn page(items: Vec<Value>, version: u64, more: Option<&str>) -> Self {
        Self::Json(
            json!({"kind": "ConfigMapList", "apiVersion": "v1", "items": items,
            "metadata": {"resourceVersion": version.to_string(), "continue": more.unwrap_or_default()}}),
        )
    }

    pub(super) fn watch(lines: Vec<Line>) -> Self {
        Self::Watch(lines)
    }
}

impl Line {
    pub(super) fn event(kind: &str, object: Value) -> Self {
        Self::Json(json!({"type": kind, "object": object}))
    }

    pub(super) fn bookmark(version: u64) -> Self {
        Self::event(
            "BOOKMARK",
            json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"resourceVersion": version.to_string()}}),
        )
    }

    pub(super) fn error(code: u16) -> Self {
        Self::event("ERROR", status(code))
    }
}

fn status(code: u16) -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Because", "message": "because",
        "code": code})
}

pub(super) fn object(name: &str, version: u64) -> Value {
    json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name, "namespace": "default",
        "uid": format!("uid-{name}"), "resourceVersion": version.to_string(), "generation": 1}})
}

pub(super) fn labelled(name: &str, version: u64, color: &str) -> Value {
    let mut object = object(name, version);
    object["metadata"]["labels"] = json!({"color": color});
    object
}

/// An object whose `data` is not of our type.
pub(super) fn broken(name: &str, version: u64) -> Value {
    let mut object = object(name, version);
    object["metadata"]["finalizers"] = json!(["example.com/keep"]);
    object["data"] = json!({"number": 7});
    object["spec"] = json!({"size": "small"});
    object["status"] = json!({"id": "vm-7"});
    object
}

pub(super) fn version_of(request: &str) -> String {
    let query = request
        .split_once("resourceVersion=")
        .map_or("", |(_, rest)| rest);
    query.split('&').next().unwrap().to_owned()
}

pub(super) struct Server {
    answers: Arc<Mutex<VecDeque<Answer>>>,
    requests: Arc<Mutex<Vec<String>>>,
    questions: Arc<AtomicUsize>,
}

impl Server {
    pub(super) fn new(answers: Vec<Answer>) -> Self {
        Self {
            answers: Arc::new(Mutex::new(answers.into())),
            requests: Arc::default(),
            questions: Arc::default(),
        }
    }

    /// Path and query of every request so far, without the questions for a version.
    pub(super) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    /// How often it was asked whether it knows a version, and said so.
    pub(super) fn questions(&self) -> usize {
        self.questions.load(Ordering::Relaxed)
    }

    pub(super) fn api(&self) -> Api<Arrival<ConfigMap>> {
        let (answers, requests) = (Arc::clone(&self.answers), Arc::clone(&self.requests));
        let questions = Arc::clone(&self.questions);
        let service = service_fn(move |request: axum::http::Request<Body>| {
            let uri = request.uri().to_string();
            let answer = next(&mut answers.lock().unwrap(), &uri);
            if matches!(answer, Answer::Known) {
                questions.fetch_add(1, Ordering::Relaxed);
            } else {
                requests.lock().unwrap().push(uri);
            }
            async move { Ok::<_, Infallible>(respond(answer).await) }
        });
        Api::namespaced(Client::new(service, "default"), "default")
    }
}

/// A question for a version that no answer was prepared for takes none away.
fn next(answers: &mut VecDeque<Answer>, uri: &str) -> Answer {
    let prepared = matches!(
        answers.front(),
        Some(Answer::Future | Answer::Refuse(_) | Answer::Hang)
    );
    if uri.contains("resourceVersionMatch=NotOlderThan") && !prepared {
        return Answer::Known;
    }
    answers.pop_front().unwrap_or(Answer::Hang)
}

async fn respond(answer: Answer) -> axum::http::Response<axum::body::Body> {
    let (code, body) = match answer {
        Answer::Json(value) => (200, value.to_string().into()),
        Answer::Refuse(code) => (code, status(code).to_string().into()),
        Answer::Known => match Answer::page(Vec::new(), 1, None) {
            Answer::Json(value) => (200, value.to_string().into()),
            _ => unreachable!("a page is JSON"),
        },
        Answer::Future => {
            let mut future = status(504);
            future["message"] = "Timeout: Too large resource version: 9, current: 5".into();
            future["details"] = json!({"causes": [{"reason": "ResourceVersionTooLarge",
                "message": "Too large resource version"}], "retryAfterSeconds": 1});
            (504, future.to_string().into())
        }
        Answer::Watch(lines) => (200, axum::body::Body::from_stream(stream_of(lines))),
        Answer::Hang => std::future::pending().await,
    };
    axum::http::Response::builder()
        .status(code)
        .body(body)
        .unwrap()
}

fn stream_of(lines: Vec<Line>) -> impl futures::Stream<Item = Result<Bytes, Infallible>> {
    stream::unfold(VecDeque::from(lines), |mut lines| async move {
        loop {
            let text = match lines.pop_front().unwrap_or(Line::Hang) {
                Line::Json(value) => value.to_string(),
                Line::Raw(text) => text.to_owned(),
                Line::After(secs) => {
                    let silence = std::future::pending::<()>();
                    let _ = tokio::time::timeout(Duration::from_secs(secs), silence).await;
                    continue;
                }
                Line::End => return None,
                Line::Hang => std::future::pending().await,
            };
            return Some((Ok(Bytes::from(text + "\n")), lines));
        }
    })
}
