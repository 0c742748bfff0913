//! What users of such operators have suffered in public while operators came and went; the number of the case stands
//! at each test.

use std::collections::BTreeMap;

use mock_provider::Options;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::e2e::client::{condition, events_about};
use super::e2e::cloud::{Cloud, prompt};
use super::e2e::house::{House, OPERATOR, manifest};
use super::e2e::operator::{ALONE, Operator};
use super::e2e::proxy::{Effect, Proxy};
use super::e2e::{audit, checker};
use super::e2e::{is_ready, until_or};
use super::{Turn, clear, tenant};

fn named(namespace: &str, count: usize) -> Vec<Value> {
    (0..count)
        .map(|number| manifest(namespace, &format!("vm-{number}")))
        .collect()
}

fn here(house: &House, namespace: &str) -> Vec<Value> {
    let mut vms = house.vms();
    vms.retain(|vm| vm["metadata"]["namespace"] == namespace);
    vms
}

fn all_ready(house: &House, namespace: &str, count: usize) {
    let ready = || {
        here(house, namespace)
            .iter()
            .filter(|vm| is_ready(vm))
            .count()
    };
    until_or(
        &format!("{count} VMs are Ready"),
        || ready() == count,
        || format!("{} are: {:#?}", ready(), here(house, namespace)),
    );
}

/// Waits until so many creates have been applied.
fn made(cloud: &Cloud, count: usize) {
    until_or(
        &format!("{count} VMs are made"),
        || cloud.calls("create").1 >= count,
        || format!("{:?}", cloud.calls("create")),
    );
}

/// Cases 1 and 3 of the features and 1 and 3 of reliability, with 40 creates in place of 500: the operator is killed
/// four times in the middle of them, three answers in ten are lost, and lists lag by two seconds.
#[test]
fn forty_creates_through_kills_lost_answers_and_lagging_lists_make_forty_vms() {
    let mut turn = Turn::take();
    let house = turn.house();
    let cloud = Cloud::start(Options {
        list_lag: std::time::Duration::from_secs(2),
        ..prompt()
    });
    let namespace = tenant(house, &cloud);
    cloud.fault(
        json!({ "operation": "create", "probability": 0.3, "effect": { "kind": "dropAfter" } }),
    );
    let mut operator = Operator::start(house, ALONE).ready();
    house.usable(&namespace);
    house.apply_all(&named(&namespace, 40));
    for killed_at in [8, 16, 24, 32] {
        // The stranger's is one of them.
        made(&cloud, killed_at + 1);
        operator.kill();
        operator = Operator::start(house, ALONE);
    }
    all_ready(house, &namespace, 40);
    assert_eq!(cloud.ours().len(), 40);
    assert!(cloud.mend()[0] > 0, "no answer was ever lost");
    checker::check(house, &cloud);
    clear(house, &cloud, &namespace);
    drop(operator);
}

/// Case 2, with 40 VMs and five restarts at set counts in place of 200 and one every three seconds: creates take a
/// second, and half of the objects are deleted while it is unknown what became of theirs.
#[test]
fn restarts_in_the_middle_of_creates_and_deletions_need_no_help_and_leave_no_vm() {
    let mut turn = Turn::take();
    let house = turn.house();
    let cloud = Cloud::start(prompt());
    let namespace = tenant(house, &cloud);
    let slow = json!({ "kind": "delay", "milliseconds": 700, "applied": true });
    cloud.fault(json!({ "operation": "create", "effect": slow }));
    // A create that is under way is cut, not waited for.
    let flags = ["--leader-elect=false", "--shutdown-grace=100ms"];
    let mut operator = Operator::start(house, &flags).ready();
    house.usable(&namespace);
    house.apply_all(&named(&namespace, 40));
    let mut deleted = 0;
    for restart in 1..=5 {
        made(&cloud, restart * 5 + 1);
        let some: Vec<String> = (deleted..deleted + 4)
            .map(|number| format!("vm-{}", number * 2))
            .collect();
        let mut delete = vec!["-n", &namespace, "delete", "vm", "--wait=false"];
        delete.extend(some.iter().map(String::as_str));
        house.plane.kubectl(&delete);
        deleted += 4;
        operator.signal(Signal::TERM);
        operator.wait();
        operator = Operator::start(house, &flags);
    }
    until_or(
        "twenty are left",
        || here(house, &namespace).len() == 20,
        || format!("{:#?}", here(house, &namespace)),
    );
    all_ready(house, &namespace, 20);
    until_or(
        "twenty VMs are left",
        || cloud.ours().len() == 20,
        || format!("{:#?}", cloud.ours()),
    );
    clear(house, &cloud, &namespace);
    drop(operator);
}

