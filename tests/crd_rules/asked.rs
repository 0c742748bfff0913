//! Plain requests, so that a test sees what the API server says and no client in between.

use std::time::Duration;

use axum::http::Request;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};

/// Longest wait for an answer. Every answer takes milliseconds; a rule that the server cannot work out never ends.
const ANSWER: Duration = Duration::from_secs(60);

/// Who asks, and in which namespace.
pub(crate) struct Asked {
    pub(crate) client: Client,
    pub(crate) namespace: String,
}

impl Asked {
    pub(crate) async fn create(
        &self,
        kind: &str,
        name: &str,
        spec: &Value,
    ) -> Result<Value, String> {
        let body = json!({
            "apiVersion": "compute.example.com/v1", "kind": kind,
            "metadata": { "name": name }, "spec": spec,
        });
        send(
            &self.client,
            "POST",
            &format!("{}?fieldValidation=Strict", self.list(kind)),
            &body,
        )
        .await
    }

    pub(crate) async fn patch(
        &self,
        kind: &str,
        name: &str,
        patch: &Value,
    ) -> Result<Value, String> {
        let path = format!("{}/{name}?fieldValidation=Strict", self.list(kind));
        send(&self.client, "PATCH", &path, patch).await
    }

    pub(crate) async fn patch_status(
        &self,
        kind: &str,
        name: &str,
        status: &Value,
    ) -> Result<Value, String> {
        let path = format!("{}/{name}/status?fieldValidation=Strict", self.list(kind));
        send(&self.client, "PATCH", &path, &json!({ "status": status })).await
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Value, String> {
        send(&self.client, "GET", path, &Value::Null).await
    }

    /// Path of the kind's list in this namespace.
    pub(crate) fn list(&self, kind: &str) -> String {
        let plural = format!("{}s", kind.to_lowercase());
        format!(
            "/apis/compute.example.com/v1/namespaces/{}/{plural}",
            self.namespace
        )
    }

    /// A create that must be refused, with these words in the message. The field's path is one of them.
    pub(crate) async fn refuses(&self, kind: &str, name: &str, spec: &Value, words: &[&str]) {
        let answer = self.create(kind, name, spec).await;
        must_say(&format!("{kind} {name} {spec}"), answer, words);
    }

    /// A create that must do.
    pub(crate) async fn takes(&self, kind: &str, name: &str, spec: &Value) -> Value {
        let answer = self.create(kind, name, spec).await;
        answer.unwrap_or_else(|error| panic!("{kind} {name} {spec}: {error}"))
    }
}

/// A refusal with these words in it.
pub(crate) fn must_say(what: &str, answer: Result<Value, String>, words: &[&str]) {
    let Err(message) = answer else {
        panic!("{what} was taken");
    };
    for word in words {
        assert!(
            message.contains(word),
            "{what}: {word:?} is not in {message:?}"
        );
    }
}

/// The answer, or the message of the refusal.
pub(crate) async fn send(
    client: &Client,
    method: &str,
    path: &str,
    body: &Value,
) -> Result<Value, String> {
    let bytes = if body.is_null() {
        Vec::new()
    } else {
        serde_json::to_vec(body).expect("json")
    };
    let content = if method == "PATCH" {
        "application/merge-patch+json"
    } else {
        "application/json"
    };
    let answer = client.request::<Value>(request(method, path, content, bytes));
    match tokio::time::timeout(ANSWER, answer).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(kube::Error::Api(status))) => Err(status.message.clone()),
        Ok(Err(error)) => panic!("{method} {path}: {error}"),
        Err(_) => panic!("{method} {path}: no answer to {body}"),
    }
}

/// Server-side apply; the warnings that came with the answer.
pub(crate) async fn apply(client: &Client, path: &str, body: &Value) -> Vec<String> {
    let path = format!("{path}?fieldManager=test&force=true&fieldValidation=Strict");
    let bytes = serde_json::to_vec(body).expect("json");
    let answer = client
        .send(request("PATCH", &path, "application/apply-patch+yaml", bytes).map(Body::from))
        .await;
    let answer = answer.unwrap_or_else(|error| panic!("{path}: {error}"));
    let status = answer.status();
    let warnings = answer.headers().get_all("warning").iter();
    let warnings = warnings
        .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
        .collect();
    let text = answer.into_body().collect_bytes().await.expect("body");
    assert!(
        status.is_success(),
        "{path}: {}",
        String::from_utf8_lossy(&text)
    );
    warnings
}

fn request(method: &str, path: &str, content: &str, body: Vec<u8>) -> Request<Vec<u8>> {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", content);
    request
        .header("accept", "application/json")
        .body(body)
        .expect("request")
}
