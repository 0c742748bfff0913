//! The object's state as conditions: judged from what was seen, never from what the status said before.

use crate::api::condition::{ConditionStatus, ConditionType, Wanted, find};
use crate::api::{Phase, VirtualMachineStatus};
use crate::domain::{ErrorKind, Instance, InstancePhase, ProviderError, Reason};
use crate::lifecycle::decide::reason_of;
use crate::lifecycle::observed::Observed;
use crate::lifecycle::plan::{Action, Plan};
use crate::lifecycle::policy::Policy;
use crate::lifecycle::report::Outcome;
use crate::lifecycle::report::verdict::{
    Verdict, failed_look, is_unanswerable, provider_ready, stalled, with_owned,
};
use crate::lifecycle::report::words;

/// What the conditions should say.
#[derive(Clone, Debug)]
pub(super) struct Picture {
    provider_ready: Verdict,
    provisioned: Verdict,
    synced: Verdict,
    ready: Verdict,
    deleting: Option<Verdict>,
    paused: Option<Verdict>,
    stalled: Option<Verdict>,
    instance_phase: Option<InstancePhase>,
    lost: bool,
}

impl Picture {
    /// Draws the picture of this pass.
    pub(super) fn draw(
        policy: &Policy,
        seen: &Observed<'_>,
        old: &VirtualMachineStatus,
        plan: &Plan,
        outcome: &Outcome,
        instance: Option<&Instance>,
    ) -> Self {
        let failure = match outcome {
            Outcome::Failed(error) => Some(error),
            Outcome::Nothing
            | Outcome::Written
            | Outcome::Outdated
            | Outcome::Unwritten
            | Outcome::Made(_)
            | Outcome::DeleteAccepted => failed_look(seen),
        };
        let provider_ready = provider_ready(seen, plan, failure);
        let provisioned = provisioned((policy, old), seen, plan, failure, instance);
        let synced = synced(seen, instance);
        let reason = plan.reason;
        let paused = matches!(reason, Reason::Paused | Reason::BlockedByPause)
            .then(|| Verdict::yes(Reason::Paused, words::PAUSED.to_owned()));
        let deleting = seen.object.deleting.then(|| deletion(seen, plan, failure));
        let ready = match &deleting {
            // What the instance does on its way out is no news: the status is written once.
            Some(deletion) => Verdict::no(deletion.reason, deletion.message.clone()),
            None => match (instance, failure) {
                (None, Some(error)) => unseen(&provider_ready, &provisioned, error),
                (Some(_) | None, _) => {
                    let verdict = ready(&provider_ready, &provisioned, &synced, instance);
                    with_owned(policy, seen, old, verdict, instance)
                }
            },
        };
        let stalled = stalled((seen, plan), &provisioned, &ready, deleting.as_ref());
        Self {
            lost: matches!(reason, Reason::Lost | Reason::MassLossSuspected) && instance.is_none(),
            instance_phase: instance.map(|i| i.phase.clone()),
            provider_ready,
            provisioned,
            synced,
            ready,
            deleting,
            paused,
            stalled,
        }
    }

    /// The conditions, in the order in which they are shown.
    pub(super) fn conditions(&self) -> Vec<Wanted> {
        let settled = self.ready.status == ConditionStatus::True && self.deleting.is_none();
        let reconciling =
            (!settled && self.stalled.is_none() && self.paused.is_none()).then(|| {
                let verdict = self.deleting.as_ref().unwrap_or(&self.ready);
                Verdict::yes(verdict.reason, verdict.message.clone())
            });
        let always = [
            (ConditionType::Ready, Some(&self.ready)),
            (ConditionType::Provisioned, Some(&self.provisioned)),
            (ConditionType::Synced, Some(&self.synced)),
            (ConditionType::ProviderReady, Some(&self.provider_ready)),
            (ConditionType::Deleting, self.deleting.as_ref()),
            (ConditionType::Paused, self.paused.as_ref()),
            (ConditionType::Reconciling, reconciling.as_ref()),
            (ConditionType::Stalled, self.stalled.as_ref()),
        ];
        let wanted = |(kind, verdict): (ConditionType, Option<&Verdict>)| {
            verdict.map(|v| Wanted {
                kind,
                status: v.status,
                reason: v.reason.to_string(),
                message: v.message.clone(),
            })
        };
        always.into_iter().filter_map(wanted).collect()
    }

    /// The one word for people. Where the provider cannot be seen, what it last showed stays.
    pub(super) fn phase(&self, old: Option<Phase>) -> Phase {
        if self.deleting.is_some() {
            return Phase::Deleting;
        }
        if self.lost {
            return Phase::Lost;
        }
        match &self.instance_phase {
            Some(phase) => phase_of(phase),
            None if self.provisioned.status == ConditionStatus::False => Phase::Pending,
            None => old.unwrap_or(Phase::Pending),
        }
    }
}

