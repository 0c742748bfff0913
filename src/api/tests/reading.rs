//! Stored objects of other versions, and of people with a text editor, are read as far as possible.

use kube::Resource as _;
use serde_json::{Value, json};

use crate::api::provider_config::{OrphanPolicy, ProviderType};
use crate::api::virtual_machine::{OperationType, Protocol};
use crate::api::{GROUP, Phase, ProviderConfig, VERSION, VirtualMachine};
use crate::domain::Quantity;

fn machine(status: Value) -> Value {
    json!({
        "apiVersion": "compute.example.com/v1", "kind": "VirtualMachine",
        "metadata": { "name": "web-1", "namespace": "default" },
        "spec": { "image": "ubuntu-22.04", "cpu": 2, "memory": "4Gi" },
        "status": status,
    })
}

fn read(value: Value) -> VirtualMachine {
    serde_json::from_value(value).expect("a VirtualMachine")
}

#[test]
fn a_bare_manifest_gets_the_defaults_of_the_schema() {
    let vm: VirtualMachine = read(machine(json!(null)));
    assert_eq!(vm.spec.provider_ref, "default");
    assert!(vm.spec.service.enabled && vm.spec.connection_secret.enabled);
    assert_eq!(vm.spec.service.ports[0].port, 22);
    assert_eq!(vm.spec.service.ports[0].protocol, Protocol::Tcp);
    assert_eq!(Ok(vm.spec.memory), Quantity::parse("4Gi"));
    assert_eq!(vm.status, None);
}

#[test]
fn a_bare_provider_config_gets_the_defaults_of_the_schema() {
    let config: ProviderConfig = serde_json::from_value(json!({
        "apiVersion": "compute.example.com/v1", "kind": "ProviderConfig", "metadata": { "name": "default" },
        "spec": { "endpoint": "https://cloud.example.com", "secretRef": { "name": "cloud" } },
    }))
    .expect("a ProviderConfig");
    let spec = config.spec;
    let secret = spec.secret_ref.expect("secretRef");
    assert_eq!((secret.key.as_str(), secret.protect), ("apiKey", true));
    assert_eq!(
        (spec.kind, spec.orphans.policy),
        (ProviderType::Http, OrphanPolicy::Report)
    );
    assert_eq!((spec.timeout_seconds, spec.poll_interval_seconds), (15, 30));
    let limit = spec.rate_limit;
    assert_eq!(
        (limit.requests_per_second, limit.burst, limit.max_in_flight),
        (50, 100, 16)
    );
    assert!(!spec.allow_unsafe_create);
}

#[test]
fn an_unknown_phase_reads_as_unknown() {
    let vm = read(machine(
        json!({ "id": "vm-000001", "phase": "Hibernating" }),
    ));
    let status = vm.status.expect("status");
    assert_eq!(status.phase, Some(Phase::Unknown));
    assert_eq!(status.id.as_deref(), Some("vm-000001"));
}

#[test]
fn odd_pieces_of_status_are_left_out_and_the_rest_is_kept() {
    let good = json!({ "type": "Ready", "status": "True", "reason": "Running", "message": "",
        "lastTransitionTime": "2026-01-02T03:04:05Z" });
    let vm = read(machine(json!({
        "id": "vm-000001", "incarnation": 3, "phase": 7, "later": { "a": 1 },
        "conditions": [good, { "type": "Odd" }, 5, null],
        "addresses": [{ "type": "Carrier", "address": "pigeon" }, { "type": "InternalIP", "address": "10.0.0.1" }],
        "instance": { "cpu": "two" },
        "operation": { "type": "Teleport", "startedAt": "2026-01-02T03:04:05Z", "attempts": 1 },
    })));
    let status = vm.status.expect("status");
    assert_eq!(
        (status.id.as_deref(), status.incarnation),
        (Some("vm-000001"), Some(3))
    );
    assert_eq!(status.phase, None);
    assert_eq!(status.conditions.len(), 1);
    assert_eq!(status.addresses.len(), 1);
    assert_eq!((status.instance, status.operation), (None, None));
}

#[test]
fn an_id_that_does_not_read_is_an_error_and_never_no_id() {
    for status in [
        json!({ "id": 7 }),
        json!({ "id": "vm-1", "incarnation": "one" }),
    ] {
        assert!(serde_json::from_value::<VirtualMachine>(machine(status)).is_err());
    }
}

#[test]
fn status_is_written_as_it_was_read_with_fractions_of_seconds() {
    let status = json!({
        "id": "vm-000001", "incarnation": 1, "phase": "Provisioning", "observedGeneration": 4,
        "addresses": [{ "type": "ExternalIP", "address": "192.0.2.1" }],
        "instance": { "cpu": 2, "memory": "4Gi", "image": "ubuntu-22.04", "createdAt": "2026-01-02T03:04:05.123456789Z" },
        "operation": { "type": "Create", "startedAt": "2026-01-02T03:04:05.5Z", "attempts": 2, "lastErrorReason": "TimedOut" },
    });
    let vm = read(machine(status.clone()));
    let read = vm.status.expect("status");
    assert_eq!(
        read.operation.as_ref().map(|operation| operation.kind),
        Some(OperationType::Create)
    );
    assert_eq!(serde_json::to_value(read).expect("json"), status);
}

#[test]
fn nothing_known_is_written_as_an_empty_status() {
    assert_eq!(
        serde_json::to_value(crate::api::VirtualMachineStatus::default()).expect("json"),
        json!({})
    );
    assert_eq!(
        serde_json::to_value(crate::api::ProviderConfigStatus::default()).expect("json"),
        json!({})
    );
}

#[test]
fn group_and_version_are_those_of_the_kinds() {
    assert_eq!(
        (VirtualMachine::group(&()), VirtualMachine::version(&())),
        (GROUP.into(), VERSION.into())
    );
    assert_eq!(
        (ProviderConfig::group(&()), ProviderConfig::version(&())),
        (GROUP.into(), VERSION.into())
    );
}
