//! What a person can do about a VirtualMachine that waits for a person.

use vmoperator::domain::Reason;

use crate::cluster::Cluster;

/// What to do, by the reason of the condition.
pub(crate) fn advice(reason: &str, name: &str, cluster: &Cluster) -> String {
    let known = Reason::ALL.iter().find(|(one, _)| one.as_str() == reason);
    let anew = format!(
        "delete it and create it anew: {}",
        cluster.vmctl(&format!("delete vm {name}"))
    );
    let edit = format!(
        "correct it: {}",
        cluster.kubectl(&format!("edit vm {name}"))
    );
    let configs = cluster.vmctl("get pcfg -o wide");
    match known.map(|(reason, _)| reason) {
        Some(Reason::InvalidImage | Reason::InvalidSpec | Reason::InvalidRequest) => {
            format!("{edit}; or {anew}")
        }
        Some(Reason::SpecUnreadable) => edit,
        Some(Reason::QuotaExceeded) => {
            "free or raise the quota at the provider; it goes on by itself then".to_owned()
        }
        Some(
            Reason::Forbidden
            | Reason::CredentialsRejected
            | Reason::SecretNotFound
            | Reason::SecretKeyMissing
            | Reason::SecretInvalid,
        ) => format!(
            "put a usable API key into the Secret of its ProviderConfig; it goes on by itself then: {configs}"
        ),
        Some(
            Reason::ProviderConfigNotFound
            | Reason::ProviderConfigDeleting
            | Reason::ProviderConfigInvalid
            | Reason::EndpointNotAllowed
            | Reason::SafeCreateUnsupported,
        ) => format!("put its ProviderConfig right; it goes on by itself then: {configs}"),
        Some(Reason::InstanceFailed) => anew,
        Some(
            Reason::Duplicate
            | Reason::OwnershipUnproven
            | Reason::ClusterIdChanged
            | Reason::AccountChanged
            | Reason::MalformedAnswer,
        ) => "compare with the provider what the message names".to_owned(),
        Some(Reason::Paused | Reason::BlockedByPause) => format!(
            "let it go on: {}",
            cluster.kubectl(&format!("annotate vm {name} compute.example.com/paused-"))
        ),
        Some(
            Reason::Running
            | Reason::Created
            | Reason::CreatePending
            | Reason::CreateResultUnknown
            | Reason::CreateInDoubt
            | Reason::CreateInProgress
            | Reason::Provisioning
            | Reason::ProvisioningSlow
            | Reason::Starting
            | Reason::Stopping
            | Reason::Stopped
            | Reason::Resizing
            | Reason::PhaseUnknown
            | Reason::Lost
            | Reason::ProviderUnreachable
            | Reason::RateLimited
            | Reason::Busy
            | Reason::ProviderConfigPending
            | Reason::Usable
            | Reason::Reachable
            | Reason::Accepted
            | Reason::SafeCreateSupported
            | Reason::InSync
            | Reason::DriftDetected
            | Reason::Deleting
            | Reason::DeletionBlocked
            | Reason::Pending,
        )
        | None => format!(
            "watch it: {}",
            cluster.vmctl(&format!("get vm {name} -o wide -w"))
        ),
    }
}
