//! The decision: pure, one effect per pass.
//!
//! The rules are those of the explicit-state model of the protocol; each looks like a detail, and without it two
//! instances or a leaked one are reachable within 8 to 20 steps. Change none without running the model.

use super::basic;
use super::children;
use super::due::account_changed;
use super::memory::{Memory, Sureness};
use super::object::{IntentState, Object};
use super::observed::{Config, Observed};
use super::plan::{Action, Plan};
use super::policy::{Planted, Policy};
use super::sighting::{Current, Sighting};
use crate::domain::{
    ErrorKind, Incarnation, Instance, InstancePhase, Intent, Moment, ProviderError, Reason,
};

/// Decides what to do with one object.
#[must_use]
pub fn decide(policy: &Policy, seen: &Observed<'_>) -> Plan {
    if let Some(plan) = nothing_to_delete(seen).or_else(|| paused(seen)) {
        return plan;
    }
    if let Some(plan) = let_go(seen.object) {
        return plan;
    }
    let config = match seen.config {
        Ok(config) => config,
        Err(problem) => return Plan::hold(problem.reason),
    };
    if let Some(reason) = held(seen.object, config) {
        return Plan::hold(reason);
    }
    if let Current::Unknown(error) = &seen.sighting.current {
        return Plan::hold(reason_of(error));
    }
    if let Current::Unproven(_) = &seen.sighting.current {
        return Plan::hold(Reason::OwnershipUnproven);
    }
    let bare = seen.object.intent().is_none() || !seen.object.finalizer;
    if bare && !seen.object.deleting {
        intending(policy, seen, config)
    } else if !config.safe_create() {
        basic::decide(policy, seen, config)
    } else if seen.object.deleting {
        deleting(policy, seen)
    } else if seen.object.known().is_some() {
        keeping(policy, seen, config)
    } else {
        creating(policy, seen, config)
    }
}

/// A deletion that leaves nothing behind: no sign of an intent was ever there, or our finalizer is off already.
fn nothing_to_delete(seen: &Observed<'_>) -> Option<Plan> {
    let memory = seen.memory;
    let done = memory.released() || (memory.born() && !memory.sign());
    (seen.object.deleting && done).then(|| Plan::hold(Reason::Deleting))
}

/// A pause holds every effect, letting go included: whoever set it can take it away.
fn paused(seen: &Observed<'_>) -> Option<Plan> {
    let by_config = seen.config.as_ref().is_ok_and(|config| config.paused);
    let reason = if seen.object.deleting {
        Reason::BlockedByPause
    } else {
        Reason::Paused
    };
    (seen.object.paused || by_config).then(|| Plan::hold(reason))
}

/// The user lets go of the instance: then nothing else has to be known.
fn let_go(object: &Object) -> Option<Plan> {
    let why = object.force_orphan.as_ref()?;
    (object.deleting && object.finalizer).then(|| {
        let orphaned = Some(why.clone());
        Plan::new(Action::RemoveFinalizer { orphaned }, Reason::Deleting)
    })
}

/// What stops everything else, live or deleting.
fn held(object: &Object, config: &Config) -> Option<Reason> {
    if matches!(object.intent, IntentState::OtherCluster(_)) {
        Some(Reason::ClusterIdChanged)
    } else if account_changed(object, config) {
        Some(Reason::AccountChanged)
    } else {
        None
    }
}

