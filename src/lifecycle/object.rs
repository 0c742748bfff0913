//! One version of a VirtualMachine, reduced to what decisions read.

use jiff::Timestamp;

use super::children::Wishes;
use crate::api::virtual_machine::{OperationType, VirtualMachineStatus};
use crate::domain::{
    ClusterId, IdempotencyKey, Incarnation, Instance, InstanceId, InstanceSpec, Intent, ObjectKey,
    Owner, Reason, Uid,
};

/// One version of the object. An object whose spec does not decode still has one, with `spec: None`:
/// metadata and id are enough to delete it.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    /// Namespace and name.
    pub key: ObjectKey,
    /// Uid.
    pub uid: Uid,
    /// `metadata.resourceVersion`: the guard of every write.
    pub version: String,
    /// `metadata.generation`.
    pub generation: i64,
    /// Whether deletion was asked for.
    pub deleting: bool,
    /// Whether it carries our finalizer.
    pub finalizer: bool,
    /// The intent annotation.
    pub intent: IntentState,
    /// `status.id` with its incarnation.
    pub recorded: Option<Recorded>,
    /// `status.incarnation` where there is no id: of the instance that was lost, and is shown no more.
    pub given_up: Option<Incarnation>,
    /// What `status.operation` says of creates.
    pub tried: Tried,
    /// What the user wants; `None` where it cannot be read.
    pub spec: Option<InstanceSpec>,
    /// The objects that it is to own; `None` where the spec cannot be read, and then they stay as they are.
    pub owned: Option<Wishes>,
    /// Name of the ProviderConfig.
    pub provider_ref: String,
    /// Whether the user paused it.
    pub paused: bool,
    /// The user's reason for letting go of the instance on deletion.
    pub force_orphan: Option<String>,
}

/// What the intent annotation says about this object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IntentState {
    /// There is none, it cannot be read, or it was written for another uid: as if absent.
    Missing,
    /// Written for this uid by an operator of another cluster id.
    OtherCluster(ClusterId),
    /// Ours.
    Valid(Intent),
}

/// `status.id`, `status.incarnation` and the creation time seen with them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// The provider's id.
    pub id: InstanceId,
    /// The incarnation it belongs to.
    pub incarnation: Incarnation,
    /// When the provider made it.
    pub created_at: Option<Timestamp>,
}

/// What `status.operation` says of creates: read where no key makes it harmless to send one twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tried {
    /// How often one was tried.
    pub attempts: u32,
    /// The last one certainly made nothing.
    pub refused: bool,
}

impl Recorded {
    /// What is recorded of an instance.
    #[must_use]
    pub fn of(instance: &Instance) -> Self {
        Self {
            id: instance.id.clone(),
            incarnation: instance.incarnation(),
            created_at: instance.created_at.parse().ok(),
        }
    }

    /// What a status says of an instance whose id it does not show any more.
    #[must_use]
    pub fn given_up(id: Option<&str>, incarnation: Option<u64>) -> Option<Incarnation> {
        let number = incarnation.filter(|_| id.is_none_or(str::is_empty))?;
        u32::try_from(number).ok().and_then(Incarnation::new)
    }
}

impl Tried {
    /// What this status says.
    #[must_use]
    pub fn of(status: &VirtualMachineStatus) -> Self {
        let operation = status.operation.as_ref();
        let create = operation.filter(|one| one.kind == OperationType::Create);
        let reason = create.and_then(|one| one.last_error_reason.as_deref());
        Self {
            attempts: create.map_or(0, |one| one.attempts),
            refused: reason.is_some_and(|reason| MADE_NOTHING.iter().any(|r| r.as_str() == reason)),
        }
    }
}

/// Reasons of a failed create that prove that it made nothing.
const MADE_NOTHING: [Reason; 10] = [
    Reason::InvalidImage,
    Reason::InvalidSpec,
    Reason::InvalidRequest,
    Reason::QuotaExceeded,
    Reason::Forbidden,
    Reason::CredentialsRejected,
    Reason::RateLimited,
    Reason::Busy,
    Reason::EndpointNotAllowed,
    Reason::CreateNotSent,
];

