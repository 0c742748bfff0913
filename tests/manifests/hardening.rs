//! Pods can do as little as possible.

use serde_json::{Value, json};

use crate::files::{Manifest, of_kind};

/// What a pod template lacks of the restricted Pod Security Standard and of our own rules.
pub(crate) fn complaints(template: &Value) -> Vec<String> {
    let spec = &template["spec"];
    let mut found = lacks("spec", spec, POD);
    let containers = spec["containers"].as_array().cloned().unwrap_or_default();
    if containers.is_empty() {
        found.push("no container".to_owned());
    }
    for container in &containers {
        found.extend(lacks("container", container, CONTAINER));
        found.extend(complaints_about(container));
    }
    for forbidden in ["hostNetwork", "hostPID", "hostIPC", "initContainers"] {
        if spec.get(forbidden).is_some() {
            found.push(format!("spec has {forbidden}"));
        }
    }
    let volumes = spec["volumes"].as_array().into_iter().flatten();
    for volume in volumes.filter(|volume| volume.get("hostPath").is_some()) {
        found.push(format!("volume {} is of the host", volume["name"]));
    }
    found
}

/// What a pod's spec must say: a place, and the JSON that stands there.
const POD: &[(&str, &str)] = &[
    ("/automountServiceAccountToken", "false"),
    ("/enableServiceLinks", "false"),
    ("/securityContext/runAsNonRoot", "true"),
    ("/securityContext/runAsUser", "65532"),
    ("/securityContext/seccompProfile/type", "\"RuntimeDefault\""),
];

/// What each container must say.
const CONTAINER: &[(&str, &str)] = &[
    ("/securityContext/allowPrivilegeEscalation", "false"),
    ("/securityContext/readOnlyRootFilesystem", "true"),
    ("/securityContext/capabilities", r#"{"drop":["ALL"]}"#),
];

fn lacks(whose: &str, object: &Value, wanted: &[(&str, &str)]) -> Vec<String> {
    let there = |pointer: &str| object.pointer(pointer).map(Value::to_string);
    let missing = wanted
        .iter()
        .filter(|(pointer, value)| there(pointer).as_deref() != Some(*value));
    missing
        .map(|(pointer, value)| format!("{whose}{pointer} is not {value}"))
        .collect()
}

/// Requests, limits, probes and the image of one container.
fn complaints_about(container: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for pointer in [
        "requests/cpu",
        "requests/memory",
        "limits/cpu",
        "limits/memory",
    ] {
        let there = container.pointer(&format!("/resources/{pointer}"));
        if there.is_none() {
            found.push(format!("container without {pointer}"));
        }
    }
    for probe in ["livenessProbe", "readinessProbe"] {
        if container.get(probe).is_none() {
            found.push(format!("container without {probe}"));
        }
    }
    let image = container["image"].as_str();
    if image.is_none_or(|image| !image.contains(':') || image.ends_with(":latest")) {
        found.push(format!("image {} has no fixed tag", container["image"]));
    }
    found
}

#[test]
fn every_pod_is_hardened() {
    let deployments = of_kind("Deployment");
    assert_eq!(deployments.len(), 2);
    for Manifest { file, object } in deployments {
        assert_eq!(
            complaints(&object["spec"]["template"]),
            Vec::<String>::new(),
            "{}",
            file.display()
        );
    }
}

#[test]
fn a_bare_pod_is_found_wanting() {
    let bare = json!({ "spec": { "hostNetwork": true, "containers": [{ "image": "vmoperator" }], "volumes": [
        { "name": "root", "hostPath": { "path": "/" } } ] } });
    assert_eq!(complaints(&bare).len(), 5 + 3 + 4 + 2 + 1 + 1 + 1);
}

#[test]
fn nothing_but_a_pod_makes_pods() {
    for kind in [
        "Pod",
        "DaemonSet",
        "StatefulSet",
        "Job",
        "CronJob",
        "ReplicaSet",
    ] {
        assert!(
            of_kind(kind).is_empty(),
            "{kind}: extend the test of hardening"
        );
    }
}

#[test]
fn the_namespace_enforces_the_restricted_standard() {
    let namespaces = of_kind("Namespace");
    assert!(!namespaces.is_empty());
    for Manifest { object, .. } in namespaces {
        let labels = &object["metadata"]["labels"];
        assert_eq!(labels["pod-security.kubernetes.io/enforce"], "restricted");
    }
}

#[test]
fn the_token_of_the_operator_is_asked_for_and_short_lived() {
    for Manifest { object, .. } in of_kind("ServiceAccount") {
        assert_eq!(object["automountServiceAccountToken"], false);
    }
    let deployments = of_kind("Deployment");
    let operator = deployments
        .iter()
        .find(|one| one.object["metadata"]["name"] == "vmoperator-controller-manager")
        .expect("the operator");
    let pod = &operator.object["spec"]["template"]["spec"];
    assert_eq!(pod["serviceAccountName"], "vmoperator-controller-manager");
    let token = &pod["volumes"][0]["projected"]["sources"][0]["serviceAccountToken"];
    assert!(
        token["expirationSeconds"]
            .as_i64()
            .is_some_and(|seconds| seconds <= 3607)
    );
    let mount = &pod["containers"][0]["volumeMounts"][0];
    assert_eq!(
        mount["mountPath"],
        "/var/run/secrets/kubernetes.io/serviceaccount"
    );
    assert_eq!(
        (&mount["name"], &mount["readOnly"]),
        (&pod["volumes"][0]["name"], &json!(true))
    );
}
