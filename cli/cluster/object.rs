//! What a verb reads from an object, whatever its kind: identity, conditions, phase.

use serde_json::Value;
use vmoperator::api::condition::{ConditionStatus, ConditionType};

use super::kind::Kind;

/// An object as the API server told it. What it lacks reads as empty.
#[derive(Clone, Copy)]
pub(crate) struct Object<'a>(pub(crate) &'a Value);

/// A condition of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Condition<'a> {
    /// `True`, `False` or `Unknown`.
    pub(crate) status: &'a str,
    /// A word.
    pub(crate) reason: &'a str,
    /// A sentence.
    pub(crate) message: &'a str,
    /// Whether it speaks of the spec as it is now.
    pub(crate) current: bool,
}

impl<'a> Object<'a> {
    /// Its name.
    pub(crate) fn name(self) -> &'a str {
        self.metadata("name")
    }

    /// Its namespace.
    pub(crate) fn namespace(self) -> &'a str {
        self.metadata("namespace")
    }

    /// Its uid.
    pub(crate) fn uid(self) -> &'a str {
        self.metadata("uid")
    }

    /// Its resource version.
    pub(crate) fn version(self) -> &'a str {
        self.metadata("resourceVersion")
    }

    /// Whether its deletion was asked for.
    pub(crate) fn is_deleting(self) -> bool {
        !self.metadata("deletionTimestamp").is_empty()
    }

    /// Its phase, if the status speaks of the spec as it is now.
    pub(crate) fn phase(self) -> Option<&'a str> {
        self.is_current(&self.0["status"]["observedGeneration"])
            .then(|| self.0["status"]["phase"].as_str())?
    }

    /// The condition of that type.
    pub(crate) fn condition(self, kind: &str) -> Option<Condition<'a>> {
        let list = self.0["status"]["conditions"].as_array()?;
        let found = list.iter().find(|one| one["type"] == kind)?;
        Some(Condition {
            status: found["status"].as_str().unwrap_or_default(),
            reason: found["reason"].as_str().unwrap_or_default(),
            message: found["message"].as_str().unwrap_or_default(),
            current: self.is_current(&found["observedGeneration"])
                && self.is_current(&self.0["status"]["observedGeneration"]),
        })
    }

    /// The condition of that type, if it holds for the spec as it is now.
    pub(crate) fn holds(self, kind: ConditionType) -> Option<Condition<'a>> {
        self.condition(kind.as_str())
            .filter(|one| one.current && one.status == ConditionStatus::True.as_str())
    }

    /// In a line: phase, and why it is not further.
    pub(crate) fn story(self) -> String {
        if self.is_deleting() {
            return match self.condition(ConditionType::Deleting.as_str()) {
                Some(condition) => condition.in_words(),
                None => format!("being deleted, held by {}", self.finalizers()),
            };
        }
        let phase = self.0["status"]["phase"].as_str();
        let ready = self.condition(ConditionType::Ready.as_str());
        match (phase, ready) {
            (None, None) => "no status yet: the operator has not looked at it".to_owned(),
            (Some(phase), None) => phase.to_owned(),
            (_, Some(ready)) if !ready.current => {
                "changed; the operator has not looked at the change yet".to_owned()
            }
            (None, Some(ready)) => ready.in_words(),
            (Some(phase), Some(ready)) if ready.reason == phase => {
                format!("{phase}: {}", ready.message)
            }
            (Some(phase), Some(ready)) => format!("{phase}, {}", ready.in_words()),
        }
    }

    /// `vm-1 at 10.0.0.1`, as far as it is known.
    pub(crate) fn whereabouts(self) -> String {
        let id = self.0["status"]["id"].as_str();
        let address = self.0["status"]["addresses"][0]["address"].as_str();
        match (id, address) {
            (Some(id), Some(address)) => format!(": {id} at {address}"),
            (Some(id), None) => format!(": {id}"),
            (None, Some(address)) => format!(" at {address}"),
            (None, None) => String::new(),
        }
    }

    fn finalizers(self) -> String {
        let list = self.0["metadata"]["finalizers"].as_array();
        let words: Vec<&str> = list
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        if words.is_empty() {
            "nothing".to_owned()
        } else {
            words.join(", ")
        }
    }

    fn metadata(self, field: &str) -> &'a str {
        self.0["metadata"][field].as_str().unwrap_or_default()
    }

    /// What says nothing of a generation counts as current, as kubectl has it.
    fn is_current(self, observed: &Value) -> bool {
        let generation = self.0["metadata"]["generation"].as_i64();
        match (observed.as_i64(), generation) {
            (Some(observed), Some(generation)) => observed >= generation,
            (None, _) | (_, None) => true,
        }
    }
}

impl Condition<'_> {
    /// `Reason: message`.
    pub(crate) fn in_words(&self) -> String {
        match (self.reason, self.message) {
            ("", "") => "without a reason".to_owned(),
            (reason, "") => reason.to_owned(),
            ("", message) => message.to_owned(),
            (reason, message) => format!("{reason}: {message}"),
        }
    }
}

/// `virtualmachine.compute.example.com/web-1`, as kubectl names an object.
pub(crate) fn reference(kind: Kind, name: &str) -> String {
    format!("{}/{name}", kind.resource())
}

#[cfg(test)]
mod tests;
