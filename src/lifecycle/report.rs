//! What to tell: the status that the object should show, the event of a transition, and when to come back.

mod operation;
mod picture;
mod requeue;
mod verdict;
mod words;

use std::time::Duration;

use super::memory::Sureness;
use super::object::Object;
use super::observed::Observed;
use super::plan::{Action, Plan};
use super::policy::{Planted, Policy};
use super::sighting::Current;
use crate::api::condition::ConditionType;
use crate::api::virtual_machine::{Address, AddressType, InstanceStatus, VirtualMachineStatus};
use crate::api::{Phase, condition};
use crate::domain::{self, Instance, ProviderError, Reason};
use operation::operation;
use picture::Picture;
use requeue::requeue;

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

impl Requeue {
    /// Whether nothing has to be waited for.
    #[must_use]
    pub fn is_at_once(self) -> bool {
        matches!(self, Self::Now | Self::After(Duration::ZERO))
    }
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
        // A deletion that goes on at once: the next look shows whether it takes time, and where it does that is told. Most
        // are over in this turn, and a status in between would be the half of their writes.
        (Action::Delete(_), Outcome::DeleteAccepted) if requeue == Requeue::Now => None,
        (Action::Hold(_), Outcome::Nothing) if going_at_once(seen, requeue) => None,
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
    let status = status.filter(|new| is_news(seen, old, new, (plan, outcome)));
    Report {
        status,
        requeue,
        reason: plan.reason,
    }
}

/// Whether a status is worth its write. What waits for a bound of our own has told so once: the wait may be long, it is
/// tried again and again, and each try would say what it is kept from in other words.
fn is_news(
    seen: &Observed<'_>,
    old: &VirtualMachineStatus,
    new: &VirtualMachineStatus,
    (plan, outcome): (&Plan, &Outcome),
) -> bool {
    if plan.action == Action::NoteAttempt {
        return true;
    }
    let (error, told) = match outcome {
        Outcome::Failed(error) => (Some(error), old.operation.is_some()),
        Outcome::Nothing
        | Outcome::Written
        | Outcome::Outdated
        | Outcome::Unwritten
        | Outcome::Made(_)
        | Outcome::DeleteAccepted => (verdict::failed_look(seen), true),
    };
    let withdrawn = old.id.is_some() && new.id.is_none();
    let waits = told && error.is_some_and(ProviderError::is_wait);
    let same = old.observed_generation == Some(seen.object.generation)
        && same_status(old, new, ConditionType::ProviderReady)
        && same_status(old, new, ConditionType::Deleting);
    withdrawn || !(waits && same || operation::differ_by_time_alone(old, new))
}

fn same_status(
    old: &VirtualMachineStatus,
    new: &VirtualMachineStatus,
    kind: ConditionType,
) -> bool {
    let of = |status: &VirtualMachineStatus| {
        condition::find(&status.conditions, kind).map(|one| one.status.clone())
    };
    of(old) == of(new)
}

fn awaits_config(seen: &Observed<'_>) -> bool {
    let problem = seen.config.as_ref().err();
    problem.is_some_and(|problem| problem.reason == Reason::ProviderConfigPending)
}

fn awaits_list(seen: &Observed<'_>) -> bool {
    seen.config.as_ref().is_ok_and(|config| config.awaited)
}

/// Whether an instance that is being deleted is gone already, but for a second look that is due now.
fn going_at_once(seen: &Observed<'_>, requeue: Requeue) -> bool {
    let looks_again = matches!(
        seen.sighting.current,
        Current::Absent(Sureness::LookAgainAt(_))
    );
    seen.object.deleting && looks_again && requeue.is_at_once()
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
    let mut new = old.clone();
    let done = (plan, outcome);
    new.operation = operation(policy, seen, old.operation.as_ref(), done, instance);
    if instance.is_none() && seen.object.lost_its_own() {
        withdraw_instance(&mut new);
    }
    if is_note_alone(seen, old, plan) {
        return new;
    }
    let picture = Picture::draw(policy, seen, old, plan, outcome, instance);
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
    new
}

/// A note of an attempt says nothing else where everything else was told: what comes of it is told in a moment.
fn is_note_alone(seen: &Observed<'_>, old: &VirtualMachineStatus, plan: &Plan) -> bool {
    let leaves = condition::find(&old.conditions, ConditionType::Deleting).is_some();
    plan.action == Action::NoteAttempt
        && old.observed_generation == Some(seen.object.generation)
        && condition::find(&old.conditions, ConditionType::Ready).is_some()
        && leaves == seen.object.deleting
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

/// What is confirmed to be gone is not shown as if it were there. Its incarnation stays: a later one is never lower.
fn withdraw_instance(new: &mut VirtualMachineStatus) {
    new.id = None;
    new.instance = None;
    new.addresses.clear();
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

#[cfg(test)]
mod tests;
