//! What one condition says, and the verdicts on the provider and on who is waited for.

use crate::api::VirtualMachineStatus;
use crate::api::condition::{ConditionStatus, ConditionType, is_true};
use crate::domain::{ErrorKind, Instance, ProviderError, Reason};
use crate::lifecycle::children::{Lacking, lacking};
use crate::lifecycle::decide::reason_of;
use crate::lifecycle::observed::Observed;
use crate::lifecycle::plan::Plan;
use crate::lifecycle::policy::Policy;
use crate::lifecycle::report::words;
use crate::lifecycle::sighting::Current;

/// One condition's verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) status: ConditionStatus,
    pub(super) reason: Reason,
    pub(super) message: String,
}

impl Verdict {
    pub(super) fn new(status: ConditionStatus, reason: Reason, message: String) -> Self {
        Self {
            status,
            reason,
            message,
        }
    }
    pub(super) fn yes(reason: Reason, message: String) -> Self {
        Self::new(ConditionStatus::True, reason, message)
    }
    pub(super) fn no(reason: Reason, message: String) -> Self {
        Self::new(ConditionStatus::False, reason, message)
    }
    pub(super) fn unknown(reason: Reason, message: String) -> Self {
        Self::new(ConditionStatus::Unknown, reason, message)
    }
}

pub(super) fn failed_look<'a>(seen: &'a Observed<'_>) -> Option<&'a ProviderError> {
    match &seen.sighting.current {
        Current::Unknown(error) => Some(error),
        Current::Unasked | Current::Absent(_) | Current::Present(_) | Current::Unproven(_) => None,
    }
}

/// A provider that fails once is no outage: it takes three in a row, and half a minute of throttling.
pub(super) fn provider_ready(
    seen: &Observed<'_>,
    plan: &Plan,
    failure: Option<&ProviderError>,
) -> Verdict {
    if let Err(problem) = seen.config {
        return Verdict::no(problem.reason, problem.message.clone());
    }
    // It works, but not for an object that has nothing there yet.
    let waits = matches!(
        plan.reason,
        Reason::ProviderConfigDeleting | Reason::ProviderConfigPending
    );
    if waits && seen.sighting.present().is_none() {
        return Verdict::no(plan.reason, words::held(plan.reason).to_owned());
    }
    let usable = || Verdict::yes(Reason::Usable, words::USABLE.to_owned());
    match failure {
        Some(error) if is_outage(seen, error) => {
            Verdict::no(reason_of(error), words::provider_problem(error))
        }
        Some(_) | None => usable(),
    }
}

/// Whether this failed look says so little that what was told before stays.
pub(super) fn is_blip(seen: &Observed<'_>) -> bool {
    failed_look(seen).is_some_and(|error| {
        let few = seen.memory.failure().is_none_or(|last| last.times < 3);
        !is_outage(seen, error) && (few || error.kind == ErrorKind::RateLimited)
    })
}

fn is_outage(seen: &Observed<'_>, error: &ProviderError) -> bool {
    let lasting = seen.memory.failure().filter(|f| f.error.kind == error.kind);
    let times = lasting.map_or(1, |f| f.times);
    let for_secs = lasting.map_or(0, |f| seen.now.since(f.since).as_secs());
    match error.kind {
        ErrorKind::Unauthorized | ErrorKind::EndpointNotAllowed => true,
        ErrorKind::Unavailable | ErrorKind::TimedOut | ErrorKind::HeldBack | ErrorKind::TooLate => {
            times >= 3
        }
        ErrorKind::RateLimited => for_secs >= 30,
        ErrorKind::Invalid
        | ErrorKind::KeyReused
        | ErrorKind::KeyInUse
        | ErrorKind::KeyOfDeleted
        | ErrorKind::Forbidden
        | ErrorKind::QuotaExceeded
        | ErrorKind::Conflict
        | ErrorKind::Expired
        | ErrorKind::Malformed
        | ErrorKind::NotFound
        | ErrorKind::NotLeading => false,
    }
}

/// Ready also means that the owned objects are there. What was Ready stays so until it is known which of them are.
pub(super) fn with_owned(
    policy: &Policy,
    seen: &Observed<'_>,
    old: &VirtualMachineStatus,
    ready: Verdict,
    instance: Option<&Instance>,
) -> Verdict {
    let Some(instance) = instance.filter(|_| ready.status == ConditionStatus::True) else {
        return ready;
    };
    let unknown = seen.children.is_none();
    match lacking(policy, seen, instance) {
        None => ready,
        Some(Lacking::Unwritten) if unknown && is_true(&old.conditions, ConditionType::Ready) => {
            ready
        }
        Some(Lacking::Unwritten) => Verdict::no(Reason::Pending, words::OWNED.to_owned()),
        Some(Lacking::Blocked(reason, message)) => Verdict::no(reason, message),
    }
}

/// Whether a create has no answer and only a person can find out what came of it.
pub(super) fn is_unanswerable(seen: &Observed<'_>, plan: &Plan) -> bool {
    let config = seen.config.as_ref().ok();
    plan.reason == Reason::CreateInDoubt
        && !seen.object.deleting
        && config.is_some_and(|config| !config.safe_create())
}

/// What waits for a person; a deletion does where it is held, whatever its instance was like.
pub(super) fn stalled(
    (seen, plan): (&Observed<'_>, &Plan),
    provisioned: &Verdict,
    ready: &Verdict,
    deleting: Option<&Verdict>,
) -> Option<Verdict> {
    let held = plan.reason;
    if is_unanswerable(seen, plan) {
        let message = words::UNANSWERED.to_owned();
        return Some(Verdict::yes(Reason::CreateInDoubt, message));
    }
    if let Some(deletion) = deleting {
        return waits_for_a_person(held).then(|| Verdict::yes(held, deletion.message.clone()));
    }
    [provisioned, ready]
        .into_iter()
        .find(|verdict| waits_for_a_person(verdict.reason))
        .map(|verdict| Verdict::yes(verdict.reason, verdict.message.clone()))
}

/// Reasons that no waiting mends.
fn waits_for_a_person(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::InvalidImage
            | Reason::InvalidSpec
            | Reason::InvalidRequest
            | Reason::InstanceFailed
            | Reason::ClusterIdChanged
            | Reason::AccountChanged
            | Reason::OwnershipUnproven
            | Reason::SpecUnreadable
            | Reason::MassLossSuspected
            | Reason::EndpointNotAllowed
            | Reason::EndpointChanged
            | Reason::ProviderConfigInvalid
            | Reason::OwnedObjectConflict
    )
}
