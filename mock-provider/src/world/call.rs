//! What a client asks for.

use std::time::Duration;

use super::answer::Refusal;
use super::{NewVm, Text};

/// The operations of the API, as fault rules, the request log and the counters name them.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "camelCase")]
pub enum Operation {
    /// `GET /capabilities`
    Capabilities,
    /// `POST /vms`
    Create,
    /// `GET /vms/{id}`
    Get,
    /// `GET /vms`
    List,
    /// `GET /vms/changes`
    Changes,
    /// `DELETE /vms/{id}`
    Delete,
    /// A method and path that this server does not have.
    Other,
}

/// The body of a create, boiled down: equal for bodies that are equal as canonical JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digest(pub u128);

/// One call of an authenticated client.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Whose objects it is about.
    pub account: Text,
    /// What it asks.
    pub call: Call,
    /// How much longer than usual the answer is to be held back.
    pub hold: Duration,
}

/// What a call asks.
#[derive(Debug, Clone, PartialEq)]
pub enum Call {
    /// What this cloud can do.
    Capabilities,
    /// Make a VM.
    Create(Create),
    /// Show a VM.
    Get {
        /// Its id, as it came.
        id: String,
    },
    /// List VMs.
    List(ListQuery),
    /// What changed.
    Changes {
        /// The revision after which changes are wanted.
        since: u64,
    },
    /// Delete a VM.
    Delete {
        /// Its id, as it came.
        id: String,
    },
    /// Could not be read; still counts towards the rate limit.
    Invalid(Operation, Refusal),
}

/// A create.
#[derive(Debug, Clone, PartialEq)]
pub struct Create {
    /// The idempotency key, 1–255 visible ASCII characters.
    pub key: Option<Text>,
    /// The body, for comparison with an earlier one under the same key.
    pub digest: Digest,
    /// The body, read; what is wrong with it counts only when the key is new.
    pub spec: Result<NewVm, Refusal>,
}

/// One page of a list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ListQuery {
    /// Items wanted, 1–1000.
    pub limit: Option<u32>,
    /// The token of the page before.
    pub token: Option<String>,
    /// Tags that must all match.
    pub tags: Vec<(String, String)>,
}

impl Request {
    /// A call without a hold.
    #[must_use]
    pub fn new(account: &str, call: Call) -> Self {
        Self {
            account: Text::from(account),
            call,
            hold: Duration::ZERO,
        }
    }
}

impl Call {
    /// Which operation this is.
    #[must_use]
    pub fn operation(&self) -> Operation {
        match self {
            Self::Capabilities => Operation::Capabilities,
            Self::Create(_) => Operation::Create,
            Self::Get { .. } => Operation::Get,
            Self::List(_) => Operation::List,
            Self::Changes { .. } => Operation::Changes,
            Self::Delete { .. } => Operation::Delete,
            Self::Invalid(operation, _) => *operation,
        }
    }

    pub(super) fn is_basic(&self) -> bool {
        matches!(
            self.operation(),
            Operation::Create | Operation::Get | Operation::Delete
        )
    }
}

impl Operation {
    /// Its name in rules, log and counters.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Capabilities => "capabilities",
            Self::Create => "create",
            Self::Get => "get",
            Self::List => "list",
            Self::Changes => "changes",
            Self::Delete => "delete",
            Self::Other => "other",
        }
    }
}
