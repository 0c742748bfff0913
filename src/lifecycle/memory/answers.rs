//! What the answer to a create leaves behind.

use std::time::Duration;

use super::Memory;
use crate::domain::{ErrorKind, InstanceId, Moment};

impl Memory {
    /// The answer to a create that was meant to make the instance.
    pub fn create_answered(&mut self, answer: Result<(), ErrorKind>, generation: i64) {
        match answer {
            Ok(()) => self.in_doubt = false,
            Err(ErrorKind::KeyReused | ErrorKind::KeyInUse | ErrorKind::KeyOfDeleted) => {
                self.in_doubt = false;
                self.raise = true;
            }
            Err(ErrorKind::Invalid) => {
                self.in_doubt = false;
                self.refused = Some(generation);
            }
            // The rest proves nothing or may be repeated: the right to repeat stays until the key's half life.
            Err(
                ErrorKind::Unauthorized
                | ErrorKind::Forbidden
                | ErrorKind::QuotaExceeded
                | ErrorKind::RateLimited
                | ErrorKind::Conflict
                | ErrorKind::Expired
                | ErrorKind::Unavailable
                | ErrorKind::TimedOut
                | ErrorKind::Malformed
                | ErrorKind::NotFound
                | ErrorKind::EndpointNotAllowed
                | ErrorKind::NotLeading
                | ErrorKind::HeldBack
                | ErrorKind::TooLate,
            ) => {}
        }
    }

    /// The answer to a create that was meant to settle a doubt in deletion.
    pub fn settle_answered(&mut self, answer: Result<(), ErrorKind>, sent: Moment, life: Duration) {
        let settled = match answer {
            Ok(()) => true,
            Err(kind) => {
                let key_used_up = matches!(kind, ErrorKind::KeyOfDeleted | ErrorKind::KeyReused);
                self.settled_by_refusal |= settles(kind) && !key_used_up;
                settles(kind)
            }
        };
        if settled {
            self.in_doubt = false;
            self.settled_until = Some(sent + life / 2);
        }
    }

    /// The provider accepted a deletion.
    pub fn delete_accepted(&mut self, id: &InstanceId) {
        self.succeeded();
        match self.deleted.iter_mut().find(|(known, _)| known == id) {
            Some((_, again)) => *again = true,
            None => self.deleted.push((id.clone(), false)),
        }
    }

    /// Whether the provider has accepted the deletion of this instance more than once.
    #[must_use]
    pub fn has_deleted_again(&self, id: &InstanceId) -> bool {
        self.deleted
            .iter()
            .any(|(known, again)| known == id && *again)
    }
}

/// Whether a failure of the create that settles a doubt in deletion settles it all the same: it shows that the
/// request before it arrived, or that this one was refused.
fn settles(kind: ErrorKind) -> bool {
    match kind {
        ErrorKind::KeyOfDeleted
        | ErrorKind::KeyReused
        | ErrorKind::KeyInUse
        | ErrorKind::Invalid
        | ErrorKind::QuotaExceeded
        | ErrorKind::Forbidden => true,
        ErrorKind::Unauthorized
        | ErrorKind::RateLimited
        | ErrorKind::Conflict
        | ErrorKind::Expired
        | ErrorKind::Unavailable
        | ErrorKind::TimedOut
        | ErrorKind::Malformed
        | ErrorKind::NotFound
        | ErrorKind::EndpointNotAllowed
        | ErrorKind::NotLeading
        | ErrorKind::HeldBack
        | ErrorKind::TooLate => false,
    }
}
