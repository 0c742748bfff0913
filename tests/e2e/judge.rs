//! What is judged when all is calm again after faults, from the same evidence as everything else.
//!
//! I3 no create after its object was let go · I4 each object shows what the provider has · I8 a neighbour was served as if
//! nothing had been · I9 no object and no VM cost more calls than a bounded back-off · I11 whoever is not Ready says why.

use std::collections::BTreeMap;

use serde_json::Value;

use super::audit::Request;
use super::checker::{Evidence, tag, time};
use super::cloud::Cloud;
use super::house::{House, OPERATOR};

/// Calls that one object may cost while things go wrong for less than a minute. A back-off that doubles from a second
/// needs six; a loop without one makes hundreds.
const CALLS: usize = 20;
/// Writes of one object: an attempt is one, and so is each thing that is told.
const WRITES: usize = 40;

/// Judges everything at this cloud once its objects have settled; each had so many VMs at most, one after the other.
///
/// # Panics
/// Anything is not as it must be. Every finding is named.
pub(crate) fn judge(house: &House, cloud: &Cloud, most: usize) {
    let evidence = Evidence::gather(house, cloud);
    let mut findings = evidence.always(most);
    findings.extend(evidence.settled());
    assert!(findings.is_empty(), "{}", findings.join("\n"));
}

/// Who is not Ready without a word of why (I11).
pub(crate) fn unexplained(objects: &[Value]) -> Vec<String> {
    let silent = |object: &&Value| {
        let conditions = object["status"]["conditions"].as_array();
        let mut all = conditions.into_iter().flatten();
        let Some(ready) = all.find(|one| one["type"] == "Ready") else {
            return true;
        };
        let empty = |name: &str| ready[name].as_str().is_none_or(str::is_empty);
        let old = ready["observedGeneration"] != object["metadata"]["generation"];
        ready["status"] != "True" && (empty("reason") || empty("message") || old)
    };
    objects
        .iter()
        .filter(silent)
        .map(|object| format!("I11: not Ready without a reason: {object}"))
        .collect()
}

impl Evidence {
    /// What must hold when nothing is under way any more.
    pub(crate) fn settled(&self) -> Vec<String> {
        let mut findings = unexplained(&self.objects_here());
        self.shown_as_it_is(&mut findings);
        self.let_go_for_good(&mut findings);
        self.calls_are_bounded(&mut findings);
        self.writes_are_bounded(&mut findings);
        findings
    }

    /// What a tenant whose neighbour is in trouble must have got: each VM made by one call, every call answered, and no
    /// write more than in quiet times.
    pub(crate) fn unharmed(&self) -> Vec<String> {
        let mut findings = Vec::new();
        let made = self.ours().count();
        let strangers = self.strangers.len();
        let calls = |operation: &str| {
            let of = |call: &&Value| call["operation"] == operation;
            self.log.iter().filter(of).count()
        };
        if calls("create") != made + strangers {
            findings.push(format!(
                "I8: {made} VMs took {} creates",
                calls("create") - strangers
            ));
        }
        for call in &self.log {
            let status = call["status"].as_u64().unwrap_or_default();
            let refused = !(200..300).contains(&status) && status != 404;
            if refused || call["dropped"] == true {
                findings.push(format!("I8: a call of a neighbour failed: {call}"));
            }
        }
        for (object, (meta, status)) in self.writes() {
            // Intent, and at most the removal of the finalizer; id, Running, and at most that it goes.
            if meta > 2 || status > 3 {
                findings.push(format!(
                    "I8: {meta} writes of {object}, {status} of its status"
                ));
            }
        }
        findings
    }

    /// Objects whose VMs are in this cloud, and those that have none in the same namespaces.
    fn objects_here(&self) -> Vec<Value> {
        let here = |object: &&Value| {
            let namespace = &object["metadata"]["namespace"];
            self.ours().any(|vm| tag(vm, "namespace") == *namespace)
        };
        self.objects.iter().filter(here).cloned().collect()
    }

