//! What stands in the Lease.

use super::Options;
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use std::time::Duration;

/// The holder; `None` when the Lease is free.
pub(super) fn holder(lease: &Lease) -> Option<&str> {
    lease
        .spec
        .as_ref()?
        .holder_identity
        .as_deref()
        .filter(|holder| !holder.is_empty())
}

/// How often the Lease changed hands.
pub(super) fn transitions(lease: &Lease) -> i32 {
    lease
        .spec
        .as_ref()
        .and_then(|spec| spec.lease_transitions)
        .unwrap_or(0)
}

/// How long its holder wants others to wait; zero when it does not say.
pub(super) fn duration(lease: &Lease) -> Duration {
    let secs = lease
        .spec
        .as_ref()
        .and_then(|spec| spec.lease_duration_seconds)
        .unwrap_or(0);
    Duration::from_secs(u64::try_from(secs).unwrap_or(0))
}

/// The record of a leader that takes or renews the Lease. Keeps what it does not know.
pub(super) fn held(before: Option<LeaseSpec>, options: &Options, wall: Timestamp) -> LeaseSpec {
    let before = before.unwrap_or_default();
    let same = before.holder_identity.as_deref() == Some(&options.identity);
    let transitions = before.lease_transitions.unwrap_or(0);
    // A Lease in whole seconds: rounded up, others wait rather too long than too short.
    let secs =
        options.lease_duration.as_secs() + u64::from(options.lease_duration.subsec_nanos() > 0);
    LeaseSpec {
        holder_identity: Some(options.identity.clone()),
        lease_duration_seconds: Some(i32::try_from(secs).unwrap_or(i32::MAX)),
        renew_time: Some(MicroTime(wall)),
        acquire_time: if same {
            before.acquire_time
        } else {
            Some(MicroTime(wall))
        },
        // The first holder of a new Lease is no transition.
        lease_transitions: Some(match (&before.holder_identity, same) {
            (None, _) | (_, true) => transitions,
            (Some(_), false) => transitions.saturating_add(1),
        }),
        ..before
    }
}

/// The record of a leader that goes: free, and to be waited for by nobody.
pub(super) fn released(before: Option<LeaseSpec>, wall: Timestamp) -> LeaseSpec {
    LeaseSpec {
        holder_identity: Some(String::new()),
        lease_duration_seconds: Some(1),
        renew_time: Some(MicroTime(wall)),
        ..before.unwrap_or_default()
    }
}
