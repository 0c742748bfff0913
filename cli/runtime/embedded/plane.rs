//! etcd and kube-apiserver as one unit: neither is left behind when the other fails.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use kube::{Api, Client};
use tokio::net::TcpStream;

use super::binaries::Binaries;
use super::child::{self, Child, Program};
use super::components::{self, Ports};
use super::kept::Kept;
use super::kubeconfig::{self, Credential};
use super::pki::{self, Pki};
use super::ports;
use crate::{clock, files};

/// How often ports are picked anew when somebody else was faster.
const PORT_TRIES: usize = 5;
/// Longest start that is waited for. A second on an idle machine; many at once on a small one take longer.
const START_TIMEOUT: Duration = Duration::from_secs(120);
/// How often a starting server is asked.
const POLL: Duration = Duration::from_millis(50);
/// Time for an orderly end. The data is thrown away or survives a kill: etcd's writes are with the kernel by then.
const STOP_GRACE: Duration = Duration::from_secs(5);
/// A call that takes longer counts as no answer.
const CALL_TIMEOUT: Duration = Duration::from_secs(5);

/// The control plane could not be started, or did not stay.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// No free port was found.
    #[error("found no free loopback port")]
    Ports,
    /// A file could not be read or written.
    #[error(transparent)]
    File(#[from] files::Error),
    /// The certificates could not be made.
    #[error(transparent)]
    Pki(#[from] pki::Error),
    /// A kubeconfig could not be made.
    #[error(transparent)]
    Kubeconfig(#[from] kubeconfig::Error),
    /// A child could not be started.
    #[error(transparent)]
    Child(#[from] child::Error),
    /// A child ended although nobody asked it to.
    #[error("{name} ended: {status}")]
    Ended {
        /// Which one.
        name: &'static str,
        /// How.
        status: String,
        /// Its last lines.
        tail: Vec<String>,
    },
    /// A child runs but does not become ready.
    #[error("{name} was not ready after {} s, it lacked {missing}", START_TIMEOUT.as_secs())]
    NotReady {
        /// Which one.
        name: &'static str,
        /// What was still missing.
        missing: String,
        /// Its last lines.
        tail: Vec<String>,
    },
}

impl Error {
    /// The last lines of the child that failed.
    pub(crate) fn tail(&self) -> Vec<String> {
        match self {
            Self::Ended { tail, .. } | Self::NotReady { tail, .. } => tail.clone(),
            Self::Ports | Self::File(_) | Self::Pki(_) | Self::Kubeconfig(_) | Self::Child(_) => {
                Vec::new()
            }
        }
    }

    fn is_port_collision(&self) -> bool {
        self.tail()
            .iter()
            .any(|line| line.contains("address already in use"))
    }
}

/// What to run, and where its files are.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// Directory of all files of this control plane; absolute.
    pub(crate) dir: PathBuf,
    /// The programs.
    pub(crate) binaries: Binaries,
    /// Where every request is recorded, if it is.
    pub(crate) audit_log: Option<PathBuf>,
    /// Whether kube-controller-manager is run when it was found.
    pub(crate) controller_manager: bool,
}

impl Options {
    /// The administrator's kubeconfig.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.dir.join("kubeconfig")
    }
}

/// A running control plane. Dropping it kills all of it.
pub(crate) struct Plane {
    options: Options,
    pki: Pki,
    ports: Ports,
    // Dropped in this order: first who depends on the others.
    controller_manager: Option<Kept>,
    api_server: Child,
    etcd: Child,
    client: Client,
}

impl Plane {
    /// Starts everything and waits until requests succeed: the API server says that it is ready, the namespace
    /// `default` exists and, with a controller manager, its ServiceAccount.
    ///
    /// # Errors
    /// A file, a port or a child fails; then nothing is left running.
    pub(crate) async fn start(options: Options) -> Result<Self, Error> {
        files::private_dir(&options.dir.join("logs"))?;
        let pki = Pki::ensure(&options.dir.join("pki"))?;
        if options.audit_log.is_some() {
            files::write_if_changed(
                &options.dir.join("audit-policy.yaml"),
                components::AUDIT_POLICY.as_bytes(),
            )?;
        }
        let mut tries = 0;
        loop {
            let chosen = choose_ports(&options.dir, tries > 0)?;
            match Self::start_on(&options, &pki, chosen).await {
                Err(error) if error.is_port_collision() && tries < PORT_TRIES => tries += 1,
                outcome => return outcome,
            }
        }
    }

    async fn start_on(options: &Options, pki: &Pki, ports: Ports) -> Result<Self, Error> {
        let dir = &options.dir;
        let server = server_url(ports);
        let admin = options.kubeconfig();
        kubeconfig::write(
            &admin,
            "vmctl",
            &server,
            pki,
            &Credential::Certificate("admin"),
        )?;
        let client = kubeconfig::client(&admin).await?;
        let mut etcd = Child::start(&etcd_program(options, pki, ports), dir)?;
        wait_for_port(&mut etcd, ports.etcd).await?;
        let mut api_server = Child::start(&api_server_program(options, pki, ports), dir)?;
        tokio::select! {
            ready = wait_for_api(&mut api_server, &client) => ready?,
            status = etcd.ended() => return Err(ended(&etcd, status)),
        }
        let mut plane = Self {
            options: options.clone(),
            pki: pki.clone(),
            ports,
            controller_manager: None,
            api_server,
            etcd,
            client,
        };
        plane.start_controller_manager().await?;
        files::write_if_changed(
            &ports_file(dir),
            &serde_json::to_vec(&ports).unwrap_or_default(),
        )?;
        Ok(plane)
    }

    async fn start_controller_manager(&mut self) -> Result<(), Error> {
        let Some(path) = self
            .options
            .binaries
            .controller_manager
            .clone()
            .filter(|_| self.options.controller_manager)
        else {
            return Ok(());
        };
        let kubeconfig = components::controller_manager_kubeconfig(&self.options.dir);
        let credential = Credential::Certificate("controller-manager");
        kubeconfig::write(&kubeconfig, "vmctl", &self.server(), &self.pki, &credential)?;
        let args = components::controller_manager(&self.pki, &kubeconfig);
        let program = Program {
            name: "kube-controller-manager",
            path: Some(path),
            args,
        };
        let mut kept = Kept::start(program, &self.options.dir)?;
        wait_for_service_account(&mut kept, &self.client).await?;
        self.controller_manager = Some(kept);
        Ok(())
    }

    /// Waits for the next change. A controller manager that ended or was started again is `Ok`: it is looked after here.
    /// Cancelling this loses nothing.
    ///
    /// # Errors
    /// etcd or the API server ended; the other one must be stopped now.
    pub(crate) async fn turn(&mut self) -> Result<(), Error> {
        let controller_manager = async {
            match &mut self.controller_manager {
                Some(kept) => kept.turn().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            status = self.etcd.ended() => Err(ended(&self.etcd, status)),
            status = self.api_server.ended() => Err(ended(&self.api_server, status)),
            () = controller_manager => Ok(()),
        }
    }

    /// Stops the API server and starts it again, on the same port and the same etcd.
    ///
    /// # Errors
    /// It does not come back.
    pub(crate) async fn restart_api_server(&mut self) -> Result<(), Error> {
        self.api_server.stop(STOP_GRACE).await;
        let program = api_server_program(&self.options, &self.pki, self.ports);
        self.api_server = Child::start(&program, &self.options.dir)?;
        wait_for_api(&mut self.api_server, &self.client).await
    }

    /// Stops everything, dependents first.
    pub(crate) async fn stop(mut self) {
        if let Some(kept) = &mut self.controller_manager {
            kept.stop(STOP_GRACE).await;
        }
        self.api_server.stop(STOP_GRACE).await;
        self.etcd.stop(STOP_GRACE).await;
    }

    /// The URL of the API server.
    pub(crate) fn server(&self) -> String {
        server_url(self.ports)
    }

    /// The administrator's client.
    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// Its certificates.
    pub(crate) fn pki(&self) -> &Pki {
        &self.pki
    }

    /// etcd and the API server.
    pub(crate) fn pair(&self) -> [&Child; 2] {
        [&self.etcd, &self.api_server]
    }

    /// The controller manager, where there is one.
    pub(crate) fn controller_manager(&self) -> Option<&Kept> {
        self.controller_manager.as_ref()
    }
}

fn ports_file(dir: &Path) -> PathBuf {
    dir.join("ports.json")
}

fn server_url(ports: Ports) -> String {
    format!("https://{}:{}", Ipv4Addr::LOCALHOST, ports.api_server)
}

/// The ports of the last run while they are free, else new ones.
fn choose_ports(dir: &Path, anew: bool) -> Result<Ports, Error> {
    let saved = files::read_optional(&ports_file(dir))?
        .and_then(|text| serde_json::from_str::<Ports>(&text).ok());
    let free = |ports: &Ports| {
        [ports.etcd, ports.etcd_peer, ports.api_server]
            .into_iter()
            .all(ports::becomes_free)
    };
    if let Some(saved) = saved.filter(free).filter(|_| !anew) {
        return Ok(saved);
    }
    let pick = || ports::pick().ok_or(Error::Ports);
    Ok(Ports {
        etcd: pick()?,
        etcd_peer: pick()?,
        api_server: pick()?,
    })
}

fn etcd_program(options: &Options, pki: &Pki, ports: Ports) -> Program {
    let args = components::etcd(&options.dir, pki, ports);
    Program {
        name: "etcd",
        path: Some(options.binaries.etcd.clone()),
        args,
    }
}

fn api_server_program(options: &Options, pki: &Pki, ports: Ports) -> Program {
    let args = components::api_server(&options.dir, pki, ports, options.audit_log.as_deref());
    Program {
        name: "kube-apiserver",
        path: Some(options.binaries.api_server.clone()),
        args,
    }
}

fn ended(child: &Child, status: String) -> Error {
    Error::Ended {
        name: child.name(),
        status,
        tail: child.tail(),
    }
}

/// Waits for what `missing` looks for: it returns what is still missing, `None` when all is there.
async fn wait<F: Future<Output = Option<String>>>(
    child: &mut Child,
    missing: impl Fn() -> F,
) -> Result<(), Error> {
    let mut last = "an answer".to_owned();
    let mut asked = async || {
        while let Some(lack) = missing().await {
            last = lack;
            clock::sleep(POLL).await;
        }
    };
    let outcome = tokio::select! {
        outcome = tokio::time::timeout(START_TIMEOUT, asked()) => outcome,
        status = child.ended() => return Err(ended(child, status)),
    };
    outcome.map_err(|_elapsed| Error::NotReady {
        name: child.name(),
        missing: last,
        tail: child.tail(),
    })
}

async fn wait_for_port(etcd: &mut Child, port: u16) -> Result<(), Error> {
    wait(etcd, || async move {
        TcpStream::connect((Ipv4Addr::LOCALHOST, port))
            .await
            .err()
            .map(|error| format!("a connection: {error}"))
    })
    .await
}

async fn wait_for_api(api_server: &mut Child, client: &Client) -> Result<(), Error> {
    wait(api_server, || async {
        if let Some(lack) = not_ready(client).await {
            return Some(lack);
        }
        let default = Api::<Namespace>::all(client.clone());
        let found = tokio::time::timeout(CALL_TIMEOUT, default.get_opt("default")).await;
        (!matches!(found, Ok(Ok(Some(_))))).then(|| "the namespace default".to_owned())
    })
    .await
}

async fn wait_for_service_account(kept: &mut Kept, client: &Client) -> Result<(), Error> {
    let Some(child) = kept.child_mut() else {
        return Ok(());
    };
    wait(child, || async {
        let accounts = Api::<ServiceAccount>::namespaced(client.clone(), "default");
        let found = tokio::time::timeout(CALL_TIMEOUT, accounts.get_opt("default")).await;
        (!matches!(found, Ok(Ok(Some(_))))).then(|| "the ServiceAccount default".to_owned())
    })
    .await
}

/// What an API server lacks to be ready by its own words; `None` when it is ready.
pub(crate) async fn not_ready(client: &Client) -> Option<String> {
    let request = axum::http::Request::get("/readyz").body(Vec::new()).ok()?;
    match tokio::time::timeout(CALL_TIMEOUT, client.request_text(request)).await {
        Ok(Ok(_ok)) => None,
        Ok(Err(kube::Error::Api(status))) => {
            Some(format!("readiness: {}", status.message.replace('\n', "; ")))
        }
        Ok(Err(error)) => Some(format!("an answer: {error}")),
        Err(_elapsed) => Some("an answer in time".to_owned()),
    }
}
