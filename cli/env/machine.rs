//! The proof at the end of `up`: a VirtualMachine could be made, or was made and removed.

use std::time::Duration;

use kube::Client;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::json;

use super::steps::{condition, wait};
use crate::failpoint;
use crate::hint::{Exit, Failure, chain};

/// A call that takes longer has failed.
const CALL: Duration = Duration::from_secs(10);

/// What a VirtualMachine bears that only proves something.
const SMOKE: &str = "app.kubernetes.io/component=vmctl-smoke";

/// VirtualMachines in the namespace `default`.
fn machines(client: &Client) -> Api<DynamicObject> {
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(
        "compute.example.com",
        "v1",
        "VirtualMachine",
    ));
    Api::namespaced_with(client.clone(), "default", &kind)
}

/// Creates a VirtualMachine as a dry run; nothing is stored.
///
/// # Errors
/// The API server would refuse it.
pub(crate) async fn could_be_created(client: &Client) -> Result<(), Failure> {
    create(client, "vmctl-dry-run", true).await
}

/// Makes a VirtualMachine, waits until it is ready, deletes it, and waits until it is gone.
///
/// # Errors
/// It is refused, does not become ready, or does not go.
pub(crate) async fn comes_and_goes(client: &Client) -> Result<(), Failure> {
    let name = format!("vmctl-smoke-{}", fastrand::u32(..));
    let api = machines(client);
    clear(&api).await?;
    create(client, &name, false).await?;
    failpoint::reach("smoke-made").await;
    let ready = wait(&format!("VirtualMachine {name} is ready"), || async {
        let machine = call("read", api.get_opt(&name)).await?;
        Ok(machine.filter(|machine| condition(machine, "Ready").as_deref() == Some("True")))
    })
    .await;
    // Whether it became ready or not, it is not left behind.
    call("delete", api.delete(&name, &DeleteParams::background())).await?;
    ready?;
    wait(&format!("VirtualMachine {name} is gone"), || async {
        Ok(call("read", api.get_opt(&name))
            .await?
            .is_none()
            .then_some(()))
    })
    .await
}

/// Removes what an earlier run made and was cut off from removing.
async fn clear(api: &Api<DynamicObject>) -> Result<(), Failure> {
    let ours = ListParams::default().labels(SMOKE);
    let left = async || Ok::<_, Failure>(call("list", api.list(&ours)).await?.items);
    for machine in left().await? {
        let name = machine.metadata.name.unwrap_or_default();
        // Somebody else may have been faster.
        let _ = call("delete", api.delete(&name, &DeleteParams::background())).await;
    }
    wait("VirtualMachines of earlier runs are gone", async || {
        Ok(left().await?.is_empty().then_some(()))
    })
    .await
}

async fn create(client: &Client, name: &str, dry_run: bool) -> Result<(), Failure> {
    let machine = json!({ "apiVersion": "compute.example.com/v1", "kind": "VirtualMachine",
        "metadata": { "name": name, "namespace": "default", "labels": { "app.kubernetes.io/component": "vmctl-smoke" } },
        "spec": { "image": "ubuntu-22.04", "cpu": 1, "memory": "1Gi" } });
    let machine: DynamicObject = serde_json::from_value(machine)
        .map_err(|error| Failure::new(Exit::Failure, "VMC-MANIFEST", chain(&error)))?;
    let params = PostParams {
        dry_run,
        field_manager: Some("vmctl".to_owned()),
    };
    call("create", machines(client).create(&params, &machine))
        .await
        .map(drop)
}

async fn call<T>(verb: &str, call: impl Future<Output = kube::Result<T>>) -> Result<T, Failure> {
    let silent = |_elapsed| {
        Failure::new(
            Exit::Unreachable,
            "VMC-API",
            format!("cannot {verb} a VirtualMachine: no answer"),
        )
    };
    let answer = tokio::time::timeout(CALL, call).await.map_err(silent)?;
    answer.map_err(|error| {
        let cause = format!("cannot {verb} a VirtualMachine: {}", chain(&error));
        let exit = if matches!(error, kube::Error::Api(_)) {
            Exit::Failure
        } else {
            Exit::Unreachable
        };
        Failure::new(exit, "VMC-MACHINE", cause)
    })
}
