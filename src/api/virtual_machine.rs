//! `VirtualMachine`: a machine at an external cloud, as a user wants it.

#![expect(
    unreachable_pub,
    reason = "the derive of KubeSchema repeats each struct, with its pub, inside a function"
)]

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DEFAULT_PROVIDER, schema};
use crate::domain::Quantity;

/// The machine that is wanted.
// Every `isQuantity` and `quantity` on a text that a user wrote stands behind a match that lets an exponent have two
// digits at most: the API server works out 10 to any exponent in full, and `1e99999999999` keeps one of its CPUs and
// gigabytes of its memory for good, long after the request timed out.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "compute.example.com",
    version = "v1",
    kind = "VirtualMachine",
    plural = "virtualmachines",
    singular = "virtualmachine",
    shortname = "vm",
    shortname = "vms",
    shortname = "cvm",
    category = "compute",
    namespaced,
    status = "VirtualMachineStatus",
    derive = "PartialEq",
    doc = "A virtual machine at an external cloud.",
    selectable = ".spec.providerRef",
    selectable = ".status.phase",
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Ready", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].status"),
    printcolumn(name = "CPU", type_ = "integer", json_path = ".spec.cpu"),
    printcolumn(name = "Memory", type_ = "string", json_path = ".spec.memory"),
    printcolumn(name = "ID", type_ = "string", json_path = ".status.id"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Image", type_ = "string", json_path = ".spec.image", priority = 1),
    printcolumn(name = "Provider", type_ = "string", json_path = ".spec.providerRef", priority = 1),
    printcolumn(name = "IP", type_ = "string", json_path = ".status.addresses[0].address", priority = 1),
    printcolumn(name = "Reason", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].reason", priority = 1),
    printcolumn(name = "Message", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].message", priority = 1),
    validation = Rule::new("self.metadata.name.size() <= 63 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')")
        .message("metadata.name must begin with a lower-case letter, go on with at most 62 lower-case letters, digits or '-', and not end with '-': it also names a Service")
        .field_path(".metadata.name"),
    validation = Rule::new("self.spec.image == oldSelf.spec.image || !has(self.status) || !has(self.status.id)")
        .message("image cannot change once the VM exists: put the old image back, or delete this VirtualMachine and create it anew")
        .field_path(".spec.image"),
    validation = Rule::new("self.spec.cpu == oldSelf.spec.cpu || !has(self.status) || !has(self.status.id)")
        .message("cpu cannot change once the VM exists: put the old number back, or delete this VirtualMachine and create it anew")
        .field_path(".spec.cpu"),
    validation = Rule::new("self.spec.memory == oldSelf.spec.memory || !has(self.status) || !has(self.status.id) || (self.spec.memory.matches('^[-+]?[0-9.]+([a-zA-Z]{0,2}|[eE][-+]?[0-9]{1,2})$') && isQuantity(self.spec.memory) && isQuantity(oldSelf.spec.memory) && quantity(self.spec.memory).compareTo(quantity(oldSelf.spec.memory)) == 0)")
        .message("memory cannot change once the VM exists: put the old size back, or delete this VirtualMachine and create it anew")
        .field_path(".spec.memory")
)]
#[serde(rename_all = "camelCase")]
pub struct VirtualMachineSpec {
    /// The provider's name of the image to boot from. Cannot change once the VM exists.
    #[schemars(length(min = 1, max = 253))]
    pub image: String,
    /// Number of virtual CPUs, 1 to 512. Cannot change once the VM exists.
    #[schemars(range(min = 1, max = 512))]
    pub cpu: u32,
    /// Memory as a quantity, 1Mi to 64Ti, such as 4Gi. Cannot change once the VM exists.
    #[schemars(with = "String", length(min = 1, max = 64))]
    #[x_kube(
        validation = Rule::new("self.matches('^[-+]?[0-9.]+([a-zA-Z]{0,2}|[eE][-+]?[0-9]{1,2})$') && isQuantity(self)")
            .message("memory must be a quantity: a number with a suffix, such as 512Mi or 4Gi"),
        validation = Rule::new("!self.matches('^[-+]?[0-9.]+([a-zA-Z]{0,2}|[eE][-+]?[0-9]{1,2})$') || !isQuantity(self) || (quantity(self).compareTo(quantity('1Mi')) >= 0 && quantity(self).compareTo(quantity('64Ti')) <= 0)")
            .message("memory must be from 1Mi to 64Ti; mind the suffix: 4Gi, not 4"),
    )]
    pub memory: Quantity,
    /// Name of the ProviderConfig, in the same namespace, whose cloud runs the VM. Cannot change.
    #[serde(default = "default_provider")]
    #[schemars(length(min = 1, max = 253))]
    #[x_kube(
        validation = Rule::new("self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')")
            .message("providerRef must be the name of a ProviderConfig in the same namespace: lower-case letters, digits, '-' and '.'"),
        validation = Rule::new("self == oldSelf")
            .message("providerRef cannot change: delete this VirtualMachine and create it anew with the other provider"),
    )]
    pub provider_ref: String,
    /// The Service that makes the VM reachable by name inside the cluster.
    #[serde(default)]
    pub service: ServiceSpec,
    /// The Secret that tells other workloads how to reach the VM.
    #[serde(default)]
    pub connection_secret: ConnectionSecretSpec,
}

/// The headless Service of a VM.
#[derive(KubeSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceSpec {
    /// Whether there is one.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// Its ports, 1 to 16, with different names.
    #[serde(default = "default_ports")]
    #[schemars(length(min = 1, max = 16), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    #[x_kube(
        validation = Rule::new("self.all(p, self.exists_one(q, q.port == p.port && q.protocol == p.protocol))")
            .message("ports must differ: two entries have the same port and protocol"),
    )]
    pub ports: Vec<ServicePort>,
}

