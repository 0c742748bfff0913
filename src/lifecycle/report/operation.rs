//! `status.operation`: what is being tried at the provider, and what came of it last.

use std::time::Duration;

use jiff::Timestamp;

use super::requeue::retry;
use super::{Outcome, Requeue};
use crate::api::VirtualMachineStatus;
use crate::api::virtual_machine::{OperationStatus, OperationType};
use crate::domain::{Instance, Operation, ProviderError, Reason};
use crate::lifecycle::basic;
use crate::lifecycle::decide::reason_of;
use crate::lifecycle::observed::{Config, Observed};
use crate::lifecycle::plan::{Action, Plan};
use crate::lifecycle::policy::Policy;

/// The provider operation in doubt or in back-off, and when the queue brings it back at the earliest.
pub(super) fn operation(
    policy: &Policy,
    seen: &Observed<'_>,
    old: Option<&OperationStatus>,
    (plan, outcome): (&Plan, &Outcome),
    instance: Option<&Instance>,
) -> Option<OperationStatus> {
    let creating = !seen.object.deleting;
    match (&plan.action, outcome) {
        (Action::NoteAttempt, _) => Some(noted(policy, seen, old)),
        (Action::Create | Action::Settle, Outcome::Failed(error)) => {
            let mut next = begun(OperationType::Create, seen, old);
            if keyed(seen) || !error.made_nothing() || basic::is_clear(seen.object, seen.memory) {
                let unsent = error.never_left();
                let reason = if unsent {
                    Reason::CreateNotSent
                } else {
                    reason_of(error)
                };
                next.last_error_reason = Some(reason.to_string());
            }
            Some(failed(policy, seen, next, error))
        }
        (Action::Delete(_), Outcome::Failed(error)) => {
            let mut next = begun(OperationType::Delete, seen, old);
            next.last_error_reason = Some(reason_of(error).to_string());
            Some(failed(policy, seen, next, error))
        }
        (Action::Create | Action::Settle | Action::Delete(_), _) => None,
        (Action::Hold(_), _) if creating && instance.is_some() => None,
        // The write that was to tell of the refusal may have been lost.
        (Action::Hold(_), _) if creating && refusal(seen).is_some() => {
            let mut next = begun(OperationType::Create, seen, old);
            next.last_error_reason = refusal(seen).map(|error| reason_of(error).to_string());
            next.next_attempt_at = None;
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

/// Whether two statuses differ, but say the same but for the time of the next attempt: that alone is worth no write. Each note of
/// an attempt brings it up to date.
pub(super) fn differ_by_time_alone(old: &VirtualMachineStatus, new: &VirtualMachineStatus) -> bool {
    let timeless = |status: &VirtualMachineStatus| {
        let mut status = status.clone();
        if let Some(operation) = &mut status.operation {
            operation.next_attempt_at = None;
        }
        status
    };
    old.operation != new.operation && timeless(old) == timeless(new)
}

/// An attempt is about to be sent. Should it fail as the last one did, the next is not before this time: so that the
/// failure need not be written down again.
fn noted(policy: &Policy, seen: &Observed<'_>, old: Option<&OperationStatus>) -> OperationStatus {
    let is_create = |one: &&OperationStatus| one.kind == OperationType::Create;
    let before = old.filter(is_create).map_or(0, |one| one.attempts);
    let mut next = begun(OperationType::Create, seen, old);
    next.attempts = before.saturating_add(1);
    if !keyed(seen) {
        // What is sent now may make something: a refusal of before says nothing of it.
        next.last_error_reason = None;
    }
    let last = seen.memory.failure().map(|failure| &failure.error);
    let last = last.filter(|error| error.operation == Operation::Create && !error.is_wait());
    let asked = last.map_or(Duration::ZERO, |error| least_wait(policy, error));
    next.next_attempt_at = Some(in_time(policy, seen, asked));
    next
}

fn begun(
    kind: OperationType,
    seen: &Observed<'_>,
    old: Option<&OperationStatus>,
) -> OperationStatus {
    let same = old.filter(|one| one.kind == kind);
    same.cloned().unwrap_or(OperationStatus {
        kind,
        started_at: seen.wall,
        attempts: 1,
        next_attempt_at: None,
        last_error_reason: None,
    })
}

fn failed(
    policy: &Policy,
    seen: &Observed<'_>,
    mut operation: OperationStatus,
    error: &ProviderError,
) -> OperationStatus {
    operation.next_attempt_at = match retry(policy, error) {
        Requeue::Retry(at_least) => Some(in_time(policy, seen, at_least.unwrap_or_default())),
        // At once, or not before something changes.
        Requeue::Now | Requeue::After(_) | Requeue::Steady(_) | Requeue::OnChange => None,
    };
    operation
}

/// The wait that a failure asks for by itself, without the back-off.
fn least_wait(policy: &Policy, error: &ProviderError) -> Duration {
    match retry(policy, error) {
        Requeue::Retry(at_least) => at_least.unwrap_or_default(),
        Requeue::Now | Requeue::After(_) | Requeue::Steady(_) | Requeue::OnChange => Duration::ZERO,
    }
}

/// When a pass that fails now comes back at the earliest, in whole seconds, as times of Kubernetes are.
fn in_time(policy: &Policy, seen: &Observed<'_>, at_least: Duration) -> Timestamp {
    let failures = seen.memory.failed_passes().saturating_add(1);
    let wait = policy.least_backoff(failures).max(at_least);
    let at = seen.wall.checked_add(wait).unwrap_or(seen.wall);
    Timestamp::from_second(at.as_second()).unwrap_or(at)
}

/// Whether a create may be repeated without harm. Where there is no config, nothing is sent.
fn keyed(seen: &Observed<'_>) -> bool {
    seen.config.as_ref().is_ok_and(Config::safe_create)
}
