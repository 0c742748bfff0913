//! Server-side apply that knows whether it would change anything.

mod diff;

use std::time::Duration;

use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client, ResourceExt};
use serde_json::Value;

use crate::hint::{Exit, Failure, chain};

/// Who owns the fields that we apply.
const MANAGER: &str = "vmctl";
/// A call that takes longer has failed.
const TIMEOUT: Duration = Duration::from_secs(30);

/// What applying did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Applied {
    /// It was as wanted already; nothing was written.
    Unchanged,
    /// It was not there.
    Created,
    /// It was there and differed.
    Changed,
}

/// An object could not be applied.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The object does not say what it is.
    #[error("an object without apiVersion and kind")]
    Untyped,
    /// The API server refused or did not answer.
    #[error("cannot {verb} {object}")]
    Call {
        /// What was tried.
        verb: &'static str,
        /// On what.
        object: String,
        /// Why not.
        source: Box<kube::Error>,
    },
    /// The API server did not answer in time.
    #[error("cannot {verb} {object}: no answer within {} s", TIMEOUT.as_secs())]
    Silent {
        /// What was tried.
        verb: &'static str,
        /// On what.
        object: String,
    },
}

impl Error {
    /// As a failure of a command.
    pub(crate) fn into_failure(self) -> Failure {
        let (exit, id) = match &self {
            Self::Untyped => (Exit::Failure, "VMC-MANIFEST"),
            Self::Silent { .. } => (Exit::Unreachable, "VMC-API"),
            Self::Call { source, .. } => match source.as_ref() {
                kube::Error::Api(status) if status.code == 409 => (Exit::Conflict, "VMC-CONFLICT"),
                kube::Error::Api(_) => (Exit::Failure, "VMC-REFUSED"),
                _transport => (Exit::Unreachable, "VMC-API"),
            },
        };
        Failure::new(exit, id, chain(&self))
    }
}

/// How an object is, compared with what is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Difference {
    /// It is not there.
    Missing,
    /// It is as wanted.
    None,
    /// It differs, as these lines tell.
    Lines(Vec<String>),
}

/// Compares an object with what is wanted, by a dry run: nothing is written.
///
/// # Errors
/// The API server refuses or cannot be reached.
pub(crate) async fn compared(client: &Client, wanted: &DynamicObject) -> Result<Difference, Error> {
    let api = api(client, wanted)?;
    let name = wanted.name_any();
    let label = label(wanted);
    let Some(present) = call("get", &label, api.get_opt(&name)).await? else {
        return Ok(Difference::Missing);
    };
    let params = PatchParams::apply(MANAGER).force().dry_run();
    let patch = Patch::Apply(wanted);
    let dry = call("check", &label, api.patch(&name, &params, &patch)).await?;
    Ok(if same(&present, &dry) {
        Difference::None
    } else {
        Difference::Lines(diff::lines(&label, &present, &dry))
    })
}

/// Makes `wanted` true, and tells in lines what was otherwise. A dry run comes first, and only where it shows a
/// difference something is written.
///
/// # Errors
/// The API server refuses or cannot be reached.
pub(crate) async fn explained(
    client: &Client,
    wanted: &DynamicObject,
) -> Result<(Applied, Vec<String>), Error> {
    let (applied, drift) = match compared(client, wanted).await? {
        Difference::None => return Ok((Applied::Unchanged, Vec::new())),
        Difference::Missing => (Applied::Created, Vec::new()),
        Difference::Lines(lines) => (Applied::Changed, lines),
    };
    let params = PatchParams::apply(MANAGER).force();
    let (api, name) = (api(client, wanted)?, wanted.name_any());
    let patch = Patch::Apply(wanted);
    call("apply", &label(wanted), api.patch(&name, &params, &patch)).await?;
    Ok((applied, drift))
}

/// Kind and name.
fn label(object: &DynamicObject) -> String {
    let kind = object.types.as_ref().map_or("object", |types| &types.kind);
    format!("{kind} {}", object.name_any())
}

/// The same where nobody wants to know the lines.
///
/// # Errors
/// As [`explained`].
pub(crate) async fn apply(client: &Client, wanted: &DynamicObject) -> Result<Applied, Error> {
    explained(client, wanted).await.map(|(applied, _)| applied)
}

/// The object as it is now; `None` when it is not there.
///
/// # Errors
/// The API server refuses or cannot be reached.
pub(crate) async fn read(
    client: &Client,
    object: &DynamicObject,
) -> Result<Option<DynamicObject>, Error> {
    let name = object.name_any();
    call("get", &label(object), api(client, object)?.get_opt(&name)).await
}

/// Deletes an object and what it owns. False when it was not there.
///
/// # Errors
/// The API server refuses or cannot be reached.
pub(crate) async fn remove(client: &Client, object: &DynamicObject) -> Result<bool, Error> {
    let name = object.name_any();
    let api = api(client, object)?;
    let params = DeleteParams::foreground();
    match call("delete", &label(object), api.delete(&name, &params)).await {
        Ok(_) => Ok(true),
        Err(Error::Call { source, .. }) if is_absent(&source) => Ok(false),
        Err(error) => Err(error),
    }
}

fn is_absent(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 404)
}

/// The interface for an object by what it says about itself.
fn api(client: &Client, object: &DynamicObject) -> Result<Api<DynamicObject>, Error> {
    let types = object.types.as_ref().ok_or(Error::Untyped)?;
    let kind = GroupVersionKind::try_from(types).map_err(|_| Error::Untyped)?;
    let resource = ApiResource::from_gvk(&kind);
    Ok(match object.namespace() {
        Some(namespace) => Api::namespaced_with(client.clone(), &namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    })
}

async fn call<T>(
    verb: &'static str,
    object: &str,
    call: impl Future<Output = kube::Result<T>>,
) -> Result<T, Error> {
    match tokio::time::timeout(TIMEOUT, call).await {
        Ok(answer) => answer.map_err(|source| Error::Call {
            verb,
            object: object.to_owned(),
            source: Box::new(source),
        }),
        Err(_elapsed) => Err(Error::Silent {
            verb,
            object: object.to_owned(),
        }),
    }
}

/// Whether a dry run left everything as it is; who owns which field does not count.
fn same(present: &DynamicObject, dry: &DynamicObject) -> bool {
    let stripped = |object: &DynamicObject| {
        let mut object = object.clone();
        object.metadata.managed_fields = None;
        object.metadata.resource_version = None;
        object.metadata.generation = None;
        serde_json::to_value(&object).unwrap_or(Value::Null)
    };
    stripped(present) == stripped(dry)
}