    fn shown_as_it_is(&self, findings: &mut Vec<String>) {
        for object in self.objects_here() {
            let (uid, status) = (&object["metadata"]["uid"], &object["status"]);
            let mut live = self.ours().filter(|vm| vm["deletedAt"].is_null());
            let Some(vm) = live.find(|vm| tag(vm, "uid") == *uid) else {
                findings.push(format!("I4: an object without a VM: {object}"));
                continue;
            };
            let instance = &status["instance"];
            let same = status["id"] == vm["id"]
                && status["phase"] == vm["phase"]
                && status["addresses"] == vm["addresses"]
                && ["image", "cpu", "memory"]
                    .iter()
                    .all(|field| instance[field] == vm[field]);
            if !same {
                findings.push(format!("I4: {status} is not what is there: {vm}"));
            }
            if !status["operation"].is_null() {
                findings.push(format!("I4: nothing is being tried any more: {status}"));
            }
        }
    }

    /// After the operator's last write to an object, which takes the finalizer off, nothing is made for it.
    fn let_go_for_good(&self, findings: &mut Vec<String>) {
        for vm in self.ours() {
            let (namespace, name, uid) = (tag(vm, "namespace"), tag(vm, "name"), tag(vm, "uid"));
            let is_it = |object: &&Value| object["metadata"]["uid"] == uid.as_str();
            if self.objects.iter().any(|object| is_it(&object)) {
                continue;
            }
            let writes = self.requests.iter().filter(|request| {
                is_write_of_machine(request)
                    && request.namespace == namespace
                    && request.name == name
            });
            let Some(last) = writes.map(|request| request.received).max() else {
                continue;
            };
            let late = self.log.iter().find(|call| {
                call["operation"] == "create" && call["uid"] == uid.as_str() && time(call) > last
            });
            if let Some(call) = late {
                findings.push(format!(
                    "I3: a create after {namespace}/{name} was let go: {call}"
                ));
            }
        }
    }

    fn calls_are_bounded(&self, findings: &mut Vec<String>) {
        let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        for call in &self.log {
            let about = if call["operation"] == "create" {
                &call["uid"]
            } else {
                &call["vmId"]
            };
            if about.is_string() {
                let key = (text(&call["operation"]), text(about));
                *counts.entry(key).or_default() += 1;
            }
        }
        for ((operation, about), count) in counts {
            if count > CALLS {
                let when: Vec<_> = self
                    .log
                    .iter()
                    .filter(|call| call["vmId"] == about.as_str() || call["uid"] == about.as_str())
                    .map(|call| {
                        format!("{} {} {}", call["time"], call["operation"], call["status"])
                    })
                    .collect();
                findings.push(format!(
                    "I9: {operation} of {about} was called {count} times: {}",
                    when.join(", ")
                ));
            }
        }
    }

    fn writes_are_bounded(&self, findings: &mut Vec<String>) {
        for (object, (meta, status)) in self.writes() {
            if meta + status > WRITES {
                findings.push(format!(
                    "I9: {meta} writes of {object}, {status} of its status"
                ));
            }
        }
    }

    /// Acknowledged writes of each object of this cloud: of the object, and of its status.
    fn writes(&self) -> BTreeMap<String, (usize, usize)> {
        let mut counts: BTreeMap<String, (usize, usize)> = BTreeMap::new();
        let names: Vec<(String, String)> = self
            .ours()
            .map(|vm| (tag(vm, "namespace"), tag(vm, "name")))
            .collect();
        let acknowledged = self.requests.iter().filter(|request| request.code < 300);
        for request in acknowledged.filter(|request| is_write_of_machine(request)) {
            let ours = |(namespace, name): &(String, String)| {
                request.namespace == *namespace && request.name == *name
            };
            if names.iter().any(ours) {
                let object = format!("{}/{}", request.namespace, request.name);
                let count = counts.entry(object).or_default();
                if request.resource.ends_with("/status") {
                    count.1 += 1;
                } else {
                    count.0 += 1;
                }
            }
        }
        counts
    }
}

fn is_write_of_machine(request: &Request) -> bool {
    request.user == OPERATOR
        && request.is_write()
        && request.resource.starts_with("virtualmachines")
}
