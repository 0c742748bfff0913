//! From a ProviderConfig and its Secret to a provider that can be called.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Secret;

use super::{Checked, MadeOf, confirmed_loss, endpoint, is_paused, problem};
use crate::api::ProviderConfig;
use crate::domain::{
    Capabilities, ClusterId, ErrorKind, ObjectKey, Operation, ProviderError, Reason,
};
use crate::lifecycle::decide::reason_of;
use crate::lifecycle::{Config, ConfigProblem, Losses};
use crate::provider::inventory::InventoryOptions;
use crate::provider::{Inventory, Provider};

/// Builds clients. Given from outside, because limits and metrics are shared by all of them.
pub trait Connect: Send + Sync + 'static {
    /// The client.
    type Cloud: Provider;

    /// Builds a client; nothing is sent.
    ///
    /// # Errors
    /// Which part of the ProviderConfig or Secret cannot be used.
    fn connect(&self, connection: Connection<'_>) -> Result<Self::Cloud, ConfigProblem>;

    /// The ProviderConfig is gone: nothing of it needs to be kept.
    fn forget(&self, key: &ObjectKey);
}

/// What a client is built from.
pub struct Connection<'a> {
    /// Which ProviderConfig; limits are shared by all clients that it ever has.
    pub key: &'a ObjectKey,
    /// The ProviderConfig.
    pub config: &'a ProviderConfig,
    /// The API key, as the Secret holds it; `None` where no Secret is named.
    pub api_key: Option<Vec<u8>>,
}

/// Checks a ProviderConfig: is the Secret there, can a client be built, does the provider accept it?
pub(super) async fn check<N: Connect>(
    (connect, cluster): (&N, &ClusterId),
    key: &ObjectKey,
    config: &ProviderConfig,
    secret: Option<&Secret>,
    before: Option<Checked<N::Cloud>>,
) -> Result<Checked<N::Cloud>, ConfigProblem> {
    let api_key = api_key(config, secret)?;
    let made_of = MadeOf {
        uid: config.metadata.uid.clone().unwrap_or_default(),
        generation: config.metadata.generation.unwrap_or_default(),
        secret: secret.map(|secret| {
            let meta = &secret.metadata;
            let version = meta.resource_version.clone().unwrap_or_default();
            (meta.uid.clone().unwrap_or_default(), version)
        }),
    };
    let before = before.filter(|before| before.made_of == made_of);
    let cloud = match &before {
        Some(before) => Arc::clone(&before.cloud),
        None => Arc::new(connect.connect(Connection {
            key,
            config,
            api_key,
        })?),
    };
    // Doubles as the neutral probe: only credentials that were accepted by a read are ever used to create.
    let capabilities = cloud.capabilities().await.map_err(|e| refused(&e))?;
    still_offered(config, &capabilities)?;
    let config = config_of(key, config, capabilities);
    let inventory = match before.filter(|before| follows_the_same(&before.config, &config)) {
        Some(before) => before.inventory,
        None => inventory_of(cluster, &config),
    };
    Ok(Checked {
        config,
        cloud,
        made_of,
        inventory,
    })
}

/// A provider that could list and honoured keys does not lose that: a gateway that answers in its place must not make
/// us give keys and tags up.
fn still_offered(
    config: &ProviderConfig,
    capabilities: &Capabilities,
) -> Result<(), ConfigProblem> {
    let before = config.status.as_ref().and_then(|s| s.capabilities.as_ref());
    let offered = before.is_some_and(|b| b.list || b.idempotency_key_ttl_seconds.is_some());
    if offered && *capabilities == Capabilities::default() && endpoint::is_where_it_was(config) {
        let error = ProviderError::without_answer(ErrorKind::Malformed, Operation::Capabilities);
        return Err(ConfigProblem {
            reason: reason_of(&error),
            message: "the provider does not say any more what it can do; check what answers in its place, or make another ProviderConfig".to_owned(),
            error: Some(error),
        });
    }
    Ok(())
}

fn follows_the_same(one: &Config, other: &Config) -> bool {
    one.capabilities == other.capabilities && one.poll == other.poll && one.timeout == other.timeout
}

fn inventory_of(cluster: &ClusterId, config: &Config) -> Option<Arc<Inventory>> {
    let options = InventoryOptions {
        cluster: cluster.clone(),
        capabilities: config.capabilities.clone(),
        poll: config.poll,
        timeout: config.timeout,
    };
    Inventory::new(options).map(Arc::new)
}

fn config_of(key: &ObjectKey, config: &ProviderConfig, capabilities: Capabilities) -> Config {
    Config {
        name: key.name.to_string(),
        terminating: false,
        protected: false,
        paused: is_paused(config),
        watched: false,
        awaited: false,
        allow_unsafe_create: config.spec.allow_unsafe_create,
        confirmed_loss: confirmed_loss(config),
        losses: Losses::default(),
        timeout: Duration::from_secs(u64::from(config.spec.timeout_seconds)),
        poll: Duration::from_secs(u64::from(config.spec.poll_interval_seconds)),
        capabilities,
    }
}

fn api_key(
    config: &ProviderConfig,
    secret: Option<&Secret>,
) -> Result<Option<Vec<u8>>, ConfigProblem> {
    let Some(reference) = &config.spec.secret_ref else {
        return Ok(None);
    };
    let (name, entry) = (&reference.name, &reference.key);
    let Some(secret) = secret else {
        return Err(problem(
            Reason::SecretNotFound,
            format!("there is no Secret {name:?} in this namespace; create it with key {entry:?}"),
        ));
    };
    let data = secret.data.as_ref().and_then(|data| data.get(entry));
    match data {
        Some(value) => Ok(Some(value.0.clone())),
        None => Err(problem(
            Reason::SecretKeyMissing,
            format!("Secret {name:?} has no key {entry:?}; put the API key there"),
        )),
    }
}

fn refused(error: &ProviderError) -> ConfigProblem {
    let what = match reason_of(error) {
        Reason::CredentialsRejected => {
            "the provider does not accept the API key; put a valid one into the Secret"
        }
        Reason::Forbidden => "the API key does not allow reading; give it the right to",
        Reason::EndpointNotAllowed => {
            "the endpoint is not one that this operator may talk to; see --endpoint-allow"
        }
        Reason::RateLimited => "the provider answers that there are too many requests",
        Reason::MalformedAnswer => {
            "the answer of the endpoint cannot be understood; check that it is a provider's API"
        }
        _ => "the provider cannot be reached or fails; it is tried again",
    };
    let evidence = match (error.status, error.code.as_deref()) {
        (Some(status), Some(code)) => format!(" (HTTP {status}, {code})"),
        (Some(status), None) => format!(" (HTTP {status})"),
        (None, _) => format!(" ({})", error.kind.label()),
    };
    ConfigProblem {
        reason: reason_of(error),
        message: format!("{what}{evidence}"),
        error: Some(error.clone()),
    }
}
