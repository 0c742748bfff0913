//! What users write: the kinds of `compute.example.com/v1`, and the names that objects of ours carry.
//!
//! The files under `config/crd/` are made from these types; a test fails when they differ.

pub mod condition;
pub mod provider_config;
mod schema;
pub mod virtual_machine;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt as _;

pub use provider_config::{ProviderConfig, ProviderConfigSpec, ProviderConfigStatus};
pub use virtual_machine::{Phase, VirtualMachine, VirtualMachineSpec, VirtualMachineStatus};

/// API group of every kind here.
pub const GROUP: &str = "compute.example.com";
/// The one version, served and stored.
pub const VERSION: &str = "v1";

/// Finalizer on a VirtualMachine for as long as a VM may exist at the provider.
pub const FINALIZER: &str = "compute.example.com/vm-cleanup";
/// Finalizer on a ProviderConfig, and on the Secret that it names, for as long as VirtualMachines need them.
pub const IN_USE_FINALIZER: &str = "compute.example.com/in-use";

/// Prefix of the annotations that are ours; a change of one wakes the object.
pub const ANNOTATION_PREFIX: &str = "compute.example.com/";
/// The operator's intent to create, on the VirtualMachine. Metadata, because status is lost by backup and restore.
pub const CREATE_ANNOTATION: &str = "compute.example.com/create";
/// Set to `"true"` by the user: the operator looks and touches nothing. On a ProviderConfig, for all its VMs.
pub const PAUSED_ANNOTATION: &str = "compute.example.com/paused";
/// Set by the user, with a reason as its value: a blocked deletion lets the VM at the provider go.
pub const FORCE_ORPHAN_ANNOTATION: &str = "compute.example.com/force-orphan";
/// Set by the user to any new value: the object is looked at now.
pub const RECONCILE_AT_ANNOTATION: &str = "compute.example.com/reconcile-at";
/// Set by the user on a ProviderConfig, with the new host as its value: a changed host is meant.
pub const CONFIRM_ENDPOINT_ANNOTATION: &str = "compute.example.com/confirm-endpoint";
/// Set by the user on a ProviderConfig, with a number as its value: so many missing VMs are lost, and are made anew.
/// Taken away by the operator once none is missing.
pub const CONFIRM_LOSS_ANNOTATION: &str = "compute.example.com/confirm-loss";

/// The operator's mark on an object that it made: a fingerprint of what it wrote last.
pub const APPLIED_ANNOTATION: &str = "compute.example.com/applied";

/// Label on every object that the operator makes.
pub const MANAGED_BY_LABEL: &str = "app.kubernetes.io/managed-by";
/// Label by which controllers of EndpointSlices tell theirs apart.
pub const SLICE_MANAGED_BY_LABEL: &str = "endpointslice.kubernetes.io/managed-by";
/// Label by which an EndpointSlice belongs to a Service.
pub const SERVICE_NAME_LABEL: &str = "kubernetes.io/service-name";
/// Value of both labels, and the field manager of our writes.
pub const MANAGER_NAME: &str = "vmoperator";

/// Name of the ProviderConfig that a VirtualMachine without `providerRef` uses.
pub const DEFAULT_PROVIDER: &str = "default";

/// The definitions of all kinds, as they are under `config/crd/`.
#[must_use]
pub fn crds() -> Vec<CustomResourceDefinition> {
    vec![
        schema::structural(VirtualMachine::crd()),
        schema::structural(ProviderConfig::crd()),
    ]
}

#[cfg(test)]
mod tests;
