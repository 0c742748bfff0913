//! The status of a ProviderConfig, and the events of its changes. No time and no counter in it moves while nothing happens.

use jiff::Timestamp;

use crate::api;
use crate::api::condition::{self, ConditionStatus, ConditionType, Wanted};
use crate::api::provider_config::{CapabilitiesStatus, ProviderConfigStatus};
use crate::domain::{Capabilities, ErrorKind, InstanceId, Reason};
use crate::lifecycle::event::{self, Deed};
use crate::lifecycle::{Config, ConfigProblem, Event, Losses};

/// What a check came to, as the status should show it.
pub(super) fn status(
    old: &ProviderConfigStatus,
    result: Result<&Config, &ConfigProblem>,
    endpoint: &str,
    users: Option<usize>,
    generation: Option<i64>,
    wall: Timestamp,
) -> ProviderConfigStatus {
    let wanted = match result {
        Ok(config) => usable(config),
        Err(problem) => unusable(problem),
    };
    let mut new = old.clone();
    new.conditions = condition::merge(&old.conditions, &wanted, generation, wall);
    new.observed_generation = generation;
    // Not all of them are known right after a start: then the old number is nearer the truth.
    if let Some(users) = users {
        new.virtual_machines = u32::try_from(users).ok();
    }
    if let Ok(config) = result {
        new.capabilities = Some(shown(&config.capabilities));
        new.account.clone_from(&config.capabilities.account);
        new.endpoint = Some(endpoint.to_owned());
    }
    new
}

/// The events of an acknowledged status write. `orphans`: those that are known by now.
pub(super) fn events(
    old: &ProviderConfigStatus,
    new: &ProviderConfigStatus,
    orphans: &[InstanceId],
) -> Vec<Event> {
    let ready = event::changed(&old.conditions, &new.conditions, ConditionType::Ready);
    let ready = ready.and_then(|ready| {
        let reason = Reason::from_name(&ready.reason)?;
        event::is_told(reason).then(|| Event::new(reason, Deed::Check, &ready.message))
    });
    let more = new.orphans > old.orphans;
    let found = more.then(|| Event::new(Reason::OrphansFound, Deed::Sweep, &found(orphans)));
    ready.into_iter().chain(found).collect()
}

fn found(orphans: &[InstanceId]) -> String {
    let names: Vec<_> = orphans.iter().take(5).map(InstanceId::as_str).collect();
    let more = if orphans.len() > names.len() {
        ", …"
    } else {
        ""
    };
    format!(
        "instances at the provider bear this cluster's tags and belong to no VirtualMachine ({}): {}{more}; nothing is done to them: delete them at the provider if nobody needs them",
        orphans.len(),
        names.join(", ")
    )
}

fn usable(config: &Config) -> Vec<Wanted> {
    let safe = if config.safe_create() {
        yes(
            ConditionType::SafeCreate,
            Reason::SafeCreateSupported,
            "the provider honours idempotency keys and lists VMs by owner",
        )
    } else {
        no(
            ConditionType::SafeCreate,
            Reason::SafeCreateUnsupported,
            if config.allow_unsafe_create {
                "the provider offers no idempotency keys that live long enough, or no list of VMs: a create without an answer is repeated, as spec.allowUnsafeCreate says, and may make a VM twice"
            } else {
                "the provider offers no idempotency keys that live long enough, or no list of VMs: a VM whose create gets no answer waits for a person, see its condition CreateInDoubt, or spec.allowUnsafeCreate"
            },
        )
    };
    vec![
        ready(config),
        yes(
            ConditionType::Reachable,
            Reason::Reachable,
            "the provider answers",
        ),
        yes(
            ConditionType::Authenticated,
            Reason::Accepted,
            "the provider accepts the API key",
        ),
        safe,
    ]
}

/// Usable, unless so many VMs are missing that what it shows is not believed.
fn ready(config: &Config) -> Wanted {
    if config.holds_losses() {
        let Losses { missing, users, .. } = config.losses;
        let message = format!(
            "{missing} of {users} VMs are missing at the provider; none is made anew until they are back, or until the annotation {}: \"{missing}\" says that they are lost",
            api::CONFIRM_LOSS_ANNOTATION
        );
        return no(ConditionType::Ready, Reason::MassLossSuspected, &message);
    }
    yes(
        ConditionType::Ready,
        Reason::Usable,
        "the provider answers and accepts the API key",
    )
}

fn unusable(problem: &ConfigProblem) -> Vec<Wanted> {
    let message = problem.message.as_str();
    let ready = no(ConditionType::Ready, problem.reason, message);
    let unknown = |kind| Wanted {
        kind,
        status: ConditionStatus::Unknown,
        reason: Reason::Pending.to_string(),
        message: "the provider has not been asked".to_owned(),
    };
    let answered = yes(
        ConditionType::Reachable,
        Reason::Reachable,
        "the provider answers",
    );
    let (reachable, authenticated) = match problem.error.as_ref().map(|error| error.kind) {
        None => (
            unknown(ConditionType::Reachable),
            unknown(ConditionType::Authenticated),
        ),
        Some(ErrorKind::Unauthorized | ErrorKind::Forbidden) => (
            answered,
            no(ConditionType::Authenticated, problem.reason, message),
        ),
        Some(ErrorKind::RateLimited) => (answered, unknown(ConditionType::Authenticated)),
        Some(_) => (
            no(ConditionType::Reachable, problem.reason, message),
            unknown(ConditionType::Authenticated),
        ),
    };
    vec![ready, reachable, authenticated]
}

fn yes(kind: ConditionType, reason: Reason, message: &str) -> Wanted {
    wanted(kind, ConditionStatus::True, reason, message)
}

fn no(kind: ConditionType, reason: Reason, message: &str) -> Wanted {
    wanted(kind, ConditionStatus::False, reason, message)
}

fn wanted(kind: ConditionType, status: ConditionStatus, reason: Reason, message: &str) -> Wanted {
    Wanted {
        kind,
        status,
        reason: reason.to_string(),
        message: message.to_owned(),
    }
}

fn shown(capabilities: &Capabilities) -> CapabilitiesStatus {
    CapabilitiesStatus {
        list: capabilities.list,
        tag_filter: capabilities.tag_filter,
        list_lag_seconds: u32::try_from(capabilities.list_lag.as_secs()).unwrap_or(u32::MAX),
        changes: capabilities.changes,
        idempotency_key_ttl_seconds: capabilities.key_lifetime.map(|life| life.as_secs()),
        delete_is_async: capabilities.delete_is_async,
        ..CapabilitiesStatus::default()
    }
}
