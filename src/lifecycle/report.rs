//! What to tell: the status that the object should show, the event of a transition, and when to come back.

mod operation;
mod picture;
mod verdict;
mod words;

use std::time::Duration;

use super::object::Object;
use super::observed::Observed;
use super::plan::{Action, Plan};
use super::policy::{Planted, Policy};
use crate::api::virtual_machine::{Address, AddressType, InstanceStatus, VirtualMachineStatus};
use crate::api::{Phase, condition};
use crate::domain::{self, ErrorKind, Instance, Moment, Operation, ProviderError, Reason};
use operation::operation;
use picture::Picture;

/// What came of the effect.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// There was nothing to do, or what was to be done is done by the status write.
    Nothing,
    /// The write to Kubernetes is acknowledged.
    Written,
    /// The write to Kubernetes was refused because the object had changed or was gone.
    Outdated,
    /// The write to Kubernetes failed; whether it was applied is unknown.
    Unwritten,
    /// The provider made the instance, or showed the one that the same key had made before.
    Made(Box<Instance>),
    /// The provider accepted the deletion.
    DeleteAccepted,
    /// The call to the provider failed.
    Failed(ProviderError),
}

/// What a pass ends with.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The status that the object should show; `None`: no status write in this pass.
    pub status: Option<VirtualMachineStatus>,
    /// When to look again.
    pub requeue: Requeue,
    /// The reason for the log line.
    pub reason: Reason,
}

/// When to look again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requeue {
    /// At once.
    Now,
    /// After this long.
    After(Duration),
    /// At about this age, in the slow round.
    Steady(Duration),
    /// By the key's back-off, but not sooner than this.
    Retry(Option<Duration>),
    /// When something changes; nothing is gained by looking again.
    OnChange,
}

/// Draws up the report of a pass. `old` is the status that the object shows now.
#[must_use]
pub fn report(
    policy: &Policy,
    seen: &Observed<'_>,
    old: &VirtualMachineStatus,
    plan: &Plan,
    outcome: &Outcome,
) -> Report {
    let requeue = requeue(policy, seen, plan, outcome);
    let status = match (&plan.action, outcome) {
        // The next pass tells more; a status write here would be one too many.
        (
            Action::Intend { .. }
            | Action::RemoveFinalizer { .. }
            | Action::ApplyChild(_)
            | Action::DeleteChild(..)
            | Action::Forget,
            _,
        )
        | (_, Outcome::Outdated | Outcome::Unwritten) => None,
        // The check of the ProviderConfig is under way and tells more in a moment. Every VM of it comes by here after
        // a start, and would have its conditions turned over and back.
        (Action::Hold(_), Outcome::Nothing) if awaits_config(seen) => None,
        // The first list of the provider tells in a moment what a look would show.
        (Action::Hold(_), Outcome::Nothing) if awaits_list(seen) => None,
        // Nothing was ever made and the object is about to go: writing to it would only delay it.
        (Action::Hold(_), Outcome::Nothing) if leaving_untouched(seen) => None,
        // What was told of this generation stays until the failure lasts.
        (Action::Hold(_), Outcome::Nothing)
            if old.observed_generation == Some(seen.object.generation)
                && verdict::is_blip(seen) =>
        {
            None
        }
        (
            Action::Hold(_)
            | Action::NoteAttempt
            | Action::Create
            | Action::Settle
            | Action::Delete(_),
            Outcome::Nothing
            | Outcome::Written
            | Outcome::Made(_)
            | Outcome::DeleteAccepted
            | Outcome::Failed(_),
        ) => Some(status(policy, seen, old, plan, outcome)),
    };
    Report {
        status,
        requeue,
        reason: plan.reason,
    }
}

fn awaits_config(seen: &Observed<'_>) -> bool {
    let problem = seen.config.as_ref().err();
    problem.is_some_and(|problem| problem.reason == Reason::ProviderConfigPending)
}

fn awaits_list(seen: &Observed<'_>) -> bool {
    seen.config.as_ref().is_ok_and(|config| config.awaited)
}

