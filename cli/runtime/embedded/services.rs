//! What runs beside the control plane: the mock provider and the operator, both of them this very program.

use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::child::{self, Program};
use super::kept::Kept;
use super::ports;
use super::token::Credentials;
use crate::env::state::{MockState, OperatorState};
use crate::files;

/// A service could not be started.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// No free port was found.
    #[error("found no free loopback port")]
    Ports,
    /// A file could not be written.
    #[error(transparent)]
    File(#[from] files::Error),
    /// The kernel gave no random bytes.
    #[error("the system gives no random numbers")]
    Random,
    /// The process could not be started.
    #[error(transparent)]
    Child(#[from] child::Error),
}

/// A pair of ports, kept over restarts of the supervisor while they are free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Pair {
    first: u16,
    second: u16,
}

impl Pair {
    fn choose(file: &Path) -> Result<Self, Error> {
        let saved =
            files::read_optional(file)?.and_then(|text| serde_json::from_str::<Self>(&text).ok());
        if let Some(saved) =
            saved.filter(|pair| ports::becomes_free(pair.first) && ports::becomes_free(pair.second))
        {
            return Ok(saved);
        }
        let pick = || ports::pick().ok_or(Error::Ports);
        let pair = Self {
            first: pick()?,
            second: pick()?,
        };
        files::write_private(file, &serde_json::to_vec(&pair).unwrap_or_default())?;
        Ok(pair)
    }

    fn addresses(self) -> [SocketAddr; 2] {
        [self.first, self.second].map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
    }
}

/// The file with the key that the mock provider asks for, one `ACCOUNT=KEY`.
pub(crate) fn mock_keys(dir: &Path) -> PathBuf {
    dir.join("mock").join("api-keys")
}

/// Starts the mock provider. Its key is random, one per environment, and reaches it by a file.
///
/// # Errors
/// A file or the process fails.
pub(crate) fn start_mock(dir: &Path) -> Result<(Kept, MockState), Error> {
    let own = dir.join("mock");
    ensure_mock_key(dir)?;
    let [api, admin] = Pair::choose(&own.join("ports.json"))?.addresses();
    let args = vec![
        "mock".into(),
        format!("--listen={api}").into(),
        format!("--admin-listen={admin}").into(),
        "--api-key-file".into(),
        mock_keys(dir).into(),
        "--data-file".into(),
        own.join("cloud.json").into(),
    ];
    let kept = Kept::start(Program::ourselves("mock-provider", args), dir)?;
    Ok((
        kept,
        MockState {
            endpoint: format!("http://{api}"),
            admin: format!("http://{admin}"),
        },
    ))
}

/// Makes the mock provider's key, random and one per environment, where there is none yet.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn ensure_mock_key(dir: &Path) -> Result<(), Error> {
    files::private_dir(&dir.join("mock"))?;
    if !mock_keys(dir).exists() {
        files::write_private(
            &mock_keys(dir),
            format!("development={}\n", random_key()?).as_bytes(),
        )?;
    }
    Ok(())
}

fn random_key() -> Result<String, Error> {
    let mut bytes = [0; 32];
    let random = ring::rand::SystemRandom::new();
    ring::rand::SecureRandom::fill(&random, &mut bytes).map_err(|_unspecified| Error::Random)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Starts the operator with the rights of its own ServiceAccount, never the administrator's.
///
/// # Errors
/// A file or the process fails.
pub(crate) fn start_operator(
    dir: &Path,
    kubeconfig: &Path,
) -> Result<(Kept, OperatorState), Error> {
    let [metrics, health] = Pair::choose(&dir.join("operator").join("ports.json"))?.addresses();
    let args = operator_args(kubeconfig, metrics, health);
    let kept = Kept::start(Program::ourselves("operator", args), dir)?;
    Ok((
        kept,
        OperatorState {
            metrics: format!("http://{metrics}/metrics"),
            health: format!("http://{health}"),
        },
    ))
}

/// Starts one of several operators with that name, at the environment's operator's addresses or at others.
///
/// # Errors
/// A file or the process fails.
pub(crate) fn start_replica(
    dir: &Path,
    name: &'static str,
    in_place: bool,
    options: &[OsString],
) -> Result<Kept, Error> {
    let [metrics, health] = if in_place {
        Pair::choose(&dir.join("operator").join("ports.json"))?.addresses()
    } else {
        [SocketAddr::from((Ipv4Addr::LOCALHOST, 0)); 2]
    };
    let mut args = operator_args(&Credentials::of(dir).kubeconfig(), metrics, health);
    args.push(format!("--pod-name={name}").into());
    args.extend_from_slice(options);
    Ok(Kept::start(Program::ourselves(name, args), dir)?)
}

fn operator_args(kubeconfig: &Path, metrics: SocketAddr, health: SocketAddr) -> Vec<OsString> {
    let mut args = vec!["operator".into(), "--kubeconfig".into(), kubeconfig.into()];
    let flags = [
        "--leader-elect-namespace=vmoperator-system".to_owned(),
        format!("--metrics-bind-address={metrics}"),
        format!("--health-probe-bind-address={health}"),
        "--allow-http".to_owned(),
        "--endpoint-allow=127.0.0.0/8".to_owned(),
        "--log-format=json".to_owned(),
    ];
    args.extend(flags.map(Into::into));
    args
}
