//! One virtual machine as an account sees it.

use std::fmt;
use std::net::Ipv4Addr;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::Text;
use super::address::Slot;

/// An id as it stands on the wire: `vm-` and at least six digits. Never given twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct VmId(u64);

/// Where a VM is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Phase {
    /// Made, not yet usable; becomes `Running` by itself.
    Provisioning,
    /// Usable; has an address.
    Running,
    /// Exists without running.
    Stopped,
    /// Deletion was asked for and takes its time.
    Deleting,
    /// Broken for good; `message` says why.
    Failed,
}

/// One virtual machine. Copying it is cheap.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Vm {
    /// Its id.
    pub id: VmId,
    /// The name that its creator gave, if any; not unique.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Text>,
    /// The image that it runs.
    pub image: Text,
    /// Number of CPUs.
    pub cpu: u32,
    /// Memory, as the creator wrote it (a Kubernetes quantity).
    pub memory: Text,
    /// Where it is in its life.
    pub phase: Phase,
    /// Tags, sorted by key.
    #[serde(with = "tag_list")]
    pub tags: Arc<[(Text, Text)]>,
    /// Its address within 198.18.0.0/15, once it has run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<Slot>,
    /// When it was made.
    pub created_at: Timestamp,
    /// The account's revision at its last change.
    pub revision: u64,
    /// Why it is `Failed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Text>,
}

impl VmId {
    pub(super) fn new(number: u64) -> Self {
        Self(number)
    }

    pub(super) fn number(self) -> u64 {
        self.0
    }

    /// Reads an id; `None` for anything that this cloud would not have written.
    #[must_use]
    pub fn parse(id: &str) -> Option<Self> {
        let parsed = Self(id.strip_prefix("vm-")?.parse().ok()?);
        // Only one spelling names a VM: vm-7 is not vm-000007.
        (parsed.to_string() == id).then_some(parsed)
    }
}

impl fmt::Display for VmId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "vm-{:06}", self.0)
    }
}

impl Vm {
    /// The address, once it has one.
    #[must_use]
    pub fn ip(&self) -> Option<Ipv4Addr> {
        self.address.map(Slot::ip)
    }

    /// The value of a tag.
    #[must_use]
    pub fn tag(&self, key: &str) -> Option<&str> {
        self.tags
            .iter()
            .find(|(known, _)| &**known == key)
            .map(|(_, value)| &**value)
    }
}

/// Tags as a list of pairs; `serde` itself knows shared slices only behind a feature.
mod tag_list {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::world::Text;

    type Tags = Arc<[(Text, Text)]>;

    pub(super) fn serialize<S: Serializer>(tags: &Tags, serializer: S) -> Result<S::Ok, S::Error> {
        (**tags).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Tags, D::Error> {
        Vec::deserialize(deserializer).map(Tags::from)
    }
}
