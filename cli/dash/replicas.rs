//! Metrics and inner state of every replica of the operator.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;
use tokio::task::{AbortHandle, JoinSet};
use vm_tui::{Health, Message, Source};

use super::access::{Access, Caller};
use super::out::Out;
use super::read;
use crate::clock;
use crate::env::Environment;
use crate::hint::{Failure, chain};

/// How often an environment is asked where its operator is.
const LOOK: Duration = Duration::from_secs(2);
/// Inner state is asked so many times more rarely than it takes to get it: with ten thousand objects it is large.
const RARELY: u32 = 100;

/// Where replicas are found.
pub(super) enum Where {
    /// These URLs of metrics.
    Urls(Vec<String>),
    /// What the environment says.
    Environment(Box<Environment>),
    /// Nowhere, and why.
    Nowhere(String),
}

/// Follows the replicas for ever.
///
/// # Errors
/// None: what fails is told and tried again.
pub(super) async fn follow(
    place: Where,
    access: Access,
    every: Duration,
    out: Out,
) -> Result<(), Failure> {
    let none = Source::Metrics(String::new());
    let environment = match place {
        Where::Nowhere(why) => {
            out.health(&none, Health::Absent { why }).await;
            return std::future::pending().await;
        }
        Where::Urls(urls) => {
            let mut tasks = JoinSet::new();
            for url in urls {
                tasks.spawn(replica(access.clone(), url, every, out.clone()));
            }
            while tasks.join_next().await.is_some() {}
            return std::future::pending().await;
        }
        Where::Environment(environment) => environment,
    };
    let mut tasks = JoinSet::new();
    let mut known: BTreeMap<String, AbortHandle> = BTreeMap::new();
    let mut said = None;
    loop {
        let urls = urls(&environment);
        let lack = urls.as_ref().err().cloned().or_else(|| {
            let none = urls.as_ref().is_ok_and(Vec::is_empty);
            none.then(|| "no operator runs in this environment".to_owned())
        });
        if lack != said {
            match &lack {
                Some(why) => out.health(&none, Health::Absent { why: why.clone() }).await,
                None => {
                    out.send(Message::ReplicaGone {
                        replica: String::new(),
                        at: out.clock.now(),
                    })
                    .await
                }
            }
            said = lack;
        }
        // While the environment cannot be read, what was known stays.
        if let Ok(urls) = urls {
            let gone: Vec<String> = known
                .keys()
                .filter(|url| !urls.contains(url))
                .cloned()
                .collect();
            for url in gone {
                if let Some(task) = known.remove(&url) {
                    task.abort();
                }
                let at = out.clock.now();
                out.send(Message::ReplicaGone {
                    replica: name(&url),
                    at,
                })
                .await;
            }
            for url in urls {
                if !known.contains_key(&url) {
                    let task =
                        tasks.spawn(replica(access.clone(), url.clone(), every, out.clone()));
                    known.insert(url, task);
                }
            }
        }
        clock::sleep(LOOK).await;
    }
}

fn urls(environment: &Environment) -> Result<Vec<String>, String> {
    match environment.running() {
        Ok(Some(state)) => Ok(state
            .operator
            .into_iter()
            .map(|operator| operator.metrics)
            .collect()),
        Ok(None) => Err("nothing of the environment runs".to_owned()),
        Err(failure) => Err(failure.cause),
    }
}

/// One replica, for ever.
async fn replica(access: Access, url: String, every: Duration, out: Out) {
    let (mut one, mut other) = (Caller::new(access.clone()), Caller::new(access));
    tokio::join!(
        metrics(&mut one, &url, every, &out),
        inner_state(&mut other, &url, every, &out)
    );
}

async fn metrics(caller: &mut Caller, url: &str, every: Duration, out: &Out) {
    let replica = name(url);
    let source = Source::Metrics(replica.clone());
    out.health(&source, Health::Waiting).await;
    loop {
        match caller.get(url).await {
            Ok(text) => {
                let at = out.clock.now();
                out.health(&source, Health::Live).await;
                let replica = replica.clone();
                out.send(Message::Scrape { replica, at, text }).await;
            }
            Err(why) => out.lost(&source, format!("{url}: {why}")).await,
        }
        clock::sleep(every).await;
    }
}

async fn inner_state(caller: &mut Caller, url: &str, every: Duration, out: &Out) {
    let replica = name(url);
    let source = Source::State(replica.clone());
    let base = url.strip_suffix("/metrics").unwrap_or(url);
    let url = format!("{base}/debug/state");
    loop {
        let began = clock::now();
        match caller.get(&url).await.and_then(|text| parsed(&text)) {
            Ok(answer) => {
                let state = read::state(&answer, out.clock.now());
                out.health(&source, Health::Live).await;
                let replica = replica.clone();
                out.send(Message::State { replica, state }).await;
            }
            Err(why) => out.lost(&source, why).await,
        }
        let took = clock::now().saturating_duration_since(began);
        clock::sleep(every.max(took * RARELY)).await;
    }
}

fn parsed(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| chain(&error))
}

/// What is shown of a URL: `127.0.0.1:8080`.
fn name(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = rest.split_once('/').map_or(rest, |(host, _)| host);
    // Without a password, should anybody have written one.
    host.rsplit_once('@')
        .map_or(host, |(_, host)| host)
        .to_owned()
}
