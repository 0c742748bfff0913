//! The history of a Lease joined with a provider's log: no write starts outside the term of whoever sends it.
//!
//! I7 a provider write starts only within the renew deadline after a renewal of its sender, before any other operator
//! took the Lease, and not after its sender gave it back.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::audit::{self, Request};
use super::cloud::Cloud;
use super::house::{House, OPERATOR};

/// The renew deadline: at it a leader exits.
const TERM: Duration = Duration::from_secs(10);
/// Calls that change nothing.
const READS: [&str; 4] = ["get", "list", "changes", "capabilities"];

/// One successful write of a Lease.
#[derive(Clone, Debug)]
pub(crate) struct LeaseWrite {
    /// When the API server received it.
    pub(crate) at: Timestamp,
    /// Who holds it from then on; empty: nobody.
    pub(crate) holder: String,
    /// Whether an operator wrote it; else a person did.
    pub(crate) by_operator: bool,
}

/// Judges every write at this cloud by the history of the Lease in that namespace.
///
/// # Panics
/// A write started outside the term of its sender. Every finding is named.
pub(crate) fn check(house: &House, cloud: &Cloud, namespace: &str) {
    let history = lease_writes(house, namespace);
    let log = cloud.log();
    let ours = log.iter().filter(|call| {
        let operation = call["operation"].as_str().unwrap_or_default();
        !READS.contains(&operation) && sender(call).is_some()
    });
    let mut judged = 0;
    let mut findings = Vec::new();
    for call in ours {
        judged += 1;
        if let Some(wrong) = wrong(call, &history) {
            findings.push(format!("I7: {wrong}: {call}"));
        }
    }
    assert!(findings.is_empty(), "{}\n{history:#?}", findings.join("\n"));
    assert!(judged > 0, "no write of any operator was found");
}

/// Every write of the Lease, oldest first.
pub(crate) fn lease_writes(house: &House, namespace: &str) -> Vec<LeaseWrite> {
    let wanted = |request: &Request| {
        request.resource == "leases"
            && request.namespace == namespace
            && (request.is_write() && request.code < 300)
    };
    let writes = audit::those(house, wanted).into_iter();
    let mut found: Vec<LeaseWrite> = writes
        .map(|request| LeaseWrite {
            at: request.received,
            by_operator: request.user == OPERATOR,
            holder: request.holder,
        })
        .collect();
    found.sort_by_key(|write| write.at);
    found
}

/// The identity in `vmoperator/VERSION (IDENTITY)`.
fn sender(call: &Value) -> Option<&str> {
    let name = call["userAgent"].as_str()?.strip_prefix("vmoperator/")?;
    name.split_once('(')?.1.strip_suffix(')')
}

fn wrong(call: &Value, history: &[LeaseWrite]) -> Option<String> {
    let sender = sender(call)?;
    let arrived = call["arrived"].as_str()?.parse::<Timestamp>().ok()?;
    let earlier: Vec<&LeaseWrite> = history.iter().filter(|write| write.at <= arrived).collect();
    let last = earlier
        .iter()
        .rposition(|write| write.by_operator && write.holder == sender);
    let Some(last) = last else {
        return Some(format!("{sender} never held the lease before"));
    };
    let since: &[&LeaseWrite] = &earlier[last + 1..];
    let renewed = earlier[last].at;
    let age = arrived.duration_since(renewed);
    if age > SignedDuration::try_from(TERM).expect("it fits") {
        return Some(format!("{sender} had renewed {age:#} before"));
    }
    // A person who edits or deletes the Lease ends no term; whoever led finds out at its next renewal.
    if since.iter().any(|write| !write.by_operator) {
        return None;
    }
    let next = since.first()?;
    Some(if next.holder.is_empty() {
        format!("{sender} had given the lease back")
    } else {
        format!("{} had taken the lease from {sender}", next.holder)
    })
}
