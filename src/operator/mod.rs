//! Assembly: builds every part, wires watch → queue → workers, and ends the process in good order.

mod children;
mod client;
mod configs;
mod connect;
mod election;
mod gauges;
mod inventories;
mod machines;

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use futures::future::BoxFuture;
use prometheus_client::registry::Registry;

use crate::controller::configs::ConfigBook;
use crate::controller::events::{EventMetrics, EventQueue, EventSink, KubeEvents, Reporter};
use crate::controller::kube::KubeCluster;
use crate::domain::{ClusterId, Term};
use crate::lifecycle::Policy;
use crate::runtime::clock::{Clock, SystemClock};
use crate::runtime::failpoint;
use crate::runtime::metrics::{PassMetrics, QueueMetrics, WatchMetrics};
use crate::runtime::shutdown::Shutdown;
use crate::settings::Settings;
use crate::telemetry::health::Checks;
use crate::telemetry::requests::CountRequests;
use crate::telemetry::{log, metrics, server};

use election::Election;

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
    log::init(settings.format(), &settings.log_level).map_err(|e| settings_error(e.into()))?;
    // An error says that a provider is installed already, by a program that embeds us: as good.
    drop(rustls::crypto::ring::default_provider().install_default());
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(Error::Process)?;
    let result = runtime.block_on(run(settings));
    // A pass that blocks its thread cannot be cut, and must not hold up the end either.
    runtime.shutdown_background();
    result
}

/// Everything that the parts share.
struct Parts {
    settings: Settings,
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

async fn run(settings: Settings) -> Result<(), Error> {
    let shutdown = Shutdown::on_signals().map_err(Error::Process)?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let mut registry = metrics::registry();
    let ports = Ports::open(&settings).await?;
    let requests = CountRequests::register(&mut registry);
    let client = client::build(&settings, requests.clone()).await?;
    let cluster_id = client::cluster_id(&settings, &client, &shutdown, clock.as_ref()).await?;
    let election = Election::prepare(&settings, &requests, &clock, &mut registry).await?;
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
        clock,
        shutdown,
    };
    work(parts, election, registry, ports, Box::pin(writer.run())).await
}

fn policy(settings: &Settings, cluster: ClusterId) -> Policy {
    Policy {
        provisioning_deadline: settings.provisioning_deadline,
        instance_addresses: settings.instance_address_allow.clone(),
        ..Policy::new(cluster)
    }
}

/// Runs watches and servers from the start, and workers while leading.
async fn work(
    parts: Parts,
    mut election: Election,
    mut registry: Registry,
    ports: Ports,
    events: Task,
) -> Result<(), Error> {
    let machines = machines::Machines::new(&parts);
    let inventories = inventories::Inventories::new(&parts, &machines);
    let configs = configs::Configs::new(&parts, &machines, &inventories);
    gauges::register(&mut registry, &machines, &configs, &inventories);
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(events);
    let ready = Checks::new();
    let live = Checks::new();
    for watch in machines.watches(&parts, &configs, &ready) {
        tasks.spawn(watch);
    }
    for watch in configs.watches(&parts, &ready) {
        tasks.spawn(watch);
    }
    for watch in children::watches(&parts, &machines, &ready) {
        tasks.spawn(watch);
    }
    let draining = parts.shutdown.clone();
    ready.add("shutdown", move || {
        if draining.is_draining() {
            Err("stopping".to_owned())
        } else {
            Ok(())
        }
    });
    machines.liveness(&live);
    let state = debug_state(&machines, &inventories, &election);
    for server in ports.serve(registry, state, live, ready, &parts.shutdown) {
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
    election.release().await;
    tasks.shutdown().await;
    Ok(())
}

/// The ports, opened before anything else starts, so that a wrong one is known at once.
struct Ports {
    metrics: Option<tokio::net::TcpListener>,
    health: Option<tokio::net::TcpListener>,
}

type Task = BoxFuture<'static, ()>;

impl Ports {
    async fn open(settings: &Settings) -> Result<Self, Error> {
        let open = async |flag: &'static str, text: &str| -> Result<_, server::Error> {
            Ok(match server::parse_address(flag, text)? {
                Some(address) => Some(server::listen(flag, address).await?),
                None => None,
            })
        };
        let wrong = |error: server::Error| Error::Settings(error.into());
        Ok(Self {
            metrics: open("--metrics-bind-address", &settings.metrics_bind_address)
                .await
                .map_err(wrong)?,
            health: open(
                "--health-probe-bind-address",
                &settings.health_probe_bind_address,
            )
            .await
            .map_err(wrong)?,
        })
    }

    fn serve(
        self,
        registry: Registry,
        state: impl Fn() -> serde_json::Value + Send + Sync + 'static,
        live: Checks,
        ready: Checks,
        shutdown: &Shutdown,
    ) -> Vec<Task> {
        let mut tasks: Vec<Task> = Vec::new();
        let mut add = |listener: Option<tokio::net::TcpListener>, router| {
            let Some(listener) = listener else { return };
            if let Ok(address) = listener.local_addr() {
                tracing::info!(%address, "serving");
            }
            let stop = shutdown.clone();
            tasks.push(Box::pin(async move {
                let stop = async move { stop.immediate().await };
                if let Err(error) = server::serve(listener, router, stop).await {
                    tracing::error!(%error, "a server ended");
                }
            }));
        };
        add(
            self.metrics,
            server::metrics_router(Arc::new(registry), state),
        );
        add(self.health, server::health_router(live, ready));
        tasks
    }
}

fn debug_state(
    machines: &machines::Machines,
    inventories: &inventories::Inventories,
    election: &Election,
) -> impl Fn() -> serde_json::Value + Send + Sync + 'static {
    let (queue, leader) = (machines.queue(), election.status());
    let inventories = inventories.clone();
    move || {
        serde_json::json!({
            "leader": leader.as_ref().map(|status| serde_json::json!({
                "identity": status.identity(),
                "leading": status.is_leading(),
                "holder": status.holder(),
            })),
            "inventories": inventories.snapshot(),
            "queue": machines::snapshot(&queue),
        })
    }
}

/// How often a canary passes through the queue, to show that workers turn (10 s).
const CANARY: Duration = Duration::from_secs(10);
