//! What the metadata of an owned object tell: whose it is, and whether it is still as we wrote it.
//!
//! The API server keeps a book of who wrote which field (`managedFields`). A field that somebody edits or removes
//! leaves our page, so an edit by hand shows in metadata alone: the data of Secrets are never read, and a restart
//! needs no look at each object.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::marker::PhantomData;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ManagedFieldsEntry, ObjectMeta};
use kube::Resource;
use kube::core::PartialObjectMeta;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::{Found, OwnerName};
use crate::api;
use crate::domain::{ObjectKey, Uid};
use crate::lifecycle::{ChildKind, Held, Present};

/// Fields of a Service's spec that we write, some of them by leaving them out: nobody else may have a hand in them.
const SPEC: [&str; 7] = [
    "f:clusterIP",
    "f:externalIPs",
    "f:ports",
    "f:publishNotReadyAddresses",
    "f:selector",
    "f:sessionAffinity",
    "f:type",
];

/// The Kubernetes kinds of owned objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnedKind {
    /// Secrets.
    Secret,
    /// Services.
    Service,
    /// EndpointSlices.
    EndpointSlice,
}

/// The metadata of an object of kind `K`, reduced to what is read of an owned object.
#[derive(Clone, Debug)]
pub struct Trace<K> {
    metadata: ObjectMeta,
    found: Found,
    kind: PhantomData<fn() -> K>,
}

impl OwnedKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Secret, Self::Service, Self::EndpointSlice];

    pub(super) fn place(self) -> usize {
        match self {
            Self::Secret => 0,
            Self::Service => 1,
            Self::EndpointSlice => 2,
        }
    }

    /// Which owned object of its owner one of this name is; `None` where it is none.
    #[must_use]
    pub fn child(self, owner: &str, name: &str) -> Option<ChildKind> {
        let mut kinds = ChildKind::ALL.into_iter();
        kinds.find(|kind| Self::of(*kind) == self && kind.name(owner) == name)
    }

    /// The Kubernetes kind of an owned object.
    #[must_use]
    pub fn of(child: ChildKind) -> Self {
        match child {
            ChildKind::Connection => Self::Secret,
            ChildKind::Service => Self::Service,
            ChildKind::Ipv4 | ChildKind::Ipv6 => Self::EndpointSlice,
        }
    }
}

impl<K> Trace<K> {
    /// Whose it is, and how it is.
    #[must_use]
    pub fn found(&self) -> &Found {
        &self.found
    }
}

impl<'de, K: Resource<DynamicType = ()>> Deserialize<'de> for Trace<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let metadata = PartialObjectMeta::<K>::deserialize(deserializer)?.metadata;
        let found = found(&metadata, &K::kind(&()));
        let metadata = ObjectMeta {
            name: metadata.name,
            namespace: metadata.namespace,
            uid: metadata.uid,
            resource_version: metadata.resource_version,
            ..ObjectMeta::default()
        };
        let kind = PhantomData;
        Ok(Self {
            metadata,
            found,
            kind,
        })
    }
}

impl<K: Resource<DynamicType = ()>> Resource for Trace<K> {
    type DynamicType = ();
    type Scope = K::Scope;

    fn kind((): &()) -> Cow<'_, str> {
        K::kind(&())
    }
    fn group((): &()) -> Cow<'_, str> {
        K::group(&())
    }
    fn version((): &()) -> Cow<'_, str> {
        K::version(&())
    }
    fn plural((): &()) -> Cow<'_, str> {
        K::plural(&())
    }
    fn metadata_api() -> bool {
        true
    }
    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }
    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

