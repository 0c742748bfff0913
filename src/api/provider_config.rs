//! `ProviderConfig`: which cloud, and how to talk to it.

#![expect(
    unreachable_pub,
    reason = "the derive of KubeSchema repeats each struct, with its pub, inside a function"
)]
#![expect(
    clippy::duplicated_attributes,
    reason = "printed columns are told apart by their names; type and priority repeat"
)]

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::schema;

/// A cloud and the way to it.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "compute.example.com",
    version = "v1",
    kind = "ProviderConfig",
    plural = "providerconfigs",
    singular = "providerconfig",
    shortname = "pcfg",
    category = "compute",
    namespaced,
    status = "ProviderConfigStatus",
    derive = "PartialEq",
    doc = "A cloud that runs the VirtualMachines of this namespace.",
    printcolumn(name = "Type", type_ = "string", json_path = ".spec.type"),
    printcolumn(name = "Endpoint", type_ = "string", json_path = ".spec.endpoint"),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status"
    ),
    printcolumn(name = "VMs", type_ = "integer", json_path = ".status.virtualMachines"),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp"
    ),
    printcolumn(
        name = "Account",
        type_ = "string",
        json_path = ".status.account",
        priority = 1
    ),
    printcolumn(
        name = "Orphans",
        type_ = "integer",
        json_path = ".status.orphans",
        priority = 1
    ),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].reason",
        priority = 1
    ),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].message",
        priority = 1
    )
)]
#[serde(rename_all = "camelCase")]
pub struct ProviderConfigSpec {
    /// Which protocol the provider speaks. Cannot change.
    #[serde(default, rename = "type")]
    #[x_kube(
        validation = Rule::new("self == oldSelf")
            .message("type cannot change: make another ProviderConfig"),
    )]
    pub kind: ProviderType,
    /// Base URL of the provider's API: http or https, without user, query and fragment.
    #[schemars(length(min = 1, max = 2048))]
    #[x_kube(
        validation = Rule::new("isURL(self) && self.matches('^https?://[^/?#]+(/[^?#]*)?$')")
            .message("endpoint must be an http or https URL without query and fragment, such as https://cloud.example.com/v1"),
        validation = Rule::new("!self.matches('^[a-z]+://[^/?#]*@')")
            .message("endpoint must not hold a user or password: put the API key into the Secret that secretRef names"),
    )]
    pub endpoint: String,
    /// The Secret, in the same namespace, that holds the API key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<SecretRef>,
    /// Repeat a create whose result is unknown though the provider has no idempotency keys: may make a VM twice.
    #[serde(default)]
    pub allow_unsafe_create: bool,
    /// How the provider's certificate is checked. It always is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsSpec>,
    /// How hard the provider may be used by all VirtualMachines of this ProviderConfig together.
    #[serde(default)]
    pub rate_limit: RateLimitSpec,
    /// Longest time for one call, in seconds, 1 to 120.
    #[serde(default = "default_timeout")]
    #[schemars(range(min = 1, max = 120))]
    pub timeout_seconds: u32,
    /// How old the knowledge of a steady VM may get, in seconds, 5 to 3600.
    #[serde(default = "default_poll_interval")]
    #[schemars(range(min = 5, max = 3600))]
    pub poll_interval_seconds: u32,
    /// What happens to VMs at the provider that carry this cluster's tags and belong to no object.
    #[serde(default)]
    pub orphans: OrphansSpec,
}

/// Protocols of providers.
#[derive(JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProviderType {
    /// The HTTP API of `mock-provider/API.md`.
    #[default]
    #[serde(rename = "HTTP")]
    Http,
}

/// A key of a Secret in the same namespace.
#[derive(KubeSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SecretRef {
    /// Name of the Secret.
    #[schemars(length(min = 1, max = 253))]
    #[x_kube(
        validation = Rule::new("self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')")
            .message("name must be the name of a Secret in the same namespace: lower-case letters, digits, '-' and '.'"),
    )]
    pub name: String,
    /// Which key of it holds the API key.
    #[serde(default = "default_key")]
    #[schemars(length(min = 1, max = 253))]
    #[x_kube(
        validation = Rule::new("self.matches('^[-._a-zA-Z0-9]+$')")
            .message("key must be a key of a Secret: letters, digits, '-', '_' and '.'"),
    )]
    pub key: String,
    /// Keep the Secret, by a finalizer, for as long as a VM may exist that it is needed to delete.
    #[serde(default = "yes")]
    pub protect: bool,
}

