//! Metrics and inner state of every replica of the operator.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;
use tokio::task::{AbortHandle, JoinSet};
use vm_tui::{Health, Message, Source};

use super::access::{Access, Caller, Place};
use super::forward::Forward;
use super::out::Out;
use super::pods::{self, Pods};
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
    /// In the pods of the operator, by a port-forward each.
    Pods(Box<Pods>),
}

/// One replica, as it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Found {
    /// A URL of metrics.
    Url(String),
    /// A pod.
    Pod(pods::Replica),
}

impl Found {
    /// What it is called on the screen.
    fn name(&self) -> String {
        match self {
            Self::Url(url) => name(url),
            Self::Pod(pod) => pod.name.clone(),
        }
    }
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
    let mut known = Known {
        access,
        every,
        out,
        tasks: JoinSet::new(),
        replicas: BTreeMap::new(),
        lack: None,
    };
    loop {
        known.look(&place).await;
        clock::sleep(LOOK).await;
    }
}

impl Where {
    /// The replicas that there are now.
    async fn find(&self) -> Result<Vec<Found>, String> {
        match self {
            Self::Urls(urls) => Ok(urls.iter().cloned().map(Found::Url).collect()),
            Self::Environment(environment) => urls(environment),
            Self::Pods(pods) => {
                let list = pods.list().await?;
                Ok(list.into_iter().map(Found::Pod).collect())
            }
        }
    }

    fn nobody(&self) -> String {
        match self {
            Self::Urls(_) | Self::Environment(_) => {
                "no operator runs in this environment".to_owned()
            }
            Self::Pods(_) => "no pod of the operator runs in its namespace; \
                --operator-namespace names another one, --metrics-url a replica elsewhere"
                .to_owned(),
        }
    }
}

/// The replicas that are followed.
struct Known {
    access: Access,
    every: Duration,
    out: Out,
    tasks: JoinSet<()>,
    replicas: BTreeMap<String, (Found, AbortHandle)>,
    /// Why there are none, as it was told last.
    lack: Option<String>,
}

impl Known {
    /// Follows those that are new, and no longer those that are gone.
    async fn look(&mut self, place: &Where) {
        let found = place.find().await;
        self.tell_lack(&found, place).await;
        // While it cannot be looked, what was known stays.
        let Ok(found) = found else { return };
        let gone = self
            .replicas
            .iter()
            .filter(|(_, (one, _))| !found.contains(one));
        let gone: Vec<String> = gone.map(|(name, _)| name.clone()).collect();
        for name in gone {
            if let Some((_, task)) = self.replicas.remove(&name) {
                task.abort();
            }
            self.tell_gone(name).await;
        }
        for one in found {
            let name = one.name();
            if !self.replicas.contains_key(&name) {
                let (access, out) = (self.access.clone(), self.out.clone());
                let pods = match place {
                    Where::Pods(pods) => Some(Pods::clone(pods)),
                    Where::Urls(_) | Where::Environment(_) => None,
                };
                let following = replica(access, one.clone(), pods, self.every, out);
                let task = self.tasks.spawn(following);
                self.replicas.insert(name, (one, task));
            }
        }
    }

    async fn tell_lack(&mut self, found: &Result<Vec<Found>, String>, place: &Where) {
        let lack = match found {
            Ok(found) if found.is_empty() => Some(place.nobody()),
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

fn urls(environment: &Environment) -> Result<Vec<Found>, String> {
    match environment.running() {
        Ok(Some(state)) => Ok(state
            .operator
            .into_iter()
            .map(|operator| Found::Url(operator.metrics))
            .collect()),
        Ok(None) => Err("nothing of the environment runs".to_owned()),
        Err(failure) => Err(failure.cause),
    }
}

/// One replica, for ever.
async fn replica(access: Access, found: Found, pods: Option<Pods>, every: Duration, out: Out) {
    let name = found.name();
    let (place, forward) = match (&found, &pods) {
        (Found::Pod(pod), Some(pods)) => loop {
            match Forward::open(pods.api.clone(), &pod.name, pod.port).await {
                Ok(forward) => break (Place::Forwarded(forward.port), Some(forward)),
                Err(error) => {
                    let source = Source::Metrics(name.clone());
                    let why = format!("no port on this machine: {}", chain(&error));
                    out.lost(&source, why).await;
                    clock::sleep(LOOK).await;
                }
            }
        },
        (Found::Url(url), _) => (Place::Url(url.clone()), None),
        (Found::Pod(_), None) => return,
    };
    let one = Replica {
        name,
        place,
        forward,
        every,
        out,
    };
    let (mut caller, mut other) = (Caller::new(access.clone()), Caller::new(access));
    let log = async {
        if let (Found::Pod(pod), Some(pods)) = (&found, &pods) {
            pods.follow_log(pod, &one.out).await;
        }
    };
    tokio::join!(one.metrics(&mut caller), one.inner_state(&mut other), log);
}

/// A replica that is followed.
struct Replica {
    name: String,
    place: Place,
    forward: Option<Forward>,
    every: Duration,
    out: Out,
}

impl Replica {
    async fn metrics(&self, caller: &mut Caller) {
        let source = Source::Metrics(self.name.clone());
        self.out.health(&source, Health::Waiting).await;
        loop {
            match caller.get(&self.place, "/metrics").await {
                Ok(text) => {
                    let at = self.out.clock.now();
                    self.out.health(&source, Health::Live).await;
                    let replica = self.name.clone();
                    self.out.send(Message::Scrape { replica, at, text }).await;
                }
                Err(why) => self.out.lost(&source, self.why(why)).await,
            }
            clock::sleep(self.every).await;
        }
    }

    async fn inner_state(&self, caller: &mut Caller) {
        let source = Source::State(self.name.clone());
        loop {
            let began = clock::now();
            let answer = caller.get(&self.place, "/debug/state").await;
            match answer.and_then(|text| parsed(&text)) {
                Ok(answer) => {
                    let state = read::state(&answer, self.out.clock.now());
                    self.out.health(&source, Health::Live).await;
                    let replica = self.name.clone();
                    self.out.send(Message::State { replica, state }).await;
                }
                Err(why) => self.out.lost(&source, self.why(why)).await,
            }
            let took = clock::now().saturating_duration_since(began);
            clock::sleep(self.every.max(took * RARELY)).await;
        }
    }

    /// What is known of the way to it says more than that nothing came by it.
    fn why(&self, why: String) -> String {
        match (&self.place, &self.forward) {
            (_, Some(forward)) => forward.trouble().unwrap_or(why),
            (Place::Url(url), None) => format!("{}: {why}", name(url)),
            (Place::Forwarded(_), None) => why,
        }
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