/// A live object without a finalizer or a valid intent: write them, at the right incarnation.
fn intending(policy: &Policy, seen: &Observed<'_>, config: &Config) -> Plan {
    if config.terminating {
        return Plan::hold(Reason::ProviderConfigDeleting);
    }
    if !config.protected {
        return Plan::hold(Reason::ProviderConfigPending);
    }
    if let Some(at) = too_soon(policy, seen) {
        return Plan::wait(at, Reason::CreatePending);
    }
    let object = seen.object;
    let valid = object.intent().cloned();
    let tagged = seen.sighting.ours().map(|i| i.incarnation()).max();
    let (incarnation, first) = match (&valid, tagged) {
        (Some(intent), tagged) => {
            let highest = tagged.map_or(intent.incarnation, |t| t.max(intent.incarnation));
            (highest, false)
        }
        (None, Some(tagged)) => (tagged, false),
        (None, None) => match &seen.sighting.current {
            Current::Absent(Sureness::LookAgainAt(at)) => {
                return Plan::wait(*at, Reason::CreatePending);
            }
            Current::Absent(Sureness::Confirmed) => from_status(object),
            Current::Unasked if seen.memory.born() => (Incarnation::FIRST, true),
            Current::Unasked if !config.safe_create() && !config.finds() => {
                basic::incarnation(seen)
            }
            Current::Unasked if policy.planted(Planted::StrippedIsNoIntent) => {
                (Incarnation::FIRST, true)
            }
            Current::Unasked | Current::Present(_) | Current::Unproven(_) | Current::Unknown(_) => {
                return Plan::hold(Reason::CreatePending);
            }
        },
    };
    let kept = valid.filter(|intent| intent.incarnation == incarnation);
    intend(policy, object, config, incarnation, kept, first)
}

/// Without tags and annotation the incarnation in status counts, else it is the first.
fn from_status(object: &Object) -> (Incarnation, bool) {
    match object.reached() {
        Some(reached) => (reached, false),
        None => (Incarnation::FIRST, true),
    }
}

/// A tool that strips our marks in a loop gets them back at most once a second.
fn too_soon(policy: &Policy, seen: &Observed<'_>) -> Option<Moment> {
    let next = seen.memory.intended_at()? + policy.intend_again;
    (seen.now < next).then_some(next)
}

fn intend(
    policy: &Policy,
    object: &Object,
    config: &Config,
    incarnation: Incarnation,
    kept: Option<Intent>,
    first: bool,
) -> Plan {
    let account = config.capabilities.account.as_deref();
    match kept.or_else(|| object.fresh_intent(&policy.cluster, incarnation, account)) {
        Some(mut intent) => {
            if first && !config.safe_create() {
                intent.by.clone_from(&policy.process);
            }
            let intent = Box::new(intent);
            Plan::new(Action::Intend { intent, first }, Reason::CreatePending)
        }
        None => Plan::hold(Reason::SpecUnreadable),
    }
}

/// A live object whose id is known.
pub(super) fn keeping(policy: &Policy, seen: &Observed<'_>, config: &Config) -> Plan {
    let object = seen.object;
    match &seen.sighting.current {
        Current::Present(instance) if instance.incarnation() > object.incarnation() => {
            raise_to(policy, object, config, instance.incarnation())
        }
        Current::Present(instance) => children::next(policy, seen, Some(instance))
            .unwrap_or_else(|| Plan::hold(Reason::Created)),
        Current::Absent(sureness) => no_endpoints(policy, seen).unwrap_or_else(|| match sureness {
            Sureness::LookAgainAt(at) => Plan::wait(*at, Reason::Lost),
            Sureness::Confirmed => lost(policy, seen, config),
        }),
        Current::Unasked | Current::Unproven(_) | Current::Unknown(_) => {
            Plan::hold(Reason::Pending)
        }
    }
}

/// An instance that is confirmed to be gone is made anew, unless so many are missing that something else must be wrong.
fn lost(policy: &Policy, seen: &Observed<'_>, config: &Config) -> Plan {
    if policy.planted(Planted::LossesUncounted) {
        return raise(policy, seen.object, config, Reason::Lost);
    }
    if config.holds_losses() {
        Plan::hold(Reason::MassLossSuspected)
    } else if config.losses.may_become_mass() {
        Plan::wait(seen.now + policy.round_again, Reason::Lost)
    } else {
        raise(policy, seen.object, config, Reason::Lost)
    }
}

