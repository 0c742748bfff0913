//! The real API server behind [`Cluster`].

use std::collections::HashSet;
use std::future::Future;
use std::time::Duration;

use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, ListParams, Patch, PatchParams};
use kube::core::PartialObjectMeta;
use kube::{Client, Resource};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::children::{self, Found};
use super::cluster::{Cluster, ClusterError, Guard};
use super::view::{Fragment, View};
use crate::api::{MANAGER_NAME, ProviderConfig, VirtualMachine};
use crate::domain::{ClusterId, ObjectKey, Uid};
use crate::lifecycle::{ChildKind, ChildWrite, Held, Present};
use crate::runtime::watch::{Arrival, Broken, Object};

/// Longest time for one request (10 s). The client has no read time-out of its own.
const CALL_LIMIT: Duration = Duration::from_secs(10);

/// The API server, through a client that does not retry.
#[derive(Clone)]
pub struct KubeCluster {
    client: Client,
    cluster: ClusterId,
}

impl KubeCluster {
    /// Takes a client that retries nothing: a retried write would be a second writer.
    #[must_use]
    pub fn new(client: Client, cluster: ClusterId) -> Self {
        Self { client, cluster }
    }

    /// The uid of the namespace `kube-system`: the cluster's identity.
    ///
    /// # Errors
    /// Any kind; `Refused` where the rights are for one namespace only and `--cluster-id` is needed.
    pub async fn cluster_id(client: &Client) -> Result<ClusterId, ClusterError> {
        let api: Api<PartialObjectMeta<k8s_openapi::api::core::v1::Namespace>> =
            Api::all(client.clone());
        let namespace = bounded(api.get_metadata("kube-system")).await?;
        let uid = namespace.metadata.uid.unwrap_or_default();
        Ok(ClusterId::new(uid))
    }

    /// The cluster's identity at providers.
    #[must_use]
    pub fn identity(&self) -> &ClusterId {
        &self.cluster
    }

    fn vms(&self, namespace: &str) -> Api<Arrival<VirtualMachine>> {
        Api::namespaced(self.client.clone(), namespace)
    }

    async fn patch(
        &self,
        guard: &Guard,
        subresource: bool,
        mut body: Value,
    ) -> Result<View, ClusterError> {
        body["metadata"]["uid"] = json!(guard.uid.as_str());
        body["metadata"]["resourceVersion"] = json!(guard.version);
        let (api, name) = (self.vms(&guard.key.namespace), &guard.key.name);
        let (params, patch) = (patch_params(), Patch::Merge(body));
        let written = if subresource {
            bounded(api.patch_status(name, &params, &patch)).await
        } else {
            bounded(api.patch(name, &params, &patch)).await
        };
        written.map(|vm| self.view(vm.into()))
    }

    fn view(&self, object: Object<VirtualMachine>) -> View {
        view_of(&object, &self.cluster)
    }

    /// One ProviderConfig past every cache; `None` where there is none of that name.
    ///
    /// # Errors
    /// Any kind but `Conflict` and `Gone`.
    pub async fn config(&self, key: &ObjectKey) -> Result<Option<ProviderConfig>, ClusterError> {
        let api: Api<ProviderConfig> = Api::namespaced(self.client.clone(), &key.namespace);
        bounded(api.get_opt(&key.name)).await
    }

    /// One Secret; `None` where there is none of that name.
    ///
    /// # Errors
    /// Any kind but `Conflict` and `Gone`.
    pub async fn secret(&self, key: &ObjectKey) -> Result<Option<Secret>, ClusterError> {
        let api: Api<Secret> = Api::namespaced(self.client.clone(), &key.namespace);
        bounded(api.get_opt(&key.name)).await
    }

    /// Whether any VirtualMachine refers to the ProviderConfig, by a live list.
    ///
    /// # Errors
    /// Any kind but `Conflict` and `Gone`.
    pub async fn config_is_used(&self, key: &ObjectKey) -> Result<bool, ClusterError> {
        let api: Api<PartialObjectMeta<VirtualMachine>> =
            Api::namespaced(self.client.clone(), &key.namespace);
        let only = ListParams::default()
            .fields(&format!("spec.providerRef={}", key.name))
            .limit(1);
        let list = bounded(api.list_metadata(&only)).await?;
        Ok(!list.items.is_empty())
    }

    /// Those of the uids that no VirtualMachine of the cluster bears, by a live list of all of them.
    ///
    /// # Errors
    /// Any kind but `Conflict`; then nothing is known of any of them.
    pub async fn without_object(
        &self,
        mut uids: HashSet<Uid>,
    ) -> Result<HashSet<Uid>, ClusterError> {
        let api: Api<PartialObjectMeta<VirtualMachine>> = Api::all(self.client.clone());
        let mut page = ListParams::default().limit(500);
        loop {
            let list = bounded(api.list_metadata(&page)).await?;
            for uid in list
                .items
                .iter()
                .filter_map(|vm| vm.metadata.uid.as_deref())
            {
                uids.remove(&Uid::new(uid));
            }
            match list.metadata.continue_.as_deref() {
                Some(token) if !token.is_empty() => page = page.continue_token(token),
                Some(_) | None => return Ok(uids),
            }
        }
    }

