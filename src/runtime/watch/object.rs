//! Objects as they arrive: decoded, or as much of them as can be read.

use crate::domain::key::ObjectKey;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// An object in the store.
#[derive(Debug)]
pub enum Object<K> {
    /// Decoded.
    Sound(Arc<K>),
    /// Does not fit our type, for example after a downgrade; it can still be reported and deleted.
    Broken(Arc<Broken>),
}

impl<K> Clone for Object<K> {
    fn clone(&self) -> Self {
        match self {
            Self::Sound(object) => Self::Sound(Arc::clone(object)),
            Self::Broken(object) => Self::Broken(Arc::clone(object)),
        }
    }
}

impl<K: Resource> Object<K> {
    /// Its metadata.
    pub fn meta(&self) -> &ObjectMeta {
        match self {
            Self::Sound(object) => object.meta(),
            Self::Broken(object) => &object.metadata,
        }
    }

    /// The decoded object, if it could be decoded.
    pub fn sound(&self) -> Option<&Arc<K>> {
        match self {
            Self::Sound(object) => Some(object),
            Self::Broken(_) => None,
        }
    }

    /// Namespace and name; the namespace is empty for a kind of the whole cluster.
    pub fn key(&self) -> ObjectKey {
        key_of(self.meta())
    }
}

/// What can be read of an object that does not fit our type.
#[derive(Clone, Debug)]
pub struct Broken {
    /// Its metadata. Parts that cannot be decoded are left out; name, namespace, uid and version are there.
    pub metadata: ObjectMeta,
    /// Its spec as it stands, for example to find what it refers to.
    pub spec: Option<Value>,
    /// Its status as it stands, for example to find the id of what it owns.
    pub status: Option<Value>,
    /// Why it does not fit, at most 300 characters.
    pub error: String,
}

/// What to ask the API server for, so that one object that does not fit our type stops nothing: use
/// `Api<Arrival<K>>`.
#[derive(Clone, Debug)]
pub enum Arrival<K> {
    /// Decoded.
    Sound(K),
    /// Not.
    Broken(Box<Broken>),
}

impl<K> Arrival<K> {
    pub(super) fn into_object(self) -> Object<K> {
        self.into()
    }
}

impl<K> From<Arrival<K>> for Object<K> {
    fn from(arrival: Arrival<K>) -> Self {
        match arrival {
            Arrival::Sound(object) => Self::Sound(Arc::new(object)),
            Arrival::Broken(object) => Self::Broken(Arc::new(*object)),
        }
    }
}

impl<'de, K: DeserializeOwned> Deserialize<'de> for Arrival<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Ok(match K::deserialize(&value) {
            Ok(object) => Self::Sound(object),
            Err(error) => Self::Broken(Box::new(Broken::read(value, &error))),
        })
    }
}

impl Broken {
    fn read(mut value: Value, error: &serde_json::Error) -> Self {
        let spec = value.get_mut("spec").map(Value::take);
        let status = value.get_mut("status").map(Value::take);
        let metadata = value
            .get_mut("metadata")
            .map(Value::take)
            .unwrap_or_default();
        let metadata = ObjectMeta::deserialize(&metadata).unwrap_or_else(|_| {
            let text = |field: &str| {
                metadata
                    .get(field)
                    .and_then(Value::as_str)
                    .map(str::to_owned)
            };
            ObjectMeta {
                name: text("name"),
                namespace: text("namespace"),
                uid: text("uid"),
                resource_version: text("resourceVersion"),
                ..ObjectMeta::default()
            }
        });
        Self {
            metadata,
            spec,
            status,
            error: error.to_string().chars().take(300).collect(),
        }
    }
}

impl<K: Resource> Resource for Arrival<K> {
    type DynamicType = K::DynamicType;
    type Scope = K::Scope;

    fn kind(dt: &Self::DynamicType) -> Cow<'_, str> {
        K::kind(dt)
    }

    fn group(dt: &Self::DynamicType) -> Cow<'_, str> {
        K::group(dt)
    }

    fn version(dt: &Self::DynamicType) -> Cow<'_, str> {
        K::version(dt)
    }

    fn plural(dt: &Self::DynamicType) -> Cow<'_, str> {
        K::plural(dt)
    }

    fn metadata_api() -> bool {
        K::metadata_api()
    }

    fn meta(&self) -> &ObjectMeta {
        match self {
            Self::Sound(object) => object.meta(),
            Self::Broken(object) => &object.metadata,
        }
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        match self {
            Self::Sound(object) => object.meta_mut(),
            Self::Broken(object) => &mut object.metadata,
        }
    }
}

pub(super) fn key_of(meta: &ObjectMeta) -> ObjectKey {
    ObjectKey::new(
        meta.namespace.as_deref().unwrap_or_default(),
        meta.name.as_deref().unwrap_or_default(),
    )
}

/// The parts of metadata that wake a key, for a [`super::Listener::fingerprint`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Watched<'a> {
    /// Our finalizer.
    pub finalizer: &'a str,
    /// Annotations that begin like this.
    pub annotation_prefix: &'a str,
    /// Labels with these keys.
    pub labels: &'a [&'a str],
}

impl Watched<'_> {
    /// Hash of uid, generation, whether deletion has begun, and the parts named. The same within one process only.
    pub fn fingerprint(&self, meta: &ObjectMeta) -> u64 {
        let mut hasher = DefaultHasher::new();
        (
            &meta.uid,
            meta.generation,
            meta.deletion_timestamp.is_some(),
        )
            .hash(&mut hasher);
        let finalizers = meta.finalizers.as_deref().unwrap_or_default();
        finalizers
            .iter()
            .any(|name| name == self.finalizer)
            .hash(&mut hasher);
        for (key, value) in meta.annotations.iter().flatten() {
            if !self.annotation_prefix.is_empty() && key.starts_with(self.annotation_prefix) {
                (key, value).hash(&mut hasher);
            }
        }
        for label in self.labels {
            meta.labels
                .as_ref()
                .and_then(|labels| labels.get(*label))
                .hash(&mut hasher);
        }
        hasher.finish()
    }
}

/// The fingerprint of an object that cannot be decoded: every change that a person makes.
pub(super) fn broken_fingerprint(meta: &ObjectMeta) -> u64 {
    let mut hasher = DefaultHasher::new();
    (
        &meta.uid,
        meta.generation,
        meta.deletion_timestamp.is_some(),
    )
        .hash(&mut hasher);
    (&meta.finalizers, &meta.annotations, &meta.labels).hash(&mut hasher);
    hasher.finish()
}
