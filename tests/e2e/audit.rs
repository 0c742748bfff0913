//! The audit log, as far as the operator is in it.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::Path;
use std::sync::PoisonError;

use serde::Deserialize as _;
use serde_json::Value;

use super::house::{House, OPERATOR};

/// One answered request.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) user: String,
    pub(crate) verb: String,
    /// `virtualmachines`, `virtualmachines/status`, `secrets`.
    pub(crate) resource: String,
    pub(crate) group: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) code: u64,
    /// Whether rights forbade it; a 403 may also come from admission.
    pub(crate) denied: bool,
    pub(crate) received: jiff::Timestamp,
    /// What the client calls itself.
    pub(crate) agent: String,
    /// What follows the question mark of the path.
    pub(crate) query: String,
    /// Who holds a Lease from this write on; empty: nobody.
    pub(crate) holder: String,
}

/// What was read of the log so far: who waits for something in it looks often, and a look costs only what is new.
#[derive(Default)]
pub(crate) struct Journal {
    read: u64,
    requests: Vec<Request>,
}

/// Every request that was answered, the operator's and everybody else's.
pub(crate) fn requests(house: &House) -> Vec<Request> {
    those(house, |_| true)
}

/// The answered requests that are wanted.
pub(super) fn those(house: &House, wanted: impl Fn(&Request) -> bool) -> Vec<Request> {
    let mut journal = house.journal.lock().unwrap_or_else(PoisonError::into_inner);
    let events = house.plane.audit_from(&mut journal.read);
    let answered = |event: &&Value| {
        // A watch is complete only when it ends.
        event["stage"] == "ResponseComplete"
            || event["stage"] == "ResponseStarted" && event["verb"] == "watch"
    };
    journal
        .requests
        .extend(events.iter().filter(answered).map(request));
    let found = journal.requests.iter().filter(|one| wanted(one));
    found.cloned().collect()
}

fn request(event: &Value) -> Request {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let about = &event["objectRef"];
    let mut resource = text(&about["resource"]);
    if let Some(part) = about["subresource"].as_str() {
        resource = format!("{resource}/{part}");
    }
    let time = |name: &str| event[name].as_str().and_then(|time| time.parse().ok());
    Request {
        user: text(&event["user"]["username"]),
        verb: text(&event["verb"]),
        resource,
        group: text(&about["apiGroup"]),
        namespace: text(&about["namespace"]),
        name: text(&about["name"]),
        code: event["responseStatus"]["code"].as_u64().unwrap_or_default(),
        denied: event["annotations"]["authorization.k8s.io/decision"] == "forbid",
        received: time("requestReceivedTimestamp").expect("a time"),
        agent: text(&event["userAgent"]),
        query: text(&event["requestURI"])
            .split_once('?')
            .map(|(_, query)| query.to_owned())
            .unwrap_or_default(),
        holder: text(&event["requestObject"]["spec"]["holderIdentity"]),
    }
}

/// The operator's writes in a namespace that changed something, one word each: `patch virtualmachines/status web`.
/// Events and the Lease are counted apart.
pub(crate) fn writes(house: &House, namespace: &str) -> Vec<String> {
    let wanted = |request: &Request| {
        request.user == OPERATOR
            && request.is_write()
            && (request.namespace == namespace && request.code < 300)
            && !["events", "leases"].contains(&request.resource.as_str())
    };
    let found = those(house, wanted);
    found.iter().map(ToString::to_string).collect()
}

/// The operator's writes of events in a namespace that were accepted, one word each: `create events`, `patch events`.
pub(crate) fn events(house: &House, namespace: &str) -> Vec<String> {
    let wanted = |request: &Request| {
        request.user == OPERATOR
            && request.resource == "events"
            && (request.namespace == namespace && request.code < 300)
    };
    let found = those(house, wanted).into_iter();
    found
        .map(|request| format!("{} {}", request.verb, request.resource))
        .collect()
}

impl Request {
    pub(crate) fn is_write(&self) -> bool {
        !["get", "list", "watch"].contains(&self.verb.as_str())
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.verb, self.resource, self.name)
    }
}

/// Rights that `config/rbac/` grants to the operator and that no request so far has used, one `verb resource.group`
/// each.
pub(crate) fn unused_rights(house: &House) -> BTreeSet<String> {
    let mut unused = granted();
    for request in those(house, |request| request.user == OPERATOR) {
        unused.remove(&right(&request.verb, &request.resource, &request.group));
    }
    unused
}

fn right(verb: &str, resource: &str, group: &str) -> String {
    format!("{verb} {resource}.{group}")
}

fn granted() -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("config/rbac");
    let mut rights = BTreeSet::new();
    let files = [
        "manager-role.yaml",
        "leader-election-role.yaml",
        "metrics-auth-role.yaml",
    ];
    for file in files {
        let text = fs::read_to_string(folder.join(file)).expect("the role can be read");
        for document in text.split("\n---\n") {
            let value: Value = serde_saphyr::from_str(document).expect("the role is YAML");
            let rules = Vec::<Value>::deserialize(&value["rules"]).unwrap_or_default();
            for rule in &rules {
                add_rule(&mut rights, rule);
            }
        }
    }
    assert!(
        rights.len() > 10,
        "the roles were not understood: {rights:?}"
    );
    rights
}

fn add_rule(rights: &mut BTreeSet<String>, rule: &Value) {
    let list = |name: &str| Vec::<String>::deserialize(&rule[name]).unwrap_or_default();
    for group in list("apiGroups") {
        for resource in list("resources") {
            for verb in list("verbs") {
                rights.insert(right(&verb, &resource, &group));
            }
        }
    }
}
