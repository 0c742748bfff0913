//! Fault rules: what goes wrong, for whom and how often.

use serde::{Deserialize, Serialize};

use crate::world::{Operation, Text};

#[cfg(test)]
mod tests;

/// A rule as it is set and shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Rule {
    /// Only this operation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) operation: Option<Operation>,
    /// Only calls about a VM with this tag (`key=value`): of the body, of the VM in the path, or of the list's filter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tag: Option<String>,
    /// Only this account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) account: Option<String>,
    /// Only calls with this VM in the path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) vm_id: Option<String>,
    /// The share of matching calls that it hits, 0–1.
    #[serde(default = "one")]
    pub(crate) probability: f64,
    /// It spares so many matching calls first.
    #[serde(default)]
    pub(crate) skip: u64,
    /// It ends after so many hits; without, never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) count: Option<u64>,
    pub(crate) effect: Effect,
}

/// What goes wrong.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
pub(crate) enum Effect {
    /// Another answer than the real one.
    Status {
        status: u16,
        #[serde(default)]
        code: Option<String>,
        #[serde(default)]
        message: Option<String>,
        /// Sent as it is.
        #[serde(default)]
        retry_after: Option<String>,
        /// Sent as it is.
        #[serde(default)]
        location: Option<String>,
        /// Whether the call is carried out all the same.
        #[serde(default)]
        applied: bool,
    },
    /// Later.
    Delay {
        milliseconds: u64,
        /// Whether the call is carried out before the wait.
        #[serde(default)]
        applied: bool,
    },
    /// Carried out; the connection closes without an answer.
    DropAfter,
    /// Not carried out; the connection closes without an answer.
    DropBefore,
    /// Carried out; the body is no JSON.
    Malformed,
    /// Carried out; the body ends in the middle.
    Truncated,
    /// Carried out; an HTML page comes back.
    Html {
        /// Instead of the real status.
        #[serde(default)]
        status: Option<u16>,
    },
    /// Carried out; the body goes on with spaces.
    Huge {
        /// Length in all.
        #[serde(default = "huge")]
        bytes: u64,
    },
    /// Carried out; the body comes byte by byte.
    SlowDrip {
        /// Between two bytes.
        #[serde(default = "drip")]
        milliseconds: u64,
    },
    /// Carried out; the answer speaks of another VM.
    WrongId,
}

/// What a rule looks at.
#[derive(Debug, Clone, Default)]
pub(crate) struct Subject<'a> {
    pub(crate) operation: Option<Operation>,
    pub(crate) account: &'a str,
    pub(crate) vm_id: Option<&'a str>,
    pub(crate) tags: Vec<(&'a str, &'a str)>,
}

/// The rules in force, in the order in which they were set.
#[derive(Debug)]
pub(crate) struct Faults {
    next: u64,
    rules: Vec<Active>,
    rng: fastrand::Rng,
}

/// A rule and its score.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Active {
    pub(crate) id: u64,
    #[serde(flatten)]
    pub(crate) rule: Rule,
    /// Calls that matched.
    pub(crate) matched: u64,
    /// Calls that it hit.
    pub(crate) hits: u64,
}

/// Why a rule was not taken.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RuleError {
    #[error("probability must be 0 to 1, got {0}")]
    Probability(f64),
    #[error("count must be at least 1; leave it out for a rule without end")]
    Count,
    #[error("tag must be key=value, got {0:?}")]
    Tag(String),
    #[error("status must be 200 to 599, got {0}")]
    Status(u16),
    #[error("{name} cannot be sent as an HTTP header: {value:?}")]
    Header { name: &'static str, value: String },
    #[error("{name} must be at most {most}, got {got}")]
    TooMuch {
        name: &'static str,
        most: u64,
        got: u64,
    },
}

/// Longest delay: an hour.
const MAX_MILLISECONDS: u64 = 3_600_000;
/// Longest body: 1 GiB.
const MAX_BYTES: u64 = 1 << 30;

