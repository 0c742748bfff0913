//! `vmctl control-plane`: the control plane of a test. It lives as long as this command, not a moment longer.

use std::path::PathBuf;

use serde::Serialize;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use super::binaries;
use super::child::Child;
use super::kept::Kept;
use super::plane::{Error, Options, Plane};
use crate::files;
use crate::hint::{Exit, Failure, chain};
use crate::output::{self, Talk};

/// Options of `vmctl control-plane`.
#[derive(Debug, clap::Args)]
#[group(id = "control-plane")]
pub(crate) struct Args {
    /// Directory for all files of the control plane; made when absent, continued when it has data
    #[arg(long)]
    dir: PathBuf,
    /// Record every request (who, what, when; no bodies) in this file
    #[arg(long, value_name = "FILE")]
    audit_log: Option<PathBuf>,
    /// Leave kube-controller-manager out
    #[arg(long)]
    no_controller_manager: bool,
    /// End when stdin is closed
    #[arg(long)]
    watch_stdin: bool,
    #[command(flatten)]
    find: binaries::Lookup,
}

/// The one line on stdout, also kept in DIR/control-plane.json.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Announcement {
    kubeconfig: PathBuf,
    server: String,
    kubectl: Option<PathBuf>,
    audit_log: Option<PathBuf>,
    etcd_pid: u32,
    apiserver_pid: u32,
    controller_manager_pid: Option<u32>,
}

/// What ended the wait.
enum Event {
    Stop,
    Restart,
    Failed(Error),
}

/// Runs the control plane until it is told to end.
///
/// # Errors
/// It cannot be started, or one of its programs ends by itself.
pub(crate) async fn run(args: Args) -> Result<(), Failure> {
    let talk = Talk::new(false);
    let mut stops = Stops::listen(args.watch_stdin)?;
    let mut restart = listen(SignalKind::user_defined1())?;
    files::private_dir(&args.dir).map_err(|error| files_failed(&error))?;
    let dir = std::path::absolute(&args.dir).map_err(|error| files_failed(&error))?;
    let Some(_lock) =
        files::Lock::try_take(&dir.join("lock")).map_err(|error| files_failed(&error))?
    else {
        return Err(Failure::new(
            Exit::Conflict,
            "VMC-LOCKED",
            format!("another control plane runs in {}", dir.display()),
        )
        .fix("choose another --dir, or end the other one"));
    };
    let audit_log = args
        .audit_log
        .map(std::path::absolute)
        .transpose()
        .map_err(|error| files_failed(&error))?;
    let starting = async {
        let binaries = binaries::find(&args.find, &talk).await?;
        let options = Options {
            dir,
            binaries,
            audit_log,
            controller_manager: !args.no_controller_manager,
        };
        let plane = Plane::start(options.clone()).await.map_err(plane_failed)?;
        Ok::<_, Failure>((options, plane))
    };
    let (options, mut plane) = tokio::select! {
        started = starting => started?,
        () = stops.next() => return Ok(()),
    };
    output::data(&announce(&options, &plane)?)?;
    let outcome = serve(&options, &mut plane, &mut stops, &mut restart).await;
    plane.stop().await;
    outcome
}

/// Runs until it is told to end, or something ends by itself.
async fn serve(
    options: &Options,
    plane: &mut Plane,
    stops: &mut Stops,
    restart: &mut tokio::signal::unix::Signal,
) -> Result<(), Failure> {
    loop {
        let event = tokio::select! {
            turned = plane.turn() => match turned {
                Ok(()) => continue,
                Err(error) => Event::Failed(error),
            },
            () = stops.next() => Event::Stop,
            _ = restart.recv() => Event::Restart,
        };
        match event {
            Event::Stop => return Ok(()),
            Event::Failed(error) => return Err(plane_failed(error)),
            Event::Restart => {
                plane.restart_api_server().await.map_err(plane_failed)?;
                announce(options, plane)?;
                Talk::new(false).line("kube-apiserver restarted");
            }
        }
    }
}

fn announce(options: &Options, plane: &Plane) -> Result<String, Failure> {
    let [etcd, api_server] = plane.pair();
    let controller_manager = plane.controller_manager().and_then(Kept::child);
    let announcement = Announcement {
        kubeconfig: options.kubeconfig(),
        server: plane.server(),
        kubectl: options.binaries.kubectl.clone(),
        audit_log: options.audit_log.clone(),
        etcd_pid: etcd.pid(),
        apiserver_pid: api_server.pid(),
        controller_manager_pid: controller_manager.map(Child::pid),
    };
    let line = serde_json::to_string(&announcement).map_err(|error| files_failed(&error))?;
    let file = options.dir.join("control-plane.json");
    files::write_private(&file, line.as_bytes()).map_err(|error| files_failed(&error))?;
    Ok(line)
}

/// Everything that tells us to end.
struct Stops {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
    hang_up: tokio::signal::unix::Signal,
    stdin: Option<oneshot::Receiver<()>>,
}

impl Stops {
    fn listen(watch_stdin: bool) -> Result<Self, Failure> {
        Ok(Self {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
            hang_up: listen(SignalKind::hangup())?,
            stdin: watch_stdin.then(stdin_closed),
        })
    }

    async fn next(&mut self) {
        let stdin = async {
            let Some(closed) = &mut self.stdin else {
                return std::future::pending().await;
            };
            let _ = closed.await;
        };
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            _ = self.hang_up.recv() => {}
            () = stdin => {}
        }
    }
}

/// Resolves when stdin is at its end. A thread of its own reads it: such a read cannot be given up, and at the end of
/// the process it does not have to be.
fn stdin_closed() -> oneshot::Receiver<()> {
    let (closed, receiver) = oneshot::channel();
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        let _ = closed.send(());
    });
    receiver
}

/// Listens for a signal from now on.
///
/// # Errors
/// The system refuses.
pub(crate) fn listen(kind: SignalKind) -> Result<tokio::signal::unix::Signal, Failure> {
    signal(kind).map_err(|error| {
        Failure::new(
            Exit::Failure,
            "VMC-SIGNAL",
            format!("cannot listen for signals: {error}"),
        )
    })
}

fn files_failed(error: &dyn std::error::Error) -> Failure {
    Failure::new(Exit::Environment, "VMC-FILES", chain(error))
        .fix("check that the directory can be written to")
}

pub(crate) fn plane_failed(error: Error) -> Failure {
    let tail = error.tail();
    Failure::new(Exit::Environment, "VMC-CONTROL-PLANE", chain(&error)).evidence(tail)
}
