//! When to look again after a pass.

use std::time::Duration;

use super::{Outcome, Requeue, leaving_untouched, picture};
use crate::api::Phase;
use crate::domain::{ErrorKind, Instance, Moment, Operation, ProviderError, Reason};
use crate::lifecycle::observed::Observed;
use crate::lifecycle::plan::{Action, Plan};
use crate::lifecycle::policy::Policy;
use crate::lifecycle::sighting::Current;

/// When to look again.
pub(super) fn requeue(
    policy: &Policy,
    seen: &Observed<'_>,
    plan: &Plan,
    outcome: &Outcome,
) -> Requeue {
    match outcome {
        // Whatever settled the doubt, the looks can go on.
        Outcome::Failed(_)
            if plan.action == Action::Settle && !seen.memory.create_in_doubt(seen.now) =>
        {
            Requeue::Now
        }
        Outcome::Failed(error) => retry(policy, error),
        Outcome::Unwritten => Requeue::Retry(None),
        Outcome::Outdated => Requeue::Now,
        Outcome::Made(instance) if !seen.object.deleting => {
            watch_instance(policy, seen, Some(instance))
        }
        Outcome::DeleteAccepted if deleted_again(seen, plan) => {
            let lag = seen.config.as_ref().map(|c| c.capabilities.list_lag);
            Requeue::After(lag.unwrap_or_default().max(policy.transition_poll))
        }
        Outcome::Made(_) | Outcome::DeleteAccepted => Requeue::Now,
        Outcome::Written | Outcome::Nothing => after_plan(policy, seen, plan),
    }
}

/// A list that lags shows for a while what is gone: to delete that again and again helps nobody.
fn deleted_again(seen: &Observed<'_>, plan: &Plan) -> bool {
    matches!(&plan.action, Action::Delete(id) if seen.memory.has_deleted_again(id))
}

fn after_plan(policy: &Policy, seen: &Observed<'_>, plan: &Plan) -> Requeue {
    match &plan.action {
        Action::Intend { .. } | Action::NoteAttempt => Requeue::Now,
        Action::RemoveFinalizer { .. } | Action::Forget => Requeue::OnChange,
        Action::Create
        | Action::Settle
        | Action::Delete(_)
        | Action::ApplyChild(_)
        | Action::DeleteChild(..) => Requeue::Now,
        Action::Hold(Some(at)) => Requeue::After(wait(seen.now, *at)),
        Action::Hold(None) => holding(policy, seen, plan.reason),
    }
}

fn wait(now: Moment, at: Moment) -> Duration {
    at.since(now)
}

fn holding(policy: &Policy, seen: &Observed<'_>, reason: Reason) -> Requeue {
    if let Current::Unknown(error) = &seen.sighting.current {
        return retry(policy, error);
    }
    match seen.config {
        // Wakes by watch when it appears; the slow round is for the watch that sleeps.
        Err(_) => Requeue::Steady(policy.longest_backoff),
        Ok(_) if seen.memory.refused() == Some(seen.object.generation) => {
            Requeue::Steady(policy.longest_backoff)
        }
        Ok(config) if config.awaited => Requeue::After(policy.transition_poll),
        Ok(config) => match reason {
            Reason::Paused
            | Reason::BlockedByPause
            | Reason::ClusterIdChanged
            | Reason::SpecUnreadable => Requeue::OnChange,
            Reason::Created => watch_instance(policy, seen, seen.sighting.present()),
            _ if leaving_untouched(seen) => Requeue::OnChange,
            _ => Requeue::Steady(config.poll),
        },
    }
}

/// Quick while the instance is on its way, unless its inventory watches it; slow once it stands.
fn watch_instance(policy: &Policy, seen: &Observed<'_>, instance: Option<&Instance>) -> Requeue {
    let poll = seen
        .config
        .as_ref()
        .map_or(policy.longest_backoff, |c| c.poll);
    let watched = seen.config.as_ref().is_ok_and(|config| config.watched);
    // What it owns is made once the id is recorded, and waits for no poll.
    let goes_on = instance.is_some()
        && seen.object.known().is_none()
        && seen.object.owned.is_some()
        && !seen.object.deleting;
    let standing = if goes_on {
        Requeue::Now
    } else {
        Requeue::Steady(poll)
    };
    match instance.map(|i| picture::phase_of(&i.phase)) {
        Some(Phase::Provisioning | Phase::Starting | Phase::Stopping | Phase::Resizing)
            if watched =>
        {
            Requeue::Steady(poll)
        }
        Some(Phase::Provisioning | Phase::Starting | Phase::Stopping | Phase::Resizing) => {
            Requeue::After(policy.transition_poll)
        }
        Some(
            Phase::Pending
            | Phase::Running
            | Phase::Stopped
            | Phase::Deleting
            | Phase::Failed
            | Phase::Lost
            | Phase::Unknown,
        )
        | None => standing,
    }
}

/// The wait after a failed call: by back-off, with the floor that its kind asks for.
pub(super) fn retry(policy: &Policy, error: &ProviderError) -> Requeue {
    const MINUTE: Duration = Duration::from_mins(1);
    let create = error.operation == Operation::Create;
    match error.kind {
        // Only what a create asks for is the user's to correct. No further call is made; the slow round puts right
        // what somebody does to the status.
        ErrorKind::Invalid if create => Requeue::Steady(policy.longest_backoff),
        ErrorKind::KeyReused | ErrorKind::KeyOfDeleted if create => Requeue::Now,
        ErrorKind::Invalid => Requeue::Retry(Some(MINUTE)),
        ErrorKind::QuotaExceeded | ErrorKind::Forbidden | ErrorKind::Unauthorized => {
            Requeue::Retry(Some(error.retry_after.unwrap_or(MINUTE).max(MINUTE)))
        }
        ErrorKind::KeyReused
        | ErrorKind::KeyOfDeleted
        | ErrorKind::KeyInUse
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
        | ErrorKind::TooLate => Requeue::Retry(error.retry_after),
    }
}
