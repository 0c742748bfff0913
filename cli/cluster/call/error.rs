//! What may come of a call: how a command exits for it, its id, and what to do.

use kube::core::response::Status;

use super::CALL;
use crate::cluster::Cluster;
use crate::cluster::kind::Kind;
use crate::hint::{Exit, Failure, chain};

/// A call did not do what it should.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The API server refused.
    #[error("cannot {what}: {}", words(status))]
    Refused {
        /// What was tried.
        what: String,
        /// The answer.
        status: Box<Status>,
    },
    /// No answer in time.
    #[error("cannot {what}: no answer within {} s", CALL.as_secs())]
    Silent {
        /// What was tried.
        what: String,
    },
    /// No connection, or it broke.
    #[error("cannot {what}: {}", chain(source))]
    Broken {
        /// What was tried.
        what: String,
        /// Why not.
        source: Box<kube::Error>,
    },
    /// The answer is not what was asked for.
    #[error("cannot {what}: the answer cannot be understood: {why}")]
    Odd {
        /// What was tried.
        what: String,
        /// What is odd.
        why: String,
    },
}

impl Error {
    /// The code of a refusal.
    pub(crate) fn code(&self) -> Option<u16> {
        match self {
            Self::Refused { status, .. } => Some(status.code),
            Self::Silent { .. } | Self::Broken { .. } | Self::Odd { .. } => None,
        }
    }

    /// Whether the object is not there: the kind is known, its name is not.
    pub(crate) fn is_absent(&self, kind: Kind) -> bool {
        match self {
            Self::Refused { status, .. } => status.code == 404 && names(status, kind.plural()),
            Self::Silent { .. } | Self::Broken { .. } | Self::Odd { .. } => false,
        }
    }

    /// Whether an object of that name is there already.
    pub(crate) fn is_taken(&self) -> bool {
        match self {
            Self::Refused { status, .. } => status.code == 409 && status.reason == "AlreadyExists",
            Self::Silent { .. } | Self::Broken { .. } | Self::Odd { .. } => false,
        }
    }

    /// Whether it is that field which is refused.
    pub(crate) fn names_field(&self, field: &str) -> bool {
        match self {
            Self::Refused { status, .. } => {
                let causes = status.details.iter().flat_map(|details| &details.causes);
                causes.into_iter().any(|cause| cause.field == field)
            }
            Self::Silent { .. } | Self::Broken { .. } | Self::Odd { .. } => false,
        }
    }

    /// As a failure of a command.
    pub(crate) fn into_failure(self, cluster: &Cluster) -> Failure {
        let (exit, id) = self.outcome();
        let fix = match id {
            "VMC-NO-KIND" if cluster.ours => cluster.vmctl("up"),
            "VMC-NO-KIND" => cluster.kubectl("apply -f config/crd/"),
            "VMC-NO-NAMESPACE" => {
                "choose another one with -n, or make it: kubectl create namespace NAME".to_owned()
            }
            "VMC-NOT-FOUND" => format!("see what there is: {}", cluster.vmctl(self.list_command())),
            "VMC-EXISTS" => "choose another name, or add --if-absent".to_owned(),
            "VMC-CONFLICT" => {
                "it was changed by somebody else: run the same command again".to_owned()
            }
            "VMC-FORBIDDEN" => cluster.kubectl("auth can-i --list"),
            "VMC-UNAUTHORIZED" => "renew the credentials in the kubeconfig".to_owned(),
            "VMC-INVALID" => "correct what the message names and run the command again".to_owned(),
            "VMC-API" if cluster.ours => {
                "see what of the environment runs: vmctl status".to_owned()
            }
            "VMC-API" => format!("check that {} can be reached", cluster.server),
            _other => "run the same command again; if it stays, report it with this id".to_owned(),
        };
        Failure::new(exit, id, format!("{self} ({})", cluster.label)).fix(fix)
    }

    fn list_command(&self) -> &'static str {
        match self {
            Self::Refused { status, .. } if names(status, Kind::ProviderConfig.plural()) => {
                "get pcfg"
            }
            Self::Refused { .. } | Self::Silent { .. } | Self::Broken { .. } | Self::Odd { .. } => {
                "get vm"
            }
        }
    }

    /// How a command exits for it, and its id.
    pub(crate) fn outcome(&self) -> (Exit, &'static str) {
        match self {
            Self::Silent { .. } => (Exit::Unreachable, "VMC-API"),
            Self::Odd { .. } => (Exit::Failure, "VMC-ANSWER"),
            Self::Broken { source, .. } => match source.as_ref() {
                kube::Error::Auth(_) => (Exit::Failure, "VMC-UNAUTHORIZED"),
                kube::Error::SerdeError(_) | kube::Error::FromUtf8(_) => {
                    (Exit::Failure, "VMC-ANSWER")
                }
                _transport => (Exit::Unreachable, "VMC-API"),
            },
            Self::Refused { status, .. } => match status.code {
                401 => (Exit::Failure, "VMC-UNAUTHORIZED"),
                403 => (Exit::Failure, "VMC-FORBIDDEN"),
                404 if names(status, "namespaces") => (Exit::NotFound, "VMC-NO-NAMESPACE"),
                404 if status
                    .details
                    .as_ref()
                    .is_some_and(|details| !details.name.is_empty()) =>
                {
                    (Exit::NotFound, "VMC-NOT-FOUND")
                }
                404 => (Exit::Environment, "VMC-NO-KIND"),
                409 if self.is_taken() => (Exit::Conflict, "VMC-EXISTS"),
                409 => (Exit::Conflict, "VMC-CONFLICT"),
                400 | 422 => (Exit::Failure, "VMC-INVALID"),
                429 | 502..=504 => (Exit::Unreachable, "VMC-API"),
                _other => (Exit::Failure, "VMC-REFUSED"),
            },
        }
    }
}

/// What the server says, in a line.
fn words(status: &Status) -> String {
    if status.message.is_empty() {
        format!("the API server answers {} {}", status.code, status.reason)
    } else {
        status.message.trim().to_owned()
    }
}

fn names(status: &Status, plural: &str) -> bool {
    let details = status.details.as_ref();
    details.is_some_and(|details| details.kind == plural && !details.name.is_empty())
}