/// Reads metadata of an object of this Kubernetes kind.
pub(super) fn found(meta: &ObjectMeta, kind: &str) -> Found {
    let owner = owner(meta);
    let none = BTreeMap::new();
    let annotations = meta.annotations.as_ref().unwrap_or(&none);
    let mark = annotations.get(api::APPLIED_ANNOTATION).cloned();
    let book = Book(meta.managed_fields.as_deref().unwrap_or_default());
    let intact = owner
        .as_ref()
        .is_some_and(|owner| book.is_intact(kind, &owner.uid));
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    Found {
        present: Present {
            held: Held {
                uid: Uid::new(text(&meta.uid)),
                version: text(&meta.resource_version),
            },
            mark: mark.unwrap_or_default(),
            intact,
            ports: if kind == "Service" { book.ports() } else { 0 },
            going: meta.deletion_timestamp.is_some(),
        },
        owner,
    }
}

fn owner(meta: &ObjectMeta) -> Option<OwnerName> {
    let references = meta.owner_references.iter().flatten();
    let mut ours = references.filter(|one| {
        let group = one.api_version.split('/').next();
        one.controller == Some(true) && one.kind == "VirtualMachine" && group == Some(api::GROUP)
    });
    let one = ours.next()?;
    Some(OwnerName {
        key: ObjectKey::new(meta.namespace.as_deref()?, one.name.as_str()),
        uid: Uid::new(one.uid.as_str()),
    })
}

/// Who wrote which field.
struct Book<'a>(&'a [ManagedFieldsEntry]);

impl Book<'_> {
    fn pages(&self, ours: bool) -> impl Iterator<Item = &Value> {
        let is_ours =
            |entry: &&ManagedFieldsEntry| entry.manager.as_deref() == Some(api::MANAGER_NAME);
        let pages = self.0.iter().filter(move |entry| is_ours(entry) == ours);
        pages.filter_map(|entry| entry.fields_v1.as_ref().map(|fields| &fields.0))
    }

    fn is_ours(&self, path: &[&str]) -> bool {
        self.pages(true).any(|page| at(page, path).is_some())
    }

    fn is_others(&self, path: &[&str]) -> bool {
        self.pages(false).any(|page| at(page, path).is_some())
    }

    /// Whether every field that we write is ours. What others add beside them is theirs.
    fn is_intact(&self, kind: &str, owner: &Uid) -> bool {
        let label = |name: &str| {
            let field = format!("f:{name}");
            self.is_ours(&["f:metadata", "f:labels", &field])
        };
        let mark = format!("f:{}", api::APPLIED_ANNOTATION);
        let reference = format!("k:{{\"uid\":\"{owner}\"}}");
        let metadata = label(api::MANAGED_BY_LABEL)
            && self.is_ours(&["f:metadata", "f:annotations", &mark])
            && self.is_ours(&["f:metadata", "f:ownerReferences", &reference]);
        metadata
            && match kind {
                "Secret" => ["f:id", "f:provider", "f:address", "f:port"]
                    .iter()
                    .all(|field| self.is_ours(&["f:data", field])),
                "Service" => {
                    let theirs = SPEC.iter().any(|field| self.is_others(&["f:spec", field]));
                    self.is_ours(&["f:spec", "f:clusterIP"]) && !theirs
                }
                _ => {
                    ["f:addressType", "f:endpoints", "f:ports"]
                        .iter()
                        .all(|field| self.is_ours(&[field]))
                        && label(api::SLICE_MANAGED_BY_LABEL)
                        && label(api::SERVICE_NAME_LABEL)
                }
            }
    }

    /// How many ports of the Service are ours in full.
    fn ports(&self) -> usize {
        let whole = |port: &Value| {
            ["f:name", "f:port", "f:protocol", "f:targetPort"]
                .iter()
                .all(|field| port.get(field).is_some())
        };
        let pages = self
            .pages(true)
            .filter_map(|page| at(page, &["f:spec", "f:ports"]));
        let ports = pages.filter_map(Value::as_object).flatten();
        ports
            .filter(|(key, port)| key.starts_with("k:") && whole(port))
            .count()
    }
}

fn at<'a>(page: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(page, |value, step| value.get(*step))
}
