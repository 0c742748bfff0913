//! Events as `events.k8s.io/v1` has them.

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event as KubeEvent;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::Client;
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde_json::json;

use super::series::Repeat;
use super::writer::EventApi;
use super::{Regarding, Told};
use crate::api::{GROUP, MANAGER_NAME, VERSION};
use crate::controller::ClusterError;
use crate::controller::kube::bounded;

/// Who reports: the same name whichever process it is, so that people can filter by it.
const CONTROLLER: &str = "compute.example.com/vmoperator";
/// Longest `reportingInstance` that the API server takes, in bytes.
const MAX_INSTANCE: usize = 128;

/// The process that reports.
#[derive(Clone, Debug)]
pub struct Reporter(String);

/// The real API server behind [`EventApi`].
#[derive(Clone)]
pub struct KubeEvents {
    client: Client,
    reporter: Reporter,
}

impl Reporter {
    /// The process of this name, such as that of its pod.
    #[must_use]
    pub fn new(name: &str) -> Self {
        let name = if name.is_empty() { MANAGER_NAME } else { name };
        Self(name[..name.floor_char_boundary(MAX_INSTANCE)].to_owned())
    }

    /// The event as it is to be written.
    #[must_use]
    pub fn event(&self, name: &str, told: &Told) -> KubeEvent {
        let Told { about, event, at } = told;
        KubeEvent {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                namespace: Some(about.key.namespace.to_string()),
                ..ObjectMeta::default()
            },
            type_: Some(event.tone.as_str().to_owned()),
            reason: Some(event.reason.to_string()),
            action: Some(event.deed.as_str().to_owned()),
            note: Some(event.note.clone()),
            event_time: Some(MicroTime(*at)),
            regarding: Some(reference(about)),
            reporting_controller: Some(CONTROLLER.to_owned()),
            reporting_instance: Some(self.0.clone()),
            ..KubeEvent::default()
        }
    }
}

impl KubeEvents {
    /// Takes a client that retries nothing.
    #[must_use]
    pub fn new(client: Client, reporter: Reporter) -> Self {
        Self { client, reporter }
    }

    fn api(&self, namespace: &str) -> Api<KubeEvent> {
        Api::namespaced(self.client.clone(), namespace)
    }
}

impl EventApi for KubeEvents {
    async fn create(&self, name: &str, told: &Told) -> Result<(), ClusterError> {
        let params = PostParams {
            field_manager: Some(MANAGER_NAME.to_owned()),
            ..PostParams::default()
        };
        let event = self.reporter.event(name, told);
        let api = self.api(&told.about.key.namespace);
        bounded(api.create(&params, &event)).await.map(drop)
    }

    async fn repeat(&self, repeat: &Repeat) -> Result<(), ClusterError> {
        let params = PatchParams {
            field_manager: Some(MANAGER_NAME.to_owned()),
            ..PatchParams::default()
        };
        let series = json!({ "series": {
            "count": repeat.count, "lastObservedTime": MicroTime(repeat.last),
        } });
        let api = self.api(&repeat.event.namespace);
        let patch = Patch::Merge(series);
        bounded(api.patch(&repeat.event.name, &params, &patch))
            .await
            .map(drop)
    }
}

fn reference(about: &Regarding) -> ObjectReference {
    ObjectReference {
        api_version: Some(format!("{GROUP}/{VERSION}")),
        kind: Some(about.kind.as_str().to_owned()),
        namespace: Some(about.key.namespace.to_string()),
        name: Some(about.key.name.to_string()),
        uid: Some(about.uid.as_str().to_owned()),
        ..ObjectReference::default()
    }
}
