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
    match place {
        Where::Nowhere(why) => out.health(&none, Health::Absent { why }).await,
        Where::Urls(urls) => {
            let mut tasks = JoinSet::new();
            for url in urls {
                tasks.spawn(replica(access.clone(), url, every, out.clone()));
            }
            while tasks.join_next().await.is_some() {}
        }
        Where::Environment(environment) => {
            let mut known = Known {
                access,
                every,
                out,
                tasks: JoinSet::new(),
                replicas: BTreeMap::new(),
                lack: None,
            };
            loop {
                known.look(&environment).await;
                clock::sleep(LOOK).await;
            }
        }
    }
    std::future::pending().await
}

/// The replicas of an environment that are followed.
struct Known {
    access: Access,
    every: Duration,
    out: Out,
    tasks: JoinSet<()>,
    replicas: BTreeMap<String, AbortHandle>,
    /// Why there are none, as it was told last.
    lack: Option<String>,
}

impl Known {
    /// Follows those that are new, and no longer those that are gone.
    async fn look(&mut self, environment: &Environment) {
        let urls = urls(environment);
        self.tell_lack(&urls).await;
        // While the environment cannot be read, what was known stays.
        let Ok(urls) = urls else { return };
        let gone = self.replicas.keys().filter(|url| !urls.contains(url));
        let gone: Vec<String> = gone.cloned().collect();
        for url in gone {
            if let Some(task) = self.replicas.remove(&url) {
                task.abort();
            }
            self.tell_gone(name(&url)).await;
        }
        for url in urls {
            if !self.replicas.contains_key(&url) {
                let (access, out) = (self.access.clone(), self.out.clone());
                let task = self
                    .tasks
                    .spawn(replica(access, url.clone(), self.every, out));
                self.replicas.insert(url, task);
            }
        }
    }

    async fn tell_lack(&mut self, urls: &Result<Vec<String>, String>) {
        let lack = match urls {
            Ok(urls) if urls.is_empty() => Some("no operator runs in this environment".to_owned()),
            Ok(_) => None,
            Err(why) => Some(why.clone()),
        };
        if lack == self.lack {
            return;
        }
        match &lack {
            Some(why) => {
                let none = Source::Metrics(String::new());
                let why = why.clone();
                self.out.health(&none, Health::Absent { why }).await;
            }
            None => self.tell_gone(String::new()).await,
        }
        self.lack = lack;
    }

    async fn tell_gone(&self, replica: String) {
        let at = self.out.clock.now();
        self.out.send(Message::ReplicaGone { replica, at }).await;
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
