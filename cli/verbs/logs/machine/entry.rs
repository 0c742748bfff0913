//! One thing that was told about a VirtualMachine.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::output::clean;
use crate::verbs::events;
use crate::verbs::logs::line::{clock, parts};

/// Who told it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Teller {
    /// A replica of the operator.
    Replica(String),
    /// The provider: a call that reached it.
    Provider,
    /// The cluster: an event about the object.
    Event,
}

/// Something that was told, and when.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    /// When; what says no time comes first.
    pub(super) time: Option<Timestamp>,
    teller: Teller,
    /// For people.
    words: String,
    /// As it was written.
    line: Value,
}

impl Entry {
    /// A line of the operator; `None` where it is none of ours.
    pub(super) fn of_replica(replica: &str, line: &str) -> Option<Self> {
        let (time, words) = parts(line)?;
        Some(Self {
            time: time.parse().ok(),
            teller: Teller::Replica(replica.to_owned()),
            words,
            line: serde_json::from_str(line).ok()?,
        })
    }

    /// A call to the provider, as its log has it. The key that it was made with stays where it is.
    pub(super) fn of_call(mut call: Value) -> Self {
        if let Some(fields) = call.as_object_mut() {
            fields.remove("apiKey");
        }
        let word = |field: &str| call[field].as_str().unwrap_or("-").to_owned();
        let answer = match (call["dropped"].as_bool(), call["status"].as_u64()) {
            (Some(true), _) | (_, Some(0) | None) => "no answer".to_owned(),
            (_, Some(status)) => match call["code"].as_str() {
                Some(code) => format!("{status} {code}"),
                None => status.to_string(),
            },
        };
        let mut words = format!("{} {answer} {}", word("operation"), word("vmId"));
        if call["applied"] == true {
            words.push_str(" applied");
        }
        for (name, field) in [("request", "requestId"), ("by", "userAgent")] {
            if let Some(value) = call[field].as_str() {
                words.push_str(&format!(" {name}={value:?}"));
            }
        }
        let time = call["time"].as_str().and_then(|time| time.parse().ok());
        Self {
            time,
            teller: Teller::Provider,
            words: clean(&words),
            line: call,
        }
    }

    /// An event about the object.
    pub(super) fn of_event(mut event: Value) -> Self {
        if let Some(metadata) = event["metadata"].as_object_mut() {
            metadata.remove("managedFields");
        }
        let word = |field: &str| event[field].as_str().unwrap_or("-").to_owned();
        let count = event["series"]["count"]
            .as_u64()
            .or(event["count"].as_u64());
        let count = match count {
            Some(count) if count > 1 => format!(" (x{count})"),
            Some(_) | None => String::new(),
        };
        let words = format!(
            "{:<7} {}{count}: {}",
            word("type"),
            word("reason"),
            word("message")
        );
        Self {
            time: events::moment(&event),
            teller: Teller::Event,
            words: clean(&words).replace('\n', " "),
            line: event,
        }
    }

    /// What tells it apart from everything else that was told.
    pub(super) fn key(&self) -> String {
        format!("{} {}", self.who(), self.line)
    }

    fn who(&self) -> &str {
        match &self.teller {
            Teller::Replica(name) => name,
            Teller::Provider => "provider",
            Teller::Event => "event",
        }
    }

    /// For people: time, who told it, what.
    pub(super) fn text(&self) -> String {
        let time = self.time.map(|time| format!("{time:.3}"));
        let time = clock(time.as_deref().unwrap_or("-"));
        format!("{time:<12} {:<12} {}", clean(self.who()), self.words)
    }

    /// For programs.
    pub(super) fn json(&self) -> Value {
        let (source, replica) = match &self.teller {
            Teller::Replica(name) => ("operator", Some(name)),
            Teller::Provider => ("provider", None),
            Teller::Event => ("event", None),
        };
        json!({ "version": 1, "time": self.time.map(|time| time.to_string()), "source": source,
            "replica": replica, "line": self.line })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_teller_is_made_readable_and_none_tells_a_key_or_drives_the_terminal() {
        let line = r#"{"timestamp":"2026-11-30T10:58:28.362347Z","level":"INFO","message":"create","namespace":"team","name":"web"}"#;
        let line = Entry::of_replica("run-1", line).unwrap();
        assert_eq!(
            line.text(),
            "10:58:28.362 run-1        INFO  team/web create"
        );
        assert!(Entry::of_replica("run-1", "etcd says").is_none());
        let call = json!({ "time": "2026-11-30T10:58:28.4Z", "operation": "create", "status": 201, "vmId": "vm-1",
            "applied": true, "requestId": "r\u{1b}", "userAgent": "one", "apiKey": "secret" });
        let call = Entry::of_call(call);
        assert_eq!(
            call.text(),
            "10:58:28.400 provider     create 201 vm-1 applied request=\"r\\u{1b}\" by=\"one\""
        );
        assert!(!call.json().to_string().contains("secret"));
        let lost = json!({ "operation": "get", "status": 200, "dropped": true });
        assert_eq!(
            Entry::of_call(lost).text(),
            "-            provider     get no answer -"
        );
        let event = json!({ "type": "Normal", "reason": "Created", "message": "made\nit", "count": 3,
            "lastTimestamp": "2026-11-30T10:58:29Z" });
        assert_eq!(
            Entry::of_event(event).text(),
            "10:58:29.000 event        Normal  Created (x3): made it"
        );
    }
}
