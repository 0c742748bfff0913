//! The Lease, read every other second: who leads, whether the API server answers, and what time it has.

use std::time::Duration;

use kube::Client;
use kube::client::Body;
use serde_json::Value;
use tokio::sync::watch;
use vm_tui::{Health, Lease, Message, Source};

use super::out::Out;
use super::read;
use crate::clock;
use crate::hint::chain;

/// Time between two looks, and the longest time that one may take.
const EVERY: Duration = Duration::from_secs(2);

/// Looks for ever. `again` is raised when the API server is back after an outage.
pub(super) async fn follow(client: Client, namespace: String, out: Out, again: watch::Sender<u64>) {
    let path =
        format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/vmoperator-leader");
    let mut down = false;
    loop {
        match tokio::time::timeout(EVERY, look(&client, &path, &out)).await {
            Ok(Ok(lease)) => {
                if std::mem::take(&mut down) {
                    again.send_modify(|times| *times += 1);
                }
                out.health(&Source::Api, Health::Live).await;
                out.send(Message::Lease(lease)).await;
            }
            Ok(Err(why)) => {
                down = true;
                out.lost(&Source::Api, why).await;
            }
            Err(_elapsed) => {
                down = true;
                out.lost(&Source::Api, "it does not answer").await;
            }
        }
        clock::sleep(EVERY).await;
    }
}

/// The Lease as it is; an empty one where there is none.
async fn look(client: &Client, path: &str, out: &Out) -> Result<Lease, String> {
    let request = axum::http::Request::get(path).body(Body::empty());
    let request = request.map_err(|error| chain(&error))?;
    let answer = client.send(request).await.map_err(|error| chain(&error))?;
    if let Some(date) = answer
        .headers()
        .get("date")
        .and_then(|date| date.to_str().ok())
    {
        out.clock.heard(date);
    }
    let status = answer.status();
    let body = answer
        .into_body()
        .collect_bytes()
        .await
        .map_err(|error| chain(&error))?;
    match status.as_u16() {
        404 => Ok(Lease {
            at: out.clock.now(),
            ..Lease::default()
        }),
        200 => {
            let object: Value = serde_json::from_slice(&body).map_err(|error| chain(&error))?;
            Ok(read::lease(&object, out.clock.now()))
        }
        _refused => Err(format!("reading the Lease: {status}")),
    }
}
