//! Assembly: builds every part, wires watch → queue → workers, and ends the process in good order.

mod children;
mod client;
mod configs;
mod connect;
mod debug;
mod election;
mod gauges;
mod inventories;
mod liveness;
mod machines;
mod ports;
mod publish;
mod scopes;
mod secure;
mod telling;

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use prometheus_client::registry::Registry;

use crate::controller::configs::ConfigBook;
use crate::controller::events::{EventMetrics, EventQueue, EventSink, KubeEvents, Reporter};
use crate::controller::kube::KubeCluster;
use crate::domain::{ClusterId, Term};
use crate::lifecycle::Policy;
use crate::runtime::clock::{Clock, SystemClock};
use crate::runtime::metrics::{PassMetrics, QueueMetrics, WatchMetrics};
use crate::runtime::pulse::Pulse;
use crate::runtime::shutdown::Shutdown;
use crate::runtime::{failpoint, leader};
use crate::settings::Settings;
use crate::telemetry::health::Checks;
use crate::telemetry::requests::CountRequests;
use crate::telemetry::server::Pages;
use crate::telemetry::{log, metrics};

use election::Election;
use ports::Ports;
use secure::Secure;
use telling::Telling;

/// Why the operator ends with an error.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The settings cannot be used.
    #[error("cannot start")]
    Settings(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// No way to the API server.
    #[error("cannot find the API server: {0}")]
    Client(String),
    /// The cluster's identity could not be read.
    #[error(
        "cannot read the uid of namespace kube-system, this cluster's identity at providers; give it with --cluster-id ({0})"
    )]
    ClusterId(String),
    /// Another process may lead by now.
    #[error("lost the lease")]
    Lost(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The machine refuses something that every process needs.
    #[error("cannot set the process up")]
    Process(#[source] std::io::Error),
}

/// The whole program: parses the arguments, runs until told to stop, gives the exit code.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let settings = match Settings::try_parse_from(args) {
        Ok(settings) => settings,
        Err(error) => {
            let code = if error.use_stderr() { 2 } else { 0 };
            // A closed pipe is no reason to fail: nobody reads the usage.
            drop(error.print());
            return ExitCode::from(code);
        }
    };
    match start(settings) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let error: &dyn std::error::Error = &error;
            tracing::error!(error, "ended");
            // The log may be off or unset; the reason must be seen all the same.
            eprintln!("vmoperator: {}", chain(error));
            ExitCode::FAILURE
        }
    }
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

fn start(settings: Settings) -> Result<(), Error> {
    let settings_error = |error: Box<dyn std::error::Error + Send + Sync>| Error::Settings(error);
    failpoint::check_environment().map_err(|error| settings_error(error.into()))?;
    let log =
        log::init(settings.format(), &settings.log_level).map_err(|e| settings_error(e.into()))?;
    // An error says that a provider is installed already, by a program that embeds us: as good.
    drop(rustls::crypto::ring::default_provider().install_default());
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(Error::Process)?;
    let pulse = Pulse::start(runtime.handle().clone()).map_err(Error::Process)?;
    let result = runtime.block_on(run(settings, log));
    drop(pulse);
    // A pass that blocks its thread cannot be cut, and must not hold up the end either.
    runtime.shutdown_background();
    result
}

/// Everything that the parts share.
struct Parts {
    settings: Settings,
    log: log::LogHandle,
    /// Which of several processes this is.
    identity: String,
    clock: Arc<dyn Clock>,
    cluster: KubeCluster,
    client: kube::Client,
    policy: Policy,
    book: Arc<ConfigBook<connect::Cloud>>,
    shutdown: Shutdown,
    term: Term,
    queues: QueueMetrics,
    passes: PassMetrics,
    watches: Arc<WatchMetrics>,
    provider: crate::provider::measured::Metrics,
    events: Arc<dyn EventSink>,
}

