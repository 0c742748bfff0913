//! Names and identities: of objects in Kubernetes, of instances at a provider, and what joins them.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Namespace and name of an object: what the queue holds. Says nothing about which uid bears the name now.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectKey {
    /// Namespace.
    pub namespace: Arc<str>,
    /// Name within the namespace.
    pub name: Arc<str>,
}

impl ObjectKey {
    /// Joins a namespace and a name.
    pub fn new(namespace: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Wraps the text as it is.
            pub fn new(text: impl Into<Arc<str>>) -> Self {
                Self(text.into())
            }
            /// The text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

text_id! {
    /// `metadata.uid` of a Kubernetes object: never used twice, also not for the same name.
    Uid
}
text_id! {
    /// Identity of the cluster (uid of the namespace `kube-system`, or the flag `--cluster-id`).
    ClusterId
}
text_id! {
    /// The provider's id of an instance. Opaque; 1 to 253 characters.
    InstanceId
}

/// How many times an instance was made anew for one uid: 1 for the first, one more after each confirmed loss
/// or repaired refusal. Part of the idempotency key, so that a new try is a new request to the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Incarnation(u32);

impl Incarnation {
    /// The first incarnation.
    pub const FIRST: Self = Self(1);

    /// Reads a number; `None` for 0, which is no incarnation.
    #[must_use]
    pub fn new(number: u32) -> Option<Self> {
        (number > 0).then_some(Self(number))
    }
    /// The one after this.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
    /// The number, from 1.
    #[must_use]
    pub fn get(self) -> u32 {
        self.0
    }
}

impl fmt::Display for Incarnation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Who an instance belongs to: one object of one cluster. Finds go by this and by nothing else.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Owner {
    /// The cluster.
    pub cluster: ClusterId,
    /// The object's uid.
    pub uid: Uid,
}

/// The key under which a create may be sent any number of times and makes one instance.
/// Derived, never stored: base32(SHA-256(cluster id, uid, incarnation)), 52 characters of `a-z2-7`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    /// Derives the key. The parts are separated by a byte that none of them can hold.
    #[must_use]
    pub fn derive(owner: &Owner, incarnation: Incarnation) -> Self {
        let mut digest = ring::digest::Context::new(&ring::digest::SHA256);
        digest.update(owner.cluster.as_str().as_bytes());
        digest.update(&[0]);
        digest.update(owner.uid.as_str().as_bytes());
        digest.update(&[0]);
        digest.update(&incarnation.get().to_be_bytes());
        Self(base32(digest.finish().as_ref()))
    }
    /// The text of the header.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A short text that differs where the given one does: 26 characters of `a-z2-7`, the same in every version of this
/// program.
#[must_use]
pub fn fingerprint(text: &str) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    base32(&digest.as_ref()[..16])
}

/// RFC 4648 alphabet in lower case, no padding: safe in headers, names and file names.
fn base32(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let mut text = String::with_capacity((bytes.len() * 8).div_ceil(5));
    let (mut buffer, mut bits) = (0u32, 0u32);
    for byte in bytes {
        buffer = (buffer << 8) | u32::from(*byte);
        bits += 8;
        while bits >= 5 {
            bits -= 5;
            text.push(char::from(ALPHABET[(buffer >> bits) as usize & 31]));
        }
    }
    if bits > 0 {
        text.push(char::from(ALPHABET[(buffer << (5 - bits)) as usize & 31]));
    }
    text
}

#[cfg(test)]
mod tests;
