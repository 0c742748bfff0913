//! One line of a log: JSON of ours made readable, anything else as it is.

use std::fmt::Write;
use std::str::FromStr;

use serde_json::{Map, Value};

use crate::output::clean;

/// A VirtualMachine whose lines are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::verbs) struct Subject {
    namespace: String,
    name: String,
}

impl FromStr for Subject {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (namespace, name) = text.split_once('/').unwrap_or(("default", text));
        if namespace.is_empty() || name.is_empty() || name.contains('/') {
            return Err("write NAME or NAMESPACE/NAME".to_owned());
        }
        Ok(Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        })
    }
}

impl Subject {
    /// The VirtualMachine of that namespace and name.
    pub(in crate::verbs) fn of(namespace: &str, name: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    /// Whether a line of ours names it.
    pub(in crate::verbs) fn is_in(&self, line: &str) -> bool {
        let Ok(fields) = serde_json::from_str::<Map<String, Value>>(line) else {
            return false;
        };
        let is = |field: &str, value: &str| fields.get(field).is_some_and(|found| found == value);
        is("namespace", &self.namespace) && is("name", &self.name) && !fields.contains_key("kind")
    }
}

/// The line for people: time, level, object, message, the other fields.
pub(in crate::verbs) fn told(line: &str) -> String {
    match parts(line) {
        Some((time, rest)) => format!("{} {rest}", clock(&time)),
        None => clean(line),
    }
}

/// Hours to milliseconds: the day is in the file.
pub(in crate::verbs) fn clock(time: &str) -> String {
    clean(time.get(11..23).unwrap_or(time))
}

/// The time of a line of ours as it was written, and all the rest for people; `None` where it is none of ours.
pub(in crate::verbs) fn parts(line: &str) -> Option<(String, String)> {
    let mut fields = serde_json::from_str::<Map<String, Value>>(line).ok()?;
    let mut take = |field: &str| match fields.remove(field) {
        Some(Value::String(text)) => text,
        Some(other) => other.to_string(),
        None => String::new(),
    };
    let (time, level, message) = (take("timestamp"), take("level"), take("message"));
    if message.is_empty() {
        return None;
    }
    let (namespace, name, kind) = (take("namespace"), take("name"), take("kind"));
    take("target");
    let mut text = format!("{level:<5}");
    if !kind.is_empty() {
        let _ = write!(text, " {kind}");
    }
    if !name.is_empty() {
        let _ = write!(text, " {namespace}/{name}");
    }
    let _ = write!(text, " {message}");
    for (field, value) in &fields {
        let _ = match value {
            Value::String(value) => write!(text, " {field}={value:?}"),
            other => write!(text, " {field}={other}"),
        };
    }
    Some((time, clean(&text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_lines_are_made_readable_and_others_stay() {
        let line = r#"{"id":"vm-1","level":"INFO","message":"create: CreatePending","name":"web","namespace":"default","pass":2,"target":"vmoperator::runtime::workers","timestamp":"2026-11-30T10:58:28.362347Z","took_ms":82}"#;
        assert_eq!(
            told(line),
            r#"10:58:28.362 INFO  default/web create: CreatePending id="vm-1" pass=2 took_ms=82"#
        );
        assert_eq!(
            told("I1130 11:00 etcd says\u{1b}[2J"),
            "I1130 11:00 etcd says\u{fffd}[2J"
        );
        assert_eq!(told(r#"{"msg":"etcd"}"#), r#"{"msg":"etcd"}"#);
        let odd = r#"{"level":"WARN","message":"a\u001b[31m","timestamp":"short"}"#;
        assert_eq!(told(odd), "short WARN  a\u{fffd}[31m");
    }

    #[test]
    fn a_subject_is_a_vm_of_a_namespace() {
        let web: Subject = "web".parse().unwrap();
        assert_eq!(web, "default/web".parse().unwrap());
        for bad in ["", "/", "a/", "/b", "a/b/c"] {
            assert!(bad.parse::<Subject>().is_err(), "{bad}");
        }
        assert!(web.is_in(r#"{"namespace":"default","name":"web"}"#));
        assert!(!web.is_in(r#"{"namespace":"other","name":"web"}"#));
        assert!(!web.is_in(r#"{"namespace":"default","name":"web","kind":"Secret"}"#));
        assert!(!web.is_in("default/web"));
    }
}
