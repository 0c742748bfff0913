//! From a ProviderConfig to a client: HTTP, measured, limited, fenced by the leader's term.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::header::HeaderValue;

use super::Parts;
use crate::api::provider_config::ProviderConfigSpec;
use crate::controller::configs::{Connect, Connection};
use crate::domain::{ObjectKey, Reason, Term};
use crate::lifecycle::ConfigProblem;
use crate::provider::credential::Credential;
use crate::provider::guard::Guard;
use crate::provider::http::{BuildError, HttpProvider, Options};
use crate::provider::limited::{LimitOptions, Limited, Limits, Standing};
use crate::provider::measured::{Measured, Metrics};
use crate::provider::time::{Time, Timers};

/// What calls go through: limits outside, so that waiting for a turn is not counted as the provider's latency.
pub(super) type Cloud = Limited<Measured<HttpProvider>>;

/// Builds clients; keeps the limits of each ProviderConfig, which outlive a client.
pub(super) struct HttpConnect {
    guard: Guard,
    user_agent: HeaderValue,
    term: Term,
    metrics: Metrics,
    time: Arc<dyn Time>,
    limits: Mutex<HashMap<ObjectKey, (LimitKey, Arc<Limits>)>>,
    refused: Refused,
}

/// Told which ProviderConfig's credentials were refused in the middle of work.
type Refused = Arc<dyn Fn(&ObjectKey) + Send + Sync>;

/// What limits depend on: with other numbers they are made anew.
type LimitKey = (u32, u32, u32);

impl HttpConnect {
    pub(super) fn new(parts: &Parts, refused: impl Fn(&ObjectKey) + Send + Sync + 'static) -> Self {
        let clock = Arc::clone(&parts.clock);
        Self {
            guard: parts.settings.guard(),
            user_agent: user_agent(&parts.identity),
            term: parts.term.clone(),
            metrics: parts.provider.clone(),
            time: Arc::new(Timers(move || clock.now())),
            limits: Mutex::default(),
            refused: Arc::new(refused),
        }
    }

    fn limits(&self, key: &ObjectKey, spec: &ProviderConfigSpec) -> Arc<Limits> {
        let numbers = (
            spec.rate_limit.requests_per_second,
            spec.rate_limit.burst,
            spec.rate_limit.max_in_flight,
        );
        let mut all = self.limits.lock().unwrap_or_else(PoisonError::into_inner);
        match all.get(key) {
            Some((then, limits)) if *then == numbers => Arc::clone(limits),
            Some(_) | None => {
                let at_least_one = |number| NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN);
                let options = LimitOptions {
                    requests_per_second: at_least_one(numbers.0),
                    burst: at_least_one(numbers.1),
                    max_in_flight: at_least_one(numbers.2),
                    ..LimitOptions::default()
                };
                let (metrics, time) = (self.metrics.clone(), Arc::clone(&self.time));
                let limits = Arc::new(Limits::new(options, metrics, time));
                all.insert(key.clone(), (numbers, Arc::clone(&limits)));
                limits
            }
        }
    }

    /// How the limits of each ProviderConfig stand, by name.
    pub(super) fn standings(&self) -> Vec<(ObjectKey, Standing)> {
        let all = self.limits.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found: Vec<_> = all
            .iter()
            .map(|(key, (_, limits))| (key.clone(), limits.standing()))
            .collect();
        found.sort_by(|(a, _), (b, _)| a.cmp(b));
        found
    }
}

impl Connect for HttpConnect {
    type Cloud = Cloud;

    fn connect(&self, connection: Connection<'_>) -> Result<Cloud, ConfigProblem> {
        let spec = &connection.config.spec;
        let tls = spec.tls.clone().unwrap_or_default();
        let options = Options {
            endpoint: spec
                .endpoint
                .parse()
                .map_err(|_| invalid("the endpoint is no URL".to_owned()))?,
            credential: connection.api_key.map(credential).transpose()?,
            timeout: Duration::from_secs(u64::from(spec.timeout_seconds)),
            ca_bundle: tls.ca_bundle,
            server_name: tls.server_name,
            guard: self.guard.clone(),
        };
        let provider = HttpProvider::new(options).map_err(|error| unusable(&error))?;
        let provider = provider.called(self.user_agent.clone());
        let measured = Measured::new(provider, self.metrics.clone(), Arc::clone(&self.time));
        let limits = self.limits(connection.key, spec);
        let (refused, key) = (Arc::clone(&self.refused), connection.key.clone());
        let limited = Limited::new(measured, limits, self.term.clone());
        Ok(limited.on_refusal(move || refused(&key)))
    }

    fn forget(&self, key: &ObjectKey) {
        let mut all = self.limits.lock().unwrap_or_else(PoisonError::into_inner);
        all.remove(key);
    }
}

/// Product, version, and which of several processes.
fn user_agent(identity: &str) -> HeaderValue {
    let plain = |byte: &char| byte.is_ascii_alphanumeric() || "-_.".contains(*byte);
    let identity: String = identity.chars().filter(plain).take(128).collect();
    let product = concat!("vmoperator/", env!("CARGO_PKG_VERSION"));
    let whole = HeaderValue::try_from(format!("{product} ({identity})"));
    whole.unwrap_or(HeaderValue::from_static(product))
}

fn credential(bytes: Vec<u8>) -> Result<Credential, ConfigProblem> {
    let wrong = |why: String| ConfigProblem {
        reason: Reason::SecretInvalid,
        message: why,
        error: None,
    };
    // The conversion fails with the bytes inside its error: only that it failed may be told.
    let text = String::from_utf8(bytes)
        .map_err(|_| wrong("the API key is not text: check how the Secret was made".to_owned()))?;
    Credential::new(text).map_err(|error| wrong(error.to_string()))
}

fn unusable(error: &BuildError) -> ConfigProblem {
    let reason = match error {
        BuildError::Endpoint(_) => Reason::EndpointNotAllowed,
        BuildError::Credential(_) => Reason::SecretInvalid,
        BuildError::Timeout
        | BuildError::CaBundle
        | BuildError::ServerName(_)
        | BuildError::TlsWithoutHttps
        | BuildError::NoCrypto
        | BuildError::Client(_) => Reason::ProviderConfigInvalid,
    };
    ConfigProblem {
        reason,
        message: error.to_string(),
        error: None,
    }
}

fn invalid(message: String) -> ConfigProblem {
    ConfigProblem {
        reason: Reason::ProviderConfigInvalid,
        message,
        error: None,
    }
}
