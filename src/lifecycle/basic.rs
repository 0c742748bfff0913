//! A provider that a create cannot be repeated at: no idempotency keys, or none that live long enough, or no finds.
//!
//! Such a provider knows no owner: an instance is ours because we hold the id that the create was answered with. So
//! every create is sent under a *claim*: a guarded write of ours that nobody has used yet. A create without an answer
//! uses its claim up, and then nobody can tell whether there is an instance. It is not repeated unless the
//! ProviderConfig allows that, and in deletion it is let go of.

use std::time::Duration;

use super::decide::{in_sight, intend_anew, keeping, raise_to, withdrawing};
use super::due::{Due, Find, gap};
use super::memory::{Memory, Sureness};
use super::object::{IntentState, Object, Recorded};
use super::observed::{Config, Observed};
use super::plan::{Action, Plan};
use super::policy::{Planted, Policy};
use super::sighting::Current;
use crate::domain::{Incarnation, Instance, Moment, Owner, OwnerTag, Reason};

/// Why an instance that may exist is let go of.
pub const LET_GO: &str =
    "the create got no answer, and this provider cannot be asked what came of it";

/// The id that is ours: the recorded one, or the one that a create was answered with and that is not recorded yet.
#[must_use]
pub fn ours<'a>(object: &'a Object, memory: &'a Memory) -> Option<&'a Recorded> {
    let recorded = object.recorded.as_ref();
    let made = memory.claim().made();
    made.filter(|made| recorded.is_none_or(|r| r.incarnation < made.incarnation))
        .or(recorded)
}

/// The instance with the owner that its id proves: where the provider shows no tags, and unless it was made at
/// another time than ours, so that the provider must have given the id away again.
#[must_use]
pub fn adopted(ours: Option<&Recorded>, owner: &Owner, mut instance: Instance) -> Instance {
    let Some(ours) = ours.filter(|ours| ours.id == instance.id) else {
        return instance;
    };
    let made: Option<jiff::Timestamp> = instance.created_at.parse().ok();
    let given_away = ours
        .created_at
        .is_some_and(|then| made.is_some_and(|made| made != then));
    if instance.owner.is_none() && !given_away {
        instance.owner = Some(tag(owner, ours.incarnation));
    }
    instance
}

/// The tags that an instance of this owner would bear.
#[must_use]
pub fn tag(owner: &Owner, incarnation: Incarnation) -> OwnerTag {
    OwnerTag {
        cluster: owner.cluster.clone(),
        uid: owner.uid.clone(),
        incarnation,
    }
}

/// Whether nobody can have sent a create under the present intent that may have made something.
#[must_use]
pub fn is_clear(object: &Object, memory: &Memory) -> bool {
    object.intent().is_some() && (memory.claim().is_clear() || object.tried.refused)
}

/// Whether an instance may exist of which nobody knows the id.
#[must_use]
pub fn is_in_doubt(object: &Object, memory: &Memory) -> bool {
    let known = ours(object, memory).is_some_and(|r| r.incarnation >= object.incarnation());
    !known
        && !is_clear(object, memory)
        && (memory.claim().is_marked() || object.tried != Default::default())
}

/// The look that is due.
pub(super) fn due(
    policy: &Policy,
    object: &Object,
    memory: &Memory,
    config: &Config,
    now: Moment,
    steady: bool,
) -> Due {
    let bare = object.intent().is_none() || !object.finalizer;
    let current = |r: &&Recorded| object.deleting || r.incarnation >= object.incarnation();
    let id = ours(object, memory).filter(current).map(|r| r.id.clone());
    let nothing_to_find = if object.deleting || !bare {
        is_clear(object, memory)
    } else {
        !config.finds() || memory.born() && object.intent == IntentState::Missing
    };
    if id.is_none() && nothing_to_find {
        return Due::Nothing;
    }
    let gap: Duration = gap(policy, object, memory, config, now);
    if let Some(at) = memory.look_again_at(gap).filter(|at| now < *at) {
        return Due::Wait(at);
    }
    let only_by_id = object.deleting || object.known().is_some() && !bare && !steady;
    let find = if only_by_id && !memory.doubles() {
        Find::IfNotGot
    } else {
        Find::Always
    };
    Due::Look(id, find)
}

/// Without finds: the incarnation of a live object that has no valid intent and no id. An earlier create may be in
/// doubt where anything says that there was an intent; then this one is not the first.
pub(super) fn incarnation(seen: &Observed<'_>) -> (Incarnation, bool) {
    let begun = seen.memory.claim().is_marked() || seen.object.tried != Default::default();
    (Incarnation::FIRST, !begun)
}