/// Case 10 and reliability 9, with 60 VMs in place of 1,000: a provider that takes ten calls a second, less than the
/// ProviderConfig allows, an operator that starts anew, and ten creates of users.
#[test]
fn a_restart_at_a_provider_that_takes_few_calls_does_not_starve_what_users_ask_for() {
    let mut turn = Turn::take();
    let house = turn.house();
    let cloud = Cloud::start(prompt());
    let namespace = tenant(house, &cloud);
    let operator = Operator::start(house, ALONE).ready();
    house.apply_all(&named(&namespace, 60));
    all_ready(house, &namespace, 60);
    operator.kill();
    cloud.set(json!({ "rateLimit": 10.0, "rateBurst": 20 }));
    let before = cloud.log().len();
    let operator = Operator::start(house, ALONE).ready();
    let users: Vec<Value> = (0..10)
        .map(|number| manifest(&namespace, &format!("user-{number}")))
        .collect();
    house.apply_all(&users);
    all_ready(house, &namespace, 70);
    let log = cloud.log().split_off(before);
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for call in &log {
        *counts
            .entry(format!("{} {}", call["operation"], call["status"]))
            .or_default() += 1;
    }
    println!("calls from the restart to ten more VMs: {counts:?}");
    let refused = log.iter().filter(|call| call["status"] == 429).count();
    // The five workers may all be on the way when the first is refused; from then on nobody is.
    assert!(refused <= 12, "{refused} calls were refused: {counts:?}");
    assert!(log.len() <= 250, "{counts:?}");
    cloud.set(json!({ "rateLimit": 0.0 }));
    clear(house, &cloud, &namespace);
    drop(operator);
}

/// Reliability 2, with 20 VMs in place of 100: status, annotations and finalizers are wiped while no operator runs, as a
/// restore from a backup does. Nothing is made anew.
#[test]
fn objects_wiped_while_no_operator_runs_are_joined_with_their_vms_again() {
    let mut turn = Turn::take();
    let house = turn.house();
    let cloud = Cloud::start(prompt());
    let namespace = tenant(house, &cloud);
    let operator = Operator::start(house, ALONE).ready();
    house.apply_all(&named(&namespace, 20));
    all_ready(house, &namespace, 20);
    let ids = |house: &House| {
        let vms = here(house, &namespace).into_iter();
        let pairs = vms.map(|vm| {
            (
                vm["metadata"]["name"].to_string(),
                vm["status"]["id"].to_string(),
            )
        });
        pairs.collect::<BTreeMap<_, _>>()
    };
    let before = ids(house);
    operator.kill();
    let mark = "compute.example.com/create";
    let meta =
        json!({ "metadata": { "finalizers": null, "annotations": { mark: null } } }).to_string();
    let status = json!({ "status": null }).to_string();
    for number in 0..20 {
        let name = format!("vm-{number}");
        let patch = ["-n", &namespace, "patch", "vm", &name, "--type=merge", "-p"];
        house
            .plane
            .kubectl(&[&patch[..], &[&status, "--subresource=status"]].concat());
        house.plane.kubectl(&[&patch[..], &[&meta]].concat());
    }
    let creates = cloud.calls("create");
    let operator = Operator::start(house, ALONE).ready();
    all_ready(house, &namespace, 20);
    assert_eq!(ids(house), before);
    assert_eq!(cloud.calls("create"), creates, "something was made anew");
    clear(house, &cloud, &namespace);
    drop(operator);
}

/// The rights of the shipped role without list and watch of Secrets, given back when dropped.
struct Hardened<'h>(&'h House);

const ROLE: &str = "vmoperator-manager-role";

