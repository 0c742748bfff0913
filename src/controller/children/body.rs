//! Owned objects in the API server's words.

use k8s_openapi::ByteString;
use serde_json::{Value, json};

use crate::api;
use crate::api::virtual_machine::ServicePort;
use crate::controller::Guard;
use crate::lifecycle::children::protocol_word;
use crate::lifecycle::{ChildWrite, Content};

/// What makes the object, or the merge patch that writes it over.
pub(super) fn body(owner: &Guard, write: &ChildWrite) -> Value {
    let mut body = match &write.content {
        Content::Connection {
            id,
            provider,
            address,
            port,
        } => {
            let bytes = |text: &str| ByteString(text.as_bytes().to_vec());
            let address = address
                .map(|address| address.to_string())
                .unwrap_or_default();
            json!({
                "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
                "data": {
                    "id": bytes(id.as_str()),
                    "provider": bytes(provider),
                    "address": bytes(&address),
                    "port": bytes(&port.to_string()),
                },
            })
        }
        // Without a selector nobody but us names endpoints, and a stranger's addresses have no place in it.
        Content::Service { ports } => json!({
            "apiVersion": "v1", "kind": "Service",
            "spec": {
                "type": "ClusterIP", "clusterIP": "None", "selector": null, "externalIPs": null,
                "sessionAffinity": "None", "publishNotReadyAddresses": null,
                "ports": ports.iter().map(service_port).collect::<Vec<_>>(),
            },
        }),
        Content::Endpoints {
            ports,
            address,
            ready,
            ..
        } => json!({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
            "addressType": if address.is_ipv4() { "IPv4" } else { "IPv6" },
            "ports": ports.iter().map(slice_port).collect::<Vec<_>>(),
            "endpoints": [{
                "addresses": [address.to_string()], "conditions": { "ready": ready },
            }],
        }),
    };
    body["metadata"] = metadata(owner, write);
    body
}

fn metadata(owner: &Guard, write: &ChildWrite) -> Value {
    let mut metadata = json!({
        "name": write.kind.name(&owner.key.name),
        "namespace": owner.key.namespace.as_ref(),
        "labels": { api::MANAGED_BY_LABEL: api::MANAGER_NAME },
        "annotations": { api::APPLIED_ANNOTATION: write.content.mark() },
        // Without blockOwnerDeletion: the VM goes when its instance has, and waits for nothing of this.
        "ownerReferences": [{
            "apiVersion": format!("{}/{}", api::GROUP, api::VERSION), "kind": "VirtualMachine",
            "name": owner.key.name.as_ref(), "uid": owner.uid.as_str(), "controller": true,
        }],
    });
    if let Content::Endpoints { service, .. } = &write.content {
        metadata["labels"][api::SERVICE_NAME_LABEL] = json!(service);
        metadata["labels"][api::SLICE_MANAGED_BY_LABEL] = json!(api::MANAGER_NAME);
    }
    if let Some(held) = &write.over {
        metadata["uid"] = json!(held.uid.as_str());
        metadata["resourceVersion"] = json!(held.version);
    }
    metadata
}

fn service_port(port: &ServicePort) -> Value {
    let mut value = slice_port(port);
    value["targetPort"] = json!(port.port);
    value
}

fn slice_port(port: &ServicePort) -> Value {
    json!({ "name": port.name, "port": port.port, "protocol": protocol_word(port.protocol) })
}
