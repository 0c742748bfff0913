//! What `vmctl wait` waits for.

use std::fmt;
use std::str::FromStr;

use crate::cluster::object::Object;

/// What is waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Goal {
    /// A condition has a status.
    Condition {
        /// Its type.
        kind: String,
        /// `True`, `False` or `Unknown`.
        status: String,
    },
    /// `status.phase` is this word.
    Phase(String),
    /// It is gone.
    Delete,
}

/// The text is no goal.
#[derive(Debug, thiserror::Error)]
#[error("say what to wait for: condition=TYPE, condition=TYPE=STATUS, phase=PHASE or delete")]
pub(crate) struct NoGoal;

impl FromStr for Goal {
    type Err = NoGoal;

    fn from_str(text: &str) -> Result<Self, NoGoal> {
        if text == "delete" {
            return Ok(Self::Delete);
        }
        match text.split_once('=') {
            Some(("condition", rest)) => {
                let (kind, status) = rest.split_once('=').unwrap_or((rest, "True"));
                let status = ["True", "False", "Unknown"]
                    .into_iter()
                    .find(|one| one.eq_ignore_ascii_case(status));
                match status {
                    Some(status) if !kind.is_empty() => Ok(Self::Condition {
                        kind: kind.to_owned(),
                        status: status.to_owned(),
                    }),
                    Some(_) | None => Err(NoGoal),
                }
            }
            Some(("phase", phase)) if !phase.is_empty() => Ok(Self::Phase(phase.to_owned())),
            Some(_) | None => Err(NoGoal),
        }
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Condition { kind, status } if status == "True" => {
                write!(formatter, "condition={kind}")
            }
            Self::Condition { kind, status } => write!(formatter, "condition={kind}={status}"),
            Self::Phase(phase) => write!(formatter, "phase={phase}"),
            Self::Delete => formatter.write_str("delete"),
        }
    }
}

impl Goal {
    /// Whether an object that exists is as wanted.
    pub(super) fn is_met(&self, object: Object<'_>) -> bool {
        match self {
            Self::Delete => false,
            Self::Phase(phase) => object.phase() == Some(phase),
            Self::Condition { kind, status } => object
                .condition(kind)
                .is_some_and(|one| one.current && one.status == status),
        }
    }

    /// How an object stands to it.
    pub(super) fn story(&self, object: Object<'_>) -> String {
        match self {
            Self::Condition { kind, .. } if kind != "Ready" => match object.condition(kind) {
                Some(one) if one.current => format!("{kind}={}, {}", one.status, one.in_words()),
                Some(_) => format!("{kind} speaks of an older generation of the spec"),
                None => format!("there is no condition {kind}; {}", object.story()),
            },
            Self::Condition { .. } | Self::Phase(_) | Self::Delete => object.story(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_are_read_as_kubectl_reads_them_and_nothing_else_is_one() {
        let ready = |status: &str| Goal::Condition {
            kind: "Ready".to_owned(),
            status: status.to_owned(),
        };
        assert_eq!("condition=Ready".parse::<Goal>().unwrap(), ready("True"));
        assert_eq!(
            "condition=Ready=false".parse::<Goal>().unwrap(),
            ready("False")
        );
        assert_eq!(
            "phase=Running".parse::<Goal>().unwrap(),
            Goal::Phase("Running".to_owned())
        );
        assert_eq!("delete".parse::<Goal>().unwrap(), Goal::Delete);
        for text in [
            "",
            "Ready",
            "condition=",
            "condition=Ready=maybe",
            "phase=",
            "delete=now",
            "jsonpath=x",
        ] {
            assert!(text.parse::<Goal>().is_err(), "{text}");
        }
    }
}