fn leaving_untouched(seen: &Observed<'_>) -> bool {
    seen.object.deleting && (!seen.object.finalizer || seen.memory.released())
}

fn status(
    policy: &Policy,
    seen: &Observed<'_>,
    old: &VirtualMachineStatus,
    plan: &Plan,
    outcome: &Outcome,
) -> VirtualMachineStatus {
    let instance = match outcome {
        Outcome::Made(made) => Some(made.as_ref()),
        Outcome::Nothing
        | Outcome::Written
        | Outcome::Outdated
        | Outcome::Unwritten
        | Outcome::DeleteAccepted
        | Outcome::Failed(_) => seen.sighting.present(),
    };
    let picture = Picture::draw(policy, seen, old, plan, outcome, instance);
    let mut new = old.clone();
    if let Some(instance) = instance.filter(|_| !seen.object.deleting) {
        show_instance(policy, &mut new, seen, instance);
    }
    new.phase = Some(picture.phase(old.phase));
    new.conditions = condition::merge(
        &old.conditions,
        &picture.conditions(),
        Some(seen.object.generation),
        seen.wall,
    );
    new.observed_generation = Some(seen.object.generation);
    new.operation = operation(seen, old.operation.as_ref(), plan, outcome, instance);
    new
}

/// The id and its incarnation go in together, as soon as known, and never of an older incarnation.
fn show_instance(
    policy: &Policy,
    new: &mut VirtualMachineStatus,
    seen: &Observed<'_>,
    instance: &Instance,
) {
    let older = instance.incarnation() < seen.object.incarnation()
        && !policy.planted(Planted::OlderRecorded);
    if !older {
        new.id = Some(instance.id.as_str().to_owned());
        new.incarnation = Some(u64::from(instance.incarnation().get()));
    }
    new.addresses = addresses(instance);
    new.instance = Some(described(instance));
}

fn addresses(instance: &Instance) -> Vec<Address> {
    let first = instance.addresses.iter().take(16);
    first.filter_map(address).collect()
}

fn described(instance: &Instance) -> InstanceStatus {
    InstanceStatus {
        cpu: Some(instance.cpu),
        memory: Some(instance.memory),
        image: Some(instance.image.chars().take(253).collect()),
        created_at: instance.created_at.parse().ok(),
    }
}

/// Whether a status says that nothing is on its way: of this generation, and of an instance that stands.
#[must_use]
pub fn is_at_rest(object: &Object, status: &VirtualMachineStatus) -> bool {
    status.observed_generation == Some(object.generation)
        && status.operation.is_none()
        && matches!(status.phase, Some(Phase::Running | Phase::Stopped))
}

/// Whether a status shows this very instance as it is.
#[must_use]
pub fn shows(status: &VirtualMachineStatus, instance: &Instance) -> bool {
    status.id.as_deref() == Some(instance.id.as_str())
        && status.phase == Some(picture::phase_of(&instance.phase))
        && status.addresses == addresses(instance)
        && status.instance.as_ref() == Some(&described(instance))
}

fn address(address: &domain::Address) -> Option<Address> {
    let kind = match address.kind {
        domain::AddressType::InternalIp => AddressType::InternalIP,
        domain::AddressType::ExternalIp => AddressType::ExternalIP,
        domain::AddressType::Hostname => AddressType::Hostname,
        domain::AddressType::Other(_) => return None,
    };
    let fits = (1..=253).contains(&address.address.len());
    fits.then(|| Address {
        kind,
        address: address.address.clone(),
    })
}

/// When to look again.
fn requeue(policy: &Policy, seen: &Observed<'_>, plan: &Plan, outcome: &Outcome) -> Requeue {
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
    matches!(&plan.action, Action::Delete(id) if seen.memory.has_deleted(id))
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
    if let super::sighting::Current::Unknown(error) = &seen.sighting.current {
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
fn retry(policy: &Policy, error: &ProviderError) -> Requeue {
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

#[cfg(test)]
mod tests;
