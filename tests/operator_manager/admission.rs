//! Somebody's admission that does not answer, and objects as large as the API server takes them.

use serde_json::{Value, json};

use crate::e2e::client::{GROUP, condition};
use crate::e2e::house::{OPERATOR, manifest};
use crate::e2e::{audit, until, until_or};
use crate::stage::Stage;

/// Most annotations that the API server takes, in bytes of keys and values.
const MOST_ANNOTATIONS: usize = 256 << 10;

/// A webhook that nobody answers, for updates of VirtualMachines in one namespace. It goes also when a test fails.
struct Webhook<'a>(&'a Stage);

impl<'a> Webhook<'a> {
    fn down(stage: &'a Stage) -> Self {
        let namespace = &stage.namespace;
        let here = json!({ "kubernetes.io/metadata.name": namespace });
        let rule = json!({
            "apiGroups": ["compute.example.com"], "apiVersions": ["*"], "operations": ["UPDATE"],
            "resources": ["virtualmachines", "virtualmachines/status"], "scope": "Namespaced",
        });
        let configuration = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": { "name": namespace },
            "webhooks": [{
                "name": "down.example.com", "failurePolicy": "Fail", "sideEffects": "None",
                "admissionReviewVersions": ["v1"], "timeoutSeconds": 1, "rules": [rule],
                "namespaceSelector": { "matchLabels": here },
                // Nothing listens on the port of a service that hands ports out.
                "clientConfig": { "url": "https://127.0.0.1:1/admit" },
            }],
        });
        stage.house.plane.apply(&configuration.to_string());
        Self(stage)
    }
}

impl Drop for Webhook<'_> {
    fn drop(&mut self) {
        let name = &self.0.namespace;
        let delete = ["delete", "validatingwebhookconfiguration", name];
        let _ = self.0.house.plane.try_kubectl(&delete, "");
    }
}

/// Whether an update of this object is refused.
fn refused(stage: &Stage, name: &str) -> bool {
    let touch = ["annotate", "vm", name, "touched=yes", "--dry-run=server"];
    let place = ["-n", stage.namespace.as_str()];
    let answer = stage
        .house
        .plane
        .try_kubectl(&[&place[..], &touch].concat(), "");
    !answer.success
}

/// Writes of the operator to VirtualMachines of this stage that the API server refused.
fn refusals(stage: &Stage) -> usize {
    let all = audit::requests(stage.house);
    let ours = all.iter().filter(|request| request.user == OPERATOR);
    ours.filter(|request| request.namespace == stage.namespace && request.code >= 400)
        .filter(|request| {
            request.verb == "patch" && request.resource.starts_with("virtualmachines")
        })
        .count()
}

/// B14: nothing is made without its intent, what is made is not forgotten, tries get rarer, and when the webhook goes
/// everything goes on by itself.
#[test]
fn a_webhook_that_is_down_holds_up_writes_and_its_end_is_enough() {
    let stage = Stage::set();
    let mut operator = stage.leader("leader");
    stage.house.usable(&stage.namespace);
    stage.create("old");
    stage.ready("old");
    let webhook = Webhook::down(&stage);
    until("the webhook is asked", || refused(&stage, "old"));
    let before = refusals(&stage);
    stage.create("new");
    stage.house.delete(&stage.namespace, "old");
    until("the deletion has reached the provider", || {
        stage.cloud.ours().is_empty()
    });
    until_or(
        "each has been refused three times",
        || refusals(&stage) >= before + 6,
        || format!("{} refusals", refusals(&stage) - before),
    );
    let told = |line: &Value| {
        line["namespace"] == stage.namespace.as_str() && line.to_string().contains("webhook")
    };
    assert!(
        operator.lines().iter().any(told),
        "the log does not say why"
    );
    assert_eq!(
        stage.cloud.calls("create").1,
        2,
        "one was made without its intent"
    );
    assert_eq!(stage.vms().len(), 2, "the finalizer went");
    assert!(operator.ended().is_none(), "the operator ended");
    assert_eq!(operator.health("/livez").0, 200);
    let tries = refusals(&stage) - before;
    assert!(tries < 60, "{tries} tries do not get rarer");
    drop(webhook);
    stage.ready("new");
    stage.house.gone(&stage.namespace, "old");
    assert_eq!(stage.cloud.ours().len(), 1);
    stage.end();
}

/// A manifest with so many bytes of annotations, and of labels.
fn large(namespace: &str, name: &str, annotations: usize, labels: usize) -> Value {
    let mut vm = manifest(namespace, name);
    vm["metadata"]["annotations"] = json!({ "filler": "x".repeat(annotations - "filler".len()) });
    let value = "y".repeat(63);
    let label = |number: usize| (format!("l{number}"), json!(value));
    vm["metadata"]["labels"] = (0..labels / 75)
        .map(label)
        .collect::<serde_json::Map<_, _>>()
        .into();
    vm
}

/// E14: an object that fills what the store takes lives like any other; one whose annotations leave no room for our
/// intent makes nothing, is told about in the log, and is made once there is room.
#[test]
fn objects_at_the_limits_of_size_are_made_and_without_room_nothing_is_and_the_log_says_why() {
    let stage = Stage::set();
    let operator = stage.leader("leader");
    stage.house.usable(&stage.namespace);
    let path = format!("{GROUP}/namespaces/{}/virtualmachines", stage.namespace);
    // Nearly all that may stand in annotations, and as much in labels; the whole is half of what etcd takes.
    let fits = large(&stage.namespace, "fits", 250 << 10, 250 << 10);
    stage.house.client.create(&path, &fits);
    stage.ready("fits");
    let full = large(&stage.namespace, "full", MOST_ANNOTATIONS, 0);
    stage.house.client.create(&path, &full);
    stage.create("beside");
    stage.ready("beside");
    let shown = || {
        let vm = stage.house.vm(&stage.namespace, "full");
        condition(&vm.unwrap_or_default(), "Ready")
    };
    until_or(
        "the one without room is told about",
        || {
            let lines = operator.lines();
            let about =
                |line: &&Value| line["name"] == "full" && line.to_string().contains("annotations");
            lines.iter().any(|line| about(&line))
        },
        || format!("{:?}", shown()),
    );
    assert_eq!(stage.cloud.ours().len(), 2, "made without its intent");
    let patch = json!({ "metadata": { "annotations": { "filler": "little" } } });
    stage.house.client.merge(&path, "full", &patch);
    stage.ready("full");
    assert_eq!(stage.cloud.ours().len(), 3);
    stage.end();
}