    /// Merge-patches metadata of a ProviderConfig or Secret, guarded by its uid and version.
    ///
    /// # Errors
    /// As for [`Cluster::write_metadata`].
    pub async fn patch_metadata<K>(&self, object: &K, metadata: Value) -> Result<K, ClusterError>
    where
        K: Resource<Scope = k8s_openapi::NamespaceResourceScope> + Clone + DeserializeOwned,
        K: std::fmt::Debug,
        K::DynamicType: Default,
    {
        let (api, name, body) = self.guarded(object, json!({ "metadata": metadata }));
        bounded(api.patch(&name, &patch_params(), &Patch::Merge(body))).await
    }

    /// Merge-patches the status of a ProviderConfig, guarded by its uid and version.
    ///
    /// # Errors
    /// As for [`Cluster::write_status`].
    pub async fn patch_config_status(
        &self,
        config: &ProviderConfig,
        status: Value,
    ) -> Result<ProviderConfig, ClusterError> {
        let (api, name, body) = self.guarded(config, json!({ "status": status }));
        bounded(api.patch_status(&name, &patch_params(), &Patch::Merge(body))).await
    }

    fn guarded<K>(&self, object: &K, mut body: Value) -> (Api<K>, String, Value)
    where
        K: Resource<Scope = k8s_openapi::NamespaceResourceScope> + Clone,
        K::DynamicType: Default,
    {
        let meta = object.meta();
        body["metadata"]["uid"] = json!(meta.uid);
        body["metadata"]["resourceVersion"] = json!(meta.resource_version);
        let namespace = meta.namespace.as_deref().unwrap_or_default();
        let api = Api::namespaced(self.client.clone(), namespace);
        (api, meta.name.clone().unwrap_or_default(), body)
    }
}

impl Cluster for KubeCluster {
    async fn live(&self, key: &ObjectKey) -> Result<Option<View>, ClusterError> {
        let found = bounded(self.vms(&key.namespace).get_opt(&key.name)).await?;
        Ok(found.map(|vm| self.view(vm.into())))
    }

    async fn write_metadata(&self, guard: &Guard, metadata: Value) -> Result<View, ClusterError> {
        self.patch(guard, false, json!({ "metadata": metadata }))
            .await
    }

    async fn write_status(&self, guard: &Guard, status: Value) -> Result<View, ClusterError> {
        self.patch(guard, true, json!({ "status": status })).await
    }

    async fn write_child(
        &self,
        owner: &Guard,
        write: &ChildWrite,
    ) -> Result<Present, ClusterError> {
        children::kube::write(&self.client, owner, write).await
    }

    async fn delete_child(
        &self,
        owner: &ObjectKey,
        kind: ChildKind,
        held: &Held,
    ) -> Result<(), ClusterError> {
        children::kube::delete(&self.client, owner, kind, held).await
    }

    async fn live_child(
        &self,
        owner: &ObjectKey,
        kind: ChildKind,
    ) -> Result<Option<Found>, ClusterError> {
        children::kube::live(&self.client, owner, kind).await
    }
}

/// The view of an object as the watch or a read delivers it.
#[must_use]
pub fn view_of(object: &Object<VirtualMachine>, cluster: &ClusterId) -> View {
    match object {
        Object::Sound(vm) => View::of(vm, cluster),
        Object::Broken(broken) => View::of_fragment(&fragment_of(broken), cluster),
    }
}

fn fragment_of(broken: &Broken) -> Fragment {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(ToOwned::to_owned);
    let status = broken.status.as_ref();
    Fragment {
        metadata: broken.metadata.clone(),
        provider_ref: text(
            broken
                .spec
                .as_ref()
                .and_then(|spec| spec.get("providerRef")),
        ),
        id: text(status.and_then(|status| status.get("id"))),
        incarnation: status
            .and_then(|status| status.get("incarnation"))
            .and_then(Value::as_u64),
        status: status.and_then(|status| serde_json::from_value(status.clone()).ok()),
    }
}

fn patch_params() -> PatchParams {
    PatchParams {
        field_manager: Some(MANAGER_NAME.to_owned()),
        ..PatchParams::default()
    }
}

pub(super) async fn bounded<T>(
    call: impl Future<Output = Result<T, kube::Error>>,
) -> Result<T, ClusterError> {
    match tokio::time::timeout(CALL_LIMIT, call).await {
        Ok(result) => result.map_err(|error| judge(&error)),
        Err(_) => Err(ClusterError::Unknown("no answer within 10 s".to_owned())),
    }
}

fn judge(error: &kube::Error) -> ClusterError {
    match error {
        kube::Error::Api(status) => match status.code {
            404 | 410 => ClusterError::Gone,
            409 => ClusterError::Conflict,
            400..=499 => ClusterError::Refused(status.message.clone()),
            _ => ClusterError::Unknown(status.message.clone()),
        },
        other => ClusterError::Unknown(other.to_string()),
    }
}
