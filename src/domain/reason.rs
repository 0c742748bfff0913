//! Why things are as they are: the closed list of reasons of conditions and events.

use std::fmt;

macro_rules! reasons {
    ($($(#[doc = $doc:literal])+ $name:ident,)+) => {
        /// A reason of a condition or an event. Users and alerts depend on these words: never renamed, only added to.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Reason {
            $($(#[doc = $doc])+ $name,)+
        }

        impl Reason {
            /// Every reason with its meaning, for the reference page.
            pub const ALL: &[(Self, &'static str)] = &[
                $((Self::$name, concat!($($doc),+)),)+
            ];

            /// The word in the condition or event.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)+
                }
            }

            /// The reason of that word, if it is one of ours.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().map(|(reason, _)| *reason).find(|reason| reason.as_str() == name)
            }
        }
    };
}

reasons! {
    /// The instance runs and is as the spec says.
    Running,
    /// The instance exists at the provider.
    Created,
    /// Nothing was sent to the provider yet.
    CreatePending,
    /// A create was sent and its result is unknown; it is found out before anything is sent again.
    CreateResultUnknown,
    /// A create may have been sent and nothing says what came of it: the provider is asked before anything is done; one
    /// that cannot be asked waits for a person.
    CreateInDoubt,
    /// The last create did not reach the provider, or was not sent: it made nothing.
    CreateNotSent,
    /// The provider still works on an earlier create with the same key.
    CreateInProgress,
    /// More than one instance bears this object's tags; those that are not current are named in the message.
    Duplicate,
    /// The provider does not know the image.
    InvalidImage,
    /// The provider refuses the size.
    InvalidSpec,
    /// The provider refuses the request.
    InvalidRequest,
    /// The account's quota is used up.
    QuotaExceeded,
    /// The credentials do not allow this operation.
    Forbidden,
    /// The provider reports that the instance failed.
    InstanceFailed,
    /// The provider prepares the instance.
    Provisioning,
    /// The instance is being prepared for longer than the provisioning deadline.
    ProvisioningSlow,
    /// The instance is starting.
    Starting,
    /// The instance is stopping.
    Stopping,
    /// The instance is stopped.
    Stopped,
    /// The instance changes its size.
    Resizing,
    /// The provider shows a phase that this version does not know.
    PhaseUnknown,
    /// The instance vanished at the provider.
    Lost,
    /// So many VMs of the ProviderConfig are missing at once that nothing is made anew before somebody confirms it.
    MassLossSuspected,
    /// The instance bears no owner tags, so it cannot be proved to be this object's.
    OwnershipUnproven,
    /// The object was managed by an operator with another cluster id.
    ClusterIdChanged,
    /// The credentials belong to another account than the one in which the instance was made.
    AccountChanged,
    /// The provider's answer cannot be understood.
    MalformedAnswer,
    /// The provider cannot be reached or fails.
    ProviderUnreachable,
    /// The provider answers that there were too many requests.
    RateLimited,
    /// The provider refuses the operation for now because another one is under way.
    Busy,
    /// There is no ProviderConfig of this name in the namespace.
    ProviderConfigNotFound,
    /// The ProviderConfig is being deleted.
    ProviderConfigDeleting,
    /// The ProviderConfig has not been checked yet.
    ProviderConfigPending,
    /// The ProviderConfig cannot be used as it is written.
    ProviderConfigInvalid,
    /// The Secret that the ProviderConfig names does not exist.
    SecretNotFound,
    /// The Secret lacks the key that the ProviderConfig names.
    SecretKeyMissing,
    /// The Secret holds something that cannot be a credential.
    SecretInvalid,
    /// The provider does not accept the credentials.
    CredentialsRejected,
    /// The endpoint is not one that this operator may talk to.
    EndpointNotAllowed,
    /// The endpoint leads to another host than the one at which the VMs were made, and nobody confirmed that.
    EndpointChanged,
    /// The provider offers no idempotency keys or no list: a create without an answer is not repeated by itself.
    SafeCreateUnsupported,
    /// The ProviderConfig is usable.
    Usable,
    /// The provider answers.
    Reachable,
    /// The provider accepts the credentials.
    Accepted,
    /// The provider honours idempotency keys and lists instances by owner.
    SafeCreateSupported,
    /// Spec and instance agree.
    InSync,
    /// The instance differs from the spec.
    DriftDetected,
    /// Nothing is done because the object or its ProviderConfig is paused.
    Paused,
    /// The object's spec cannot be read by this version of the operator.
    SpecUnreadable,
    /// An object that this VirtualMachine should own exists and belongs to somebody else; it is left as it is.
    OwnedObjectConflict,
    /// The API server refuses an object that this VirtualMachine should own.
    OwnedObjectRefused,
    /// The instance is being deleted.
    Deleting,
    /// Deletion cannot go on; the message says what it waits for.
    DeletionBlocked,
    /// Deletion waits because the object or its ProviderConfig is paused.
    BlockedByPause,
    /// The instance is gone at the provider, and the object goes.
    Deleted,
    /// The instance is confirmed lost, and another one is made.
    Recreating,
    /// The object goes though its instance may be left at the provider: as the user asked, or because the provider cannot
    /// be asked.
    Orphaned,
    /// Instances at the provider bear this cluster's tags and belong to no object.
    OrphansFound,
    /// The object bore an intent that was not written for it, such as that of a copied manifest; it has its own now.
    IntentReplaced,
    /// Not known yet.
    Pending,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
