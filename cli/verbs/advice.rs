//! What a person can do about a VirtualMachine that waits for a person.

use vmoperator::domain::Reason;

use crate::cluster::Cluster;

/// Ways out, each for several reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Remedy {
    Correct,
    Anew,
    Quota,
    Credential,
    ProviderConfig,
    Compare,
    Unpause,
    Watch,
}

/// What to do, by the reason of the condition.
pub(crate) fn advice(reason: &str, name: &str, cluster: &Cluster) -> String {
    let known = Reason::ALL.iter().find(|(one, _)| one.as_str() == reason);
    let delete = cluster.vmctl(&format!("delete vm {name}"));
    let configs = cluster.vmctl("get pcfg -o wide");
    match known.map_or(Remedy::Watch, |(reason, _)| remedy(*reason)) {
        Remedy::Correct => {
            let edit = cluster.kubectl(&format!("edit vm {name}"));
            format!("correct it: {edit}; or delete it: {delete}")
        }
        Remedy::Anew => format!("delete it and create it anew: {delete}"),
        Remedy::Quota => {
            "free or raise the quota at the provider; it goes on by itself then".to_owned()
        }
        Remedy::Credential => format!(
            "put a usable API key into the Secret of its ProviderConfig; it goes on by itself then: {configs}"
        ),
        Remedy::ProviderConfig => {
            format!("put its ProviderConfig right; it goes on by itself then: {configs}")
        }
        Remedy::Compare => "compare what the message names with the provider".to_owned(),
        Remedy::Unpause => {
            let words = format!("annotate vm {name} compute.example.com/paused-");
            format!("let it go on: {}", cluster.kubectl(&words))
        }
        Remedy::Watch => {
            let watch = cluster.vmctl(&format!("get vm {name} -o wide -w"));
            format!("watch it: {watch}")
        }
    }
}

fn remedy(reason: Reason) -> Remedy {
    use Reason as R;
    match reason {
        R::InvalidImage | R::InvalidSpec | R::InvalidRequest | R::SpecUnreadable => Remedy::Correct,
        // The message names what is in the way, and the field that does without it.
        R::OwnedObjectConflict => Remedy::Correct,
        R::InstanceFailed => Remedy::Anew,
        R::QuotaExceeded => Remedy::Quota,
        R::Forbidden
        | R::CredentialsRejected
        | R::SecretNotFound
        | R::SecretKeyMissing
        | R::SecretInvalid => Remedy::Credential,
        R::ProviderConfigNotFound
        | R::ProviderConfigDeleting
        | R::ProviderConfigInvalid
        | R::EndpointNotAllowed
        | R::EndpointChanged
        | R::MassLossSuspected
        | R::SafeCreateUnsupported => Remedy::ProviderConfig,
        // Where it waits for a person, an instance may be at the provider that nobody knows of.
        R::CreateInDoubt
        | R::Duplicate
        | R::OwnershipUnproven
        | R::ClusterIdChanged
        | R::AccountChanged
        | R::MalformedAnswer => Remedy::Compare,
        R::Paused | R::BlockedByPause => Remedy::Unpause,
        R::Running | R::Created | R::CreatePending | R::CreateResultUnknown => Remedy::Watch,
        R::CreateNotSent
        | R::CreateInProgress
        | R::Provisioning
        | R::ProvisioningSlow
        | R::Starting
        | R::Stopping => Remedy::Watch,
        R::Stopped | R::Resizing | R::PhaseUnknown | R::Lost | R::ProviderUnreachable => {
            Remedy::Watch
        }
        R::RateLimited | R::Busy | R::ProviderConfigPending | R::Usable | R::Reachable => {
            Remedy::Watch
        }
        R::Accepted | R::SafeCreateSupported | R::InSync | R::DriftDetected | R::Deleting => {
            Remedy::Watch
        }
        R::DeletionBlocked | R::Pending | R::OwnedObjectRefused => Remedy::Watch,
        // Events alone say these.
        R::Deleted | R::Recreating | R::IntentReplaced => Remedy::Watch,
        R::Orphaned | R::OrphansFound => Remedy::Compare,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_remedy_names_a_command_for_this_object_in_this_environment() {
        let (cluster, _asked) = crate::cluster::fake::cluster(Vec::new());
        for (reason, words) in [
            ("InvalidImage", "vmctl kubectl --env test edit vm web-1"),
            ("InstanceFailed", "vmctl delete vm web-1 --env test"),
            ("CredentialsRejected", "vmctl get pcfg -o wide --env test"),
            ("Paused", "annotate vm web-1 compute.example.com/paused-"),
            (
                "ReasonOfAnotherVersion",
                "vmctl get vm web-1 -o wide -w --env test",
            ),
        ] {
            assert!(
                advice(reason, "web-1", &cluster).contains(words),
                "{reason}"
            );
        }
    }
}
