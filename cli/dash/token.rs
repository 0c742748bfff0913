//! Tokens of the ServiceAccount that may read metrics, asked of the API server: a kubeconfig whose user has a client
//! certificate has none that an operator could check.

use std::time::{Duration, Instant};

use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::PostParams;
use kube::{Api, Client};
use tokio::sync::Mutex;

use crate::clock;
use crate::hint::chain;

/// The ServiceAccount that is bound to the role of the same name.
const ACCOUNT: &str = "vmoperator-metrics-reader";
/// How long a token is good for: the shortest that API servers give.
const LIFETIME: Duration = Duration::from_secs(600);
/// When it is replaced.
const RENEW_AFTER: Duration = Duration::from_secs(400);
/// A request that takes longer has failed.
const LIMIT: Duration = Duration::from_secs(2);

/// Gives out one token until it is old.
pub(super) struct Tokens {
    client: Client,
    namespace: String,
    kept: Mutex<Option<(String, Instant)>>,
}

impl Tokens {
    /// Those of the account in the operator's namespace.
    pub(super) fn new(client: Client, namespace: &str) -> Self {
        Self {
            client,
            namespace: namespace.to_owned(),
            kept: Mutex::new(None),
        }
    }

    /// Whose tokens they are: `NAMESPACE/NAME`.
    pub(super) fn account(&self) -> String {
        format!("{}/{ACCOUNT}", self.namespace)
    }

    /// A token that is good for some minutes. Callers at the same time share one request.
    ///
    /// # Errors
    /// The API server gives none; why and what to do, in words.
    pub(super) async fn get(&self) -> Result<String, String> {
        let mut kept = self.kept.lock().await;
        if let Some((token, since)) = &*kept
            && clock::now().saturating_duration_since(*since) < RENEW_AFTER
        {
            return Ok(token.clone());
        }
        let token = self.ask().await?;
        *kept = Some((token.clone(), clock::now()));
        Ok(token)
    }

    /// The next call asks again.
    pub(super) async fn forget(&self) {
        *self.kept.lock().await = None;
    }

    async fn ask(&self) -> Result<String, String> {
        let request = TokenRequest {
            spec: TokenRequestSpec {
                audiences: Vec::new(),
                bound_object_ref: None,
                expiration_seconds: i64::try_from(LIFETIME.as_secs()).ok(),
            },
            ..TokenRequest::default()
        };
        let accounts = Api::<ServiceAccount>::namespaced(self.client.clone(), &self.namespace);
        let params = PostParams::default();
        let asking = accounts.create_token_request(ACCOUNT, &params, &request);
        let account = self.account();
        let instead = "give a token with --metrics-token-file";
        match tokio::time::timeout(LIMIT, asking).await {
            Ok(Ok(answer)) => answer
                .status
                .map(|status| status.token)
                .ok_or_else(|| format!("the API server gave no token of ServiceAccount {account}")),
            Ok(Err(kube::Error::Api(status))) if status.code == 404 => Err(format!(
                "there is no ServiceAccount {account}; make it with config/rbac, or {instead}"
            )),
            Ok(Err(error)) => Err(format!(
                "no token of ServiceAccount {account}: {}; {instead}",
                chain(&error)
            )),
            Err(_elapsed) => Err(format!("no token of ServiceAccount {account}: no answer")),
        }
    }
}
