//! Objects of the API server as the dashboard has them. What an object lacks reads as empty.

use serde_json::Value;
use vm_tui::{
    Condition, Config, Event, Lease, LogLine, Machine, Operation, Outlet, QueueLine, ReplicaState,
    Stamp,
};

use crate::output::clean;

/// Most lines of a queue that are kept.
const LINES: usize = 500;
/// Longest text of a message.
const LONGEST: usize = 500;

/// A VirtualMachine.
pub(super) fn machine(object: &Value) -> Machine {
    let (spec, status) = (&object["spec"], &object["status"]);
    let metadata = &object["metadata"];
    let generation = metadata["generation"].as_i64().unwrap_or_default();
    let observed = status["observedGeneration"].as_i64().unwrap_or(generation);
    let labels = metadata["labels"].as_object().into_iter().flatten();
    Machine {
        uid: word(&metadata["uid"]),
        namespace: word(&metadata["namespace"]),
        name: word(&metadata["name"]),
        phase: word(&status["phase"]),
        cpu: number(&spec["cpu"]),
        memory: word(&spec["memory"]),
        image: word(&spec["image"]),
        provider: word(&spec["providerRef"]),
        id: word(&status["id"]),
        address: word(&status["addresses"][0]["address"]),
        created: time(&metadata["creationTimestamp"]),
        deleting: metadata["deletionTimestamp"].is_string(),
        current: observed >= generation,
        conditions: list(&status["conditions"]).map(condition).collect(),
        operation: status["operation"]
            .is_object()
            .then(|| operation(&status["operation"])),
        labels: labels
            .map(|(name, value)| (name.clone(), word(value)))
            .collect(),
    }
}

/// A ProviderConfig.
pub(super) fn config(object: &Value) -> Config {
    let conditions = &object["status"]["conditions"];
    let ready = list(conditions).find(|one| one["type"] == "Ready");
    let field = |name: &str| ready.map_or_else(String::new, |one| word(&one[name]));
    Config {
        uid: word(&object["metadata"]["uid"]),
        namespace: word(&object["metadata"]["namespace"]),
        name: word(&object["metadata"]["name"]),
        ready: field("status"),
        reason: field("reason"),
    }
}

/// An event of either of the two kinds of API.
pub(super) fn event(object: &Value) -> Event {
    let about = &object["regarding"];
    let times = [
        &object["series"]["lastObservedTime"],
        &object["deprecatedLastTimestamp"],
        &object["eventTime"],
        &object["metadata"]["creationTimestamp"],
    ];
    let counts = [&object["series"]["count"], &object["deprecatedCount"]];
    Event {
        uid: word(&object["metadata"]["uid"]),
        at: times
            .into_iter()
            .map(time)
            .find(|at| at.0 != 0)
            .unwrap_or_default(),
        kind: word(&object["type"]),
        reason: word(&object["reason"]),
        message: word(&object["note"]),
        namespace: word(&about["namespace"]),
        object: word(&about["name"]),
        object_uid: word(&about["uid"]),
        count: counts
            .into_iter()
            .map(number)
            .max()
            .unwrap_or_default()
            .max(1),
    }
}

/// Whether an event is about an object of ours.
pub(super) fn is_ours(object: &Value) -> bool {
    let version = object["regarding"]["apiVersion"]
        .as_str()
        .unwrap_or_default();
    version.starts_with(vmoperator::api::GROUP)
}

/// The Lease.
pub(super) fn lease(object: &Value, at: Stamp) -> Lease {
    let spec = &object["spec"];
    Lease {
        holder: word(&spec["holderIdentity"]),
        renewed: time(&spec["renewTime"]),
        duration_secs: number(&spec["leaseDurationSeconds"]),
        transitions: spec["leaseTransitions"].as_i64().unwrap_or_default(),
        at,
    }
}