impl<'h> Hardened<'h> {
    fn new(house: &'h House) -> Self {
        let role = house
            .plane
            .kubectl(&["get", "clusterrole", ROLE, "-o", "json"]);
        let mut role: Value = serde_json::from_str(&role).expect("JSON");
        let rules = role["rules"].as_array_mut().expect("rules");
        let names_secrets = |rule: &&mut Value| {
            let resources = rule["resources"].as_array();
            resources.is_some_and(|all| all.iter().any(|one| one == "secrets"))
        };
        for rule in rules.iter_mut().filter(names_secrets) {
            if let Some(resources) = rule["resources"].as_array_mut() {
                resources.retain(|one| one != "secrets");
            }
        }
        rules.retain(|rule| rule["resources"] != json!([]));
        let verbs = ["get", "create", "patch", "delete"];
        rules.push(json!({ "apiGroups": [""], "resources": ["secrets"], "verbs": verbs }));
        let answer = house
            .plane
            .try_kubectl(&["replace", "-f", "-"], &role.to_string());
        assert!(answer.success, "{answer:?}");
        Self(house)
    }
}

impl Drop for Hardened<'_> {
    fn drop(&mut self) {
        let rbac = concat!(env!("CARGO_MANIFEST_DIR"), "/config/rbac");
        drop(self.0.plane.try_kubectl(&["apply", "-f", rbac], ""));
    }
}

/// Deletes VMs, ProviderConfig and Secret, in the order that is worst.
fn all_of_it_goes(house: &House, namespace: &str) {
    for kind in ["secret/cloud", "pcfg/default"] {
        house
            .plane
            .kubectl(&["-n", namespace, "delete", kind, "--wait=false"]);
    }
    let all = ["-n", namespace, "delete", "vm", "--all", "--timeout=150s"];
    house.plane.kubectl(&all);
    let path = format!("/api/v1/namespaces/{namespace}/secrets");
    until_or(
        "Secret and config are gone",
        || {
            house.client.get(&path, "cloud").is_none()
                && house.config(namespace, "default").is_none()
        },
        || {
            format!(
                "{:#?} {:#?}",
                house.client.get(&path, "cloud"),
                house.config(namespace, "default")
            )
        },
    );
}

/// The hardened install: Secrets are never listed and never watched. A new key is found when the old one is refused; a
/// restart makes no Secret a second time.
#[test]
fn without_list_and_watch_of_secrets_keys_rotate_and_owned_secrets_are_kept() {
    let mut turn = Turn::take();
    let house = turn.house();
    let hardened = Hardened::new(house);
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), "tests=old-key\n").expect("it can be written");
    let cloud = Cloud::start(Options {
        api_key_file: Some(file.path().to_owned()),
        ..prompt()
    });
    let namespace = house.namespace();
    let put = |key: &str| {
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "stringData": { "apiKey": key },
            "metadata": { "name": "cloud", "namespace": namespace },
        });
        house.plane.apply(&secret.to_string());
    };
    put("old-key");
    let reference = json!({ "name": "cloud" });
    house.configure_with(
        &namespace,
        json!({ "endpoint": cloud.url, "timeoutSeconds": 1, "pollIntervalSeconds": 5, "secretRef": reference }),
    );
    let before = audit::requests(house).len();
    let flags = ["--leader-elect=false", "--watch-secrets=false"];
    let operator = Operator::start(house, &flags).ready();
    house.apply_all(&named(&namespace, 5));
    all_ready(house, &namespace, 5);
    let secrets = || {
        audit::writes(house, &namespace)
            .into_iter()
            .filter(|write| write.contains("-connection"))
    };
    assert_eq!(secrets().count(), 5, "one create for each");
    // A restart knows none of them, and finds them all by name.
    operator.kill();
    let operator = Operator::start(house, &flags).ready();
    cloud.revoke("tests");
    cloud.admit("tests", "new-key");
    put("new-key");
    house.create(&namespace, "after");
    all_ready(house, &namespace, 6);
    assert_eq!(secrets().count(), 6);
    let since = audit::requests(house).split_off(before);
    let refused = since.into_iter().filter(|request| {
        request.user == OPERATOR
            && request.resource == "secrets"
            && (["list", "watch"].contains(&request.verb.as_str()) || request.code == 409)
    });
    let refused: Vec<String> = refused.map(|request| request.to_string()).collect();
    assert_eq!(refused, Vec::<String>::new());
    all_of_it_goes(house, &namespace);
    assert_eq!(cloud.ours(), Vec::<Value>::new());
    checker::check(house, &cloud);
    drop(operator);
    drop(hardened);
}

