//! The sentences of conditions: what is, and what a person can do about it.
//!
//! No times and no counters that move by themselves: a message that changes without a reason is a write.

use std::time::Duration;

use crate::domain::{ErrorKind, Instance, InstanceSpec, ProviderError, Quantity, Reason};
use crate::lifecycle::object::Object;

pub(super) const PAUSED: &str =
    "paused by annotation compute.example.com/paused; remove it to go on";
pub(super) const USABLE: &str = "the ProviderConfig is usable";
pub(super) const PENDING: &str = "nothing was asked of the provider yet";
pub(super) const IN_DOUBT: &str =
    "a create may have been sent; the provider is asked before another one is";
pub(super) const UNANSWERED: &str = "a create got no answer, and this provider cannot be asked what came of it: look there for a VM of this name and delete it; then delete this object and create it anew, or set spec.allowUnsafeCreate of the ProviderConfig";
pub(super) const REPEATED: &str = "a create got no answer; as spec.allowUnsafeCreate of the ProviderConfig says, it is sent again";
pub(super) const NOT_SEEN: &str = "the instance has not been seen yet";
pub(super) const IN_SYNC: &str = "image, cpu and memory are as the spec says";
pub(super) const RUNNING: &str = "the instance runs as the spec says";
pub(super) const OWNED: &str =
    "the instance runs; its Secret, Service and EndpointSlices are being written";
pub(super) const DELETING: &str =
    "the instance is being deleted; the object goes once the provider shows that it is gone";
pub(super) const SETTLING: &str =
    "a create may still be under way; it is settled before the object goes";

pub(super) fn exists(instance: &Instance) -> String {
    format!("instance {} exists", instance.id)
}

pub(super) fn created(object: &Object) -> String {
    match object.known() {
        Some(recorded) => format!("instance {} exists", recorded.id),
        None => PENDING.to_owned(),
    }
}

pub(super) fn lost(object: &Object) -> String {
    match object.known() {
        Some(recorded) => format!(
            "instance {} is not at the provider; once that is certain it is made anew",
            recorded.id
        ),
        None => {
            "the instance is not at the provider; once that is certain it is made anew".to_owned()
        }
    }
}

pub(super) fn not_running(instance: &Instance) -> String {
    let phase = crate::lifecycle::report::picture::phase_of(&instance.phase);
    match &instance.phase {
        crate::domain::InstancePhase::Other(other) => format!(
            "instance {} is in phase {other:?}, which this version of the operator does not know",
            instance.id
        ),
        _ => format!("instance {} is {phase:?}", instance.id),
    }
}

pub(super) fn instance_failed(instance: &Instance) -> String {
    let why = instance.message.as_deref().unwrap_or("without a message");
    format!(
        "the provider reports that instance {} failed: {why}; delete the VirtualMachine and create it anew",
        instance.id
    )
}

pub(super) fn slow(instance: &Instance, deadline: Duration) -> String {
    format!(
        "instance {} is being prepared for more than {} minutes; ask the provider",
        instance.id,
        deadline.as_secs() / 60
    )
}

pub(super) fn duplicate(instance: &Instance, others: &[Instance]) -> String {
    let names: Vec<_> = others.iter().take(5).map(|i| i.id.as_str()).collect();
    format!(
        "instance {} counts; {} bear the same tags and are deleted with the object: {}",
        instance.id,
        others.len(),
        names.join(", ")
    )
}

/// What is wrong with the provider itself.
pub(super) fn provider_problem(error: &ProviderError) -> String {
    let what = match error.kind {
        ErrorKind::Unauthorized => {
            "the provider does not accept the API key; put a valid one into the Secret"
        }
        ErrorKind::EndpointNotAllowed => {
            "the endpoint is not one that this operator may talk to; see --endpoint-allow"
        }
        ErrorKind::RateLimited if error.is_wait() => {
            "it waits for its turn: more is asked of the provider than it takes, or than spec.rateLimit of the ProviderConfig lets through"
        }
        ErrorKind::RateLimited => "the provider answers that there are too many requests",
        ErrorKind::Forbidden => "the API key does not allow this operation",
        ErrorKind::Malformed => "the provider's answer cannot be understood",
        ErrorKind::Conflict | ErrorKind::KeyInUse => {
            "another operation is under way at the provider"
        }
        ErrorKind::Invalid
        | ErrorKind::KeyReused
        | ErrorKind::KeyOfDeleted
        | ErrorKind::QuotaExceeded
        | ErrorKind::NotFound => "the provider refuses the request",
        ErrorKind::Expired
        | ErrorKind::Unavailable
        | ErrorKind::TimedOut
        | ErrorKind::NotLeading
        | ErrorKind::HeldBack
        | ErrorKind::TooLate => "the provider cannot be reached or fails; it is tried again",
    };
    format!("{what}{}", evidence(error))
}

