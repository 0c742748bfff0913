//! The parts of a description, as text.

use std::fmt::Write;
use std::time::Duration;

use serde_json::{Value, json};

use super::related::{Had, Owned, OwnedState, Related};
use crate::cluster::object::Object;
use crate::cluster::table::{Column, Table};
use crate::output::clean;
use crate::verbs::{age, events};

/// Longest value of a label or annotation that is shown whole.
const LONGEST: usize = 100;
/// Calls and events that are shown; more are counted.
const LATEST: usize = 10;

/// Name, labels and the like.
pub(super) fn head(object: &Value) -> String {
    let (it, metadata) = (Object(object), &object["metadata"]);
    let mut text = String::new();
    line(&mut text, "Name", it.name());
    line(&mut text, "Namespace", it.namespace());
    pairs(&mut text, "Labels", &metadata["labels"]);
    pairs(&mut text, "Annotations", &metadata["annotations"]);
    let created = metadata["creationTimestamp"].as_str().unwrap_or_default();
    line(
        &mut text,
        "Created",
        &format!("{created} ({} ago)", age::since(created)),
    );
    if let Some(asked) = metadata["deletionTimestamp"].as_str() {
        line(
            &mut text,
            "Deleting",
            &format!("since {asked}: {}", it.story()),
        );
    }
    text
}

/// The VM in a line, and what belongs to it as a tree.
pub(super) fn machine(object: &Value, related: &Related) -> String {
    let mut text = String::new();
    line(&mut text, "Status", &Object(object).story());
    text.push_str("\nTree:\n");
    let phase = object["status"]["phase"]
        .as_str()
        .unwrap_or("no status yet");
    let _ = writeln!(
        text,
        "  VirtualMachine {}: {}",
        Object(object).name(),
        clean(phase)
    );
    let mut branches = vec![instance(object), config_line(object, &related.config)];
    branches.extend(related.owned.iter().filter_map(owned));
    let last = branches.len().saturating_sub(1);
    for (index, branch) in branches.iter().enumerate() {
        let mark = if index == last { "└─" } else { "├─" };
        let _ = writeln!(text, "  {mark} {}", clean(branch));
    }
    text
}

/// What a ProviderConfig points to, and who uses it.
pub(super) fn config(object: &Value, related: &Related) -> String {
    let (spec, status) = (&object["spec"], &object["status"]);
    let mut text = String::new();
    line(
        &mut text,
        "Endpoint",
        spec["endpoint"].as_str().unwrap_or("-"),
    );
    if let Some(secret) = spec["secretRef"]["name"].as_str() {
        let key = spec["secretRef"]["key"].as_str().unwrap_or("apiKey");
        line(
            &mut text,
            "Credentials",
            &format!("Secret {secret}, key {key}"),
        );
    }
    line(
        &mut text,
        "Account",
        status["account"].as_str().unwrap_or("-"),
    );
    line(&mut text, "Status", &Object(object).story());
    match &related.machines {
        Ok(machines) => line(&mut text, "Used by", &used_by(machines)),
        Err(why) => line(&mut text, "Used by", &format!("not known: {why}")),
    }
    text
}

fn used_by(machines: &[Value]) -> String {
    let names: Vec<&str> = machines
        .iter()
        .take(LATEST)
        .map(|one| Object(one).name())
        .collect();
    match machines.len() {
        0 => "no VirtualMachine".to_owned(),
        count if count > LATEST => format!("{count} VirtualMachines: {}, …", names.join(", ")),
        count => format!(
            "{count} VirtualMachine{}: {}",
            if count == 1 { "" } else { "s" },
            names.join(", ")
        ),
    }
}

fn instance(object: &Value) -> String {
    let (status, spec) = (&object["status"], &object["spec"]);
    let Some(id) = status["id"].as_str() else {
        return format!("no instance yet; wanted: {}", size(spec));
    };
    let real = if status["instance"].is_object() {
        &status["instance"]
    } else {
        spec
    };
    let mut text = format!("instance {id}: {}", size(real));
    for address in status["addresses"].as_array().into_iter().flatten() {
        let (kind, address) = (address["type"].as_str(), address["address"].as_str());
        let _ = write!(
            text,
            ", {} ({})",
            address.unwrap_or("-"),
            kind.unwrap_or("-")
        );
    }
    if let Some(made) = status["instance"]["createdAt"].as_str() {
        let _ = write!(text, ", made {} ago", age::since(made));
    }
    text
}

fn size(from: &Value) -> String {
    let word = |field: &str| match &from[field] {
        Value::String(text) => text.clone(),
        Value::Null => "-".to_owned(),
        other => other.to_string(),
    };
    format!("{} CPU, {}, {}", word("cpu"), word("memory"), word("image"))
}

fn config_line(object: &Value, config: &Had<Value>) -> String {
    let name = object["spec"]["providerRef"].as_str().unwrap_or("default");
    match config {
        Ok(config) => {
            let endpoint = config["spec"]["endpoint"].as_str().unwrap_or("-");
            format!(
                "ProviderConfig {name}: {endpoint}, {}",
                Object(config).story()
            )
        }
        Err(why) => format!("ProviderConfig {name}: {why}"),
    }
}

/// What is not there and need not be is left out.
fn owned(owned: &Owned) -> Option<String> {
    let name = format!("{} {}", owned.kind, owned.name);
    match &owned.state {
        OwnedState::There => Some(name),
        OwnedState::Missing => None,
        OwnedState::Foreign => Some(format!("{name}: belongs to somebody else")),
        OwnedState::Unknown(why) => Some(format!("{name}: {why}")),
    }
}