/// One port of the Service.
#[derive(KubeSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServicePort {
    /// Name of the port, a DNS label.
    #[schemars(length(min = 1, max = 63))]
    #[x_kube(
        validation = Rule::new("self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')")
            .message("name must be a DNS label: lower-case letters, digits and '-', beginning and ending with a letter or digit"),
    )]
    pub name: String,
    /// Port number, 1 to 65535.
    #[schemars(range(min = 1, max = 65535))]
    pub port: u16,
    /// Protocol of the port.
    #[serde(default)]
    pub protocol: Protocol,
}

/// Protocol of a port.
#[derive(JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Protocol {
    /// TCP.
    #[default]
    #[serde(rename = "TCP")]
    Tcp,
    /// UDP.
    #[serde(rename = "UDP")]
    Udp,
    /// SCTP.
    #[serde(rename = "SCTP")]
    Sctp,
}

/// The connection Secret of a VM.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ConnectionSecretSpec {
    /// Whether there is one.
    pub enabled: bool,
}

/// What the operator knows of the machine.
// Another version of the operator may have written it, so that what is new or odd is left out where it is read. The
// exceptions are `id` and `incarnation`: read as absent they would mean that no VM exists.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VirtualMachineStatus {
    /// The provider's id of the VM; never cleared while the VM may exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub id: Option<String>,
    /// Which creation of this object's VM is meant, counted from 1. A lost VM's stays until it has a successor; its id goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub incarnation: Option<u64>,
    /// One word for people; programs read conditions.
    #[serde(
        default,
        deserialize_with = "schema::tolerant",
        skip_serializing_if = "Option::is_none"
    )]
    pub phase: Option<Phase>,
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
    /// Where the VM is reached, the preferred first.
    #[serde(
        default,
        deserialize_with = "schema::tolerant_list",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(length(max = 16), extend("x-kubernetes-list-type" = "atomic"))]
    pub addresses: Vec<Address>,
    /// What the provider really runs.
    #[serde(
        default,
        deserialize_with = "schema::tolerant",
        skip_serializing_if = "Option::is_none"
    )]
    pub instance: Option<InstanceStatus>,
    /// The provider operation in doubt or in back-off; absent at rest.
    #[serde(
        default,
        deserialize_with = "schema::tolerant",
        skip_serializing_if = "Option::is_none"
    )]
    pub operation: Option<OperationStatus>,
}

/// One word on how a machine is, a pure function of conditions and observation.
#[derive(
    JsonSchema, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub enum Phase {
    /// Nothing was asked of the provider yet.
    Pending,
    /// The provider makes the VM.
    Provisioning,
    /// The VM boots.
    Starting,
    /// The VM runs.
    Running,
    /// The VM shuts down.
    Stopping,
    /// The VM is off.
    Stopped,
    /// The VM changes its size.
    Resizing,
    /// The VM is being deleted.
    Deleting,
    /// The provider gave up on the VM.
    Failed,
    /// The VM vanished at the provider.
    Lost,
    /// The provider cannot be asked, or says what this version does not know.
    #[serde(other)]
    Unknown,
}

/// An address of the machine.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Address {
    /// What kind of address.
    #[serde(rename = "type")]
    pub kind: AddressType,
    /// The address itself: an IP address or a host name.
    #[schemars(length(min = 1, max = 253))]
    pub address: String,
}

/// Kinds of address, in the words of Kubernetes' nodes.
#[derive(
    JsonSchema, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub enum AddressType {
    /// Reached from inside the provider's network.
    InternalIP,
    /// Reached from outside.
    ExternalIP,
    /// A name instead of an IP address.
    Hostname,
}

/// What the provider says that it runs. A basic provider may say little.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InstanceStatus {
    /// Number of virtual CPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub cpu: Option<u32>,
    /// Memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::reported_quantity")]
    pub memory: Option<Quantity>,
    /// Image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub image: Option<String>,
    /// When the provider made it; with another time under our id, it is not ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::time")]
    pub created_at: Option<Timestamp>,
}

/// A provider operation in doubt or in back-off, so that a restart does not forget it.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OperationStatus {
    /// What is being done.
    #[serde(rename = "type")]
    pub kind: OperationType,
    /// When its first attempt began.
    #[schemars(schema_with = "schema::time")]
    pub started_at: Timestamp,
    /// How often it was tried.
    #[schemars(range(min = 0))]
    pub attempts: u32,
    /// Not tried again before, unless something changes. As of the last write: once it is over, the next attempt comes
    /// any moment, and none waits longer than the longest back-off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::time")]
    pub next_attempt_at: Option<Timestamp>,
    /// Why the last attempt did not do: a reason of a condition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256))]
    pub last_error_reason: Option<String>,
}

/// Writes at the provider that may be in doubt.
#[derive(JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OperationType {
    /// The VM is being made.
    Create,
    /// The VM is being removed.
    Delete,
}

impl Default for ServiceSpec {
    fn default() -> Self {
        Self {
            enabled: yes(),
            ports: default_ports(),
        }
    }
}

impl Default for ConnectionSecretSpec {
    fn default() -> Self {
        Self { enabled: true }
    }
}

fn default_provider() -> String {
    DEFAULT_PROVIDER.to_owned()
}

fn default_ports() -> Vec<ServicePort> {
    vec![ServicePort {
        name: "ssh".to_owned(),
        port: 22,
        protocol: Protocol::Tcp,
    }]
}

fn yes() -> bool {
    true
}