/// Why the instance was not made.
pub(super) fn create_failed(error: &ProviderError) -> String {
    let what = match error.kind {
        ErrorKind::Invalid => match error.code.as_deref() {
            Some("InvalidImage") => "the provider does not know the image; correct spec.image",
            Some("InvalidSpec") => {
                "the provider refuses this size; correct spec.cpu or spec.memory"
            }
            Some(_) | None => "the provider refuses the request; correct the spec",
        },
        ErrorKind::QuotaExceeded => {
            "the account's quota is used up; it is tried again, or raise the quota or delete other VMs"
        }
        ErrorKind::Unavailable | ErrorKind::TimedOut | ErrorKind::Malformed => {
            "the answer to the create did not arrive or cannot be understood; what came of it is found out before it is repeated"
        }
        ErrorKind::KeyReused
        | ErrorKind::KeyInUse
        | ErrorKind::KeyOfDeleted
        | ErrorKind::Unauthorized
        | ErrorKind::Forbidden
        | ErrorKind::RateLimited
        | ErrorKind::Conflict
        | ErrorKind::Expired
        | ErrorKind::NotFound
        | ErrorKind::EndpointNotAllowed
        | ErrorKind::NotLeading
        | ErrorKind::HeldBack
        | ErrorKind::TooLate => return provider_problem(error),
    };
    format!("{what}{}", evidence(error))
}

/// Code and status; the request id changes with every try and would make a write of each, so it is logged only.
fn evidence(error: &ProviderError) -> String {
    match (error.status, error.code.as_deref()) {
        (Some(status), Some(code)) => format!(" (HTTP {status}, {code})"),
        (Some(status), None) => format!(" (HTTP {status})"),
        (None, _) => format!(" ({})", error.kind.label()),
    }
}

/// What stops everything until a person acts.
pub(super) fn held(reason: Reason) -> &'static str {
    match reason {
        Reason::OwnershipUnproven => {
            "the recorded instance bears no owner tags; nothing is done to it until they are put back"
        }
        Reason::ClusterIdChanged => {
            "the object was managed by an operator with another cluster id; start this operator with that --cluster-id, or remove the annotation compute.example.com/create"
        }
        Reason::AccountChanged => {
            "the API key belongs to another account than the one in which the instance was made; put back a key of that account"
        }
        Reason::SpecUnreadable => {
            "the spec cannot be read by this version of the operator; write it anew"
        }
        Reason::MassLossSuspected => {
            "many VMs of the ProviderConfig are missing at the provider at once; none is made anew until they are back, or until the ProviderConfig's annotation compute.example.com/confirm-loss confirms the loss"
        }
        Reason::ProviderConfigDeleting => {
            "the ProviderConfig is being deleted, so nothing new is made with it; create it anew once it is gone"
        }
        Reason::ProviderConfigPending => {
            "the ProviderConfig or its Secret does not bear the finalizer compute.example.com/in-use yet; nothing is made before"
        }
        _ => "held",
    }
}

pub(super) fn blocked(by: &str) -> String {
    format!("deletion waits: {by}")
}

/// How the instance differs from the spec, in a fixed order.
pub(super) fn differences(spec: &InstanceSpec, instance: &Instance) -> Vec<String> {
    let mut found = Vec::new();
    if spec.image != instance.image {
        found.push(format!("image is {:?}", instance.image));
    }
    if spec.cpu != instance.cpu {
        found.push(format!("cpu is {}", instance.cpu));
    }
    if Quantity::parse(&spec.memory).is_ok_and(|wanted| wanted != instance.memory) {
        found.push(format!("memory is {}", instance.memory));
    }
    found
}

pub(super) fn drift(differences: &[String]) -> String {
    format!(
        "the instance differs from the spec: {}",
        differences.join(", ")
    )
}
