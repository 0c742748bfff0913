//! The intent: what is written down at the object before anything is made at a provider.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::key::{ClusterId, IdempotencyKey, Incarnation, ObjectKey, Owner, Uid};

/// Tag keys that the operator sets on every instance.
pub mod tags {
    /// Cluster id.
    pub const CLUSTER: &str = "vmoperator/cluster";
    /// Namespace of the object; for people only.
    pub const NAMESPACE: &str = "vmoperator/namespace";
    /// Name of the object; for people only.
    pub const NAME: &str = "vmoperator/name";
    /// Uid of the object.
    pub const UID: &str = "vmoperator/uid";
    /// Incarnation.
    pub const INCARNATION: &str = "vmoperator/incarnation";
}

/// The annotation `compute.example.com/create`: which create may have been sent, and its exact body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intent {
    /// Cluster and uid that the intent was written for.
    pub owner: Owner,
    /// Incarnation that the body creates.
    pub incarnation: Incarnation,
    /// Account behind the credentials when it was written; `None` for providers that name none.
    pub account: Option<String>,
    /// `metadata.generation` from which the body was made.
    pub generation: i64,
    /// The process that wrote it as the first intent of this incarnation; `None` where no create depends on that.
    pub by: Option<String>,
    /// The body to post, byte for byte.
    pub body: CreateBody,
}

/// Body of a create, kept as text so that every try sends the same bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateBody(String);

/// What of the object's spec goes into the body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceSpec {
    /// Image.
    pub image: String,
    /// Virtual CPUs.
    pub cpu: u32,
    /// Memory as the user wrote it.
    pub memory: String,
}

/// Why an annotation is no intent.
#[derive(Debug, thiserror::Error)]
pub enum IntentError {
    /// Not the JSON that this operator writes.
    #[error("cannot read the create annotation")]
    Json(#[from] serde_json::Error),
    /// Written by a version of the operator that this one does not know.
    #[error("create annotation has version {0}, this operator reads version 1")]
    Version(u32),
    /// Incarnations begin at 1.
    #[error("create annotation has incarnation 0")]
    Incarnation,
}

#[derive(Serialize, Deserialize)]
struct Written<'a> {
    v: u32,
    cluster: ClusterId,
    uid: Uid,
    incarnation: u32,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    account: Option<String>,
    #[serde(default)]
    generation: i64,
    #[serde(default)]
    by: Option<String>,
    #[serde(borrow)]
    spec: &'a RawValue,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    name: &'a str,
    image: &'a str,
    cpu: u32,
    memory: &'a str,
    tags: BTreeMap<&'static str, &'a str>,
}

impl Intent {
    /// Reads the annotation's text.
    ///
    /// # Errors
    /// [`IntentError`] where it is not an intent of a known version. Callers treat that as no intent at all.
    pub fn parse(text: &str) -> Result<Self, IntentError> {
        let written: Written<'_> = serde_json::from_str(text)?;
        if written.v != 1 {
            return Err(IntentError::Version(written.v));
        }
        Ok(Self {
            owner: Owner {
                cluster: written.cluster,
                uid: written.uid,
            },
            incarnation: Incarnation::new(written.incarnation).ok_or(IntentError::Incarnation)?,
            account: written.account,
            generation: written.generation,
            by: written.by,
            body: CreateBody(written.spec.get().to_owned()),
        })
    }

    /// The annotation's text. [`Intent::parse`] gives the same intent back, the body to the byte.
    #[must_use]
    pub fn to_annotation(&self) -> String {
        let mut head = serde_json::json!({
            "v": 1,
            "cluster": self.owner.cluster,
            "uid": self.owner.uid,
            "incarnation": self.incarnation,
            "account": self.account,
            "generation": self.generation,
        });
        if let Some(by) = &self.by {
            head["by"] = serde_json::json!(by);
        }
        let head = head.to_string();
        // The body is JSON text by construction, so it is put in as it is: re-reading it could reorder it.
        let open = head.strip_suffix('}').unwrap_or(&head);
        format!("{open},\"spec\":{}}}", self.body.0)
    }

    /// The idempotency key of this create.
    #[must_use]
    pub fn key(&self) -> IdempotencyKey {
        IdempotencyKey::derive(&self.owner, self.incarnation)
    }
}

impl CreateBody {
    /// Builds the body of a create. The instance is named `<namespace>-<name>` for people; ownership is in the tags.
    #[must_use]
    pub fn new(
        spec: &InstanceSpec,
        key: &ObjectKey,
        owner: &Owner,
        incarnation: Incarnation,
    ) -> Self {
        let incarnation = incarnation.to_string();
        let body = Body {
            name: &format!("{}-{}", key.namespace, key.name),
            image: &spec.image,
            cpu: spec.cpu,
            memory: &spec.memory,
            tags: BTreeMap::from([
                (tags::CLUSTER, owner.cluster.as_str()),
                (tags::NAMESPACE, key.namespace.as_ref()),
                (tags::NAME, key.name.as_ref()),
                (tags::UID, owner.uid.as_str()),
                (tags::INCARNATION, incarnation.as_str()),
            ]),
        };
        Self(serde_json::to_string(&body).unwrap_or_default())
    }

    /// Whether both bodies ask for the same instance, whatever the order of their fields.
    #[must_use]
    pub fn asks_for_the_same(&self, other: &Self) -> bool {
        let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
        self.0 == other.0 || read(&self.0) == read(&other.0)
    }

    /// The bytes to post.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests;
