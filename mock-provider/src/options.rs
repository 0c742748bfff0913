//! What can be set from outside: flags, environment variables, API keys.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::keyring::{Keyring, Secret};
use crate::world::{Latency, Rate, Settings, Spread, Text};

#[cfg(test)]
mod tests;

/// The settings of one mock provider. `clap::Args`, so that another command can take them as its own.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Mock provider")]
pub struct Options {
    /// Address of the API; port 0 picks a free one.
    #[arg(
        long,
        env = "MOCK_PROVIDER_LISTEN",
        default_value = "127.0.0.1:8080",
        value_name = "ADDRESS"
    )]
    pub listen: SocketAddr,
    /// Address of the admin interface (fault rules, request log, time). It asks for no key. Off when left out.
    #[arg(long, env = "MOCK_PROVIDER_ADMIN_LISTEN", value_name = "ADDRESS")]
    pub admin_listen: Option<SocketAddr>,
    /// Seed of everything that varies.
    #[arg(long, env = "MOCK_PROVIDER_SEED", default_value_t = 1)]
    pub seed: u64,
    /// From Provisioning to Running, such as 5s or 200ms.
    #[arg(long, env = "MOCK_PROVIDER_PROVISIONING_DELAY", default_value = "5s", value_name = "DURATION", value_parser = duration)]
    pub provisioning_delay: Duration,
    /// How much the provisioning delay may grow at random.
    #[arg(long, env = "MOCK_PROVIDER_PROVISIONING_JITTER", default_value = "0s", value_name = "DURATION", value_parser = duration)]
    pub provisioning_jitter: Duration,
    /// How long every answer is held back.
    #[arg(long, env = "MOCK_PROVIDER_LATENCY", default_value = "0s", value_name = "DURATION", value_parser = duration)]
    pub latency: Duration,
    /// How much the latency may grow at random.
    #[arg(long, env = "MOCK_PROVIDER_LATENCY_JITTER", default_value = "0s", value_name = "DURATION", value_parser = duration)]
    pub latency_jitter: Duration,
    /// Latency of unlucky calls, in place of the usual one.
    #[arg(long, env = "MOCK_PROVIDER_LATENCY_TAIL", default_value = "0s", value_name = "DURATION", value_parser = duration)]
    pub latency_tail: Duration,
    /// Share of unlucky calls, 0 to 1.
    #[arg(long, env = "MOCK_PROVIDER_LATENCY_TAIL_SHARE", default_value = "0", value_name = "SHARE", value_parser = share)]
    pub latency_tail_share: f64,
    /// Calls per second and account, beyond which the answer is 429; no limit when left out.
    #[arg(long, env = "MOCK_PROVIDER_RATE_LIMIT", value_name = "PER-SECOND", value_parser = above_zero)]
    pub rate_limit: Option<f64>,
    /// Calls that may come at once under the rate limit; one second's worth when left out.
    #[arg(long, env = "MOCK_PROVIDER_RATE_BURST", value_name = "CALLS", value_parser = clap::value_parser!(u32).range(1..))]
    pub rate_burst: Option<u32>,
    /// VMs per account; no limit when left out.
    #[arg(long, env = "MOCK_PROVIDER_QUOTA", value_name = "VMS")]
    pub quota: Option<u32>,
    /// How long an idempotency key is remembered.
    #[arg(long, env = "MOCK_PROVIDER_KEY_LIFETIME", default_value = "24h", value_name = "DURATION", value_parser = duration)]
    pub key_lifetime: Duration,
    /// From DELETE to gone; at 0s deletion is immediate.
    #[arg(long, env = "MOCK_PROVIDER_DELETE_DELAY", default_value = "0s", value_name = "DURATION", value_parser = duration)]
    pub delete_delay: Duration,
    /// How far lists lag behind writes.
    #[arg(long, env = "MOCK_PROVIDER_LIST_LAG", default_value = "0s", value_name = "DURATION", value_parser = duration)]
    pub list_lag: Duration,
    /// Most VMs on a page, whatever the client asks for, 1 to 1000.
    #[arg(long, env = "MOCK_PROVIDER_PAGE_SIZE", default_value_t = 1000, value_name = "VMS", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub page_size: u32,
    /// How long a continue token is good for.
    #[arg(long, env = "MOCK_PROVIDER_CONTINUE_LIFETIME", default_value = "5m", value_name = "DURATION", value_parser = duration)]
    pub continue_lifetime: Duration,
    /// How many changes the feed can go back before it answers 410.
    #[arg(
        long,
        env = "MOCK_PROVIDER_CHANGE_HISTORY",
        default_value_t = 100_000,
        value_name = "CHANGES"
    )]
    pub change_history: u64,
    /// How many deleted VMs of each account are remembered.
    #[arg(
        long,
        env = "MOCK_PROVIDER_TOMBSTONES",
        default_value_t = 100_000,
        value_name = "VMS"
    )]
    pub tombstones: usize,
    /// An API key and its account; may be repeated. Without any key the API is open. Mind that others on this machine
    /// see command lines: prefer the variable or the file.
    #[arg(
        long = "api-key",
        env = "MOCK_PROVIDER_API_KEYS",
        hide_env_values = true,
        value_name = "ACCOUNT=KEY",
        value_delimiter = ','
    )]
    pub api_keys: Vec<ApiKey>,
    /// A file with one ACCOUNT=KEY per line; empty lines and lines that start with # do not count.
    #[arg(long, env = "MOCK_PROVIDER_API_KEY_FILE", value_name = "FILE")]
    pub api_key_file: Option<PathBuf>,
    /// Keep the cloud in this file, so that it survives a restart.
    #[arg(long, env = "MOCK_PROVIDER_DATA_FILE", value_name = "FILE")]
    pub data_file: Option<PathBuf>,
    /// Only POST /vms, GET /vms/{id} and DELETE /vms/{id}, without tags and idempotency keys.
    #[arg(long, env = "MOCK_PROVIDER_BASIC")]
    pub basic: bool,
    /// How many of the latest calls the request log holds.
    #[arg(
        long,
        env = "MOCK_PROVIDER_REQUEST_LOG",
        default_value_t = 10_000,
        value_name = "CALLS"
    )]
    pub request_log: usize,
}

