//! Owned objects at the real API server. Answers are read as metadata: what an object holds is not looked at.

use k8s_openapi::api::core::v1::{Secret, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::{DeleteParams, GetParams, Patch, PatchParams, PostParams, Preconditions};
use kube::core::Request;
use kube::{Client, Resource};
use serde::de::IgnoredAny;
use serde_json::Value;

use super::body::body;
use super::{Found, OwnedKind, Trace};
use crate::api::MANAGER_NAME;
use crate::controller::kube::bounded;
use crate::controller::{ClusterError, Guard};
use crate::domain::ObjectKey;
use crate::lifecycle::{ChildKind, ChildWrite, Held, Present};

/// A request about one object.
enum Call {
    Create(Value),
    Patch(Value),
    Get,
}

/// Makes it, or writes it over.
pub(in crate::controller) async fn write(
    client: &Client,
    owner: &Guard,
    write: &ChildWrite,
) -> Result<Present, ClusterError> {
    let body = body(owner, write);
    let call = if write.over.is_some() {
        Call::Patch(body)
    } else {
        Call::Create(body)
    };
    Ok(send(client, &owner.key, write.kind, call).await?.present)
}

/// Deletes it in this version.
pub(in crate::controller) async fn delete(
    client: &Client,
    owner: &ObjectKey,
    kind: ChildKind,
    held: &Held,
) -> Result<(), ClusterError> {
    let params = DeleteParams::background().preconditions(Preconditions {
        uid: Some(held.uid.as_str().to_owned()),
        resource_version: Some(held.version.clone()),
    });
    let request = request(kind, owner).delete(&kind.name(&owner.name), &params);
    let request = request.map_err(|error| unsendable(&error))?;
    let answer = bounded(client.request::<IgnoredAny>(request)).await;
    answer.map(|_| ())
}

/// What bears its name now.
pub(in crate::controller) async fn live(
    client: &Client,
    owner: &ObjectKey,
    kind: ChildKind,
) -> Result<Option<Found>, ClusterError> {
    match send(client, owner, kind, Call::Get).await {
        Ok(found) => Ok(Some(found)),
        Err(ClusterError::Gone) => Ok(None),
        Err(error) => Err(error),
    }
}

fn request(kind: ChildKind, owner: &ObjectKey) -> Request {
    let namespace = Some(owner.namespace.as_ref());
    Request::new(match OwnedKind::of(kind) {
        OwnedKind::Secret => Secret::url_path(&(), namespace),
        OwnedKind::Service => Service::url_path(&(), namespace),
        OwnedKind::EndpointSlice => EndpointSlice::url_path(&(), namespace),
    })
}

async fn send(
    client: &Client,
    owner: &ObjectKey,
    kind: ChildKind,
    call: Call,
) -> Result<Found, ClusterError> {
    match OwnedKind::of(kind) {
        OwnedKind::Secret => send_as::<Secret>(client, owner, kind, call).await,
        OwnedKind::Service => send_as::<Service>(client, owner, kind, call).await,
        OwnedKind::EndpointSlice => send_as::<EndpointSlice>(client, owner, kind, call).await,
    }
}

async fn send_as<K: Resource<DynamicType = ()>>(
    client: &Client,
    owner: &ObjectKey,
    kind: ChildKind,
    call: Call,
) -> Result<Found, ClusterError> {
    let (request, name) = (request(kind, owner), kind.name(&owner.name));
    let field_manager = Some(MANAGER_NAME.to_owned());
    let request = match call {
        Call::Create(body) => {
            let params = PostParams {
                field_manager,
                ..PostParams::default()
            };
            request.create(&params, body.to_string().into_bytes())
        }
        Call::Patch(body) => {
            let params = PatchParams {
                field_manager,
                ..PatchParams::default()
            };
            request.patch_metadata(&name, &params, &Patch::Merge(body))
        }
        Call::Get => request.get_metadata(&name, &GetParams::default()),
    };
    let request = request.map_err(|error| unsendable(&error))?;
    let trace = bounded(client.request::<Trace<K>>(request)).await?;
    Ok(trace.found().clone())
}

fn unsendable(error: &kube::core::request::Error) -> ClusterError {
    ClusterError::Refused(error.to_string())
}
