//! Pods can do as little as possible.

use serde_json::{Value, json};

use crate::files::{Manifest, of_kind};

/// What a pod template lacks of the restricted Pod Security Standard and of our own rules.
fn complaints(template: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let spec = &template["spec"];
    let mut want = |whose: &str, object: &Value, pointer: &str, value: Value| {
        if object.pointer(pointer) != Some(&value) {
            found.push(format!("{whose}{pointer} is not {value}"));
        }
    };
    want("spec", spec, "/automountServiceAccountToken", json!(false));
    want("spec", spec, "/enableServiceLinks", json!(false));
    want("spec", spec, "/securityContext/runAsNonRoot", json!(true));
    want("spec", spec, "/securityContext/runAsUser", json!(65532));
    want(
        "spec",
        spec,
        "/securityContext/seccompProfile/type",
        json!("RuntimeDefault"),
    );
    let containers = spec["containers"].as_array().cloned().unwrap_or_default();
    for container in &containers {
        want(
            "container",
            container,
            "/securityContext/allowPrivilegeEscalation",
            json!(false),
        );
        want(
            "container",
            container,
            "/securityContext/readOnlyRootFilesystem",
            json!(true),
        );
        want(
            "container",
            container,
            "/securityContext/capabilities",
            json!({ "drop": ["ALL"] }),
        );
    }
    for container in &containers {
        for pointer in [
            "requests/cpu",
            "requests/memory",
            "limits/cpu",
            "limits/memory",
        ] {
            if container
                .pointer(&format!("/resources/{pointer}"))
                .is_none()
            {
                found.push(format!("container without {pointer}"));
            }
        }
        if container["image"]
            .as_str()
            .is_none_or(|image| !image.contains(':') || image.ends_with(":latest"))
        {
            found.push(format!("image {} has no fixed tag", container["image"]));
        }
    }
    for forbidden in ["hostNetwork", "hostPID", "hostIPC", "initContainers"] {
        if spec.get(forbidden).is_some() {
            found.push(format!("spec has {forbidden}"));
        }
    }
    if containers.is_empty() {
        found.push("no container".to_owned());
    }
    let volumes = spec["volumes"].as_array().into_iter().flatten();
    for volume in volumes.filter(|volume| volume.get("hostPath").is_some()) {
        found.push(format!("volume {} is of the host", volume["name"]));
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
    assert_eq!(complaints(&bare).len(), 5 + 3 + 4 + 1 + 1 + 1);
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
    assert_eq!(
        pod["serviceAccountName"],
        of_kind("ServiceAccount")[0].object["metadata"]["name"]
    );
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
