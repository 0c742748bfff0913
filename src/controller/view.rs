//! One version of a VirtualMachine as the controller keeps it: pruned to what is read.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::api::virtual_machine::VirtualMachineStatus;
use crate::api::{self, VirtualMachine, VirtualMachineSpec};
use crate::domain::{ClusterId, Incarnation, InstanceId, InstanceSpec, ObjectKey, Uid};
use crate::lifecycle::{IntentState, Object, Recorded, Tried, Wishes};

/// One version of the object: what decisions read, and what writes need.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// What decisions read.
    pub object: Object,
    /// All finalizers, ours and others': a merge patch replaces the whole list.
    pub finalizers: Vec<String>,
    /// The status as it stands.
    pub status: VirtualMachineStatus,
    /// Whether the intent annotation was written for another object, or cannot be read.
    pub foreign_intent: bool,
}

/// Metadata and the few fields of an object that does not decode: enough to delete it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fragment {
    /// Metadata.
    pub metadata: ObjectMeta,
    /// `spec.providerRef`, where it can be read.
    pub provider_ref: Option<String>,
    /// `status.id`, where it can be read.
    pub id: Option<String>,
    /// `status.incarnation`, where it can be read.
    pub incarnation: Option<u64>,
    /// The status, where all of it can be read: what is shown already need not be written again.
    pub status: Option<VirtualMachineStatus>,
}

impl View {
    /// The view of an object that decodes.
    #[must_use]
    pub fn of(vm: &VirtualMachine, cluster: &ClusterId) -> Self {
        let status = vm.status.clone().unwrap_or_default();
        let fragment = Fragment {
            metadata: vm.metadata.clone(),
            provider_ref: Some(vm.spec.provider_ref.clone()),
            id: status.id.clone(),
            incarnation: status.incarnation,
            status: Some(status),
        };
        let mut view = Self::of_fragment(&fragment, cluster);
        view.object.spec = Some(instance_spec(&vm.spec));
        view.object.owned = Some(wishes(&vm.spec));
        view
    }

    /// The view of an object of which only a fragment can be read.
    #[must_use]
    pub fn of_fragment(fragment: &Fragment, cluster: &ClusterId) -> Self {
        let meta = &fragment.metadata;
        let uid = Uid::new(meta.uid.as_deref().unwrap_or_default());
        let none = BTreeMap::new();
        let annotations = meta.annotations.as_ref().unwrap_or(&none);
        let annotation = |name: &str| annotations.get(name).map(String::as_str);
        let finalizers = meta.finalizers.clone().unwrap_or_default();
        let object = Object {
            key: ObjectKey::new(
                meta.namespace.as_deref().unwrap_or_default(),
                meta.name.as_deref().unwrap_or_default(),
            ),
            version: meta.resource_version.clone().unwrap_or_default(),
            generation: meta.generation.unwrap_or_default(),
            deleting: meta.deletion_timestamp.is_some(),
            finalizer: finalizers.iter().any(|f| f == api::FINALIZER),
            intent: IntentState::judge(annotation(api::CREATE_ANNOTATION), cluster, &uid),
            recorded: recorded(fragment),
            given_up: Recorded::given_up(fragment.id.as_deref(), fragment.incarnation),
            tried: fragment.status.as_ref().map(Tried::of).unwrap_or_default(),
            spec: None,
            owned: None,
            provider_ref: fragment
                .provider_ref
                .clone()
                .unwrap_or_else(|| api::DEFAULT_PROVIDER.to_owned()),
            paused: annotation(api::PAUSED_ANNOTATION) == Some("true"),
            force_orphan: annotation(api::FORCE_ORPHAN_ANNOTATION).map(ToOwned::to_owned),
            uid,
        };
        let foreign_intent =
            annotation(api::CREATE_ANNOTATION).is_some() && object.intent == IntentState::Missing;
        Self {
            object,
            finalizers,
            status: fragment.status.clone().unwrap_or_default(),
            foreign_intent,
        }
    }
}

fn instance_spec(spec: &VirtualMachineSpec) -> InstanceSpec {
    InstanceSpec {
        image: spec.image.clone(),
        cpu: spec.cpu,
        memory: spec.memory.to_string(),
    }
}

fn wishes(spec: &VirtualMachineSpec) -> Wishes {
    Wishes {
        connection: spec.connection_secret.enabled,
        service: spec.service.clone(),
    }
}

/// An id without a readable incarnation counts as the first: read as absent it would mean that nothing exists.
fn recorded(fragment: &Fragment) -> Option<Recorded> {
    let id = fragment.id.as_deref().filter(|id| !id.is_empty())?;
    let number = fragment.incarnation.and_then(|n| u32::try_from(n).ok());
    Some(Recorded {
        id: InstanceId::new(id),
        incarnation: number
            .and_then(Incarnation::new)
            .unwrap_or(Incarnation::FIRST),
        created_at: fragment
            .status
            .as_ref()
            .and_then(|status| status.instance.as_ref()?.created_at),
    })
}
