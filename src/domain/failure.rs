//! What can go wrong with a call to a provider, as data: decisions branch on [`ErrorKind`] alone.

use std::fmt;
use std::time::Duration;

/// A call that failed. Carries nothing of the answer's body but its machine-readable `code`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderError {
    /// What decisions branch on.
    pub kind: ErrorKind,
    /// Which call.
    pub operation: Operation,
    /// HTTP status, where an answer came.
    pub status: Option<u16>,
    /// `code` of the answer: `[A-Za-z0-9]`, at most 64 characters. Where no answer came, a word for the cause:
    /// `NameNotResolved`, `ConnectionRefused`, `ConnectionReset`, `HostUnreachable`, `CertificateNotTrusted`,
    /// `CertificateExpired`, `CertificateNotYetValid`, `TlsFailed`.
    pub code: Option<String>,
    /// `X-Request-Id` of the answer: what to quote to the provider's support. Printable ASCII, at most 128 characters.
    pub request_id: Option<String>,
    /// How long the provider asks to wait, clamped to 1 s … 10 min.
    pub retry_after: Option<Duration>,
}

/// The kinds of failure; the table of what each means is in docs/ of the provider API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ErrorKind {
    /// The request is refused until the object changes.
    Invalid,
    /// The idempotency key was used with another body: an earlier create of ours arrived.
    KeyReused,
    /// A create with this key is still in work.
    KeyInUse,
    /// The instance that this key made was deleted.
    KeyOfDeleted,
    /// The credentials are not accepted (401).
    Unauthorized,
    /// The credentials do not allow this (403).
    Forbidden,
    /// The account's quota is used up.
    QuotaExceeded,
    /// Too many requests (429).
    RateLimited,
    /// Another operation is under way at the object.
    Conflict,
    /// A continue token or revision expired: list from the start.
    Expired,
    /// The provider failed or could not be reached; a write may have happened.
    Unavailable,
    /// No answer within the time-out; a write may have happened.
    TimedOut,
    /// An answer that cannot be understood; a write may have happened.
    Malformed,
    /// There is no such object.
    NotFound,
    /// Not sent: the endpoint is not one that this operator may talk to.
    EndpointNotAllowed,
    /// Not sent: this process no longer leads.
    NotLeading,
    /// Not sent: calls to this provider are held back after many failures (breaker open).
    HeldBack,
    /// Not sent: the right to send it ran out while it waited for its turn.
    TooLate,
}

impl ErrorKind {
    /// Every kind, for tables and metrics.
    pub const ALL: [Self; 18] = [
        Self::Invalid,
        Self::KeyReused,
        Self::KeyInUse,
        Self::KeyOfDeleted,
        Self::Unauthorized,
        Self::Forbidden,
        Self::QuotaExceeded,
        Self::RateLimited,
        Self::Conflict,
        Self::Expired,
        Self::Unavailable,
        Self::TimedOut,
        Self::Malformed,
        Self::NotFound,
        Self::EndpointNotAllowed,
        Self::NotLeading,
        Self::HeldBack,
        Self::TooLate,
    ];

    /// Whether a write that failed like this may have taken effect all the same.
    #[must_use]
    pub fn may_have_happened(self) -> bool {
        match self {
            Self::Unavailable | Self::TimedOut | Self::Malformed => true,
            Self::Invalid
            | Self::KeyReused
            | Self::KeyInUse
            | Self::KeyOfDeleted
            | Self::Unauthorized
            | Self::Forbidden
            | Self::QuotaExceeded
            | Self::RateLimited
            | Self::Conflict
            | Self::Expired
            | Self::NotFound
            | Self::EndpointNotAllowed
            | Self::NotLeading
            | Self::HeldBack
            | Self::TooLate => false,
        }
    }

    /// The kind as a label of metrics and logs, in the field's snake case.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::KeyReused => "key_reused",
            Self::KeyInUse => "key_in_use",
            Self::KeyOfDeleted => "key_of_deleted",
            Self::Unauthorized => "unauthorized",
            Self::Forbidden => "forbidden",
            Self::QuotaExceeded => "quota_exceeded",
            Self::RateLimited => "rate_limited",
            Self::Conflict => "conflict",
            Self::Expired => "expired",
            Self::Unavailable => "unavailable",
            Self::TimedOut => "timed_out",
            Self::Malformed => "malformed",
            Self::NotFound => "not_found",
            Self::EndpointNotAllowed => "endpoint_not_allowed",
            Self::NotLeading => "not_leading",
            Self::HeldBack => "held_back",
            Self::TooLate => "too_late",
        }
    }
}

