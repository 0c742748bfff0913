//! The objects that a VirtualMachine owns, on a real API server: made, kept, put back, never taken from others.
#![cfg(test)]

mod e2e;
mod support;

use e2e::client::{condition, wait_for};
use e2e::cloud::{Cloud, prompt};
use e2e::house::{House, OPERATOR, manifest};
use e2e::operator::Operator;
use e2e::{audit, until, until_or};
use serde_json::{Value, json};

const SECRETS: &str = "secrets";
const SERVICES: &str = "services";
const SLICES: &str = "endpointslices";

/// A namespace with a usable ProviderConfig that leads to a cloud of its own.
struct Place {
    house: &'static House,
    cloud: Cloud,
    namespace: String,
}

impl Place {
    fn new() -> Self {
        let (house, _operator) = House::with_operator();
        let cloud = Cloud::start(prompt());
        let namespace = house.namespace();
        // Polled often, so that what the provider shows is seen soon.
        let spec = json!({ "endpoint": cloud.url, "timeoutSeconds": 1, "pollIntervalSeconds": 5 });
        house.configure_with(&namespace, spec);
        house.usable(&namespace);
        Self {
            house,
            cloud,
            namespace,
        }
    }

    fn create(&self, name: &str, change: impl FnOnce(&mut Value)) {
        let mut vm = manifest(&self.namespace, name);
        change(&mut vm);
        self.house.plane.apply(&vm.to_string());
    }

    fn get(&self, resource: &str, name: &str) -> Option<Value> {
        let group = if resource == SLICES {
            "/apis/discovery.k8s.io/v1"
        } else {
            "/api/v1"
        };
        let path = format!("{group}/namespaces/{}/{resource}", self.namespace);
        self.house.client.get(&path, name)
    }

    fn is(&self, resource: &str, name: &str, what: &str, wanted: impl Fn(&Value) -> bool) {
        until_or(
            &format!("{resource} {name} {what}"),
            || {
                self.get(resource, name)
                    .is_some_and(|object| wanted(&object))
            },
            || format!("{:#?}", self.get(resource, name)),
        );
    }

    fn is_gone(&self, resource: &str, name: &str) {
        until(&format!("{resource} {name} is gone"), || {
            self.get(resource, name).is_none()
        });
    }

    fn kubectl(&self, args: &[&str]) -> String {
        let here = [&["-n", &self.namespace], args].concat();
        self.house.plane.kubectl(&here)
    }

    fn patch(&self, resource: &str, name: &str, patch: &Value) {
        let patch = patch.to_string();
        self.kubectl(&["patch", resource, name, "--type=merge", "-p", &patch]);
    }

    /// The operator's writes of owned objects here, one word each.
    fn writes(&self) -> Vec<String> {
        let all = audit::writes(self.house, &self.namespace).into_iter();
        all.filter(|write| {
            [SECRETS, SERVICES, SLICES]
                .iter()
                .any(|kind| write.contains(kind))
        })
        .collect()
    }

    /// Two polls cost no write and no read of an owned object.
    fn is_at_rest(&self) {
        let requests = || {
            let all = audit::requests(self.house).into_iter();
            let ours = all
                .filter(|request| request.user == OPERATOR && request.namespace == self.namespace);
            // Secrets are read for ProviderConfigs too.
            ours.filter(|request| {
                request.is_write() || [SERVICES, SLICES].contains(&request.resource.as_str())
            })
            .filter(|request| !request.resource.contains("providerconfigs"))
            .map(|request| request.to_string())
            .collect::<Vec<_>>()
        };
        // At rest nothing but the change feed is asked.
        let calls = || self.cloud.calls("changes").0;
        // One poll, so that what is under way ends.
        let begun = calls();
        until("a poll was made", || calls() > begun);
        let (begun, before) = (calls(), requests().len());
        until("two polls were made", || calls() >= begun + 2);
        assert_eq!(requests().split_off(before), [""; 0]);
    }

    fn ready(&self, name: &str) -> String {
        self.house.ready(&self.namespace, name)
    }
}

/// What a Secret holds under a key.
fn holds(secret: &Value, key: &str) -> String {
    let bytes: k8s_openapi::ByteString =
        serde_json::from_value(secret["data"][key].clone()).unwrap_or_default();
    String::from_utf8_lossy(&bytes.0).into_owned()
}

fn address_of(slice: &Value) -> &Value {
    &slice["endpoints"][0]["addresses"][0]
}

/// Ports in a form that can be compared.
fn ports(list: &Value) -> Vec<String> {
    let list = list.as_array().into_iter().flatten();
    list.map(|port| format!("{}/{}/{}", port["name"], port["port"], port["protocol"]))
        .collect()
}

