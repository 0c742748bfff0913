//! The cloud behind one trait: the contract that every provider keeps, real or simulated.
//!
//! No type of the Kubernetes API appears here, and nobody retries here: one call is one request (or one
//! request per page), and what failed is told as a [`ProviderError`].

mod answer;
pub mod breaker;
pub mod credential;
pub mod guard;
pub mod http;
pub mod inventory;
pub mod limited;
pub mod measured;
mod refusal;
#[cfg(test)]
mod testing;
pub mod time;
mod wire;

pub use breaker::BreakerPolicy;
pub use credential::{Credential, CredentialError};
pub use guard::{Admission, Guard};
pub use http::HttpProvider;
pub use inventory::Inventory;
pub use limited::{LimitOptions, Limited, Limits};
pub use measured::{Measured, Metrics};
pub use time::{Time, Timers};

use std::future::Future;
use std::time::Duration;

use crate::domain::{
    Capabilities, CreateBody, ErrorKind, IdempotencyKey, Instance, InstanceId, Moment, Operation,
    Owner, ProviderError,
};

/// One page of the list of all instances of an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The instances on it, anybody's.
    pub items: Vec<Instance>,
    /// The token of the next page; `None` on the last one.
    pub next: Option<String>,
    /// The account's revision that the page shows at least; `None` where the provider tells none.
    pub revision: Option<u64>,
}

/// A create's turn within the limits of its provider: what [`Provider::line_up`] waited for, used up by one create.
#[derive(Debug, Default)]
#[must_use = "a turn that nobody uses is a call less for everybody"]
pub struct Turn(());

/// What changed in an account after a revision, of each instance the latest state alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changes {
    /// Instances as they are now.
    pub upserts: Vec<Instance>,
    /// Instances that are gone.
    pub deletions: Vec<InstanceId>,
    /// Where to go on from.
    pub revision: u64,
}

/// A cloud account, seen through the provider API.
///
/// Every method is one bounded call: it ends within the configured time-out; a find, which may read many
/// pages, within ten times of it. Dropping a future abandons the call; a write that was under way is then in
/// doubt, as after [`crate::domain::ErrorKind::TimedOut`].
pub trait Provider: Send + Sync + 'static {
    /// What the provider can do. A provider without the endpoint is *basic*: `Capabilities::default()`.
    ///
    /// # Errors
    /// Any kind that a read can have; also serves as the neutral probe.
    fn capabilities(&self) -> impl Future<Output = Result<Capabilities, ProviderError>> + Send;

    /// Creates an instance under an idempotency key, with exactly these bytes as the body.
    ///
    /// The request must not *start* at or after `start_before`, whatever it has to wait for first: then it is not
    /// sent, and the error says `TooLate`.
    ///
    /// # Errors
    /// Kinds with [`ProviderError::may_have_happened`] leave the create in doubt; the others prove that this
    /// request made nothing (`KeyReused`, `KeyInUse`, `KeyOfDeleted`: but an earlier one did).
    fn create(
        &self,
        key: &IdempotencyKey,
        body: &CreateBody,
        start_before: Moment,
    ) -> impl Future<Output = Result<Instance, ProviderError>> + Send;

    /// Waits, for a short while, until a create may be sent, and takes its turn. To be asked before it is written down
    /// that a create is about to be sent: a wait must not cost a write. Unless it is overridden, it may be sent now.
    ///
    /// # Errors
    /// The kinds of a call that is not sent, with the time to wait: nothing can have happened.
    fn line_up(&self) -> impl Future<Output = Result<Turn, ProviderError>> + Send {
        async { Ok(Turn::default()) }
    }

    /// [`Provider::create`] in a turn that was waited for already.
    ///
    /// # Errors
    /// As [`Provider::create`].
    fn create_in(
        &self,
        _: Turn,
        key: &IdempotencyKey,
        body: &CreateBody,
        start_before: Moment,
    ) -> impl Future<Output = Result<Instance, ProviderError>> + Send {
        self.create(key, body, start_before)
    }

    /// One instance by id.
    ///
    /// # Errors
    /// `NotFound` where there is none; otherwise any kind that a read can have.
    fn get(&self, id: &InstanceId) -> impl Future<Output = Result<Instance, ProviderError>> + Send;

    /// Every instance tagged with this owner: all pages, any incarnation. An empty answer proves nothing by
    /// itself, because lists may lag.
    ///
    /// # Errors
    /// Any kind that a read can have; never a part of the list.
    fn find(
        &self,
        owner: &Owner,
    ) -> impl Future<Output = Result<Vec<Instance>, ProviderError>> + Send;

    /// One page of the list of all instances, anybody's: the first, or the one that a token names.
    ///
    /// # Errors
    /// Any kind that a read can have; `Expired` where the token is too old: list from the start. Unless it is
    /// overridden, `Malformed`: there is no such list.
    fn page(
        &self,
        token: Option<&str>,
    ) -> impl Future<Output = Result<Page, ProviderError>> + Send {
        let _ = token;
        async { Err(not_offered(Operation::List)) }
    }

    /// Waits for changes after a revision: ends at once where there are some, else after `wait` (whole seconds, 0 to
    /// 300) with none. The one call that is not bounded by the configured time-out, but by `wait` and ten seconds.
    ///
    /// # Errors
    /// Any kind that a read can have; `Expired` where that revision is unknown: list again. Unless it is overridden,
    /// `Malformed`: there is no such feed.
    fn changes(
        &self,
        since: u64,
        wait: Duration,
    ) -> impl Future<Output = Result<Changes, ProviderError>> + Send {
        let _ = (since, wait);
        async { Err(not_offered(Operation::Changes)) }
    }

    /// Asks for an instance to be deleted. `Ok` says that it is gone or going; an unknown id is `Ok` too.
    ///
    /// # Errors
    /// Any kind that a write can have.
    fn delete(&self, id: &InstanceId) -> impl Future<Output = Result<(), ProviderError>> + Send;
}

/// The error of an endpoint that is not there: never `NotFound`, which is a word about instances.
fn not_offered(operation: Operation) -> ProviderError {
    ProviderError::without_answer(ErrorKind::Malformed, operation)
}