/// What is not at the provider takes no connections.
fn no_endpoints(policy: &Policy, seen: &Observed<'_>) -> Option<Plan> {
    children::next(policy, seen, None).filter(|plan| !matches!(plan.action, Action::Hold(_)))
}

/// What would lead others to a lost instance goes before another is made or waited for. Where it is not known yet what
/// there is, nothing waits for it but what waits anyway.
pub(super) fn withdrawing(policy: &Policy, seen: &Observed<'_>, plan: Plan) -> Plan {
    if !seen.object.lost_its_own() {
        return plan;
    }
    let action = children::next(policy, seen, None).map(|step| step.action);
    match (action, &plan.action) {
        (Some(wait @ Action::Hold(_)), Action::Hold(None)) => Plan::new(wait, plan.reason),
        (None | Some(Action::Hold(_)), _) => plan,
        (Some(action), _) => Plan::new(action, plan.reason),
    }
}

/// A live object with an intent and no id: create, or find out what became of an earlier create.
fn creating(policy: &Policy, seen: &Observed<'_>, config: &Config) -> Plan {
    let object = seen.object;
    let stale = object.body_is_stale(&policy.cluster);
    match &seen.sighting.current {
        Current::Present(instance) if instance.incarnation() > object.incarnation() => {
            raise_to(policy, object, config, instance.incarnation())
        }
        Current::Present(_) => Plan::hold(Reason::Created),
        Current::Absent(Sureness::LookAgainAt(at)) => Plan::wait(*at, why_in_doubt(seen)),
        Current::Absent(Sureness::Confirmed) if seen.memory.must_raise() || stale => {
            raise(policy, object, config, Reason::CreatePending)
        }
        Current::Absent(Sureness::Confirmed) => {
            withdrawing(policy, seen, create(policy, seen, Action::Create))
        }
        Current::Unasked if seen.memory.refused() == Some(object.generation) => {
            let refusal = seen.memory.refusal();
            let reason = refusal.map_or(Reason::InvalidRequest, reason_of);
            withdrawing(policy, seen, Plan::hold(reason))
        }
        Current::Unasked if seen.memory.may_create_blind(policy, seen.now) && !stale => {
            withdrawing(policy, seen, create(policy, seen, Action::Create))
        }
        Current::Unasked | Current::Unproven(_) | Current::Unknown(_) => {
            Plan::hold(why_in_doubt(seen))
        }
    }
}

fn why_in_doubt(seen: &Observed<'_>) -> Reason {
    if seen.memory.in_doubt() {
        Reason::CreateResultUnknown
    } else {
        Reason::CreateInDoubt
    }
}

/// A create goes out only right after our own acknowledged write to the object: older writes of predecessors
/// are dead then, because every write is guarded by the version that it was decided on.
fn create(policy: &Policy, seen: &Observed<'_>, action: Action) -> Plan {
    if action == Action::Create && seen.object.spec.is_none() {
        // The stored body may ask for what the user has long replaced by something that nobody here can read.
        Plan::hold(Reason::SpecUnreadable)
    } else if seen.memory.own_write_stands(policy, seen.now) {
        Plan::new(action, Reason::CreatePending)
    } else {
        Plan::new(Action::NoteAttempt, why_in_doubt(seen))
    }
}

/// The next incarnation, with a body from the spec as it is now: the one before is confirmed to be no more.
fn raise(policy: &Policy, object: &Object, config: &Config, reason: Reason) -> Plan {
    if policy.planted(Planted::NotRaised) {
        return Plan::hold(reason);
    }
    intend_anew(policy, object, config, object.incarnation().next(), reason)
}

/// The intent of an incarnation that is begun now.
pub(super) fn intend_anew(
    policy: &Policy,
    object: &Object,
    config: &Config,
    next: Incarnation,
    reason: Reason,
) -> Plan {
    if config.terminating {
        return Plan::hold(Reason::ProviderConfigDeleting);
    }
    Plan {
        reason,
        ..intend(policy, object, config, next, None, true)
    }
}