/// Its label, and an owner reference that lets the VM go without waiting for it.
fn belongs_to(object: &Value, vm: &Value) {
    let metadata = &object["metadata"];
    let label = &metadata["labels"]["app.kubernetes.io/managed-by"];
    assert_eq!(label, "vmoperator");
    let owner = &metadata["ownerReferences"][0];
    assert_eq!(owner["uid"], vm["metadata"]["uid"]);
    assert_eq!(owner["controller"], true);
    assert!(owner["blockOwnerDeletion"].is_null());
}

#[test]
fn a_vm_that_runs_can_be_found_by_name_and_costs_one_create_for_each_object() {
    let place = Place::new();
    place.create("web", |vm| {
        vm["spec"]["service"] = json!({ "ports": [
            { "name": "http", "port": 8080 }, { "name": "dns", "port": 53, "protocol": "UDP" },
        ] });
    });
    let id = place.ready("web");
    // Ready means that all of it is there: nothing is waited for.
    let vm = place.house.vm(&place.namespace, "web").expect("the VM");
    let address = vm["status"]["addresses"][0]["address"]
        .as_str()
        .expect("an address");
    let secret = place.get(SECRETS, "web-connection").expect("the Secret");
    let held = ["id", "provider", "address", "port"].map(|key| holds(&secret, key));
    assert_eq!(held, [id.as_str(), "default", address, "8080"]);
    assert_eq!(secret["type"], "Opaque");
    let service = place.get(SERVICES, "web").expect("the Service");
    assert_eq!(service["spec"]["clusterIP"], "None");
    assert!(service["spec"]["selector"].is_null());
    let expected = [r#""http"/8080/"TCP""#, r#""dns"/53/"UDP""#];
    assert_eq!(ports(&service["spec"]["ports"]), expected);
    let slice = place.get(SLICES, "web-ipv4").expect("the EndpointSlice");
    assert_eq!(
        (&slice["addressType"], address_of(&slice)),
        (&json!("IPv4"), &json!(address))
    );
    assert_eq!(slice["endpoints"][0]["conditions"]["ready"], true);
    assert_eq!(
        slice["metadata"]["labels"]["kubernetes.io/service-name"],
        "web"
    );
    assert_eq!(ports(&slice["ports"]), expected);
    assert_eq!(place.get(SLICES, "web-ipv6"), None);
    for object in [&secret, &service, &slice] {
        belongs_to(object, &vm);
    }
    let mut writes = place.writes();
    writes.sort();
    assert_eq!(
        writes,
        [
            "create endpointslices web-ipv4",
            "create secrets web-connection",
            "create services web"
        ]
    );
    // The VM goes, and Kubernetes collects what it owned.
    place.house.delete(&place.namespace, "web");
    place.house.gone(&place.namespace, "web");
    place.is_gone(SECRETS, "web-connection");
    place.is_gone(SERVICES, "web");
    place.is_gone(SLICES, "web-ipv4");
    assert_eq!(place.writes().len(), 3, "{:?}", place.writes());
    e2e::checker::check(place.house, &place.cloud);
}

#[test]
fn what_is_removed_by_hand_is_made_anew() {
    let place = Place::new();
    place.create("web", |_| {});
    place.ready("web");
    for (resource, name) in [
        (SECRETS, "web-connection"),
        (SERVICES, "web"),
        (SLICES, "web-ipv4"),
    ] {
        let before = place.get(resource, name).expect("it is there");
        place.kubectl(&["delete", resource, name]);
        place.is(resource, name, "is back", |object| {
            object["metadata"]["uid"] != before["metadata"]["uid"]
        });
    }
    place.is_at_rest();
    e2e::checker::check(place.house, &place.cloud);
}

/// Edits, and what shows that they are undone.
type Edit = (&'static str, &'static str, Value, fn(&Value) -> Value);

fn edits() -> Vec<Edit> {
    let label = "app.kubernetes.io/managed-by";
    let strange = json!({ "externalIPs": ["192.0.2.9"], "sessionAffinity": "ClientIP" });
    let data: fn(&Value) -> Value = |secret| secret["data"].clone();
    vec![
        (
            SECRETS,
            "web-connection",
            json!({ "data": { "id": "ZXZpbA==" } }),
            data,
        ),
        (
            SECRETS,
            "web-connection",
            json!({ "data": { "address": null } }),
            data,
        ),
        (
            SECRETS,
            "web-connection",
            json!({ "metadata": { "labels": { label: null } } }),
            |secret| secret["metadata"]["labels"].clone(),
        ),
        (SERVICES, "web", json!({ "spec": strange }), |service| {
            json!([
                service["spec"]["externalIPs"],
                service["spec"]["sessionAffinity"]
            ])
        }),
        (
            SERVICES,
            "web",
            json!({ "spec": { "ports": [{ "name": "ssh", "port": 2222 }] } }),
            |service| service["spec"]["ports"].clone(),
        ),
        (
            SLICES,
            "web-ipv4",
            json!({ "endpoints": [{ "addresses": ["192.0.2.7"] }] }),
            |slice| slice["endpoints"].clone(),
        ),
    ]
}

#[test]
fn what_is_edited_by_hand_is_put_back_and_what_is_added_is_left_alone() {
    let place = Place::new();
    place.create("web", |_| {});
    place.ready("web");
    for (resource, name, edit, part) in edits() {
        let before = part(&place.get(resource, name).expect("it is there"));
        let writes = place.writes().len();
        place.patch(resource, name, &edit);
        place.is(resource, name, &format!("is as before {edit}"), |object| {
            part(object) == before
        });
        assert_eq!(
            place.writes().len(),
            writes + 1,
            "{edit}: {:?}",
            place.writes()
        );
    }
    // What others add beside our fields is theirs.
    let before = place.writes().len();
    let theirs = json!({ "data": { "theirs": "eA==" } });
    place.patch(SECRETS, "web-connection", &theirs);
    place.kubectl(&["annotate", SERVICES, "web", "theirs=yes"]);
    place.is_at_rest();
    assert_eq!(place.writes().split_off(before), [""; 0]);
    e2e::checker::check(place.house, &place.cloud);
}

/// An object of somebody else.
fn theirs(place: &Place, kind: &str, name: &str) -> Value {
    let mut object = json!({
        "apiVersion": "v1", "kind": kind,
        "metadata": { "name": name, "namespace": place.namespace },
    });
    match kind {
        "Secret" => object["stringData"] = json!({ "password": "theirs" }),
        "Service" => {
            let spec = json!({ "ports": [{ "port": 80 }], "selector": { "app": "theirs" } });
            object["spec"] = spec;
        }
        _ => {
            object["apiVersion"] = json!("discovery.k8s.io/v1");
            object["addressType"] = json!("IPv4");
            object["endpoints"] = json!([{ "addresses": ["192.0.2.1"] }]);
        }
    }
    object
}

#[test]
fn an_object_of_somebody_else_is_named_and_never_touched() {
    let place = Place::new();
    for (kind, resource, vm, name) in [
        ("Secret", SECRETS, "a", "a-connection"),
        ("Service", SERVICES, "b", "b"),
        ("EndpointSlice", SLICES, "c", "c-ipv4"),
    ] {
        place
            .house
            .plane
            .apply(&theirs(&place, kind, name).to_string());
        let before = place.get(resource, name).expect("theirs");
        place.create(vm, |_| {});
        place
            .house
            .until_vm(&place.namespace, vm, "names what is in the way", |object| {
                let conflict = Some(("False".to_owned(), "OwnedObjectConflict".to_owned()));
                let message = object["status"]["conditions"].to_string();
                condition(object, "Ready") == conflict
                    && message.contains(&format!("{kind} {name} "))
            });
        let object = place.house.vm(&place.namespace, vm).expect("the VM");
        assert_eq!(
            object["status"]["phase"], "Running",
            "the VM itself goes on"
        );
        assert_eq!(place.get(resource, name), Some(before.clone()), "{kind}");
        if kind == "Service" {
            assert_eq!(
                place.get(SLICES, "b-ipv4"),
                None,
                "no endpoints for a stranger's Service"
            );
        }
        // What is in the way is switched off: the rest is done.
        let off = if kind == "Secret" {
            "connectionSecret"
        } else {
            "service"
        };
        place.patch("vm", vm, &json!({ "spec": { off: { "enabled": false } } }));
        place.ready(vm);
        place.house.delete(&place.namespace, vm);
        place.house.gone(&place.namespace, vm);
        assert_eq!(place.get(resource, name), Some(before), "{kind}");
    }
    e2e::checker::check(place.house, &place.cloud);
}

#[test]
fn what_is_switched_off_is_not_there_and_ports_follow_the_spec() {
    let place = Place::new();
    place.create("web", |vm| {
        vm["spec"]["service"] = json!({ "enabled": false });
        vm["spec"]["connectionSecret"] = json!({ "enabled": false });
    });
    place.ready("web");
    assert_eq!(place.writes(), [""; 0]);
    let ports = json!([{ "name": "ssh", "port": 22 }, { "name": "http", "port": 80 }]);
    let on = json!({ "service": { "enabled": true, "ports": ports }, "connectionSecret": { "enabled": true } });
    place.patch("vm", "web", &json!({ "spec": on }));
    let numbers = |ports: &Value| {
        let list = ports.as_array().into_iter().flatten();
        list.filter_map(|port| port["port"].as_u64())
            .collect::<Vec<_>>()
    };
    place.is(SLICES, "web-ipv4", "has both ports", |slice| {
        numbers(&slice["ports"]) == [22, 80]
    });
    place.is(SECRETS, "web-connection", "is there", |_| true);
    // A port that is taken out of the spec goes from the Service too.
    let less = json!({ "spec": { "service": { "ports": [{ "name": "http", "port": 80 }] } } });
    place.patch("vm", "web", &less);
    place.is(SERVICES, "web", "has one port", |service| {
        numbers(&service["spec"]["ports"]) == [80]
    });
    place.is(SLICES, "web-ipv4", "has one port", |slice| {
        numbers(&slice["ports"]) == [80]
    });
    place.is(SECRETS, "web-connection", "names it", |secret| {
        holds(secret, "port") == "80"
    });
    let off = json!({ "service": { "enabled": false }, "connectionSecret": { "enabled": false } });
    place.patch("vm", "web", &json!({ "spec": off }));
    place.is_gone(SECRETS, "web-connection");
    place.is_gone(SERVICES, "web");
    place.is_gone(SLICES, "web-ipv4");
    place.ready("web");
    e2e::checker::check(place.house, &place.cloud);
}

#[test]
fn endpoints_are_ready_while_the_vm_runs_and_go_when_it_is_lost() {
    let place = Place::new();
    place.create("web", |_| {});
    let id = place.ready("web");
    let ready = |wanted: bool| {
        place.is(
            SLICES,
            "web-ipv4",
            &format!("is ready: {wanted}"),
            |slice| slice["endpoints"][0]["conditions"]["ready"] == wanted,
        );
    };
    ready(true);
    place.cloud.act(&id, "stop");
    ready(false);
    place.cloud.act(&id, "run");
    ready(true);
    place.cloud.act(&id, "vanish");
    place.is(
        SECRETS,
        "web-connection",
        "leads to the next VM",
        |secret| {
            let now = holds(secret, "id");
            !now.is_empty() && now != id
        },
    );
    let next = place.ready("web");
    assert_ne!(next, id);
    ready(true);
}

/// Stops a VM and lets it run again: what it told before, it tells once more.
fn stop_and_run(place: &Place, name: &str) {
    let id = place.ready(name);
    for (act, phase) in [("stop", "Stopped"), ("run", "Running")] {
        place.cloud.act(&id, act);
        place
            .house
            .until_vm(&place.namespace, name, &format!("is {phase}"), |vm| {
                vm["status"]["phase"] == phase
            });
    }
    place.ready(name);
}

/// Tears the finalizer off a VM whose deletion takes a while, so that its object vanishes first.
fn tear_out(place: &Place, name: &str) {
    place.cloud.set(json!({ "deleteDelayMilliseconds": 4000 }));
    place.house.delete(&place.namespace, name);
    let strip = json!({ "metadata": { "finalizers": null } });
    place.patch("vm", name, &strip);
    until("the VM of the object that was torn out is gone", || {
        place.cloud.ours().is_empty()
    });
}

/// Metrics by TLS: two processes publish their authorities, and whoever comes with a token is asked about. What they
/// may read is nobody's here.
fn scrape(house: &House) {
    let secure = || Operator::start(house, &["--metrics-secure", "--leader-elect=false"]).ready();
    let operators = [secure(), secure()];
    let text = std::fs::read_to_string(&house.operator_kubeconfig).expect("a kubeconfig");
    let kubeconfig: Value = serde_json::from_str(&text).expect("JSON");
    let token = kubeconfig["users"][0]["user"]["token"]
        .as_str()
        .expect("a token");
    let client = reqwest::Client::builder().tls_danger_accept_invalid_certs(true);
    let client = client.build().expect("a client");
    for operator in &operators {
        let url = format!("https://{}/metrics", operator.addresses()[0]);
        let answer = wait_for(client.get(url).bearer_auth(token).send());
        assert_eq!(answer.expect("an answer").status().as_u16(), 403);
    }
}

/// Granted = used. One of each owned kind is made, written over, deleted, and met as somebody else's; an event is made
/// and counted; an object is torn out, so that its name is read live. Whatever the tests beside this one use, it uses
/// every right by itself.
#[test]
fn the_operator_uses_every_right_that_it_has_and_is_denied_nothing() {
    what_is_switched_off_is_not_there_and_ports_follow_the_spec();
    an_object_of_somebody_else_is_named_and_never_touched();
    let (house, _operator) = House::with_operator();
    let place = Place::new();
    place.create("web", |_| {});
    place.ready("web");
    let edit = json!({ "data": { "id": "ZXZpbA==" } });
    place.patch(SECRETS, "web-connection", &edit);
    stop_and_run(&place, "web");
    tear_out(&place, "web");
    scrape(house);
    until_or(
        "every right is used",
        || audit::unused_rights(house).is_empty(),
        || format!("unused: {:?}", audit::unused_rights(house)),
    );
    // The judge finds what was denied.
    e2e::checker::check(house, &place.cloud);
}