/// Decides about a live object with finalizer and intent, or about one that is being deleted.
pub(super) fn decide(policy: &Policy, seen: &Observed<'_>, config: &Config) -> Plan {
    if seen.object.deleting {
        deleting(policy, seen, config)
    } else if seen.object.known().is_some() {
        keeping(policy, seen, config)
    } else {
        creating(policy, seen, config)
    }
}

fn creating(policy: &Policy, seen: &Observed<'_>, config: &Config) -> Plan {
    let object = seen.object;
    if let Current::Present(instance) = &seen.sighting.current {
        return if instance.incarnation() > object.incarnation() {
            raise_to(policy, object, config, instance.incarnation())
        } else {
            Plan::hold(Reason::Created)
        };
    }
    if let Some(made) = seen.memory.claim().made() {
        return match &seen.sighting.current {
            Current::Absent(Sureness::LookAgainAt(at)) => Plan::wait(*at, Reason::Lost),
            Current::Absent(Sureness::Confirmed) => {
                let next = made.incarnation.max(object.incarnation()).next();
                intend_anew(policy, object, config, next, Reason::Lost)
            }
            Current::Unasked | Current::Present(_) | Current::Unproven(_) | Current::Unknown(_) => {
                Plan::hold(Reason::Created)
            }
        };
    }
    if is_clear(object, seen.memory) || policy.planted(Planted::DoubtRepeated) {
        return clear(policy, seen, config);
    }
    let may_repeat = config.finds() || config.allow_unsafe_create;
    match &seen.sighting.current {
        _ if !may_repeat => withdrawing(policy, seen, Plan::hold(Reason::CreateInDoubt)),
        Current::Absent(Sureness::LookAgainAt(at)) => Plan::wait(*at, Reason::CreateResultUnknown),
        Current::Absent(Sureness::Confirmed) if object.body_is_stale(&policy.cluster) => {
            let next = object.incarnation().next();
            intend_anew(policy, object, config, next, Reason::CreatePending)
        }
        Current::Absent(Sureness::Confirmed) if object.spec.is_none() => {
            Plan::hold(Reason::SpecUnreadable)
        }
        Current::Absent(Sureness::Confirmed) => send(policy, seen, true),
        Current::Unasked | Current::Present(_) | Current::Unproven(_) | Current::Unknown(_) => {
            Plan::hold(Reason::CreateResultUnknown)
        }
    }
}

/// Nothing can have been made so far.
fn clear(policy: &Policy, seen: &Observed<'_>, config: &Config) -> Plan {
    let object = seen.object;
    if seen.memory.refused() == Some(object.generation) {
        let why = seen.memory.refusal().map(super::decide::reason_of);
        let held = Plan::hold(why.unwrap_or(Reason::InvalidRequest));
        withdrawing(policy, seen, held)
    } else if object.spec.is_none() {
        Plan::hold(Reason::SpecUnreadable)
    } else if object.body_is_stale(&policy.cluster) {
        let next = object.incarnation().next();
        intend_anew(policy, object, config, next, Reason::CreatePending)
    } else {
        let sent = send(policy, seen, !object.tried.refused);
        withdrawing(policy, seen, sent)
    }
}

/// Sends the create where our own write of a moment ago claims it. `claims`: whether a write of before can: one that
/// shows a refusal gives everybody the right to go on, so it is taken back first.
fn send(policy: &Policy, seen: &Observed<'_>, claims: bool) -> Plan {
    if claims && seen.memory.own_write_stands(policy, seen.now) {
        Plan::new(Action::Create, Reason::CreatePending)
    } else {
        Plan::new(Action::NoteAttempt, Reason::CreatePending)
    }
}

fn deleting(policy: &Policy, seen: &Observed<'_>, config: &Config) -> Plan {
    if let Some(plan) = in_sight(policy, seen) {
        return plan;
    }
    let object = seen.object;
    let doubt = is_in_doubt(object, seen.memory);
    let reason = if doubt {
        Reason::CreateInDoubt
    } else {
        Reason::Deleting
    };
    // What nobody can find is let go of once no request can make it any more.
    let orphaned = (doubt && !config.finds()).then(|| LET_GO.to_owned());
    match &seen.sighting.current {
        Current::Absent(Sureness::LookAgainAt(at)) => Plan::wait(*at, reason),
        Current::Absent(Sureness::Confirmed) if object.finalizer => {
            Plan::new(Action::RemoveFinalizer { orphaned }, Reason::Deleting)
        }
        Current::Unasked if object.finalizer && is_clear(object, seen.memory) => {
            Plan::new(Action::RemoveFinalizer { orphaned: None }, Reason::Deleting)
        }
        Current::Absent(Sureness::Confirmed)
        | Current::Unasked
        | Current::Present(_)
        | Current::Unproven(_)
        | Current::Unknown(_) => Plan::hold(Reason::Deleting),
    }
}

#[cfg(test)]
mod tests;
