//! Servers of the provider API to test against.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use clap::Parser;
use tokio::sync::oneshot;
use url::Url;
use vmoperator::domain::term::Term;
use vmoperator::provider::http::Options;
use vmoperator::provider::{
    Credential, Guard, HttpProvider, LimitOptions, Limited, Limits, Measured, Metrics, Time, Timers,
};
use vmoperator::runtime::clock::{Clock, SystemClock};

/// The client as the operator puts it together.
pub(crate) type Client = Limited<Measured<HttpProvider>>;

/// Which server.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// The mock of this repository.
    Mock,
    /// The one in Go beside this repository.
    Independent,
}

/// What can be set at both.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cloud {
    ProvisioningMillis,
    DeleteMillis,
    PageSize,
    Quota,
    RatePerSecond,
    Basic,
}

/// Whose API key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Account {
    First,
    Second,
    Wrong,
    None,
}

/// A server; it ends when dropped.
pub(crate) struct Server {
    address: SocketAddr,
    _alive: Alive,
}

enum Alive {
    /// Dropping it ends the task.
    Task { _stop: oneshot::Sender<()> },
    /// The process and its output: a closed pipe would end it.
    Process {
        child: Child,
        _said: BufReader<ChildStderr>,
    },
}

#[derive(Parser)]
struct MockArguments {
    #[command(flatten)]
    options: mock_provider::Options,
}

impl Server {
    /// Starts a server with two accounts; `Err` says why this kind is not to be had here.
    pub(crate) async fn start(kind: Kind, flags: &[(Cloud, &str)]) -> Result<Self, String> {
        match kind {
            Kind::Mock => Ok(Self::mock(flags).await),
            Kind::Independent => Self::independent(flags),
        }
    }

    /// A client with this account's key.
    pub(crate) fn client(&self, account: Account) -> Client {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let key = match account {
            Account::First => Some("first-key"),
            Account::Second => Some("second-key"),
            Account::Wrong => Some("wrong-key"),
            Account::None => None,
        };
        let options = Options {
            endpoint: Url::parse(&format!("http://{}", self.address)).unwrap(),
            credential: key.map(|key| Credential::new(key).unwrap()),
            timeout: Duration::from_secs(30),
            ca_bundle: None,
            server_name: None,
            guard: Guard {
                allow_http: true,
                admitted: vec!["127.0.0.1".parse().unwrap()],
            },
        };
        let time: Arc<dyn Time> = Arc::new(Timers(|| SystemClock.now()));
        let metrics = Metrics::new();
        let http = HttpProvider::new(options).unwrap();
        let measured = Measured::new(http, metrics.clone(), Arc::clone(&time));
        let limits = Limits::new(LimitOptions::default(), metrics, time);
        Limited::new(measured, Arc::new(limits), Term::unlimited())
    }

    async fn mock(flags: &[(Cloud, &str)]) -> Self {
        let mut arguments = vec![
            "mock-provider".to_owned(),
            "--listen=127.0.0.1:0".to_owned(),
            "--api-key=first=first-key,second=second-key".to_owned(),
        ];
        arguments.extend(flags.iter().map(|(flag, value)| match flag {
            Cloud::ProvisioningMillis => format!("--provisioning-delay={value}ms"),
            Cloud::DeleteMillis => format!("--delete-delay={value}ms"),
            Cloud::PageSize => format!("--page-size={value}"),
            Cloud::Quota => format!("--quota={value}"),
            Cloud::RatePerSecond => format!("--rate-limit={value}"),
            Cloud::Basic => "--basic".to_owned(),
        }));
        let options = MockArguments::parse_from(arguments).options;
        let (stop, stopped) = oneshot::channel::<()>();
        let shutdown = async {
            let _ = stopped.await;
        };
        let running = mock_provider::serve(options, shutdown).await.unwrap();
        Self {
            address: running.addr,
            _alive: Alive::Task { _stop: stop },
        }
    }

    fn independent(flags: &[(Cloud, &str)]) -> Result<Self, String> {
        let program = independent_program()?;
        let mut command = Command::new(program);
        command.args(["-listen=127.0.0.1:0", "-api-key=first-key=first"]);
        command.arg("-api-key=second-key=second");
        command.args(flags.iter().map(|(flag, value)| match flag {
            Cloud::ProvisioningMillis => format!("-provision-delay={value}ms"),
            Cloud::DeleteMillis => format!("-delete-delay={value}ms"),
            Cloud::PageSize => format!("-max-page={value}"),
            Cloud::Quota => format!("-quota={value}"),
            Cloud::RatePerSecond => format!("-rate-limit={value}"),
            Cloud::Basic => "-basic".to_owned(),
        }));
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        let said = child.stderr.take().unwrap();
        let mut said = BufReader::new(said);
        said.read_line(&mut line).unwrap();
        let alive = Alive::Process { child, _said: said };
        let address = line
            .trim()
            .rsplit(' ')
            .next()
            .and_then(|text| text.parse().ok());
        let Some(address) = address else {
            panic!("the independent server did not say where it listens: {line}")
        };
        Ok(Self {
            address,
            _alive: alive,
        })
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        match self {
            Self::Task { .. } => {}
            Self::Process { child, .. } => {
                let _ = child.kill();
                let _ = child.wait();
            }
        }
    }
}

/// Waits a little between two looks.
#[expect(
    clippy::disallowed_methods,
    reason = "a test that polls real servers waits"
)]
pub(crate) async fn wait(time: Duration) {
    tokio::time::sleep(time).await;
}

/// The Go server, built once; `Err` says why it cannot be had.
fn independent_program() -> Result<&'static Path, String> {
    static PROGRAM: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let program = PROGRAM.get_or_init(build_independent);
    program.as_deref().map_err(String::clone)
}

fn build_independent() -> Result<PathBuf, String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/peer");
    if !source.join("cmd/provider").is_dir() {
        return Err(
            "its source, ../shared/peer/cmd/provider, is not beside this repository".into(),
        );
    }
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("independent-provider");
    let built = Command::new("go")
        .args(["build", "-o"])
        .arg(&program)
        .arg("./cmd/provider")
        .current_dir(source)
        .output()
        .map_err(|error| format!("the Go tool cannot be run ({error})"))?;
    if built.status.success() {
        return Ok(program);
    }
    let words = String::from_utf8_lossy(&built.stderr).into_owned();
    Err(format!("go build failed: {words}"))
}