/// `ACCOUNT=KEY` as it was given; read when the server starts, since an error of the command line would show the key.
/// Its `Debug` does not.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

/// Why the API keys could not be read.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// Not of the form ACCOUNT=KEY. The text is not shown: it may hold a key.
    #[error("an API key must be written ACCOUNT=KEY, both without spaces")]
    Form,
    /// The key file could not be read.
    #[error("cannot read the API key file {path}: {source}; check the path and its permissions")]
    Read {
        /// Its path.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A line of the key file is wrong.
    #[error("line {line} of the API key file {path}: {source}")]
    Line {
        /// Its path.
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
        /// Why.
        source: Box<KeyError>,
    },
    /// There is a file but no key in it; starting open would be a surprise.
    #[error(
        "the API key file {path} holds no key; add ACCOUNT=KEY lines, or leave the option out for an open API"
    )]
    Empty {
        /// Its path.
        path: PathBuf,
    },
}

impl Default for Options {
    /// What the command line gives without flags and variables.
    fn default() -> Self {
        let Settings {
            key_lifetime,
            page_cap,
            continue_lifetime,
            change_history,
            tombstones,
            provisioning,
            ..
        } = Settings::default();
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8080)),
            admin_listen: None,
            seed: 1,
            provisioning_delay: provisioning.base,
            provisioning_jitter: Duration::ZERO,
            latency: Duration::ZERO,
            latency_jitter: Duration::ZERO,
            latency_tail: Duration::ZERO,
            latency_tail_share: 0.0,
            rate_limit: None,
            rate_burst: None,
            quota: None,
            key_lifetime,
            delete_delay: Duration::ZERO,
            list_lag: Duration::ZERO,
            page_size: page_cap,
            continue_lifetime,
            change_history,
            tombstones,
            api_keys: Vec::new(),
            api_key_file: None,
            data_file: None,
            basic: false,
            request_log: 10_000,
        }
    }
}