/// The conditions as a timeline: what changed last comes last.
pub(super) fn conditions(object: &Value) -> String {
    let list = object["status"]["conditions"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let mut list: Vec<&Value> = list.iter().collect();
    let since = |one: &Value| {
        one["lastTransitionTime"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    list.sort_by_key(|one| since(one));
    let generation = object["metadata"]["generation"].as_i64();
    let rows = list.iter().map(|one| {
        let old =
            one["observedGeneration"].as_i64() < generation && one["observedGeneration"].is_i64();
        let message = one["message"].as_str().unwrap_or_default();
        let note = if old { "(of an older spec) " } else { "" };
        vec![
            json!(age::since(&since(one))),
            one["type"].clone(),
            one["status"].clone(),
            one["reason"].clone(),
            json!(format!("{note}{message}")),
        ]
    });
    section(
        "Conditions, the latest change last",
        &["Since", "Type", "Status", "Reason", "Message"],
        rows.collect(),
    )
}

/// What the operator will do next, and when.
pub(super) fn next(object: &Value, related: &Related) -> String {
    let mut text = String::from("\nNext:\n");
    let operation = &object["status"]["operation"];
    if operation.is_object() {
        let word = |field: &str| operation[field].as_str().unwrap_or("-");
        let _ = writeln!(
            text,
            "  {} at the provider: attempt {}, begun {} ago, last error {}, tried again {}",
            clean(word("type")),
            operation["attempts"],
            age::since(word("startedAt")),
            clean(word("lastErrorReason")),
            age::until(word("nextAttemptAt")),
        );
    }
    match &related.queue {
        Ok(Some(line)) => {
            let _ = writeln!(text, "  operator: {}", clean(&queue_line(line)));
        }
        Ok(None) => text.push_str("  operator: nothing to do until something changes\n"),
        Err(why) => {
            let _ = writeln!(text, "  operator's queue: not known: {}", clean(why));
        }
    }
    text
}

fn queue_line(line: &Value) -> String {
    let seconds = line["seconds"].as_f64().unwrap_or_default().clamp(0.0, 1e9);
    let time = age::words(Duration::from_secs_f64(seconds.round()));
    let failures = line["failures"].as_u64().unwrap_or_default();
    let failed = if failures == 0 {
        String::new()
    } else {
        format!(", {failures} failures in a row")
    };
    match line["state"].as_str() {
        Some("delayed") => format!("looks again in {time}{failed}"),
        Some("running") => format!("at work for {time}{failed}"),
        Some("ready") => format!("waits for a worker for {time}{failed}"),
        Some(other) => format!("{other} for {time}{failed}"),
        None => "not known".to_owned(),
    }
}

/// The latest calls to the provider.
pub(super) fn calls(related: &Related) -> String {
    let calls = match &related.calls {
        Ok(calls) => calls,
        Err(why) => return format!("\nProvider calls: not known: {}\n", clean(why)),
    };
    let rows = calls
        .iter()
        .skip(calls.len().saturating_sub(LATEST))
        .map(|call| {
            let status = match (call["status"].as_u64(), call["code"].as_str()) {
                (Some(0) | None, _) => "no answer".to_owned(),
                (Some(status), Some(code)) => format!("{status} {code}"),
                (Some(status), None) => status.to_string(),
            };
            let since = age::since(call["time"].as_str().unwrap_or_default());
            vec![
                json!(since),
                call["operation"].clone(),
                json!(status),
                call["vmId"].clone(),
                call["requestId"].clone(),
            ]
        });
    section(
        "Provider calls, the latest last",
        &["Since", "Operation", "Answer", "ID", "Request"],
        rows.collect(),
    )
}

/// The latest events.
pub(super) fn events(related: &Related) -> String {
    let list = match &related.events {
        Ok(list) => list,
        Err(why) => return format!("\nEvents: not known: {}\n", clean(why)),
    };
    let rows = list
        .iter()
        .skip(list.len().saturating_sub(LATEST))
        .map(|event| {
            let seen = age::since(events::time(event));
            vec![
                json!(events::times(event, &seen)),
                event["type"].clone(),
                event["reason"].clone(),
                event["message"].clone(),
            ]
        });
    section(
        "Events, the latest last",
        &["Last seen", "Type", "Reason", "Message"],
        rows.collect(),
    )
}

fn section(title: &str, columns: &[&str], rows: Vec<Vec<Value>>) -> String {
    if rows.is_empty() {
        let word = title.split(',').next().unwrap_or(title);
        return format!("\n{word}: none\n");
    }
    let mut table = Table::new(false, false);
    let column = |name: &&str| Column {
        name: (*name).to_owned(),
        priority: 0,
    };
    table.set_columns(columns.iter().map(column).collect());
    let lines = table.lines(rows.iter().map(|row| ("", row.as_slice())));
    let mut text = format!("\n{title}:\n");
    for line in lines {
        let _ = writeln!(text, "  {}", line.trim_end());
    }
    text
}

fn pairs(text: &mut String, name: &str, map: &Value) {
    let list = map.as_object().into_iter().flatten().map(|(key, value)| {
        let value = value.as_str().unwrap_or_default().replace('\n', " ");
        let cut: String = value.chars().take(LONGEST).collect();
        let mark = if cut.len() < value.len() { "…" } else { "" };
        format!("{key}={cut}{mark}")
    });
    for (index, pair) in list.enumerate() {
        line(text, if index == 0 { name } else { "" }, &pair);
    }
}

fn line(text: &mut String, name: &str, value: &str) {
    let name = if name.is_empty() {
        String::new()
    } else {
        format!("{name}:")
    };
    let value = clean(value).replace(['\n', '\t'], " ");
    let _ = writeln!(text, "{name:<13}{value}");
}
