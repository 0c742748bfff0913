//! Kubernetes as the loop needs it: guarded writes and live reads of VirtualMachines.

use std::future::Future;

use serde_json::Value;

use super::children::Found;
use super::view::View;
use crate::domain::{ObjectKey, Uid};
use crate::lifecycle::{ChildKind, ChildWrite, Held, Present};

/// The API server. Each method is one request, bounded by its own time-out and never retried.
///
/// Dropping a future abandons the request; a write is then in doubt, as after [`ClusterError::Unknown`].
pub trait Cluster: Send + Sync + 'static {
    /// Reads one object past every cache; `None` where there is none of that name.
    ///
    /// # Errors
    /// Any kind but `Conflict` and `Gone`.
    fn live(
        &self,
        key: &ObjectKey,
    ) -> impl Future<Output = Result<Option<View>, ClusterError>> + Send;

    /// Merge-patches metadata, guarded by uid and resourceVersion. Gives the new version.
    ///
    /// # Errors
    /// `Conflict`, `Gone` and `Refused` say that nothing was written.
    fn write_metadata(
        &self,
        guard: &Guard,
        metadata: Value,
    ) -> impl Future<Output = Result<View, ClusterError>> + Send;

    /// Merge-patches the status, guarded by uid and resourceVersion. Gives the new version.
    ///
    /// # Errors
    /// As for [`Cluster::write_metadata`].
    fn write_status(
        &self,
        guard: &Guard,
        status: Value,
    ) -> impl Future<Output = Result<View, ClusterError>> + Send;

    /// Makes an object that a VirtualMachine owns, or writes it over, guarded by its uid and version. Gives what came
    /// of it. `owner` names the VirtualMachine; its version guards nothing here.
    ///
    /// By default there are no owned objects, and it is refused.
    ///
    /// # Errors
    /// As for [`Cluster::write_metadata`]; `Conflict` also where something is to be made whose name is taken.
    fn write_child(
        &self,
        _owner: &Guard,
        _write: &ChildWrite,
    ) -> impl Future<Output = Result<Present, ClusterError>> + Send {
        async { Err(no_children()) }
    }

    /// Deletes an owned object, if it has this uid and version.
    ///
    /// By default there are no owned objects, and it is refused.
    ///
    /// # Errors
    /// As for [`Cluster::write_metadata`].
    fn delete_child(
        &self,
        _owner: &ObjectKey,
        _kind: ChildKind,
        _held: &Held,
    ) -> impl Future<Output = Result<(), ClusterError>> + Send {
        async { Err(no_children()) }
    }

    /// What bears the name of an owned object, past every cache; `None` where nothing does, which is the default.
    ///
    /// # Errors
    /// Any kind but `Conflict` and `Gone`.
    fn live_child(
        &self,
        _owner: &ObjectKey,
        _kind: ChildKind,
    ) -> impl Future<Output = Result<Option<Found>, ClusterError>> + Send {
        async { Ok(None) }
    }
}

fn no_children() -> ClusterError {
    ClusterError::Refused("no owned objects are kept here".to_owned())
}

/// What a write is guarded by. A patch to `/status` without the version is accepted even for another uid, so
/// both always go along.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guard {
    /// Which object.
    pub key: ObjectKey,
    /// Its uid.
    pub uid: Uid,
    /// The version that the decision was made on.
    pub version: String,
}

/// Why a request to the API server failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClusterError {
    /// The object has changed since.
    #[error("object has changed since it was read")]
    Conflict,
    /// The object is gone, or another one bears its name.
    #[error("object is gone")]
    Gone,
    /// The API server refuses the request; nothing was written.
    #[error("API server refuses the request: {0}")]
    Refused(String),
    /// No answer, or one that says nothing of what happened.
    #[error("API server did not answer: {0}")]
    Unknown(String),
}
