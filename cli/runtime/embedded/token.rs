//! The operator's credential: a short-lived token of its ServiceAccount, in a file that is renewed in time.

use std::path::{Path, PathBuf};
use std::time::Duration;

use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::PostParams;
use kube::{Api, Client};

use super::kubeconfig::{self, Credential};
use super::pki::Pki;
use crate::files;

/// Namespace of the operator's ServiceAccount.
const NAMESPACE: &str = "vmoperator-system";
/// The operator's ServiceAccount.
const ACCOUNT: &str = "vmoperator-controller-manager";
/// How long a token is good for.
const LIFETIME: Duration = Duration::from_secs(3600);
/// When it is replaced: in good time, and well before whoever read the file reads it again.
const RENEW_AFTER: Duration = Duration::from_secs(2400);
/// How soon a failed renewal is tried again.
const RETRY: Duration = Duration::from_secs(10);
/// A call that takes longer has failed.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The credential could not be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The API server refused.
    #[error("cannot get a token for ServiceAccount {NAMESPACE}/{ACCOUNT}")]
    Request(#[source] Box<kube::Error>),
    /// The API server did not answer.
    #[error("cannot get a token for ServiceAccount {NAMESPACE}/{ACCOUNT}: no answer")]
    Silent,
    /// A file could not be written.
    #[error(transparent)]
    File(#[from] files::Error),
    /// The kubeconfig could not be written.
    #[error(transparent)]
    Kubeconfig(#[from] kubeconfig::Error),
}

/// Where the operator's credential is.
#[derive(Clone, Debug)]
pub(crate) struct Credentials {
    dir: PathBuf,
}

impl Credentials {
    /// In an environment's directory.
    pub(crate) fn of(dir: &Path) -> Self {
        Self {
            dir: dir.join("operator"),
        }
    }

    /// The operator's kubeconfig; it names the file with the token, which is read anew when it changes.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.dir.join("kubeconfig")
    }

    /// Writes a new token and, if it differs, the kubeconfig.
    ///
    /// # Errors
    /// The API server refuses, or a file cannot be written.
    pub(crate) async fn renew(
        &self,
        client: &Client,
        server: &str,
        pki: &Pki,
    ) -> Result<(), Error> {
        files::private_dir(&self.dir)?;
        let seconds = i64::try_from(LIFETIME.as_secs()).ok();
        let spec = TokenRequestSpec {
            audiences: Vec::new(),
            bound_object_ref: None,
            expiration_seconds: seconds,
        };
        let request = TokenRequest {
            spec,
            ..TokenRequest::default()
        };
        let accounts = Api::<ServiceAccount>::namespaced(client.clone(), NAMESPACE);
        let params = PostParams::default();
        let answer = tokio::time::timeout(
            TIMEOUT,
            accounts.create_token_request(ACCOUNT, &params, &request),
        )
        .await;
        let made = answer
            .map_err(|_elapsed| Error::Silent)?
            .map_err(|source| Error::Request(Box::new(source)))?;
        let token = made.status.map(|status| status.token).unwrap_or_default();
        let file = self.dir.join("token");
        files::write_private(&file, token.as_bytes())?;
        kubeconfig::write(
            &self.kubeconfig(),
            "vmoperator",
            server,
            pki,
            &Credential::TokenFile(&file),
        )?;
        Ok(())
    }

    /// How long to wait until [`Credentials::renew`] is due again.
    pub(crate) fn pause(renewed: bool) -> Duration {
        if renewed { RENEW_AFTER } else { RETRY }
    }
}
