//! Credentials that the provider has refused: nothing else is sent with them until they were checked.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::domain::time::Moment;
use crate::domain::{ErrorKind, Operation, ProviderError};

/// A provider that refuses now and then what it accepts in between is checked at most so often (1 min): what is refused
/// meanwhile waits by its own back-off.
const PAUSE: Duration = Duration::from_mins(1);

/// What one client knows of the refusal of its credentials. Another client, with other credentials, has its own.
#[derive(Debug, Default)]
pub(super) struct Refusal(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// The refusal that stands.
    standing: Option<ProviderError>,
    last: Option<Moment>,
}

impl Refusal {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The error for a call that need not be sent. The neutral read is always sent: it is the check.
    pub(super) fn of(&self, operation: Operation) -> Option<ProviderError> {
        if operation == Operation::Capabilities {
            return None;
        }
        let refused = self.lock().standing.clone()?;
        Some(ProviderError {
            operation,
            ..refused
        })
    }

    /// Takes note of how a call ended; says whether the credentials are to be checked now.
    pub(super) fn note<T>(
        &self,
        operation: Operation,
        result: &Result<T, ProviderError>,
        now: Moment,
    ) -> bool {
        let mut state = self.lock();
        match result {
            Ok(_) if operation == Operation::Capabilities => {
                state.standing = None;
                false
            }
            Err(error) if error.kind == ErrorKind::Unauthorized => {
                let soon = state.last.is_some_and(|last| now.since(last) < PAUSE);
                if state.standing.is_some() || soon {
                    return false;
                }
                state.standing = Some(error.clone());
                state.last = Some(now);
                operation != Operation::Capabilities
            }
            Ok(_) | Err(_) => false,
        }
    }
}