/// An instance of a higher incarnation is there: the annotation follows it.
pub(super) fn raise_to(policy: &Policy, object: &Object, config: &Config, to: Incarnation) -> Plan {
    intend(policy, object, config, to, None, false)
}

/// An object that is being deleted, where an intent may exist.
fn deleting(policy: &Policy, seen: &Observed<'_>) -> Plan {
    if let Some(plan) = in_sight(policy, seen) {
        return plan;
    }
    let object = seen.object;
    let doubt = doubtful(policy, object, seen.memory, seen.now);
    match &seen.sighting.current {
        Current::Absent(_) if doubt => create(policy, seen, Action::Settle),
        Current::Absent(Sureness::LookAgainAt(at)) => Plan::wait(*at, Reason::Deleting),
        Current::Absent(Sureness::Confirmed) if object.finalizer => {
            Plan::new(Action::RemoveFinalizer { orphaned: None }, Reason::Deleting)
        }
        Current::Absent(Sureness::Confirmed)
        | Current::Unasked
        | Current::Present(_)
        | Current::Unproven(_)
        | Current::Unknown(_) => Plan::hold(Reason::Deleting),
    }
}

/// The next step of a deletion while instances of ours are in sight.
pub(super) fn in_sight(policy: &Policy, seen: &Observed<'_>) -> Option<Plan> {
    if let Some(instance) = to_delete(seen.sighting) {
        let delete = Action::Delete(instance.id.clone());
        return Some(Plan::new(delete, Reason::Deleting));
    }
    let left = seen.sighting.ours().next().is_some();
    if left && seen.object.finalizer && policy.planted(Planted::RemovalUnconfirmed) {
        let orphaned = None;
        return Some(Plan::new(
            Action::RemoveFinalizer { orphaned },
            Reason::Deleting,
        ));
    }
    left.then(|| Plan::wait(seen.now + policy.transition_poll, Reason::Deleting))
}

/// The next instance to delete: any of ours, in any phase but the one in which it goes already.
pub(super) fn to_delete(sighting: &Sighting) -> Option<&Instance> {
    sighting
        .ours()
        .find(|instance| instance.phase != InstancePhase::Deleting)
}

/// Whether an object that is being deleted may still get an instance from a create that is under way.
pub(super) fn doubtful(policy: &Policy, object: &Object, memory: &Memory, now: Moment) -> bool {
    object.deleting
        && object.intent().is_some()
        && object.known().is_none()
        && memory.create_in_doubt(now)
        && !policy.planted(Planted::DoubtDropped)
}

/// The condition reason of a failed call.
#[must_use]
pub fn reason_of(error: &ProviderError) -> Reason {
    match error.kind {
        ErrorKind::Invalid => match error.code.as_deref() {
            Some("InvalidImage") => Reason::InvalidImage,
            Some("InvalidSpec") => Reason::InvalidSpec,
            Some(_) | None => Reason::InvalidRequest,
        },
        ErrorKind::KeyReused | ErrorKind::KeyOfDeleted => Reason::CreateInDoubt,
        ErrorKind::KeyInUse => Reason::CreateInProgress,
        ErrorKind::Unauthorized => Reason::CredentialsRejected,
        ErrorKind::Forbidden => Reason::Forbidden,
        ErrorKind::QuotaExceeded => Reason::QuotaExceeded,
        ErrorKind::RateLimited => Reason::RateLimited,
        ErrorKind::Conflict => Reason::Busy,
        ErrorKind::Expired
        | ErrorKind::Unavailable
        | ErrorKind::TimedOut
        | ErrorKind::NotLeading
        | ErrorKind::HeldBack
        | ErrorKind::TooLate => Reason::ProviderUnreachable,
        ErrorKind::Malformed => Reason::MalformedAnswer,
        ErrorKind::NotFound => Reason::Lost,
        ErrorKind::EndpointNotAllowed => Reason::EndpointNotAllowed,
    }
}

#[cfg(test)]
mod tests;