/// How the provider's certificate is checked.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TlsSpec {
    /// Certificates in PEM that are trusted besides the system's, at most 64 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 65536))]
    #[x_kube(
        validation = Rule::new("self.contains('-----BEGIN CERTIFICATE-----')")
            .message("caBundle must be certificates in PEM, beginning with -----BEGIN CERTIFICATE-----, not base64 of them"),
    )]
    pub ca_bundle: Option<String>,
    /// The name to expect in the certificate, where it is not the endpoint's host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    #[x_kube(
        validation = Rule::new("self.matches('^[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?([.][a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?)*$')")
            .message("serverName must be a host name without scheme and port"),
    )]
    pub server_name: Option<String>,
}

/// How hard the provider may be used.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RateLimitSpec {
    /// Calls per second in the long run.
    #[schemars(range(min = 1, max = 10_000))]
    pub requests_per_second: u32,
    /// Calls that may come at once after a pause.
    #[schemars(range(min = 1, max = 10_000))]
    pub burst: u32,
    /// Calls under way at one time.
    #[schemars(range(min = 1, max = 1_000))]
    pub max_in_flight: u32,
}

/// What happens to VMs without an object.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OrphansSpec {
    /// What to do with them.
    pub policy: OrphanPolicy,
    /// Younger ones are left out, in seconds: their object may not be seen yet.
    #[schemars(range(min = 60, max = 31_536_000))]
    pub min_age_seconds: u32,
}

/// What to do with a VM without an object.
#[derive(JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum OrphanPolicy {
    /// Count them, and say so by event and metric.
    #[default]
    Report,
}

/// What the operator knows of the provider. Nothing in it moves while nothing happens.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProviderConfigStatus {
    /// Conditions.
    #[serde(
        default,
        deserialize_with = "schema::tolerant_list",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
    /// The generation of the spec that this status speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub observed_generation: Option<i64>,
    /// What the provider can do, by its own word.
    #[serde(
        default,
        deserialize_with = "schema::tolerant",
        skip_serializing_if = "Option::is_none"
    )]
    pub capabilities: Option<CapabilitiesStatus>,
    /// The account behind the credentials. Another one means that absence proves nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub account: Option<String>,
    /// The endpoint at which the VMs of this ProviderConfig were made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 2048))]
    pub endpoint: Option<String>,
    /// Number of VirtualMachines that refer to this ProviderConfig.
    #[serde(
        default,
        deserialize_with = "schema::tolerant",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(range(min = 0))]
    pub virtual_machines: Option<u32>,
    /// Number of VMs at the provider that belong to no object.
    #[serde(
        default,
        deserialize_with = "schema::tolerant",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(range(min = 0))]
    pub orphans: Option<u32>,
}

/// What a provider can do.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CapabilitiesStatus {
    /// VMs can be listed.
    pub list: bool,
    /// Lists can be filtered by tag.
    pub tag_filter: bool,
    /// Longest time by which a list may lag a write, in seconds.
    #[schemars(range(min = 0))]
    pub list_lag_seconds: u32,
    /// There is a feed of changes.
    pub changes: bool,
    /// How long an idempotency key is remembered, in seconds; absent without such keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub idempotency_key_ttl_seconds: Option<u64>,
    /// VMs can be switched on and off.
    pub power: bool,
    /// In which states a VM can change its size: `stopped`, `live`.
    #[schemars(length(max = 8), inner(length(min = 1, max = 64)), extend("x-kubernetes-list-type" = "atomic"))]
    pub resize: Vec<String>,
    /// VMs have snapshots.
    pub snapshots: bool,
    /// A deletion goes on after it was acknowledged.
    pub delete_is_async: bool,
}

impl Default for RateLimitSpec {
    fn default() -> Self {
        Self {
            requests_per_second: 50,
            burst: 100,
            max_in_flight: 16,
        }
    }
}

impl Default for OrphansSpec {
    fn default() -> Self {
        Self {
            policy: OrphanPolicy::Report,
            min_age_seconds: 900,
        }
    }
}

fn default_key() -> String {
    "apiKey".to_owned()
}

fn default_timeout() -> u32 {
    15
}

fn default_poll_interval() -> u32 {
    30
}

fn yes() -> bool {
    true
}