/// Events that wait to be written when the operator is asked to stop are written before it ends: here those of twenty
/// VMs, which wait behind one that gets no answer.
#[test]
fn events_that_are_queued_when_the_operator_stops_are_written() {
    let mut turn = Turn::take();
    let house = turn.house();
    let cloud = Cloud::start(prompt());
    let namespace = tenant(house, &cloud);
    let proxy = Proxy::start(house);
    let mut operator = Operator::start_at(house, &proxy.kubeconfig, ALONE, None).ready();
    house.usable(&namespace);
    // Whichever is told next falls silent: the rest stand behind it.
    proxy.rule(&["/events"], Effect::Silence, 1);
    house.apply_all(&named(&namespace, 20));
    until_or("an event is held up", || proxy.hits() == 1, String::new);
    proxy.clear();
    all_ready(house, &namespace, 20);
    operator.signal(Signal::TERM);
    assert!(operator.wait().success(), "it did not end in good order");
    let told: Vec<String> = (0..20)
        .flat_map(|number| {
            let about = ("VirtualMachine", format!("vm-{number}"));
            events_about(&house.client, &namespace, (about.0, &about.1))
        })
        .filter_map(|event| event["reason"].as_str().map(str::to_owned))
        .collect();
    let count = |reason: &str| told.iter().filter(|one| *one == reason).count();
    assert_eq!(count("Running"), 20, "{told:?}");
    // The one without an answer may be one of these.
    assert!(count("Created") >= 19, "{told:?}");
    let _operator = Operator::start(house, ALONE).ready();
    clear(house, &cloud, &namespace);
}

/// Case 27: operator and provider ten minutes apart, first the one ahead and then the other. (The API server's clock is
/// the machine's and cannot be moved without rights that a test does not have.) VMs are prepared for longer than the
/// looks of a pass, and shorter than the deadline; whoever compared the clocks would take them for overdue.
#[test]
fn operator_and_provider_with_clocks_ten_minutes_apart_agree_all_the_same() {
    let mut turn = Turn::take();
    let house = turn.house();
    let cloud = Cloud::start(Options {
        provisioning_delay: std::time::Duration::from_secs(4),
        ..Options::default()
    });
    let namespace = tenant(house, &cloud);
    let flags = ["--provisioning-deadline=300s"];
    let ahead = Operator::start_ahead(house, &flags, 600).ready();
    house.usable(&namespace);
    let names: Vec<String> = ["early", "late"]
        .iter()
        .flat_map(|when| (0..5).map(move |number| format!("{when}-{number}")))
        .collect();
    let manifests = |names: &[String]| -> Vec<Value> {
        names
            .iter()
            .map(|name| manifest(&namespace, name))
            .collect()
    };
    house.apply_all(&manifests(&names[..5]));
    all_ready(house, &namespace, 5);
    // The next one's clock is behind by as much, and the provider's is ahead. Its Lease was renewed in the future.
    ahead.kill();
    cloud.step(600_000);
    let _behind = Operator::start_ahead(house, &flags, -600).ready();
    house.apply_all(&manifests(&names[5..]));
    all_ready(house, &namespace, 10);
    assert_eq!(
        cloud.calls("create"),
        (11, 11),
        "ten of ours and the stranger's"
    );
    assert_eq!(cloud.calls("delete").0, 0);
    for name in &names {
        let vm = house.vm(&namespace, name).expect("it is there");
        let made = Some(("True".to_owned(), "Created".to_owned()));
        assert_eq!(condition(&vm, "Provisioned"), made, "{name}");
        for event in events_about(&house.client, &namespace, ("VirtualMachine", name)) {
            assert_eq!(event["type"], "Normal", "{event}");
        }
    }
    let config = house.config(&namespace, "default").expect("it is there");
    assert!(
        config["status"]["orphans"].as_u64().unwrap_or_default() == 0,
        "{config}"
    );
    clear(house, &cloud, &namespace);
}
