//! Failures of several objects: each is told, the first decides how the command ends.

use crate::hint::Failure;
use crate::output;

/// What went wrong so far.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    first: Option<Failure>,
    others: Vec<Failure>,
}

impl Problems {
    /// One more.
    pub(crate) fn add(&mut self, failure: Failure) {
        if self.first.is_none() {
            self.first = Some(failure);
        } else {
            self.others.push(failure);
        }
    }

    /// Tells all but the first, which whoever called the command tells.
    ///
    /// # Errors
    /// The first failure, if there was one.
    pub(crate) fn outcome(self) -> Result<(), Failure> {
        for other in &self.others {
            output::failure(other);
        }
        self.first.map_or(Ok(()), Err)
    }
}
