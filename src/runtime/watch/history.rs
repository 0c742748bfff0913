//! An API server whose data were restored from a backup: its versions go backwards.
//!
//! It takes a watch from a version that it has not reached, and says nothing until it has: whatever happens until then
//! is never told. So whoever was cut off asks first, and lists where the server does not know the version. What is
//! missing in a list that is older than what was known was deleted by nobody.

use super::run::{failure, no_answer};
use super::status::Failure;
use super::{Event, Listener, Watch};
use kube::Resource;
use kube::api::{ListParams, VersionMatch};
use kube::core::Status;
use serde::de::DeserializeOwned;
use std::fmt::Debug;

pub(super) const TOO_OLD: &str = "the version is too old";

impl<K, L> Watch<K, L>
where
    K: Resource + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    K::DynamicType: Default,
    L: Listener<K>,
{
    /// Whether the API server has reached this version; asked only where it may have been away.
    pub(super) async fn is_known(&mut self, version: &str) -> Result<bool, Failure> {
        if !self.unsure {
            return Ok(true);
        }
        let params = ListParams {
            label_selector: self.options.labels.clone(),
            field_selector: self.options.fields.clone(),
            limit: Some(1),
            resource_version: Some(version.to_owned()),
            version_match: Some(VersionMatch::NotOlderThan),
            ..ListParams::default()
        };
        let page = tokio::time::timeout(self.options.call_limit, self.api.list(&params)).await;
        let known = match page.map_err(|_| no_answer("watch"))? {
            Ok(_) => true,
            Err(kube::Error::Api(status)) if is_of_the_future(&status) => false,
            // A version that is too old is told by the watch itself.
            Err(kube::Error::Api(status)) if status.code == 410 => true,
            Err(error) => return Err(failure("watch", &error)),
        };
        self.unsure = false;
        Ok(known)
    }

    /// Notes, and tells, that the list under way is older than what was known before.
    pub(super) fn compare(&mut self, listed: Option<&str>) {
        let went_back = is_older(listed, self.newest.as_deref());
        if went_back && !self.went_back {
            self.went_back = true;
            tracing::warn!(
                kind = self.status.kind(),
                known = self.newest,
                listed,
                "the API server shows an older state than before, as after a restore of its data; everything is looked at anew"
            );
            self.listener.on_event(Event::WentBack);
        }
    }
}

/// Versions of one kind compare as numbers; of what is none nothing can be said.
fn is_older(version: Option<&str>, than: Option<&str>) -> bool {
    let number = |text: Option<&str>| text.and_then(|text| text.parse::<u64>().ok());
    match (number(version), number(than)) {
        (Some(version), Some(than)) => version < than,
        (Some(_) | None, Some(_) | None) => false,
    }
}

fn is_of_the_future(status: &Status) -> bool {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    causes
        .into_iter()
        .any(|cause| cause.reason == "ResourceVersionTooLarge")
        || status.message.contains("Too large resource version")
}