/// The calls of the provider API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operation {
    /// `GET /capabilities`.
    Capabilities,
    /// `POST /vms`.
    Create,
    /// `GET /vms/{id}`.
    Get,
    /// `GET /vms`, one page.
    List,
    /// `GET /vms/changes`.
    Changes,
    /// `DELETE /vms/{id}`.
    Delete,
}

impl Operation {
    /// Every operation, so that metrics exist from the start.
    pub const ALL: [Self; 6] = [
        Self::Capabilities,
        Self::Create,
        Self::Get,
        Self::List,
        Self::Changes,
        Self::Delete,
    ];

    /// The operation as a label of metrics and logs.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Capabilities => "capabilities",
            Self::Create => "create",
            Self::Get => "get",
            Self::List => "list",
            Self::Changes => "changes",
            Self::Delete => "delete",
        }
    }

    /// Whether the call changes something at the provider.
    #[must_use]
    pub fn is_write(self) -> bool {
        match self {
            Self::Create | Self::Delete => true,
            Self::Capabilities | Self::Get | Self::List | Self::Changes => false,
        }
    }
}

impl ProviderError {
    /// An error that has nothing but a kind: what happened before any answer came.
    #[must_use]
    pub fn without_answer(kind: ErrorKind, operation: Operation) -> Self {
        Self {
            kind,
            operation,
            status: None,
            code: None,
            request_id: None,
            retry_after: None,
        }
    }

    /// Whether the write may have taken effect.
    #[must_use]
    pub fn may_have_happened(&self) -> bool {
        self.operation.is_write() && self.kind.may_have_happened()
    }

    /// Whether it never left: no connection came about, so nothing can have happened.
    #[must_use]
    pub fn never_left(&self) -> bool {
        let no_connection = [
            "NameNotResolved",
            "ConnectionRefused",
            "CertificateNotTrusted",
            "CertificateExpired",
            "CertificateNotYetValid",
        ];
        let unsent = matches!(
            self.kind,
            ErrorKind::EndpointNotAllowed
                | ErrorKind::NotLeading
                | ErrorKind::HeldBack
                | ErrorKind::TooLate
        );
        let code = self.code.as_deref().filter(|_| self.status.is_none());
        unsent
            || self.kind == ErrorKind::Unavailable
                && code.is_some_and(|code| no_connection.contains(&code))
    }

    /// Whether it was held back by a bound of our own: it waits for its turn, and says nothing new of the provider.
    #[must_use]
    pub fn is_wait(&self) -> bool {
        match self.kind {
            ErrorKind::HeldBack | ErrorKind::TooLate | ErrorKind::NotLeading => true,
            // With a status it is the provider's word, without one the limiter's.
            ErrorKind::RateLimited => self.status.is_none(),
            ErrorKind::Invalid
            | ErrorKind::KeyReused
            | ErrorKind::KeyInUse
            | ErrorKind::KeyOfDeleted
            | ErrorKind::Unauthorized
            | ErrorKind::Forbidden
            | ErrorKind::QuotaExceeded
            | ErrorKind::Conflict
            | ErrorKind::Expired
            | ErrorKind::Unavailable
            | ErrorKind::TimedOut
            | ErrorKind::Malformed
            | ErrorKind::NotFound
            | ErrorKind::EndpointNotAllowed => false,
        }
    }

    /// Whether a create that failed like this certainly made nothing, nor did an earlier one with its key.
    #[must_use]
    pub fn made_nothing(&self) -> bool {
        let earlier = matches!(
            self.kind,
            ErrorKind::KeyReused | ErrorKind::KeyInUse | ErrorKind::KeyOfDeleted
        );
        self.never_left() || !self.may_have_happened() && !earlier
    }
}

impl fmt::Display for ProviderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} failed: {}",
            self.operation.label(),
            self.kind.label()
        )?;
        if let Some(status) = self.status {
            write!(f, ", HTTP {status}")?;
        }
        if let Some(code) = &self.code {
            write!(f, ", code {code}")?;
        }
        if let Some(id) = &self.request_id {
            write!(f, ", request {id}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ProviderError {}
