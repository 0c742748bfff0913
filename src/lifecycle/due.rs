//! Which looks at the provider a pass needs, decided before any is made.

use std::time::Duration;

use super::basic;
use super::decide::doubtful;
use super::memory::Memory;
use super::object::{IntentState, Object};
use super::observed::{Config, ConfigProblem};
use super::policy::{Planted, Policy};
use crate::domain::{InstanceId, Moment};

/// The look that is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Due {
    /// None: what is known suffices.
    Nothing,
    /// None before this moment: the second look of a pair would prove nothing yet.
    Wait(Moment),
    /// GET the id, if any, and find by owner as told.
    Look(Option<InstanceId>, Find),
}

/// When the find by owner is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Find {
    /// Only if GET does not show the instance as ours.
    IfNotGot,
    /// Always.
    Always,
}

/// Decides which look is due. `steady`: the last sighting is old enough for the slow round, which also looks
/// for doubles and higher incarnations.
#[must_use]
pub fn due(
    policy: &Policy,
    object: &Object,
    memory: &Memory,
    config: &Result<Config, ConfigProblem>,
    now: Moment,
    steady: bool,
) -> Due {
    let Ok(config) = config else {
        return Due::Nothing;
    };
    if holds_without_looking(object, memory, config) {
        return Due::Nothing;
    }
    if !config.safe_create() {
        return basic::due(policy, object, memory, config, now, steady);
    }
    let id = object.recorded.as_ref().map(|r| r.id.clone());
    let gap = gap(policy, object, memory, config, now);
    let doubt = doubtful(policy, object, memory, now);
    if let Some(at) = memory.look_again_at(gap).filter(|at| now < *at && !doubt) {
        return Due::Wait(at);
    }
    if object.deleting {
        return Due::Look(id, Find::IfNotGot);
    }
    if object.intent().is_none() || !object.finalizer {
        let nothing_to_find = memory.born() && object.intent == IntentState::Missing;
        if nothing_to_find || policy.planted(Planted::StrippedIsNoIntent) {
            return Due::Nothing;
        }
        return Due::Look(id, Find::Always);
    }
    if object.known().is_some() {
        // Doubles are looked for as often as the instance: else their condition would come and go.
        let find = if steady || memory.doubles() {
            Find::Always
        } else {
            Find::IfNotGot
        };
        return Due::Look(id, find);
    }
    let refused = memory.refused() == Some(object.generation);
    let stale = object.body_is_stale(&policy.cluster);
    if refused || (memory.may_create_blind(policy, now) && !stale) {
        return Due::Nothing;
    }
    Due::Look(None, Find::Always)
}

/// Whether an inventory that shows the recorded instance may stand in for the look that is due. Only for an object
/// about which nothing is open: whoever suspects an absence, a double or a lost create asks the provider itself.
#[must_use]
pub fn may_be_told(object: &Object, memory: &Memory) -> bool {
    let open = memory.doubles()
        || memory.in_doubt()
        || memory.must_raise()
        || memory.look_again_at(Duration::ZERO).is_some();
    object.known().is_some()
        && object.intent().is_some()
        && object.finalizer
        && !object.deleting
        && !open
}

/// The distance that the two looks of a pair need in this situation.
///
/// Short (the list's lag) where nothing but an older write of our own could be missing. Long where a create of
/// anybody may still be under way: it outlasts its time-out, the lag, and the age of the write that licensed it.
#[must_use]
pub fn gap(
    policy: &Policy,
    object: &Object,
    memory: &Memory,
    config: &Config,
    now: Moment,
) -> Duration {
    let lag = config.capabilities.list_lag;
    if needs_long(policy, object, memory, config, now) {
        let long = long_gap(policy, config);
        let lost = !object.deleting && object.known().is_some();
        let grace = if lost {
            memory.grace(policy.creation_grace, now)
        } else {
            Duration::ZERO
        };
        long.max(grace)
    } else {
        lag
    }
}

/// The distance of a long pair.
#[must_use]
pub fn long_gap(policy: &Policy, config: &Config) -> Duration {
    let lag = config.capabilities.list_lag;
    if policy.planted(Planted::ShortLooks) {
        return lag;
    }
    config.timeout + lag + policy.look_margin
}

fn needs_long(
    policy: &Policy,
    object: &Object,
    memory: &Memory,
    config: &Config,
    now: Moment,
) -> bool {
    if !config.safe_create() {
        let known = basic::ours(object, memory).is_some() && !basic::is_in_doubt(object, memory);
        return !(object.deleting && known);
    }
    if object.intent().is_none() {
        return true;
    }
    if object.deleting {
        return object.known().is_none() && !memory.key_used_up(now);
    }
    object.known().is_some()
        || memory.must_raise()
        || memory.refused().is_some()
        || object.body_is_stale(&policy.cluster)
}

/// Situations in which the decision is to hold, whatever the provider would show.
fn holds_without_looking(object: &Object, memory: &Memory, config: &Config) -> bool {
    let foreign_cluster = matches!(object.intent, IntentState::OtherCluster(_));
    let other_account = account_changed(object, config);
    let nothing_to_delete =
        object.deleting && (memory.released() || (!memory.sign() && memory.born()));
    object.force_orphan.is_some() && object.deleting
        || object.paused
        || config.paused
        || foreign_cluster
        || other_account
        || nothing_to_delete
}

/// Whether these credentials belong to another account than the intent was written for: then absence proves
/// nothing, and nothing is created or let go.
#[must_use]
pub fn account_changed(object: &Object, config: &Config) -> bool {
    match (
        object.intent().and_then(|i| i.account.as_ref()),
        config.capabilities.account.as_ref(),
    ) {
        (Some(then), Some(now)) => then != now,
        (Some(_) | None, Some(_) | None) => false,
    }
}

#[cfg(test)]
mod tests;
