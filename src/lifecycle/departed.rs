//! Objects that vanished without our acknowledged removal of the finalizer.
//!
//! A finalizer patch that races a DELETE is acknowledged and the object vanishes all the same, and users strip
//! finalizers: so what vanished while an intent may have existed stays queued by uid until it is confirmed that
//! no instance is left.

use super::due::account_changed;
use super::memory::Sureness;
use super::object::Object;
use super::observed::{Config, ConfigProblem};
use super::plan::{Action, Plan};
use super::policy::Policy;
use super::sighting::{Current, Sighting};
use crate::domain::{Moment, Reason};

/// What is known of a departed object.
#[derive(Clone, Debug, PartialEq)]
pub struct Departed {
    /// Its last version.
    pub last: Object,
    /// Whether any sign of an intent was ever seen, or we sent something for it.
    pub sign: bool,
}

/// Decides about a departed object, once a live read has said that its uid is no more.
#[must_use]
pub fn decide_departed(
    policy: &Policy,
    departed: &Departed,
    config: &Result<Config, ConfigProblem>,
    sighting: &Sighting,
    now: Moment,
) -> Plan {
    // Its user let go of the instance, whoever took the last finalizer off.
    if departed.last.deleting && departed.last.force_orphan.is_some() {
        return Plan::new(Action::Forget, Reason::Deleting);
    }
    match config {
        // Nothing was ever sent for it as far as anybody saw: a config that nobody can use is not held by it.
        Err(_) if !departed.sign => return Plan::new(Action::Forget, Reason::Deleting),
        Err(problem) => return Plan::hold(problem.reason),
        Ok(config) if config.paused => return Plan::hold(Reason::BlockedByPause),
        Ok(config) if account_changed(&departed.last, config) => {
            return Plan::hold(Reason::AccountChanged);
        }
        Ok(_) => {}
    }
    if let Some(instance) = super::decide::to_delete(sighting) {
        return Plan::new(Action::Delete(instance.id.clone()), Reason::Deleting);
    }
    match &sighting.current {
        Current::Present(_) => Plan::wait(now + policy.transition_poll, Reason::Deleting),
        Current::Absent(_) if !sighting.others.is_empty() => {
            Plan::wait(now + policy.transition_poll, Reason::Deleting)
        }
        Current::Absent(Sureness::LookAgainAt(at)) => Plan::wait(*at, Reason::Deleting),
        Current::Absent(Sureness::Confirmed) => Plan::new(Action::Forget, Reason::Deleting),
        Current::Unknown(error) => Plan::hold(super::decide::reason_of(error)),
        Current::Unproven(_) => Plan::hold(Reason::OwnershipUnproven),
        Current::Unasked => Plan::hold(Reason::Deleting),
    }
}

#[cfg(test)]
mod tests;
