//! The host of an endpoint: VMs that were made at one are not looked for at another unless a person says so.

use url::Url;

use super::problem;
use crate::api::{self, ProviderConfig};
use crate::domain::Reason;
use crate::lifecycle::ConfigProblem;

/// Why a ProviderConfig that is in use may not be used at its new host; scheme, port and path may change.
pub(super) fn moved(config: &ProviderConfig, in_use: bool) -> Option<ConfigProblem> {
    let before = config.status.as_ref()?.endpoint.as_deref()?;
    let (before, now) = (host(before)?, host(&config.spec.endpoint)?);
    let annotations = config.metadata.annotations.as_ref();
    let confirmed = annotations.and_then(|all| all.get(api::CONFIRM_ENDPOINT_ANNOTATION));
    let meant = confirmed.is_some_and(|host| host.trim().eq_ignore_ascii_case(&now));
    (in_use && before != now && !meant).then(|| {
        problem(
            Reason::EndpointChanged,
            format!(
                "the VMs were made at host {before:?} and the endpoint leads to {now:?}: put it back, or, if the same VMs are there, set the annotation {}: {now:?}",
                api::CONFIRM_ENDPOINT_ANNOTATION
            ),
        )
    })
}

/// Whether the endpoint leads to the host at which this ProviderConfig worked last.
pub(super) fn is_where_it_was(config: &ProviderConfig) -> bool {
    let before = config.status.as_ref().and_then(|s| s.endpoint.as_deref());
    before.and_then(host) == host(&config.spec.endpoint)
}

fn host(endpoint: &str) -> Option<String> {
    let url = Url::parse(endpoint).ok()?;
    Some(url.host_str()?.to_ascii_lowercase())
}

#[cfg(test)]
mod tests;
