//! Following a collection: pages of a list, then a watch, for ever. Kept is only which objects there are, so that ten
//! thousand of them cost no memory here.

use std::collections::HashSet;
use std::time::Duration;

use futures::{AsyncBufReadExt, StreamExt};
use kube::Client;
use kube::api::{ListParams, WatchParams};
use kube::core::Request;
use serde_json::Value;
use tokio::sync::watch;
use vm_tui::{Health, Message, Source};

use super::out::Out;
use crate::clock;
use crate::cluster::call::taken;
use crate::hint::chain;

/// Objects per page.
const PAGE: u32 = 500;
/// A call that takes longer has failed.
const CALL: Duration = Duration::from_secs(15);
/// How long the server keeps a watch open.
const WATCH: u32 = 240;
/// First and longest pause between attempts.
const PAUSES: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(4));

/// What is followed.
pub(super) struct Collection {
    /// Path of the collection.
    pub(super) path: String,
    /// Which source it is.
    pub(super) source: Source,
    /// Objects that are meant; others are skipped.
    pub(super) wanted: fn(&Value) -> bool,
    /// Objects as a message.
    pub(super) present: fn(Vec<Value>) -> Vec<Message>,
    /// An object that is gone, by its uid; none where that is no news.
    pub(super) gone: fn(String) -> Option<Message>,
    /// What follows a complete list.
    pub(super) listed: Option<Message>,
}

/// Why an attempt ended.
enum Trouble {
    /// The version is too old: a list is due.
    Expired,
    /// Anything else.
    Other(String),
}

/// Follows for ever. `again` counts how often the API server came back after an outage: a watch that may have died
/// silently is begun anew then.
pub(super) async fn follow(
    client: Client,
    of: Collection,
    out: Out,
    mut again: watch::Receiver<u64>,
) {
    let mut known = HashSet::new();
    let mut version = None;
    let mut pause = PAUSES.0;
    out.health(&of.source, Health::Waiting).await;
    loop {
        let trouble = match attempt(&client, &of, &out, &mut known, &mut version, &mut again).await
        {
            Ok(()) => {
                pause = PAUSES.0;
                // A server that ends watches at once must not be asked in a tight loop.
                clock::sleep(PAUSES.0).await;
                continue;
            }
            Err(trouble) => trouble,
        };
        match trouble {
            Trouble::Expired => version = None,
            Trouble::Other(why) => out.lost(&of.source, why).await,
        }
        clock::sleep(pause).await;
        pause = PAUSES.1.min(pause * 2);
    }
}

/// A list if one is due, then a watch until it ends.
async fn attempt(
    client: &Client,
    of: &Collection,
    out: &Out,
    known: &mut HashSet<String>,
    version: &mut Option<String>,
    again: &mut watch::Receiver<u64>,
) -> Result<(), Trouble> {
    if version.is_none() {
        *version = Some(list(client, of, out, known).await?);
    }
    let params = WatchParams {
        timeout: Some(WATCH),
        ..WatchParams::default()
    };
    let from = version.clone().unwrap_or_default();
    let request = Request::new(&of.path).watch(&params, &from);
    let mut request = request.map_err(|error| Trouble::Other(chain(&error)))?;
    if let Ok(identity) = "identity".parse() {
        request.headers_mut().insert("accept-encoding", identity);
    }
    let lines = limited(client.request_stream(request)).await?;
    out.health(&of.source, Health::Live).await;
    let mut lines = lines.lines();
    again.mark_unchanged();
    let idle = Duration::from_secs(u64::from(WATCH) + 15);
    loop {
        let line = tokio::select! {
            line = tokio::time::timeout(idle, lines.next()) => line,
            _ = again.changed() => return Ok(()),
        };
        match line {
            Ok(Some(Ok(line))) => take(&line, of, out, known, version).await?,
            Ok(Some(Err(error))) => {
                return Err(Trouble::Other(format!("the watch broke: {error}")));
            }
            Ok(None) => return Ok(()),
            Err(_silent) => return Err(Trouble::Other("the watch is silent".to_owned())),
        }
    }
}

/// Every object there is, page by page; what is not among them is gone.
async fn list(
    client: &Client,
    of: &Collection,
    out: &Out,
    known: &mut HashSet<String>,
) -> Result<String, Trouble> {
    let mut params = ListParams {
        limit: Some(PAGE),
        ..ListParams::default()
    };
    let mut seen = HashSet::new();
    loop {
        let request = Request::new(&of.path).list(&params);
        let request = request.map_err(|error| Trouble::Other(chain(&error)))?;
        let mut page: Value = limited(client.request(request)).await?;
        let Value::Array(items) = taken(&mut page, "items") else {
            return Err(Trouble::Other("the list has no items".to_owned()));
        };
        let items: Vec<Value> = items.into_iter().filter(of.wanted).collect();
        seen.extend(items.iter().map(uid));
        for message in (of.present)(items) {
            out.send(message).await;
        }
        let token = page["metadata"]["continue"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        if token.is_empty() {
            for uid in known.drain().filter(|uid| !seen.contains(uid)) {
                if let Some(message) = (of.gone)(uid) {
                    out.send(message).await;
                }
            }
            *known = seen;
            if let Some(message) = &of.listed {
                out.send(message.clone()).await;
            }
            let version = page["metadata"]["resourceVersion"].as_str();
            return version
                .map(str::to_owned)
                .ok_or_else(|| Trouble::Other("the list has no version".to_owned()));
        }
        params = params.continue_token(&token);
    }
}

/// An event of the watch.
async fn take(
    line: &str,
    of: &Collection,
    out: &Out,
    known: &mut HashSet<String>,
    version: &mut Option<String>,
) -> Result<(), Trouble> {
    let odd = |error| Trouble::Other(format!("an event of the watch cannot be read: {error}"));
    let mut event: Value = serde_json::from_str(line).map_err(odd)?;
    let object = taken(&mut event, "object");
    let kind = event["type"].as_str().unwrap_or_default();
    if kind == "ERROR" {
        return match object["code"].as_u64() {
            Some(410) => Err(Trouble::Expired),
            _other => Err(Trouble::Other(
                object["message"]
                    .as_str()
                    .unwrap_or("the watch was ended")
                    .to_owned(),
            )),
        };
    }
    if let Some(new) = object["metadata"]["resourceVersion"].as_str() {
        *version = Some(new.to_owned());
    }
    if kind == "BOOKMARK" || !(of.wanted)(&object) {
        return Ok(());
    }
    let uid = uid(&object);
    if kind == "DELETED" {
        known.remove(&uid);
        if let Some(message) = (of.gone)(uid) {
            out.send(message).await;
        }
        return Ok(());
    }
    known.insert(uid);
    for message in (of.present)(vec![object]) {
        out.send(message).await;
    }
    Ok(())
}

fn uid(object: &Value) -> String {
    object["metadata"]["uid"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

async fn limited<T>(call: impl Future<Output = kube::Result<T>>) -> Result<T, Trouble> {
    match tokio::time::timeout(CALL, call).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(kube::Error::Api(status))) if status.code == 410 => Err(Trouble::Expired),
        Ok(Err(error)) => Err(Trouble::Other(chain(&error))),
        Err(_elapsed) => Err(Trouble::Other("the API server does not answer".to_owned())),
    }
}
