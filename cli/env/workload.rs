//! Operator and mock provider as pods: their manifests for one purpose, and whether they run.

use k8s_openapi::ByteString;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use kube::api::{DynamicObject, ListParams, LogParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

use super::manifests;
use crate::hint::{Exit, Failure, chain};

/// Namespace of operator and mock provider.
pub(crate) const NAMESPACE: &str = "vmoperator-system";
/// The operator's Deployment.
pub(crate) const OPERATOR: &str = "vmoperator-controller-manager";
/// The mock provider's Deployment, Service and Secrets.
pub(crate) const MOCK: &str = "mock-provider";
/// Where the mock provider answers inside the cluster.
pub(crate) const MOCK_ENDPOINT: &str = "http://mock-provider.vmoperator-system.svc";
/// Name of the Lease.
const LEASE: &str = "vmoperator-leader";
/// Lines of a pod's log that are shown when it does not run.
const TAIL: i64 = 12;

/// Which image, and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Image {
    /// Its name.
    pub(crate) name: String,
    /// Whether nodes have it already and must not fetch it.
    pub(crate) loaded: bool,
}

/// The operator's objects. `mock` admits the mock provider's plain address in the cluster.
///
/// # Errors
/// A shipped manifest is damaged.
pub(crate) fn operator(image: Option<&Image>, mock: bool) -> Result<Vec<DynamicObject>, Failure> {
    let mut objects = manifests::objects(manifests::MANAGER)?;
    for container in objects.iter_mut().filter_map(container) {
        if let Some(image) = image {
            set_image(container, image);
        }
        if let Some(variables) = container.get_mut("env").and_then(Value::as_array_mut)
            && mock
        {
            let host = MOCK_ENDPOINT.trim_start_matches("http://");
            variables.push(json!({ "name": "VMOPERATOR_ALLOW_HTTP", "value": "true" }));
            variables.push(json!({ "name": "VMOPERATOR_ENDPOINT_ALLOW", "value": host }));
        }
    }
    Ok(objects)
}

/// The mock provider's objects, and the key that it asks for.
///
/// # Errors
/// A shipped manifest is damaged.
pub(crate) fn mock(image: &Image, key: &str) -> Result<Vec<DynamicObject>, Failure> {
    let keys = ByteString(format!("development={key}").into_bytes());
    let secret = json!({ "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
        "metadata": { "name": MOCK, "namespace": NAMESPACE, "labels": { "app.kubernetes.io/name": MOCK } },
        "data": { "apiKeys": keys } });
    let secret = serde_json::from_value(secret)
        .map_err(|error| Failure::new(Exit::Failure, "VMC-MANIFEST", chain(&error)))?;
    let mut objects = manifests::objects(manifests::MOCK)?;
    for container in objects.iter_mut().filter_map(container) {
        set_image(container, image);
    }
    objects.insert(0, secret);
    Ok(objects)
}

/// The one container of a Deployment of ours.
fn container(object: &mut DynamicObject) -> Option<&mut Value> {
    object.data.pointer_mut("/spec/template/spec/containers/0")
}

fn set_image(container: &mut Value, image: &Image) {
    if let Some(fields) = container.as_object_mut() {
        fields.insert("image".to_owned(), image.name.clone().into());
        let policy = if image.loaded {
            "Never"
        } else {
            "IfNotPresent"
        };
        fields.insert("imagePullPolicy".to_owned(), policy.into());
    }
}

/// What a Deployment's rollout lacks; `None` when all its pods are the wanted ones and available.
///
/// # Errors
/// The API server refuses or cannot be reached.
pub(crate) async fn lack(client: &Client, name: &str) -> kube::Result<Option<String>> {
    let api: Api<Deployment> = Api::namespaced(client.clone(), NAMESPACE);
    let Some(found) = api.get_opt(name).await? else {
        return Ok(Some("the Deployment".to_owned()));
    };
    let wanted = found.spec.as_ref().and_then(|spec| spec.replicas);
    let wanted = wanted.unwrap_or(1);
    let status = found.status.unwrap_or_default();
    if status.observed_generation < found.metadata.generation {
        return Ok(Some("an answer of the controller manager".to_owned()));
    }
    let count = |number: Option<i32>| number.unwrap_or_default();
    let (new, all, available) = (
        count(status.updated_replicas),
        count(status.replicas),
        count(status.available_replicas),
    );
    if new == wanted && all == wanted && available == wanted {
        return Ok(None);
    }
    Ok(Some(format!(
        "pods: {available} of {wanted} available, {new} of the new ones, {all} in all"
    )))
}

