//! Rights, written down a second time: whoever widens a role has to say so here as well.

use serde_json::Value;

use crate::files::{Manifest, manifests, of_kind};

/// `verb group/resource[names]` of each right in a role, sorted.
fn rights(role: &Value) -> Vec<String> {
    let words = |rule: &Value, key: &str| -> Vec<String> {
        let list = rule[key].as_array().into_iter().flatten();
        list.map(|word| word.as_str().expect("a word").to_owned())
            .collect()
    };
    let mut found = Vec::new();
    for rule in role["rules"].as_array().expect("rules") {
        let names = words(rule, "resourceNames");
        let names = if names.is_empty() {
            String::new()
        } else {
            format!("[{}]", names.join(","))
        };
        for verb in words(rule, "verbs") {
            for resource in words(rule, "resources") {
                for group in words(rule, "apiGroups") {
                    found.push(format!("{verb} {group}/{resource}{names}"));
                }
            }
            found.extend(
                words(rule, "nonResourceURLs")
                    .iter()
                    .map(|url| format!("{verb} {url}")),
            );
        }
    }
    found.sort();
    found
}

fn role(kind: &str, name: &str) -> Value {
    let found = of_kind(kind)
        .into_iter()
        .find(|one| one.object["metadata"]["name"] == name);
    found.unwrap_or_else(|| panic!("no {kind} {name}")).object
}

fn check(kind: &str, name: &str, golden: &[&str]) {
    let mut golden = golden.to_vec();
    golden.sort_unstable();
    assert_eq!(rights(&role(kind, name)), golden, "{kind} {name}");
}

#[test]
fn the_operator_has_these_rights_and_no_others() {
    check(
        "ClusterRole",
        "vmoperator-manager-role",
        &[
            "get compute.example.com/virtualmachines",
            "list compute.example.com/virtualmachines",
            "watch compute.example.com/virtualmachines",
            "patch compute.example.com/virtualmachines",
            "patch compute.example.com/virtualmachines/status",
            "get compute.example.com/providerconfigs",
            "list compute.example.com/providerconfigs",
            "watch compute.example.com/providerconfigs",
            "patch compute.example.com/providerconfigs",
            "patch compute.example.com/providerconfigs/status",
            "get /secrets",
            "list /secrets",
            "watch /secrets",
            "create /secrets",
            "patch /secrets",
            "delete /secrets",
            "get /services",
            "list /services",
            "watch /services",
            "create /services",
            "patch /services",
            "delete /services",
            "get discovery.k8s.io/endpointslices",
            "list discovery.k8s.io/endpointslices",
            "watch discovery.k8s.io/endpointslices",
            "create discovery.k8s.io/endpointslices",
            "patch discovery.k8s.io/endpointslices",
            "delete discovery.k8s.io/endpointslices",
            "create events.k8s.io/events",
            "patch events.k8s.io/events",
            "get /namespaces[kube-system]",
        ],
    );
    check(
        "Role",
        "vmoperator-leader-election-role",
        &[
            "create coordination.k8s.io/leases",
            "get coordination.k8s.io/leases[vmoperator-leader]",
            "update coordination.k8s.io/leases[vmoperator-leader]",
        ],
    );
}

#[test]
fn for_one_namespace_the_operator_has_the_same_rights_less_what_is_of_the_cluster() {
    let all = rights(&role("ClusterRole", "vmoperator-manager-role"));
    let one = rights(&role("Role", "vmoperator-manager-role"));
    let less: Vec<&String> = all.iter().filter(|right| !one.contains(right)).collect();
    assert_eq!(less, ["get /namespaces[kube-system]"]);
    assert!(one.iter().all(|right| all.contains(right)));
}

#[test]
fn serving_metrics_securely_takes_these_rights_and_no_others() {
    check(
        "ClusterRole",
        "vmoperator-metrics-auth-role",
        &[
            "create authentication.k8s.io/tokenreviews",
            "create authorization.k8s.io/subjectaccessreviews",
        ],
    );
    check(
        "Role",
        "vmoperator-metrics-ca-role",
        &[
            "create /configmaps",
            "get /configmaps[vmoperator-metrics-ca]",
            "update /configmaps[vmoperator-metrics-ca]",
        ],
    );
}

