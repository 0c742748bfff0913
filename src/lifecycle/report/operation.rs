//! `status.operation`: what is being tried at the provider, and what came of it last.

use jiff::Timestamp;

use super::Outcome;
use crate::api::virtual_machine::{OperationStatus, OperationType};
use crate::domain::{Instance, ProviderError, Reason};
use crate::lifecycle::decide::reason_of;
use crate::lifecycle::observed::{Config, Observed};
use crate::lifecycle::plan::{Action, Plan};

/// The provider operation in doubt or in back-off.
pub(super) fn operation(
    seen: &Observed<'_>,
    old: Option<&OperationStatus>,
    plan: &Plan,
    outcome: &Outcome,
    instance: Option<&Instance>,
) -> Option<OperationStatus> {
    let creating = !seen.object.deleting;
    let same = |kind| old.filter(|o| o.kind == kind).cloned();
    let begun = |kind, at: Timestamp| OperationStatus {
        kind,
        started_at: at,
        attempts: 1,
        next_attempt_at: None,
        last_error_reason: None,
    };
    match (&plan.action, outcome) {
        (Action::NoteAttempt, _) => {
            let mut next = same(OperationType::Create).unwrap_or_else(|| OperationStatus {
                attempts: 0,
                ..begun(OperationType::Create, seen.wall)
            });
            next.attempts = next.attempts.saturating_add(1);
            if !keyed(seen) {
                // What is sent now may make something: a refusal of before says nothing of it.
                next.last_error_reason = None;
            }
            Some(next)
        }
        (Action::Create | Action::Settle, Outcome::Failed(error)) => {
            let mut next = same(OperationType::Create)
                .unwrap_or_else(|| begun(OperationType::Create, seen.wall));
            let reason = if error.never_left() {
                Reason::CreateNotSent
            } else {
                reason_of(error)
            };
            next.last_error_reason = Some(reason.to_string());
            Some(next)
        }
        (Action::Delete(_), Outcome::Failed(error)) => {
            let mut next = same(OperationType::Delete)
                .unwrap_or_else(|| begun(OperationType::Delete, seen.wall));
            next.last_error_reason = Some(reason_of(error).to_string());
            Some(next)
        }
        (Action::Create | Action::Settle | Action::Delete(_), _) => None,
        (Action::Hold(_), _) if creating && instance.is_some() => None,
        // The write that was to tell of the refusal may have been lost.
        (Action::Hold(_), _) if creating && refusal(seen).is_some() => {
            let mut next = same(OperationType::Create)
                .unwrap_or_else(|| begun(OperationType::Create, seen.wall));
            next.last_error_reason = refusal(seen).map(|error| reason_of(error).to_string());
            Some(next)
        }
        (
            Action::Hold(_)
            | Action::Intend { .. }
            | Action::RemoveFinalizer { .. }
            | Action::ApplyChild(_)
            | Action::DeleteChild(..)
            | Action::Forget,
            _,
        ) => old.cloned(),
    }
}

/// What the provider refused the create for, as the object is now, for good.
fn refusal<'a>(seen: &Observed<'a>) -> Option<&'a ProviderError> {
    let stands = seen.memory.refused() == Some(seen.object.generation);
    seen.memory.refusal().filter(|_| stands && keyed(seen))
}

/// Whether a create may be repeated without harm. Where there is no config, nothing is sent.
fn keyed(seen: &Observed<'_>) -> bool {
    seen.config.as_ref().is_ok_and(Config::safe_create)
}
