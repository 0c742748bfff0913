//! What `up` wants of a supervisor, and what the supervisor says about itself.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::runtime::embedded::binaries::Binaries;
use crate::runtime::embedded::identity::Identity;

/// What is wanted; written by `up`, read by the supervisor at its start and when it is told to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Plan {
    /// The programs of the control plane.
    pub(crate) binaries: Binaries,
    /// Record every request.
    pub(crate) audit_log: Option<PathBuf>,
    /// Whether the mock provider is to run.
    pub(crate) mock: bool,
    /// Whether the operator is to run.
    pub(crate) operator: bool,
    /// Whether a VirtualMachine was made and removed once.
    #[serde(default)]
    pub(crate) proven: bool,
}

/// How far the supervisor is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Phase {
    /// The control plane is being started.
    Starting,
    /// The control plane answers.
    Running,
    /// The control plane ended and is about to be started again.
    Restarting,
    /// The control plane could not be started; the supervisor has given up.
    Failed,
}

/// What the supervisor says about itself and its children.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct State {
    /// The supervisor.
    pub(crate) supervisor: Identity,
    /// How far it is.
    pub(crate) phase: Phase,
    /// Why it is not further.
    pub(crate) message: Option<String>,
    /// Last lines of the child that failed.
    pub(crate) evidence: Vec<String>,
    /// Version of the API server.
    pub(crate) kubernetes: String,
    /// URL of the API server, once it is known.
    pub(crate) server: Option<String>,
    /// Its children.
    pub(crate) children: Vec<ChildState>,
    /// The mock provider, while it is wanted.
    pub(crate) mock: Option<MockState>,
    /// The operator, while it is wanted.
    pub(crate) operator: Option<OperatorState>,
}

/// One child.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ChildState {
    /// Name of the program.
    pub(crate) name: String,
    /// Its process while it runs.
    pub(crate) process: Option<Identity>,
    /// How often it was started again.
    pub(crate) restarts: u32,
    /// How it ended last.
    pub(crate) last_end: Option<String>,
}

/// Where the mock provider answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MockState {
    /// URL of its API.
    pub(crate) endpoint: String,
    /// URL of its admin interface.
    pub(crate) admin: String,
}

/// Where the operator answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OperatorState {
    /// URL of its metrics.
    pub(crate) metrics: String,
    /// URL of its health.
    pub(crate) health: String,
}