/// `/debug/state` of a replica. The lines that tell most come first and are kept: what runs, what failed, what is ready.
pub(super) fn state(answer: &Value, at: Stamp) -> ReplicaState {
    let leader = &answer["leader"];
    let mut lines: Vec<QueueLine> = list(&answer["queue"]).map(queue_line).collect();
    let rank = |line: &QueueLine| match (line.state.as_str(), line.failures) {
        ("running", _) => 0,
        ("ready", _) => 2,
        (_, 0) => 3,
        (_, _) => 1,
    };
    lines.sort_by_key(rank);
    lines.truncate(LINES);
    ReplicaState {
        identity: word(&leader["identity"]),
        leading: leader["leading"].as_bool().unwrap_or_default(),
        outlets: list(&answer["breakers"]).take(LINES).map(outlet).collect(),
        lines,
        at,
    }
}

/// A line of a log: JSON as the operator writes it, else the text as it stands.
pub(super) fn log_line(line: &str, replica: &str, now: Stamp) -> LogLine {
    let Ok(Value::Object(mut fields)) = serde_json::from_str(line) else {
        return LogLine {
            at: now,
            text: short(line),
            replica: replica.to_owned(),
            ..LogLine::default()
        };
    };
    let mut take = |name: &str| fields.remove(name).unwrap_or(Value::Null);
    let (at, level, message) = (
        time(&take("timestamp")),
        word(&take("level")),
        word(&take("message")),
    );
    let (namespace, name) = (word(&take("namespace")), word(&take("name")));
    let _ = (take("target"), take("pass"));
    let mut text = message;
    for (name, value) in &fields {
        let value = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        text.push_str(&format!("  {name}={value}"));
    }
    LogLine {
        at: if at.0 == 0 { now } else { at },
        level,
        key: if name.is_empty() {
            String::new()
        } else {
            format!("{namespace}/{name}")
        },
        text: short(&text),
        replica: replica.to_owned(),
    }
}

/// A moment as RFC 3339 has it; the beginning of 1970 where there is none.
pub(super) fn time(value: &Value) -> Stamp {
    let parsed = value
        .as_str()
        .and_then(|text| text.parse::<jiff::Timestamp>().ok());
    Stamp(parsed.map_or(0, jiff::Timestamp::as_millisecond))
}

fn condition(value: &Value) -> Condition {
    Condition {
        kind: word(&value["type"]),
        status: word(&value["status"]),
        reason: word(&value["reason"]),
        message: word(&value["message"]),
        since: time(&value["lastTransitionTime"]),
    }
}

fn operation(value: &Value) -> Operation {
    let next = time(&value["nextAttemptAt"]);
    Operation {
        kind: word(&value["type"]),
        attempts: number(&value["attempts"]),
        next: (next.0 != 0).then_some(next),
        reason: word(&value["lastErrorReason"]),
    }
}

fn queue_line(value: &Value) -> QueueLine {
    QueueLine {
        key: word(&value["key"]),
        state: word(&value["state"]),
        seconds: value["seconds"].as_f64().unwrap_or_default(),
        failures: number(&value["failures"]),
    }
}

fn outlet(value: &Value) -> Outlet {
    Outlet {
        config: word(&value["providerConfig"]),
        breaker: word(&value["state"]),
        held_back: value["heldBackSeconds"].as_f64(),
        paused: value["pausedSeconds"].as_f64().unwrap_or_default(),
        in_flight: number(&value["inFlight"]),
        most: number(&value["maxInFlight"]),
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn number(value: &Value) -> u32 {
    let number = value.as_u64().unwrap_or_default();
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn word(value: &Value) -> String {
    short(value.as_str().unwrap_or_default())
}

/// Text of others: in one line, bounded, and without what could drive a terminal.
fn short(text: &str) -> String {
    let line: String = text.chars().take(LONGEST).collect();
    clean(&line).replace(['\n', '\t'], " ")
}

#[cfg(test)]
mod tests;
