//! What `kubectl kustomize` makes of `config/`: the overlays, and the one file under `dist/`.

use std::collections::BTreeMap;
use std::path::Path;

use clap::{CommandFactory, Parser};
use serde_json::Value;
use vmoperator::settings::Settings;

use crate::e2e::house::House;
use crate::files::config;
use crate::hardening::complaints;

/// What can be given to `kubectl apply -k` to install the operator.
pub(crate) const INSTALLS: &[&str] = &[
    "default",
    "overlays/dev",
    "overlays/ha",
    "overlays/hardened",
    "overlays/namespaced",
];

const OPERATOR: &str = "vmoperator-controller-manager";

fn parse(text: &str) -> Vec<Value> {
    serde_saphyr::from_multiple(text).expect("YAML")
}

fn rendered(folder: &str) -> Vec<Value> {
    let folder = config().join(folder);
    let kubectl = &House::shared().plane;
    parse(&kubectl.kubectl(&["kustomize", &folder.to_string_lossy()]))
}

fn of_kind<'a>(objects: &'a [Value], kind: &str) -> Vec<&'a Value> {
    objects
        .iter()
        .filter(|object| object["kind"] == kind)
        .collect()
}

/// The operator's Deployment.
fn operator(objects: &[Value]) -> &Value {
    let found = of_kind(objects, "Deployment");
    let found = found
        .into_iter()
        .find(|one| one["metadata"]["name"] == OPERATOR);
    found.expect("the operator")
}

fn variables(objects: &[Value]) -> BTreeMap<String, Value> {
    let container = &operator(objects)["spec"]["template"]["spec"]["containers"][0];
    let list = container["env"].as_array().into_iter().flatten();
    list.map(|one| {
        (
            one["name"].as_str().expect("a name").to_owned(),
            one.clone(),
        )
    })
    .collect()
}

fn arguments(objects: &[Value]) -> Vec<String> {
    let container = &operator(objects)["spec"]["template"]["spec"]["containers"][0];
    serde_json::from_value(container["args"].clone()).expect("args")
}

#[test]
fn every_pod_of_every_install_is_hardened() {
    for folder in INSTALLS {
        let objects = rendered(folder);
        for deployment in of_kind(&objects, "Deployment") {
            let found = complaints(&deployment["spec"]["template"]);
            assert_eq!(found, Vec::<String>::new(), "{folder}");
        }
        for namespace in of_kind(&objects, "Namespace") {
            let labels = &namespace["metadata"]["labels"];
            assert_eq!(labels["pod-security.kubernetes.io/enforce"], "restricted");
        }
    }
}

#[test]
fn the_operator_understands_what_every_install_tells_it() {
    let command = Settings::command();
    let known: Vec<String> = command
        .get_arguments()
        .filter_map(|one| Some(one.get_env()?.to_str()?.to_owned()))
        .collect();
    for folder in INSTALLS {
        let objects = rendered(folder);
        let words = std::iter::once("vmoperator".to_owned()).chain(arguments(&objects));
        if let Err(error) = Settings::try_parse_from(words) {
            panic!("{folder}: {error}");
        }
        for name in variables(&objects).keys() {
            let given = name == "POD_NAMESPACE" || known.contains(name);
            assert!(given, "{folder}: the operator does not know {name}");
        }
    }
}

#[test]
fn plain_http_and_private_addresses_are_admitted_in_dev_alone() {
    for folder in INSTALLS {
        let objects = rendered(folder);
        let admits = variables(&objects)
            .keys()
            .any(|name| name.contains("ALLOW_HTTP") || name.contains("ENDPOINT_ALLOW"))
            || arguments(&objects)
                .iter()
                .any(|word| word.contains("allow"));
        assert_eq!(admits, *folder == "overlays/dev", "{folder}");
        let mocked = objects
            .iter()
            .any(|one| one["metadata"]["name"] == "mock-provider");
        assert_eq!(mocked, *folder == "overlays/dev", "{folder}");
    }
}

#[test]
fn one_replica_by_default_and_two_with_a_budget_in_ha() {
    for (folder, replicas, budgets) in [
        ("default", 1, 0),
        ("overlays/dev", 1, 0),
        ("overlays/ha", 2, 1),
        ("overlays/hardened", 2, 1),
        ("overlays/namespaced", 1, 0),
    ] {
        let objects = rendered(folder);
        assert_eq!(operator(&objects)["spec"]["replicas"], replicas, "{folder}");
        let found = of_kind(&objects, "PodDisruptionBudget");
        assert_eq!(found.len(), budgets, "{folder}");
        for budget in found {
            // With two replicas one may go: a drain is never stuck, and one is always there.
            assert_eq!(budget["spec"]["maxUnavailable"], 1);
        }
    }
}

#[test]
fn every_selector_selects_pods_and_every_port_has_a_name_there() {
    for folder in INSTALLS {
        let objects = rendered(folder);
        let templates: Vec<&Value> = of_kind(&objects, "Deployment")
            .into_iter()
            .map(|one| &one["spec"]["template"])
            .collect();
        for (kind, selector, ports) in [
            ("Service", "/spec/selector", "/spec/ports"),
            ("PodDisruptionBudget", "/spec/selector/matchLabels", ""),
            (
                "NetworkPolicy",
                "/spec/podSelector/matchLabels",
                "/spec/ingress/0/ports",
            ),
        ] {
            for object in of_kind(&objects, kind) {
                let wanted = object.pointer(selector).and_then(Value::as_object);
                let wanted = wanted.expect("a selector");
                let selected = templates.iter().find(|template| {
                    let labels = &template["metadata"]["labels"];
                    wanted.iter().all(|(name, value)| labels[name] == *value)
                });
                let name = &object["metadata"]["name"];
                let selected = selected.unwrap_or_else(|| panic!("{folder}: {kind} {name}"));
                let named = ports_of(selected);
                let used = object.pointer(ports).and_then(Value::as_array);
                for port in used.into_iter().flatten() {
                    let target = port.get("targetPort").unwrap_or(&port["port"]);
                    let target = target.as_str().unwrap_or_default();
                    assert!(named.contains(&target), "{folder}: {kind} {name}: {target}");
                }
            }
        }
    }
}