#[test]
fn users_have_these_rights_and_never_status_or_finalizers() {
    let read = ["get", "list", "watch"];
    let write = ["create", "update", "patch", "delete", "deletecollection"];
    let on = |verbs: &[&str], resource: &str| -> Vec<String> {
        verbs
            .iter()
            .map(|verb| format!("{verb} compute.example.com/{resource}"))
            .collect()
    };
    let all = [
        (
            "virtualmachine-viewer",
            "view",
            vec![on(&read, "virtualmachines"), on(&read, "providerconfigs")],
        ),
        (
            "virtualmachine-editor",
            "edit",
            vec![
                on(&read, "virtualmachines"),
                on(&write, "virtualmachines"),
                on(&read, "providerconfigs"),
            ],
        ),
        (
            "providerconfig-editor",
            "admin",
            vec![on(&read, "providerconfigs"), on(&write, "providerconfigs")],
        ),
    ];
    for (name, joined_to, golden) in all {
        let golden: Vec<String> = golden.concat();
        check(
            "ClusterRole",
            name,
            &golden.iter().map(String::as_str).collect::<Vec<_>>(),
        );
        let labels = role("ClusterRole", name)["metadata"]["labels"].clone();
        let joins: Vec<String> = labels
            .as_object()
            .expect("labels")
            .keys()
            .cloned()
            .collect();
        let joins: Vec<&String> = joins
            .iter()
            .filter(|key| key.contains("aggregate-to-"))
            .collect();
        assert_eq!(
            joins,
            [&format!(
                "rbac.authorization.k8s.io/aggregate-to-{joined_to}"
            )],
            "{name}"
        );
    }
    check(
        "ClusterRole",
        "vmoperator-metrics-reader",
        &["get /metrics"],
    );
}

#[test]
fn no_role_has_a_wildcard_or_a_way_to_more_rights() {
    let mut roles = 0;
    for Manifest { file, object } in manifests() {
        if object["kind"] != "Role" && object["kind"] != "ClusterRole" {
            continue;
        }
        roles += 1;
        for right in rights(&object) {
            for word in [
                "*",
                "escalate",
                "bind ",
                "impersonate",
                "serviceaccounts/token",
                "rbac.authorization",
            ] {
                assert!(!right.contains(word), "{}: {right}", file.display());
            }
        }
    }
    assert_eq!(roles, 9, "name the rights of a new role above");
}

#[test]
fn roles_are_bound_to_the_operator_alone_and_one_to_an_account_that_runs_nothing() {
    let bindings: Vec<Manifest> = of_kind("ClusterRoleBinding")
        .into_iter()
        .chain(of_kind("RoleBinding"))
        .collect();
    assert_eq!(bindings.len(), 6);
    for Manifest { file, object } in bindings {
        let subjects = object["subjects"].as_array().expect("subjects");
        assert_eq!(subjects.len(), 1, "{}", file.display());
        assert_eq!(subjects[0]["kind"], "ServiceAccount");
        // Never to a role that is not written down here, such as cluster-admin.
        let kind = object["roleRef"]["kind"].as_str().expect("a kind");
        let _ = role(kind, object["roleRef"]["name"].as_str().expect("a name"));
        let reads = object["roleRef"]["name"] == "vmoperator-metrics-reader";
        let account = if reads {
            "vmoperator-metrics-reader"
        } else {
            "vmoperator-controller-manager"
        };
        assert_eq!(subjects[0]["name"], account);
        assert_eq!(subjects[0]["namespace"], "vmoperator-system");
    }
    for Manifest { object, .. } in of_kind("Deployment") {
        let account = &object["spec"]["template"]["spec"]["serviceAccountName"];
        assert_ne!(account, "vmoperator-metrics-reader");
    }
}