async fn run(settings: Settings, log: log::LogHandle) -> Result<(), Error> {
    let shutdown = Shutdown::on_signals().map_err(Error::Process)?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let mut registry = metrics::registry();
    let ports = Ports::open(&settings).await?;
    let secure = ports
        .is_secure(&settings)
        .then(|| Secure::prepare(&settings, clock.as_ref()))
        .transpose()
        .map_err(|error| Error::Settings(error.into()))?;
    let requests = CountRequests::register(&mut registry);
    let client = client::build(&settings, requests.clone()).await?;
    let cluster_id = client::cluster_id(&settings, &client, &shutdown, clock.as_ref()).await?;
    let identity = leader::identity(&settings.pod_name, &mut fastrand::Rng::new());
    let election =
        Election::prepare(&settings, &identity, &requests, &clock, &mut registry).await?;
    let provider = crate::provider::measured::Metrics::new();
    provider.register(&mut registry);
    let reporter = Reporter::new(&settings.pod_name);
    let (events, writer) = EventQueue::new(
        KubeEvents::new(client.clone(), reporter),
        Arc::clone(&clock),
        EventMetrics::register(&mut registry),
    );
    let parts = Parts {
        events: Arc::new(events),
        cluster: KubeCluster::new(client.clone(), cluster_id.clone()),
        client,
        policy: policy(&settings, cluster_id),
        book: Arc::new(ConfigBook::default()),
        term: election.term(),
        queues: QueueMetrics::register(&mut registry),
        passes: PassMetrics::register(&mut registry),
        watches: WatchMetrics::register(&mut registry, Arc::clone(&clock)),
        provider,
        settings,
        log,
        identity,
        clock,
        shutdown,
    };
    let told = Telling::start(writer);
    work(parts, election, registry, (ports, secure), told).await
}

fn policy(settings: &Settings, cluster: ClusterId) -> Policy {
    Policy {
        process: Some(format!("{:016x}", fastrand::Rng::new().u64(..))),
        provisioning_deadline: settings.provisioning_deadline,
        instance_addresses: settings.instance_address_allow.clone(),
        ..Policy::new(cluster)
    }
}

/// Who is asked to stop takes no more requests.
fn ready_until_shutdown(ready: &Checks, shutdown: &Shutdown) {
    let draining = shutdown.clone();
    ready.add("shutdown", move || {
        if draining.is_draining() {
            Err("stopping".to_owned())
        } else {
            Ok(())
        }
    });
}

/// Runs watches and servers from the start, and workers while leading.
async fn work(
    parts: Parts,
    mut election: Election,
    mut registry: Registry,
    (ports, secure): (Ports, Option<Secure>),
    telling: Telling,
) -> Result<(), Error> {
    let machines = machines::Machines::new(&parts);
    let inventories = inventories::Inventories::new(&parts, &machines);
    let configs = configs::Configs::new(&parts, &machines, &inventories);
    gauges::register(&mut registry, &machines, &configs, &inventories);
    let mut tasks = tokio::task::JoinSet::new();
    let ready = Checks::new();
    let live = Checks::new();
    let watches = machines.watches(&parts, &configs, &ready);
    let watches = watches.into_iter().chain(configs.watches(&parts, &ready));
    for watch in watches.chain(children::watches(&parts, &machines, &ready)) {
        tasks.spawn(watch);
    }
    ready_until_shutdown(&ready, &parts.shutdown);
    machines.liveness(&live, parts.settings.pass_limit);
    liveness::watches(&live, &parts);
    liveness::election(&live, &parts, &election);
    let debug = debug::Debug::new(&parts, &machines, &configs, &inventories, &election);
    let pages = |gate| Pages {
        registry: Arc::new(registry),
        state: Box::new(move || debug.page()),
        log: parts.log.clone(),
        gate,
    };
    for server in ports.serve(&parts, pages, (live, ready), secure)? {
        tasks.spawn(server);
    }
    tokio::select! {
        () = election.acquire() => {}
        () = parts.shutdown.draining() => return Ok(()),
    }
    let _watchdog = election.watchdog(&parts.clock).map_err(Error::Process)?;
    let vm_workers = machines.start(&parts);
    let config_workers = configs.start(&parts);
    let canaries = machines.canaries(&parts);
    let lost = tokio::select! {
        lost = election.hold() => Some(lost),
        () = parts.shutdown.draining() => None,
        never = canaries => match never {},
    };
    if let Some(lost) = lost {
        // Exit at once: another process may lead in a moment, and dropping the tasks cuts every pass.
        return Err(Error::Lost(lost.into()));
    }
    let began = parts.clock.now();
    let grace = parts.settings.shutdown_grace;
    let drain = async {
        // The lease is kept while passes finish: nobody else may start before they have.
        tokio::join!(vm_workers.drain(grace), config_workers.drain(grace));
    };
    tokio::select! {
        () = drain => {}
        lost = election.hold() => return Err(Error::Lost(lost.into())),
        () = parts.shutdown.immediate() => return Ok(()),
    }
    // Who leads next need not wait for what is only told.
    tokio::join!(election.release(), telling.end(&parts, began + grace));
    tasks.shutdown().await;
    Ok(())
}

/// How often a canary passes through the queue, to show that workers turn (10 s).
const CANARY: Duration = Duration::from_secs(10);
