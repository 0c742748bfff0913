//! Failed calls to the provider, counted in a row.

use super::Memory;
use crate::domain::{ErrorKind, Moment, Operation, ProviderError};

/// The last failure of an operation at the provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What failed.
    pub error: ProviderError,
    /// How many times in a row, from 1.
    pub times: u32,
    /// When it began.
    pub since: Moment,
}

impl Memory {
    /// The last failure.
    #[must_use]
    pub fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }

    /// A pass begins after so many that failed in a row.
    pub fn begins_after(&mut self, failures: u32) {
        self.failed_passes = failures;
    }

    /// How many passes failed in a row before the present one.
    #[must_use]
    pub fn failed_passes(&self) -> u32 {
        self.failed_passes
    }

    /// A call to the provider failed.
    pub fn failed(&mut self, error: &ProviderError, now: Moment) {
        if error.operation == Operation::Create && error.kind == ErrorKind::Invalid {
            self.refusal = Some(error.clone());
        }
        let (times, since) = match &self.failure {
            Some(last) if last.error.kind == error.kind => {
                (last.times.saturating_add(1), last.since)
            }
            Some(_) | None => (1, now),
        };
        self.failure = Some(Failure {
            error: error.clone(),
            times,
            since,
        });
    }

    /// A look succeeded: an earlier one's failure is over, a write's is not.
    pub fn looked(&mut self) {
        if self
            .failure
            .as_ref()
            .is_some_and(|f| !f.error.operation.is_write())
        {
            self.failure = None;
        }
    }

    /// A write at the provider succeeded.
    pub fn succeeded(&mut self) {
        self.failure = None;
    }
}
