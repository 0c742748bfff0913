//! The thing in the cloud, as the operator understands it.

use std::time::Duration;

use super::key::{ClusterId, Incarnation, InstanceId, Owner, Uid};
use super::quantity::Quantity;

/// An instance as the provider shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// The provider's id.
    pub id: InstanceId,
    /// Image it was made from.
    pub image: String,
    /// Number of virtual CPUs.
    pub cpu: u32,
    /// Memory.
    pub memory: Quantity,
    /// Where it is in its life.
    pub phase: InstancePhase,
    /// The owner named by its tags; `None` where the tags are missing or unreadable.
    pub owner: Option<OwnerTag>,
    /// Its addresses; present once running.
    pub addresses: Vec<Address>,
    /// RFC 3339 time of creation, as the provider writes it. Tells two instances with one id apart.
    pub created_at: String,
    /// What the provider says of it in words, at most 1,024 characters, control characters removed.
    pub message: Option<String>,
    /// The account's revision at its last change: of two sights of one instance the higher is the later.
    /// `None` where the provider tells none.
    pub revision: Option<u64>,
}

impl Instance {
    /// Whether the tags say that it belongs to this owner.
    #[must_use]
    pub fn belongs_to(&self, owner: &Owner) -> bool {
        self.owner
            .as_ref()
            .is_some_and(|tag| tag.cluster == owner.cluster && tag.uid == owner.uid)
    }

    /// The incarnation in the tags; instances without one count as the first.
    #[must_use]
    pub fn incarnation(&self) -> Incarnation {
        self.owner
            .as_ref()
            .map_or(Incarnation::FIRST, |tag| tag.incarnation)
    }
}

/// The owner as the tags of an instance name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnerTag {
    /// `vmoperator/cluster`.
    pub cluster: ClusterId,
    /// `vmoperator/uid`.
    pub uid: Uid,
    /// `vmoperator/incarnation`; 1 where it is missing or unreadable.
    pub incarnation: Incarnation,
}

/// The provider's phase of an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InstancePhase {
    /// Being made.
    Provisioning,
    /// Runs.
    Running,
    /// Being started.
    Starting,
    /// Being stopped.
    Stopping,
    /// Stopped.
    Stopped,
    /// Changing its size.
    Resizing,
    /// Being deleted.
    Deleting,
    /// Failed for good.
    Failed,
    /// A phase that this version does not know: shown, and nothing irreversible is done because of it.
    Other(String),
}

/// One address of an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// What kind of address.
    pub kind: AddressType,
    /// IP address or host name.
    pub address: String,
}

/// Kinds of address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AddressType {
    /// Reachable within the provider's network.
    InternalIp,
    /// Reachable from outside.
    ExternalIp,
    /// A name.
    Hostname,
    /// A kind that this version does not know.
    Other(String),
}

/// What a provider says it can do. The default is a *basic* provider: three endpoints and no promise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// Stable id of the account behind the key.
    pub account: Option<String>,
    /// Offers `GET /vms`.
    pub list: bool,
    /// The list filters by tag.
    pub tag_filter: bool,
    /// The longest time by which a list may lag a write.
    pub list_lag: Duration,
    /// Offers the change feed.
    pub changes: bool,
    /// How long an idempotency key is remembered; `None` where keys are not honoured.
    pub key_lifetime: Option<Duration>,
    /// A DELETE may answer before the instance is gone.
    pub delete_is_async: bool,
}

impl Capabilities {
    /// Whether creating is safe: a repeated create makes one instance, and instances can be found by owner.
    #[must_use]
    pub fn safe_create(&self) -> bool {
        self.key_lifetime.is_some() && self.list
    }
}
