//! What messages tell of: objects, replicas and what they say, without anything of Kubernetes' own types.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::age::Stamp;
use crate::message::Target;

/// What the dashboard looks at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Context {
    /// `environment dev`, or `context NAME`.
    pub label: String,
    /// URL of the API server.
    pub server: String,
    /// The one namespace that is looked at; all when none.
    pub namespace: Option<String>,
    /// Whether nothing may be changed, and why.
    pub read_only: Option<String>,
}

/// A VirtualMachine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Machine {
    /// Its uid: what identifies it.
    pub uid: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its phase; empty without a status.
    pub phase: String,
    /// Number of virtual CPUs that are wanted.
    pub cpu: u32,
    /// Memory that is wanted.
    pub memory: String,
    /// Image that is wanted.
    pub image: String,
    /// Name of its ProviderConfig.
    pub provider: String,
    /// The provider's id.
    pub id: String,
    /// Its first address.
    pub address: String,
    /// When it was made.
    pub created: Stamp,
    /// Whether its deletion was asked for.
    pub deleting: bool,
    /// Whether the status speaks of the spec as it is now.
    pub current: bool,
    /// Its conditions.
    pub conditions: Vec<Condition>,
    /// The operation in doubt or in back-off.
    pub operation: Option<Operation>,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
}

/// A condition of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Condition {
    /// Its type.
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// A word.
    pub reason: String,
    /// A sentence.
    pub message: String,
    /// Since when it has this status.
    pub since: Stamp,
}

/// A provider operation in doubt or in back-off.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Operation {
    /// `Create` or `Delete`.
    pub kind: String,
    /// How often it was tried.
    pub attempts: u32,
    /// Not tried again before.
    pub next: Option<Stamp>,
    /// Why the last attempt did not do.
    pub reason: String,
}

/// A ProviderConfig.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Config {
    /// Its uid.
    pub uid: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Status of its condition Ready; empty without one.
    pub ready: String,
    /// Reason of that condition.
    pub reason: String,
}

/// The Lease that operators elect their leader by.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Lease {
    /// Who holds it; empty when nobody does, or there is no Lease.
    pub holder: String,
    /// When it was last renewed.
    pub renewed: Stamp,
    /// How long a renewal is good for, in seconds.
    pub duration_secs: u32,
    /// How often it changed hands.
    pub transitions: i64,
    /// When it was read.
    pub at: Stamp,
}

/// What a replica says of itself on `/debug/state`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReplicaState {
    /// Its name in the Lease.
    pub identity: String,
    /// Whether it believes to lead.
    pub leading: bool,
    /// The most telling lines of its queue: what runs, what is ready, what failed. A bounded number.
    pub lines: Vec<QueueLine>,
    /// Its calls to each provider.
    pub outlets: Vec<Outlet>,
    /// When it said so.
    pub at: Stamp,
}

/// How the calls of a replica to one provider are held back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Outlet {
    /// `namespace/name` of the ProviderConfig.
    pub config: String,
    /// `closed`, `open` or `probing`.
    pub breaker: String,
    /// For how long calls are held back after failures, in seconds.
    pub held_back: Option<f64>,
    /// For how long they wait because the provider asked for it, in seconds.
    pub paused: f64,
    /// Calls under way.
    pub in_flight: u32,
    /// How many there may be.
    pub most: u32,
}

/// An object in the queue of a replica.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct QueueLine {
    /// `namespace/name`.
    pub key: String,
    /// `ready`, `delayed` or `running`.
    pub state: String,
    /// Ready or running for so long, or delayed for so long from then on.
    pub seconds: f64,
    /// Failures in a row.
    pub failures: u32,
}

/// A Kubernetes event about an object of ours.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Event {
    /// Its uid; the same event again has the same one.
    pub uid: String,
    /// When it last happened.
    pub at: Stamp,
    /// `Normal` or `Warning`.
    pub kind: String,
    /// A word.
    pub reason: String,
    /// A sentence.
    pub message: String,
    /// Namespace of the object.
    pub namespace: String,
    /// Kind and name of the object.
    pub object: String,
    /// Its uid.
    pub object_uid: String,
    /// How often it happened.
    pub count: u32,
}

/// A line of an operator's log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LogLine {
    /// When.
    pub at: Stamp,
    /// `INFO`, `WARN`, …
    pub level: String,
    /// `namespace/name` of the object it speaks of; empty without one.
    pub key: String,
    /// What it says, and its other fields.
    pub text: String,
    /// Which replica wrote it.
    pub replica: String,
}

impl Machine {
    /// The condition of that type.
    #[must_use]
    pub fn condition(&self, kind: &str) -> Option<&Condition> {
        self.conditions.iter().find(|one| one.kind == kind)
    }

    /// `namespace/name`.
    #[must_use]
    pub fn key(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    /// The phase as it is shown: a deletion that was asked for is one even before the operator says so.
    #[must_use]
    pub fn shown_phase(&self) -> &str {
        if self.deleting {
            "Deleting"
        } else if self.phase.is_empty() {
            "Pending"
        } else {
            &self.phase
        }
    }

    /// `yes`, `no` or `?`.
    #[must_use]
    pub fn ready(&self) -> &'static str {
        match self.condition("Ready").map(|one| one.status.as_str()) {
            Some("True") if self.current => "yes",
            Some("False") => "no",
            Some(_) | None => "?",
        }
    }

    /// The object, as it is meant in an action.
    #[must_use]
    pub fn target(&self) -> Target {
        Target {
            uid: self.uid.clone(),
            namespace: self.namespace.clone(),
            name: self.name.clone(),
        }
    }

    /// Why it is not as it should be: the reason of Ready where that is not true, or of the operation in back-off.
    #[must_use]
    pub fn trouble(&self) -> &str {
        let operation = self.operation.as_ref().map(|one| one.reason.as_str());
        let ready = self.condition("Ready").filter(|one| one.status != "True");
        let reason = operation
            .filter(|reason| !reason.is_empty())
            .or_else(|| ready.map(|one| one.reason.as_str()));
        // The phase says it already.
        let news = reason.filter(|reason| *reason != self.shown_phase());
        news.unwrap_or_default()
    }
}
