//! What the cloud answers.

use std::time::Duration;

use super::{Text, Vm, VmId};

/// The answer to one call.
#[derive(Debug, Clone, PartialEq)]
pub struct Response {
    /// What to say.
    pub outcome: Result<Answer, Refusal>,
    /// Whether the call changed anything.
    pub applied: bool,
    /// How long to hold the answer back.
    pub delay: Duration,
}

/// A call that was carried out.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// 200, what this cloud can do.
    Capabilities(Capabilities),
    /// 201, a new VM.
    Created(Vm),
    /// 200, the VM that an earlier call with the same key made, as it is now.
    Replayed(Vm),
    /// 200, the VM.
    Found(Vm),
    /// 200, one page.
    Page(Page),
    /// 200, what changed.
    Changes(Feed),
    /// 204, gone.
    Deleted,
    /// 202, going.
    Deleting(Vm),
}

/// What this cloud can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    /// The account behind the API key.
    pub account: Text,
    /// The longest time that a list may lag behind a write.
    pub list_lag: Duration,
    /// How long an idempotency key is remembered.
    pub key_lifetime: Duration,
    /// Whether a deletion may take time (202).
    pub delete_is_async: bool,
}

/// One page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// VMs by id, ascending.
    pub items: Vec<Vm>,
    /// Token of the next page; `None` on the last.
    pub token: Option<String>,
    /// The account's revision that the page reflects.
    pub revision: u64,
}

/// Part of the change feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Feed {
    /// Changes by revision, ascending; of each VM only the latest.
    pub changes: Vec<Change>,
    /// Where to go on from.
    pub revision: u64,
}

/// One change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What happened.
    pub kind: ChangeKind,
    /// The VM after it, or as it was last.
    pub vm: Vm,
}

/// What happened to a VM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// Made or changed.
    Upsert,
    /// Gone.
    Deleted,
}

/// A call that was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The kind, for programs.
    pub code: Code,
    /// What is wrong and what to do, for people.
    pub message: String,
    /// The VM that it is about, where the client may not know it.
    pub id: Option<VmId>,
    /// Whole seconds after which to try again.
    pub retry_after: Option<u64>,
}

/// The error codes of the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// 400
    InvalidRequest,
    /// 413
    TooLarge,
    /// 401
    Unauthenticated,
    /// 403
    QuotaExceeded,
    /// 404
    NotFound,
    /// 409
    IdempotencyKeyInUse,
    /// 409
    KeyOfDeletedVm,
    /// 410
    ContinueExpired,
    /// 410
    RevisionExpired,
    /// 422
    InvalidImage,
    /// 422
    InvalidSpec,
    /// 422
    IdempotencyKeyReused,
    /// 429
    RateLimited,
    /// 500
    Internal,
}

impl Refusal {
    /// A refusal that is about no VM and says nothing about when to come back.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            id: None,
            retry_after: None,
        }
    }
}

impl Code {
    /// The code and its HTTP status.
    #[must_use]
    pub fn parts(self) -> (&'static str, u16) {
        match self {
            Self::InvalidRequest => ("InvalidRequest", 400),
            Self::TooLarge => ("InvalidRequest", 413),
            Self::Unauthenticated => ("Unauthenticated", 401),
            Self::QuotaExceeded => ("QuotaExceeded", 403),
            Self::NotFound => ("NotFound", 404),
            Self::IdempotencyKeyInUse => ("IdempotencyKeyInUse", 409),
            Self::KeyOfDeletedVm => ("KeyOfDeletedVM", 409),
            Self::ContinueExpired => ("ContinueExpired", 410),
            Self::RevisionExpired => ("RevisionExpired", 410),
            Self::InvalidImage => ("InvalidImage", 422),
            Self::InvalidSpec => ("InvalidSpec", 422),
            Self::IdempotencyKeyReused => ("IdempotencyKeyReused", 422),
            Self::RateLimited => ("RateLimited", 429),
            Self::Internal => ("Internal", 500),
        }
    }
}