impl IntentState {
    /// Judges the annotation's text for an object with this uid in this cluster.
    #[must_use]
    pub fn judge(text: Option<&str>, cluster: &ClusterId, uid: &Uid) -> Self {
        match text.map(Intent::parse) {
            Some(Ok(intent)) if intent.owner.uid == *uid => {
                if intent.owner.cluster == *cluster {
                    Self::Valid(intent)
                } else {
                    Self::OtherCluster(intent.owner.cluster)
                }
            }
            Some(Ok(_) | Err(_)) | None => Self::Missing,
        }
    }
}

impl Object {
    /// The intent, where it is ours.
    #[must_use]
    pub fn intent(&self) -> Option<&Intent> {
        match &self.intent {
            IntentState::Valid(intent) => Some(intent),
            IntentState::Missing | IntentState::OtherCluster(_) => None,
        }
    }

    /// The id in status, unless it belongs to a lower incarnation than the intent: then it is no id.
    #[must_use]
    pub fn known(&self) -> Option<&Recorded> {
        let least = self.intent().map_or(Incarnation::FIRST, |i| i.incarnation);
        self.recorded.as_ref().filter(|r| r.incarnation >= least)
    }

    /// The highest incarnation that status speaks of, whether or not it still shows the id.
    #[must_use]
    pub fn reached(&self) -> Option<Incarnation> {
        let recorded = self.recorded.as_ref().map(|r| r.incarnation);
        recorded.or(self.given_up)
    }

    /// Whether the instance that was recorded is confirmed to be gone, and no other is recorded in its stead: the intent
    /// is raised above it only then.
    #[must_use]
    pub fn lost_its_own(&self) -> bool {
        let intended = self.intent().map(|intent| intent.incarnation);
        self.reached()
            .is_some_and(|reached| intended.is_some_and(|intended| reached < intended))
    }

    /// Whether this version shows that a create may have been sent for it.
    #[must_use]
    pub fn shows_intent(&self) -> bool {
        self.finalizer || self.intent != IntentState::Missing || self.reached().is_some()
    }

    /// The incarnation that finds must reach: lower ones are no instances of ours any more.
    #[must_use]
    pub fn incarnation(&self) -> Incarnation {
        self.intent().map_or(Incarnation::FIRST, |i| i.incarnation)
    }

    /// Cluster and uid.
    #[must_use]
    pub fn owner(&self, cluster: &ClusterId) -> Owner {
        Owner {
            cluster: cluster.clone(),
            uid: self.uid.clone(),
        }
    }

    /// The intent for an incarnation, with a body made from the spec as it is now.
    #[must_use]
    pub fn fresh_intent(
        &self,
        cluster: &ClusterId,
        incarnation: Incarnation,
        account: Option<&str>,
    ) -> Option<Intent> {
        let owner = self.owner(cluster);
        let body =
            crate::domain::CreateBody::new(self.spec.as_ref()?, &self.key, &owner, incarnation);
        Some(Intent {
            owner,
            incarnation,
            account: account.map(ToOwned::to_owned),
            generation: self.generation,
            by: None,
            body,
        })
    }

    /// Whether the user changed what a create would ask for since the intent was written.
    #[must_use]
    pub fn body_is_stale(&self, cluster: &ClusterId) -> bool {
        let Some(intent) = self.intent() else {
            return false;
        };
        self.generation != intent.generation
            && self
                .fresh_intent(cluster, intent.incarnation, None)
                .is_some_and(|fresh| !fresh.body.asks_for_the_same(&intent.body))
    }

    /// The idempotency key of the intent.
    #[must_use]
    pub fn create_key(&self) -> Option<IdempotencyKey> {
        self.intent().map(Intent::key)
    }
}

#[cfg(test)]
mod tests;