/// The provider's phase in our words.
pub(super) fn phase_of(phase: &InstancePhase) -> Phase {
    match phase {
        InstancePhase::Provisioning => Phase::Provisioning,
        InstancePhase::Running => Phase::Running,
        InstancePhase::Starting => Phase::Starting,
        InstancePhase::Stopping => Phase::Stopping,
        InstancePhase::Stopped => Phase::Stopped,
        InstancePhase::Resizing => Phase::Resizing,
        InstancePhase::Deleting => Phase::Deleting,
        InstancePhase::Failed => Phase::Failed,
        InstancePhase::Other(_) => Phase::Unknown,
    }
}

fn provisioned(
    (policy, old): (&Policy, &VirtualMachineStatus),
    seen: &Observed<'_>,
    plan: &Plan,
    failure: Option<&ProviderError>,
    instance: Option<&Instance>,
) -> Verdict {
    let object = seen.object;
    let leaves = object.deleting && object.known().is_some();
    if let Some(instance) = instance.filter(|_| !leaves) {
        return provisioned_with((policy, old), seen, instance);
    }
    match (plan.reason, failure) {
        (
            reason
            @ (Reason::OwnershipUnproven | Reason::ClusterIdChanged | Reason::AccountChanged),
            _,
        ) => Verdict::unknown(reason, words::held(reason).to_owned()),
        (reason @ (Reason::SpecUnreadable | Reason::MassLossSuspected), _) => {
            Verdict::no(reason, words::held(reason).to_owned())
        }
        (reason, _) if is_unanswerable(seen, plan) => {
            Verdict::unknown(reason, words::UNANSWERED.to_owned())
        }
        (Reason::Lost, None) => Verdict::no(Reason::Lost, words::lost(object)),
        // What was made stays made until it is confirmed lost, whether or not it can be seen.
        _ if object.known().is_some() => Verdict::yes(Reason::Created, words::created(object)),
        (_, Some(error)) => not_created(seen, error),
        (_, None) if seen.memory.refused() == Some(object.generation) => {
            let refusal = seen.memory.refusal();
            refusal.map_or_else(
                || not_begun(seen, plan.reason),
                |error| not_created(seen, error),
            )
        }
        (reason, None) => match seen.memory.failure() {
            Some(last) if matches!(plan.action, Action::Hold(_) | Action::NoteAttempt) => {
                not_created(seen, &last.error)
            }
            Some(_) | None => not_begun(seen, reason),
        },
    }
}

fn not_created(seen: &Observed<'_>, error: &ProviderError) -> Verdict {
    let message = match unfindable(seen).filter(|_| !error.made_nothing()) {
        Some(words) => words.to_owned(),
        None => words::create_failed(error),
    };
    if error.may_have_happened() {
        let reason = match error.kind {
            ErrorKind::Malformed => Reason::MalformedAnswer,
            _ => Reason::CreateResultUnknown,
        };
        Verdict::unknown(reason, message)
    } else {
        Verdict::no(reason_of(error), message)
    }
}

fn not_begun(seen: &Observed<'_>, reason: Reason) -> Verdict {
    match reason {
        Reason::CreateInDoubt | Reason::CreateResultUnknown => {
            let words = unfindable(seen).unwrap_or(words::IN_DOUBT);
            Verdict::unknown(reason, words.to_owned())
        }
        _ => Verdict::no(Reason::CreatePending, words::PENDING.to_owned()),
    }
}