fn ports_of(template: &Value) -> Vec<&str> {
    let ports = template["spec"]["containers"][0]["ports"].as_array();
    ports
        .into_iter()
        .flatten()
        .filter_map(|port| port["name"].as_str())
        .collect()
}

#[test]
fn nothing_reaches_the_operator_unasked_and_hardened_limits_where_it_goes() {
    for folder in INSTALLS {
        let objects = rendered(folder);
        let policies = of_kind(&objects, "NetworkPolicy");
        let limits = |way: &str| {
            policies.iter().any(|policy| {
                let labels = &policy["spec"]["podSelector"]["matchLabels"];
                let types = policy["spec"]["policyTypes"].as_array();
                labels["app.kubernetes.io/name"] == "vmoperator"
                    && types.is_some_and(|types| types.iter().any(|one| one == way))
            })
        };
        assert!(limits("Ingress"), "{folder}");
        assert_eq!(limits("Egress"), *folder == "overlays/hardened", "{folder}");
    }
    let objects = rendered("overlays/hardened");
    let text = serde_json::to_string(&objects).expect("JSON");
    assert!(text.contains("169.254.0.0/16"), "metadata services are out");
}

#[test]
fn hardened_can_neither_list_nor_watch_secrets_and_the_operator_knows() {
    for folder in INSTALLS {
        let objects = rendered(folder);
        let hardened = *folder == "overlays/hardened";
        let told = arguments(&objects).contains(&"--watch-secrets=false".to_owned());
        assert_eq!(told, hardened, "{folder}");
        let roles = of_kind(&objects, "ClusterRole").into_iter();
        let mut roles = roles.filter(|role| role["metadata"]["name"] == "vmoperator-manager-role");
        let Some(role) = roles.next() else { continue };
        let names = |list: &Value, wanted: &[&str]| {
            let list = list.as_array().into_iter().flatten();
            list.filter_map(Value::as_str)
                .any(|one| wanted.contains(&one))
        };
        let mut rules = role["rules"].as_array().into_iter().flatten();
        let sees = rules.any(|rule| {
            names(&rule["resources"], &["secrets"]) && names(&rule["verbs"], &["list", "watch"])
        });
        assert_eq!(sees, !hardened, "{folder}");
    }
}

#[test]
fn for_one_namespace_the_operator_is_bound_to_nothing_in_the_cluster() {
    let objects = rendered("overlays/namespaced");
    assert_eq!(
        of_kind(&objects, "ClusterRoleBinding"),
        Vec::<&Value>::new()
    );
    let words = arguments(&objects);
    assert!(
        words.contains(&"--namespaces=default".to_owned()),
        "{words:?}"
    );
    let loopback = "--metrics-bind-address=127.0.0.1:8443".to_owned();
    assert!(words.contains(&loopback), "{words:?}");
    // An identity that two clusters shared would let each take the other's VMs for its own: nobody is given one.
    let identity = &variables(&objects)["VMOPERATOR_CLUSTER_ID"]["valueFrom"]["configMapKeyRef"];
    assert_eq!(identity["name"], "vmoperator-cluster");
    assert_ne!(identity["optional"], true);
}

#[test]
fn the_token_is_mounted_by_hand_in_every_install() {
    for folder in INSTALLS {
        let objects = rendered(folder);
        for account in of_kind(&objects, "ServiceAccount") {
            assert_eq!(account["automountServiceAccountToken"], false, "{folder}");
        }
        let pod = &operator(&objects)["spec"]["template"]["spec"];
        assert_eq!(pod["automountServiceAccountToken"], false, "{folder}");
        let source = &pod["volumes"][0]["projected"]["sources"][0]["serviceAccountToken"];
        let seconds = source["expirationSeconds"].as_i64();
        assert!(seconds.is_some_and(|seconds| seconds <= 3607), "{folder}");
    }
}

/// `UPDATE_DIST=1 cargo test --test manifests dist` writes the file anew.
#[test]
fn the_file_under_dist_is_what_the_default_renders() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("dist/install.yaml");
    let folder = config().join("default");
    let text = House::shared()
        .plane
        .kubectl(&["kustomize", &folder.to_string_lossy()]);
    if std::env::var_os("UPDATE_DIST").is_some() {
        let header = "# The operator with its definitions and rights: kubectl apply -f dist/install.yaml\n\
            # Made from config/default by: UPDATE_DIST=1 cargo test --test manifests dist\n";
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        std::fs::write(&path, format!("{header}{text}")).expect("the file can be written");
    }
    let present = std::fs::read_to_string(&path).expect("dist/install.yaml");
    // Compared as objects: another kubectl may indent otherwise.
    assert!(
        parse(&present) == parse(&text),
        "dist/install.yaml is out of date: UPDATE_DIST=1 cargo test --test manifests dist"
    );
}
