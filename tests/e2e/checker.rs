//! The one judge at the end of a test: joins the provider's log, the objects and the audit log.
//!
//! I1 one VM for each object, ever · I2 no POST before finalizer and intent are stored · I3 no VM without its object,
//! no recorded id without its VM · I12 nothing is deleted that a user did not delete, and nothing of somebody else's
//! changes · no request of the operator was denied. What may be judged only when all is calm is in `judge`.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::Value;

use super::audit::{self, Request};
use super::cloud::Cloud;
use super::house::{House, OPERATOR};

/// Judges everything that happened at this cloud; every object had one VM at most.
///
/// # Panics
/// Anything is not as it must be. Every finding is named.
pub(crate) fn check(house: &House, cloud: &Cloud) {
    check_counting(house, cloud, 1);
}

/// The same where VMs were lost on purpose, so that objects may have had up to so many, one after the other.
pub(crate) fn check_counting(house: &House, cloud: &Cloud, most: usize) {
    let findings = Evidence::gather(house, cloud).always(most);
    println!(
        "rights granted and not used so far: {:?}",
        audit::unused_rights(house)
    );
    assert!(findings.is_empty(), "{}", findings.join("\n"));
}

/// What both sides wrote down.
#[derive(Clone)]
pub(crate) struct Evidence {
    /// Every VM that the provider ever had.
    pub(crate) vms: Vec<Value>,
    /// The provider's log.
    pub(crate) log: Vec<Value>,
    /// The VMs that no operator may touch, as they were.
    pub(crate) strangers: Vec<Value>,
    /// The VirtualMachines of the cluster.
    pub(crate) objects: Vec<Value>,
    /// The API server's log.
    pub(crate) requests: Vec<Request>,
}

impl Evidence {
    /// As things stand now.
    pub(crate) fn gather(house: &House, cloud: &Cloud) -> Self {
        Self {
            vms: cloud.all(),
            log: cloud.log(),
            strangers: cloud.strangers().to_vec(),
            objects: house.vms(),
            requests: audit::requests(house),
        }
    }

    /// As things stand now, without what was written down on the way: for whoever looks often.
    pub(crate) fn glance(house: &House, cloud: &Cloud) -> Self {
        Self {
            vms: cloud.all(),
            log: Vec::new(),
            strangers: cloud.strangers().to_vec(),
            objects: house.vms(),
            requests: Vec::new(),
        }
    }

    /// What holds at every moment, whatever is under way; every object had so many VMs at most.
    pub(crate) fn always(&self, most: usize) -> Vec<String> {
        let mut findings = Vec::new();
        self.one_each(most, &mut findings);
        self.intent_first(&mut findings);
        self.none_left_over(&mut findings);
        self.deleted_by_users(&mut findings);
        self.strangers_untouched(&mut findings);
        self.nothing_denied(&mut findings);
        findings
    }

    fn is_stranger(&self, id: &Value) -> bool {
        self.strangers.iter().any(|vm| vm["id"] == *id)
    }

    /// The VMs that were ever made for objects.
    pub(super) fn ours(&self) -> impl Iterator<Item = &Value> {
        self.vms.iter().filter(|vm| !self.is_stranger(&vm["id"]))
    }

    fn one_each(&self, most: usize, findings: &mut Vec<String>) {
        let mut of: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
        for vm in self.ours() {
            of.entry(tag(vm, "uid")).or_default().push(vm);
        }
        for (uid, vms) in of {
            let live = vms.iter().filter(|vm| vm["deletedAt"].is_null()).count();
            if vms.len() > most || live > 1 {
                findings.push(format!(
                    "I1: uid {uid} had {} VMs, {live} live: {vms:?}",
                    vms.len()
                ));
            }
        }
    }

