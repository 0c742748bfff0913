//! Of each reason: where it is found, and what a person does about it.

use crate::domain::Reason;

/// A row beside the meaning that the enum has.
pub(super) struct Row {
    pub(super) reason: Reason,
    pub(super) found_in: &'static str,
    pub(super) to_do: &'static str,
}

/// The row of a reason.
pub(super) fn of(reason: Reason) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.reason == reason)
}

const fn row(reason: Reason, found_in: &'static str, to_do: &'static str) -> Row {
    Row {
        reason,
        found_in,
        to_do,
    }
}

const NOTHING: &str = "nothing";
const WAIT: &str = "nothing: it goes on by itself";
const NOT_READY: &str = "`Ready` False";
const UNMADE: &str = "`Provisioned`, `Ready` False";
const UNCERTAIN: &str = "`Provisioned`, `Ready` Unknown";
const PROVIDER: &str = "`ProviderReady`, `Ready` False; ProviderConfig `Ready` False";
const EVENTS: &str = "events of the VirtualMachine";

use Reason as R;

/// Every row.
pub(super) const ROWS: &[Row] = &[
    row(R::Running, "`Ready` True", NOTHING),
    row(R::Created, "`Provisioned` True", NOTHING),
    row(R::CreatePending, UNMADE, WAIT),
    row(R::CreateResultUnknown, UNCERTAIN, WAIT),
    row(
        R::CreateInDoubt,
        "`Provisioned`, `Ready` Unknown; `Deleting` True",
        "nothing; but where `Stalled` is True the provider cannot be asked: look there for a VM of this name, as the message says",
    ),
    row(R::CreateNotSent, UNMADE, WAIT),
    row(R::CreateInProgress, UNMADE, WAIT),
    row(
        R::Duplicate,
        "`Provisioned` True",
        "nothing, or delete those that the message names at the provider; they go with the object at the latest",
    ),
    row(R::InvalidImage, UNMADE, "correct `spec.image`"),
    row(
        R::InvalidSpec,
        UNMADE,
        "correct `spec.cpu` or `spec.memory`",
    ),
    row(
        R::InvalidRequest,
        UNMADE,
        "correct the spec; the message has the provider's code",
    ),
    row(
        R::QuotaExceeded,
        UNMADE,
        "raise the quota or delete other VMs; it is tried again by itself",
    ),
    row(
        R::Forbidden,
        "`Provisioned`, `Ready` False; ProviderConfig `Authenticated`, `Ready` False",
        "give the API key the right to it at the provider",
    ),
    row(
        R::InstanceFailed,
        UNMADE,
        "delete the VirtualMachine and create it anew; the message has the provider's words",
    ),
    row(R::Provisioning, NOT_READY, WAIT),
    row(
        R::ProvisioningSlow,
        UNMADE,
        "ask the provider; see `--provisioning-deadline`",
    ),
    row(R::Starting, NOT_READY, WAIT),
    row(R::Stopping, NOT_READY, WAIT),
    row(
        R::Stopped,
        NOT_READY,
        "start it at the provider: this version does not",
    ),
    row(R::Resizing, NOT_READY, WAIT),
    row(
        R::PhaseUnknown,
        NOT_READY,
        "update the operator; deletion works all the same",
    ),
    row(
        R::Lost,
        UNMADE,
        "nothing: once that is certain it is made anew",
    ),
    row(
        R::MassLossSuspected,
        "`Provisioned`, `Ready` False; ProviderConfig `Ready` False",
        "look at the provider; if the VMs are gone, set the annotation `compute.example.com/confirm-loss: <count>` on the ProviderConfig",
    ),
    row(
        R::OwnershipUnproven,
        UNCERTAIN,
        "put the owner tags back at the provider, or delete the object with the annotation `compute.example.com/force-orphan`",
    ),
    row(
        R::ClusterIdChanged,
        UNCERTAIN,
        "start the operator with the former `--cluster-id`, or remove the annotation `compute.example.com/create`",
    ),
    row(
        R::AccountChanged,
        UNCERTAIN,
        "put an API key of the former account into the Secret",
    ),
    row(
        R::MalformedAnswer,
        "`Provisioned`, `Ready` Unknown; ProviderConfig `Reachable`, `Ready` False",
        "check that the endpoint is a provider's API",
    ),
    row(
        R::ProviderUnreachable,
        PROVIDER,
        "look after the provider and the way to it; it is tried again",
    ),
    row(
        R::RateLimited,
        PROVIDER,
        "lower `spec.rateLimit` of the ProviderConfig, or raise the limit at the provider",
    ),
    row(R::Busy, UNMADE, WAIT),
    row(
        R::ProviderConfigNotFound,
        PROVIDER,
        "create the ProviderConfig that `spec.providerRef` names",
    ),
    row(
        R::ProviderConfigDeleting,
        PROVIDER,
        "create the ProviderConfig anew once it is gone",
    ),
    row(R::ProviderConfigPending, PROVIDER, WAIT),
    row(
        R::ProviderConfigInvalid,
        PROVIDER,
        "correct the ProviderConfig; the message names the field",
    ),
    row(
        R::SecretNotFound,
        PROVIDER,
        "create the Secret that `spec.secretRef` names",
    ),
    row(
        R::SecretKeyMissing,
        PROVIDER,
        "put the API key under the key that `spec.secretRef.key` names",
    ),
    row(
        R::SecretInvalid,
        PROVIDER,
        "put a text without line breaks into the Secret",
    ),
    row(
        R::CredentialsRejected,
        "`ProviderReady`, `Ready` False; ProviderConfig `Authenticated`, `Ready` False",
        "put a valid API key into the Secret; that is noticed at once",
    ),
    row(
        R::EndpointNotAllowed,
        PROVIDER,
        "correct the endpoint, or admit it with `--endpoint-allow` and `--allow-http`",
    ),
    row(
        R::EndpointChanged,
        PROVIDER,
        "put the former endpoint back, or confirm the new host with the annotation `compute.example.com/confirm-endpoint: <host>`",
    ),
    row(
        R::SafeCreateUnsupported,
        "ProviderConfig `SafeCreate` False",
        "use a provider with idempotency keys and a list of VMs; with this one, VMs may come to wait with `CreateInDoubt`",
    ),
    row(
        R::Usable,
        "`ProviderReady` True; ProviderConfig `Ready` True",
        NOTHING,
    ),
    row(R::Reachable, "ProviderConfig `Reachable` True", NOTHING),
    row(R::Accepted, "ProviderConfig `Authenticated` True", NOTHING),
    row(
        R::SafeCreateSupported,
        "ProviderConfig `SafeCreate` True",
        NOTHING,
    ),
    row(R::InSync, "`Synced` True", NOTHING),
    row(
        R::DriftDetected,
        "`Synced`, `Ready` False",
        "undo at the provider what the message names: this version changes no instance",
    ),
    row(
        R::Paused,
        "`Paused` True",
        "remove the annotation `compute.example.com/paused` to go on",
    ),
    row(
        R::SpecUnreadable,
        UNMADE,
        "write the spec anew for this version",
    ),
    row(
        R::OwnedObjectConflict,
        NOT_READY,
        "remove the object that the message names, or switch it off in the spec",
    ),
    row(
        R::OwnedObjectRefused,
        NOT_READY,
        "see the message: a quota or an admission rule forbids it",
    ),
    row(R::Deleting, "`Deleting` True, `Ready` False", WAIT),
    row(
        R::DeletionBlocked,
        "`Deleting` True, `Ready` False",
        "mend what the message names; or let the instance go with the annotation `compute.example.com/force-orphan: <reason>`",
    ),
    row(
        R::BlockedByPause,
        "`Deleting` True, `Ready` False",
        "remove the annotation `compute.example.com/paused`",
    ),
    row(R::Deleted, EVENTS, NOTHING),
    row(R::Recreating, EVENTS, NOTHING),
    row(
        R::Orphaned,
        EVENTS,
        "delete the instance at the provider if nobody needs it",
    ),
    row(
        R::OrphansFound,
        "events of the ProviderConfig; the number is in `status.orphans` and `vmoperator_orphans`",
        "delete them at the provider if nobody needs them; the operator does not",
    ),
    row(
        R::IntentReplaced,
        EVENTS,
        "leave the annotation `compute.example.com/create` out of manifests that are copied",
    ),
    row(R::Pending, "any condition, Unknown or False", WAIT),
];