/// The operator's replica that leads, if one does and its pod exists.
///
/// # Errors
/// The API server refuses or cannot be reached.
pub(crate) async fn leader(client: &Client) -> kube::Result<Option<String>> {
    let leases: Api<Lease> = Api::namespaced(client.clone(), NAMESPACE);
    let lease = leases.get_opt(LEASE).await?;
    let holder = lease.and_then(|lease| lease.spec?.holder_identity);
    let pods = pods(client, OPERATOR).await?;
    Ok(holder.and_then(|holder| {
        pods.iter()
            .map(ResourceExt::name_any)
            .find(|pod| holder.starts_with(pod.as_str()))
    }))
}

/// The pods of a Deployment that are not being deleted.
///
/// # Errors
/// The API server refuses or cannot be reached.
pub(crate) async fn pods(client: &Client, name: &str) -> kube::Result<Vec<Pod>> {
    let label = if name == OPERATOR { "vmoperator" } else { name };
    let api: Api<Pod> = Api::namespaced(client.clone(), NAMESPACE);
    let filter = ListParams::default().labels(&format!("app.kubernetes.io/name={label}"));
    let mut pods = api.list(&filter).await?.items;
    pods.retain(|pod| pod.metadata.deletion_timestamp.is_none());
    Ok(pods)
}

/// Why pods do not run, as far as the cluster tells: their states and the last lines of their logs.
pub(crate) async fn evidence(client: &Client, name: &str) -> Vec<String> {
    let api: Api<Pod> = Api::namespaced(client.clone(), NAMESPACE);
    let mut lines = Vec::new();
    for pod in pods(client, name).await.unwrap_or_default() {
        let status = pod.status.clone().unwrap_or_default();
        let phase = status.phase.unwrap_or_default();
        lines.push(format!("pod {}: {phase}", pod.name_any()));
        let conditions = status.conditions.into_iter().flatten();
        lines.extend(
            conditions
                .filter(|condition| condition.status != "True")
                .filter_map(|condition| condition.message),
        );
        let statuses = status.container_statuses.into_iter().flatten();
        lines.extend(statuses.filter_map(trouble));
        let params = LogParams {
            tail_lines: Some(TAIL),
            ..LogParams::default()
        };
        let log = api.logs(&pod.name_any(), &params).await.unwrap_or_default();
        lines.extend(log.lines().map(str::to_owned));
    }
    lines
}

fn trouble(status: ContainerStatus) -> Option<String> {
    let state = status.state?;
    if let Some(waiting) = state.waiting {
        let reason = waiting.reason.unwrap_or_default();
        let message = waiting.message.unwrap_or_default();
        return Some(format!("container waits: {reason} {message}"));
    }
    let ended = state.terminated?;
    Some(format!(
        "container ended with {}: {}",
        ended.exit_code,
        ended.reason.unwrap_or_default()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deployment(objects: &[DynamicObject]) -> &Value {
        let found = objects
            .iter()
            .find(|object| object.types.as_ref().unwrap().kind == "Deployment");
        &found.unwrap().data["spec"]["template"]["spec"]["containers"][0]
    }

    #[test]
    fn an_image_that_nodes_have_is_never_fetched() {
        let image = Image {
            name: "localhost/x:1".to_owned(),
            loaded: true,
        };
        for objects in [
            operator(Some(&image), true).unwrap(),
            mock(&image, "k").unwrap(),
        ] {
            let container = deployment(&objects);
            assert_eq!(container["image"], "localhost/x:1");
            assert_eq!(container["imagePullPolicy"], "Never");
        }
    }

    #[test]
    fn plain_http_is_admitted_beside_the_mock_alone() {
        let names = |mock: bool| -> Vec<String> {
            let objects = operator(None, mock).unwrap();
            let variables = deployment(&objects)["env"].as_array().unwrap().clone();
            variables
                .iter()
                .map(|variable| variable["name"].as_str().unwrap().to_owned())
                .collect()
        };
        assert!(!names(false).contains(&"VMOPERATOR_ALLOW_HTTP".to_owned()));
        assert!(names(true).contains(&"VMOPERATOR_ALLOW_HTTP".to_owned()));
        assert!(names(true).contains(&"VMOPERATOR_ENDPOINT_ALLOW".to_owned()));
    }

    #[test]
    fn the_key_of_the_mock_is_the_one_of_the_environment() {
        let image = Image {
            name: "x:1".to_owned(),
            loaded: false,
        };
        let objects = mock(&image, "secret").unwrap();
        let keys: ByteString =
            serde_json::from_value(objects[0].data["data"]["apiKeys"].clone()).unwrap();
        assert_eq!(keys.0, b"development=secret");
    }
}