/// What to say of a create without an answer where the provider cannot be asked what came of it.
fn unfindable(seen: &Observed<'_>) -> Option<&'static str> {
    let config = seen.config.as_ref().ok()?;
    let unfindable = !config.safe_create() && !config.finds();
    unfindable.then_some(if config.allow_unsafe_create {
        words::REPEATED
    } else {
        words::UNANSWERED
    })
}

fn provisioned_with(
    (policy, old): (&Policy, &VirtualMachineStatus),
    seen: &Observed<'_>,
    instance: &Instance,
) -> Verdict {
    let others = &seen.sighting.others;
    match instance.phase {
        InstancePhase::Failed => {
            Verdict::no(Reason::InstanceFailed, words::instance_failed(instance))
        }
        InstancePhase::Provisioning if is_slow(policy, seen, old) => Verdict::no(
            Reason::ProvisioningSlow,
            words::slow(instance, policy.provisioning_deadline),
        ),
        InstancePhase::Provisioning
        | InstancePhase::Running
        | InstancePhase::Starting
        | InstancePhase::Stopping
        | InstancePhase::Stopped
        | InstancePhase::Resizing
        | InstancePhase::Deleting
        | InstancePhase::Other(_) => {
            if others.is_empty() {
                Verdict::yes(Reason::Created, words::exists(instance))
            } else {
                Verdict::yes(Reason::Duplicate, words::duplicate(instance, others))
            }
        }
    }
}

/// Counted by this process's own clock, because the provider's may show another time. What was told before a restart
/// stays told.
fn is_slow(policy: &Policy, seen: &Observed<'_>, old: &VirtualMachineStatus) -> bool {
    let told = find(&old.conditions, ConditionType::Provisioned)
        .is_some_and(|one| one.reason == Reason::ProvisioningSlow.as_str());
    let since = seen.memory.presence().preparing();
    told || since.is_some_and(|since| seen.now.since(since) > policy.provisioning_deadline)
}

fn synced(seen: &Observed<'_>, instance: Option<&Instance>) -> Verdict {
    if seen.object.deleting {
        return Verdict::unknown(Reason::Deleting, words::DELETING.to_owned());
    }
    let (Some(instance), Some(spec)) = (instance, &seen.object.spec) else {
        return Verdict::unknown(Reason::Pending, words::NOT_SEEN.to_owned());
    };
    let differences = words::differences(spec, instance);
    if differences.is_empty() {
        Verdict::yes(Reason::InSync, words::IN_SYNC.to_owned())
    } else {
        Verdict::no(Reason::DriftDetected, words::drift(&differences))
    }
}

/// Ready where the look failed: the worst of the others, else why nothing could be seen.
fn unseen(provider: &Verdict, provisioned: &Verdict, error: &ProviderError) -> Verdict {
    worst(provider, provisioned)
        .unwrap_or_else(|| Verdict::unknown(reason_of(error), words::provider_problem(error)))
}

/// The first of two conditions that is not true, as a verdict on Ready.
fn worst(provider: &Verdict, provisioned: &Verdict) -> Option<Verdict> {
    [provider, provisioned]
        .into_iter()
        .find(|verdict| verdict.status != ConditionStatus::True)
        .cloned()
}

/// Ready is the worst of the others, and the instance running.
fn ready(
    provider: &Verdict,
    provisioned: &Verdict,
    synced: &Verdict,
    instance: Option<&Instance>,
) -> Verdict {
    if let Some(worst) = worst(provider, provisioned) {
        return worst;
    }
    let Some(instance) = instance else {
        return Verdict::unknown(Reason::Pending, words::NOT_SEEN.to_owned());
    };
    let reason = match instance.phase {
        InstancePhase::Running if synced.status == ConditionStatus::True => {
            return Verdict::yes(Reason::Running, words::RUNNING.to_owned());
        }
        InstancePhase::Running => {
            return Verdict::no(synced.reason, synced.message.clone());
        }
        InstancePhase::Provisioning => Reason::Provisioning,
        InstancePhase::Starting => Reason::Starting,
        InstancePhase::Stopping => Reason::Stopping,
        InstancePhase::Stopped => Reason::Stopped,
        InstancePhase::Resizing => Reason::Resizing,
        InstancePhase::Deleting => Reason::Deleting,
        InstancePhase::Failed => Reason::InstanceFailed,
        InstancePhase::Other(_) => Reason::PhaseUnknown,
    };
    Verdict::no(reason, words::not_running(instance))
}

/// Deletion's condition speaks of what it waits for; while all goes well it stays the same, to save a write.
fn deletion(seen: &Observed<'_>, plan: &Plan, failure: Option<&ProviderError>) -> Verdict {
    if plan.reason == Reason::BlockedByPause {
        return Verdict::yes(Reason::BlockedByPause, words::PAUSED.to_owned());
    }
    if let Err(problem) = seen.config {
        let message = words::blocked(&problem.message);
        return Verdict::yes(Reason::DeletionBlocked, message);
    }
    if let Some(error) = failure {
        let message = words::blocked(&words::provider_problem(error));
        return Verdict::yes(Reason::DeletionBlocked, message);
    }
    match plan.reason {
        reason
        @ (Reason::OwnershipUnproven | Reason::ClusterIdChanged | Reason::AccountChanged) => {
            Verdict::yes(Reason::DeletionBlocked, words::blocked(words::held(reason)))
        }
        Reason::CreateInDoubt | Reason::CreateResultUnknown | Reason::CreatePending => {
            Verdict::yes(Reason::CreateInDoubt, words::SETTLING.to_owned())
        }
        _ => Verdict::yes(Reason::Deleting, words::DELETING.to_owned()),
    }
}