impl Options {
    /// How the cloud behaves under these options.
    #[must_use]
    pub fn settings(&self) -> Settings {
        Settings {
            basic: self.basic,
            provisioning: Spread {
                base: self.provisioning_delay,
                jitter: self.provisioning_jitter,
            },
            delete_delay: self.delete_delay,
            list_lag: self.list_lag,
            latency: Latency {
                body: Spread {
                    base: self.latency,
                    jitter: self.latency_jitter,
                },
                tail: self.latency_tail,
                tail_share: self.latency_tail_share,
            },
            rate: self
                .rate_limit
                .map(|per_second| rate(per_second, self.rate_burst)),
            quota: self.quota,
            key_lifetime: self.key_lifetime,
            page_cap: self.page_size,
            continue_lifetime: self.continue_lifetime,
            change_history: self.change_history,
            tombstones: self.tombstones,
        }
    }

    pub(crate) fn keyring(&self) -> Result<Keyring, KeyError> {
        let given: Result<Vec<_>, _> = self.api_keys.iter().map(ApiKey::read).collect();
        let mut keys = given?;
        if let Some(path) = &self.api_key_file {
            keys.extend(read_key_file(path)?);
        }
        Ok(Keyring::new(keys))
    }
}

fn read_key_file(path: &Path) -> Result<Vec<(Secret, Text)>, KeyError> {
    let failed = |source| KeyError::Read {
        path: path.into(),
        source,
    };
    let text = std::fs::read_to_string(path).map_err(failed)?;
    let lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !is_comment(line));
    let keys: Result<Vec<_>, _> = lines
        .map(|(index, line)| {
            let wrong = |source| KeyError::Line {
                path: path.into(),
                line: index + 1,
                source: Box::new(source),
            };
            ApiKey::from(line.trim()).read().map_err(wrong)
        })
        .collect();
    match keys {
        Ok(keys) if keys.is_empty() => Err(KeyError::Empty { path: path.into() }),
        other => other,
    }
}

impl ApiKey {
    fn read(&self) -> Result<(Secret, Text), KeyError> {
        let (account, key) = self.0.split_once('=').ok_or(KeyError::Form)?;
        let account = Secret::new(account)
            .map(|_| Text::from(account))
            .ok_or(KeyError::Form)?;
        Ok((Secret::new(key).ok_or(KeyError::Form)?, account))
    }
}

impl From<&str> for ApiKey {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl std::fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ApiKey(…)")
    }
}

/// A rate with one second's worth at once, unless said otherwise.
pub(crate) fn rate(per_second: f64, burst: Option<u32>) -> Rate {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "positive; saturates where absurd"
    )]
    let second = per_second.ceil() as u32;
    Rate {
        per_second,
        burst: burst.unwrap_or(second).max(1),
    }
}

fn is_comment(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}

/// Longest duration that can be set: ten years.
const LONGEST: Duration = Duration::from_secs(10 * 366 * 24 * 60 * 60);

fn duration(text: &str) -> Result<Duration, String> {
    let parsed: jiff::SignedDuration = text
        .parse()
        .map_err(|_| "must be a duration such as 5s, 200ms, 1m30s or 24h".to_owned())?;
    match Duration::try_from(parsed) {
        Ok(duration) if duration <= LONGEST => Ok(duration),
        Ok(_) => Err("must be at most ten years".into()),
        Err(_) => Err("must not be negative".into()),
    }
}

fn share(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| "must be a number from 0 to 1".into())
}

fn above_zero(text: &str) -> Result<f64, String> {
    let rate: Option<f64> = text.parse().ok();
    rate.filter(|rate| *rate > 0.0 && rate.is_finite())
        .ok_or_else(|| "must be a number above 0".into())
}