impl Faults {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            next: 1,
            rules: Vec::new(),
            rng: fastrand::Rng::with_seed(seed),
        }
    }

    /// Adds a rule behind the others.
    pub(crate) fn add(&mut self, rule: Rule) -> Result<&Active, RuleError> {
        rule.check()?;
        let id = self.next;
        self.next += 1;
        self.rules.push(Active {
            id,
            rule,
            matched: 0,
            hits: 0,
        });
        Ok(&self.rules[self.rules.len() - 1])
    }

    pub(crate) fn list(&self) -> &[Active] {
        &self.rules
    }

    /// Removes one rule, or all; says how many.
    pub(crate) fn clear(&mut self, id: Option<u64>) -> usize {
        let before = self.rules.len();
        self.rules
            .retain(|active| id.is_some_and(|id| id != active.id));
        before - self.rules.len()
    }

    /// The first rule that hits this call. Every rule that is asked counts the call as matched.
    pub(crate) fn pick(&mut self, subject: &Subject<'_>) -> Option<(u64, Effect)> {
        for active in &mut self.rules {
            let spent = active.rule.count.is_some_and(|count| active.hits >= count);
            if spent || !active.rule.matches(subject) {
                continue;
            }
            active.matched += 1;
            if active.matched <= active.rule.skip {
                continue;
            }
            if active.rule.probability >= 1.0 || self.rng.f64() < active.rule.probability {
                active.hits += 1;
                return Some((active.id, active.rule.effect.clone()));
            }
        }
        None
    }
}

impl Rule {
    fn matches(&self, subject: &Subject<'_>) -> bool {
        let tag = self.tag.as_deref().and_then(|tag| tag.split_once('='));
        self.operation
            .is_none_or(|operation| Some(operation) == subject.operation)
            && self
                .account
                .as_deref()
                .is_none_or(|account| account == subject.account)
            && self
                .vm_id
                .as_deref()
                .is_none_or(|id| Some(id) == subject.vm_id)
            && tag.is_none_or(|tag| subject.tags.contains(&tag))
    }

    fn check(&self) -> Result<(), RuleError> {
        if !(0.0..=1.0).contains(&self.probability) {
            return Err(RuleError::Probability(self.probability));
        }
        if self.count == Some(0) {
            return Err(RuleError::Count);
        }
        if let Some(tag) = self.tag.as_ref().filter(|tag| !tag.contains('=')) {
            return Err(RuleError::Tag(tag.clone()));
        }
        self.effect.check()
    }
}

impl Effect {
    fn check(&self) -> Result<(), RuleError> {
        match self {
            Self::Status {
                status,
                retry_after,
                location,
                ..
            } => {
                check_status(*status)?;
                check_header("retryAfter", retry_after.as_deref())?;
                check_header("location", location.as_deref())
            }
            Self::Html { status } => status.map_or(Ok(()), check_status),
            Self::Delay { milliseconds, .. } | Self::SlowDrip { milliseconds } => {
                check_most("milliseconds", MAX_MILLISECONDS, *milliseconds)
            }
            Self::Huge { bytes } => check_most("bytes", MAX_BYTES, *bytes),
            Self::DropAfter
            | Self::DropBefore
            | Self::Malformed
            | Self::Truncated
            | Self::WrongId => Ok(()),
        }
    }

    /// Whether the client gets no whole answer.
    pub(crate) fn drops(&self) -> bool {
        matches!(self, Self::DropAfter | Self::DropBefore | Self::Truncated)
    }
}

impl<'a> Subject<'a> {
    pub(crate) fn with_tags(mut self, tags: &'a [(Text, Text)]) -> Self {
        self.tags
            .extend(tags.iter().map(|(key, value)| (&**key, &**value)));
        self
    }
}

fn check_status(status: u16) -> Result<(), RuleError> {
    if (200..=599).contains(&status) {
        Ok(())
    } else {
        Err(RuleError::Status(status))
    }
}

fn check_header(name: &'static str, value: Option<&str>) -> Result<(), RuleError> {
    match value {
        Some(value) if axum::http::HeaderValue::from_str(value).is_err() => {
            Err(RuleError::Header {
                name,
                value: value.into(),
            })
        }
        Some(_) | None => Ok(()),
    }
}

fn check_most(name: &'static str, most: u64, got: u64) -> Result<(), RuleError> {
    if got > most {
        Err(RuleError::TooMuch { name, most, got })
    } else {
        Ok(())
    }
}

fn one() -> f64 {
    1.0
}

fn huge() -> u64 {
    64 << 20
}

fn drip() -> u64 {
    100
}