    /// A patch of the object's metadata by the operator before each POST, stored, or answered to nobody: when the client
    /// dies over its call, the server writes down that it timed out, whether or not it was stored.
    fn intent_first(&self, findings: &mut Vec<String>) {
        let posts = self.log.iter().filter(|call| call["operation"] == "create");
        for post in posts.filter(|post| !self.is_stranger(&post["vmId"])) {
            let Some((namespace, name)) = self.whose(post) else {
                continue;
            };
            let sent = time(post);
            let stored = self.requests.iter().any(|request| {
                request.user == OPERATOR
                    && request.verb == "patch"
                    && request.resource == "virtualmachines"
                    && (request.namespace == namespace && request.name == name)
                    && [200, 504].contains(&request.code)
                    && request.received < sent
            });
            if !stored {
                let about = |one: &&Request| one.namespace == namespace && one.name == name;
                let told: Vec<_> = self
                    .requests
                    .iter()
                    .filter(about)
                    .map(|one| format!("{} {one} {} by {}", one.received, one.code, one.user))
                    .collect();
                findings.push(format!(
                    "I2: POST without an intent before it: {post}, of {told:#?}"
                ));
            }
        }
    }

    /// Namespace and name of the object that a call was made for, where its VM or the object is known.
    fn whose(&self, post: &Value) -> Option<(String, String)> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let made = self.vms.iter().find(|vm| vm["id"] == post["vmId"]);
        if let Some(vm) = made {
            return Some((tag(vm, "namespace"), tag(vm, "name")));
        }
        let object = self
            .objects
            .iter()
            .find(|vm| vm["metadata"]["uid"] == post["uid"])?;
        let meta = &object["metadata"];
        Some((text(&meta["namespace"]), text(&meta["name"])))
    }

    fn none_left_over(&self, findings: &mut Vec<String>) {
        for vm in self.ours().filter(|vm| vm["deletedAt"].is_null()) {
            let uid = tag(vm, "uid");
            match self
                .objects
                .iter()
                .find(|object| object["metadata"]["uid"] == uid.as_str())
            {
                None => findings.push(format!("I3: a VM without its object: {vm}")),
                Some(object) if object["status"]["id"] != vm["id"] => {
                    findings.push(format!("I3: {} is not recorded in {object:#}", vm["id"]));
                }
                Some(_) => {}
            }
        }
    }

    fn deleted_by_users(&self, findings: &mut Vec<String>) {
        for call in self.log.iter().filter(|call| call["operation"] == "delete") {
            let Some(vm) = self.vms.iter().find(|vm| vm["id"] == call["vmId"]) else {
                continue;
            };
            let (namespace, name, at) = (tag(vm, "namespace"), tag(vm, "name"), time(call));
            let asked = self.requests.iter().any(|request| {
                request.user != OPERATOR
                    && ["delete", "deletecollection"].contains(&request.verb.as_str())
                    && request.resource == "virtualmachines"
                    && request.namespace == namespace
                    && (request.name == name || request.name.is_empty())
                    && request.received < at
            });
            // A user who takes finalizers off makes an object vanish that had been deleted before.
            if !asked {
                findings.push(format!(
                    "I12: deleted without a user's deletion: {call} {vm}"
                ));
            }
        }
    }

    fn strangers_untouched(&self, findings: &mut Vec<String>) {
        for stranger in &self.strangers {
            let now = self.vms.iter().find(|vm| vm["id"] == stranger["id"]);
            if now != Some(stranger) {
                findings.push(format!(
                    "I12: somebody else's VM was {stranger} and is {now:?}"
                ));
            }
        }
    }

    /// A server that has just started denies what it will allow once it has read its roles: a right that is missing is
    /// never allowed.
    fn nothing_denied(&self, findings: &mut Vec<String>) {
        let right = |one: &Request| (one.verb.clone(), one.resource.clone(), one.group.clone());
        let ours = || {
            self.requests
                .iter()
                .filter(|request| request.user == OPERATOR)
        };
        let allowed: BTreeSet<_> = ours().filter(|one| !one.denied).map(right).collect();
        for request in ours().filter(|one| one.denied && !allowed.contains(&right(one))) {
            findings.push(format!("the operator's right is missing: {request:?}"));
        }
    }
}

pub(super) fn tag(vm: &Value, name: &str) -> String {
    let value = &vm["tags"][format!("vmoperator/{name}")];
    value.as_str().unwrap_or_default().to_owned()
}

pub(super) fn time(call: &Value) -> Timestamp {
    let text = call["time"].as_str().unwrap_or_default();
    text.parse().expect("a time")
}
