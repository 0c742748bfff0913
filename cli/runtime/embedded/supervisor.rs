//! The one process that owns everything that runs for an environment, from `up` to `down`.
//!
//! It is told what is wanted by `plan.json` and SIGHUP, says how it is in `state.json`, and ends on SIGTERM. When it is
//! killed, the kernel kills its children; the next `up` starts over with the same data.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use futures::future::select_all;
use tokio::signal::unix::SignalKind;

use super::child::{self, Child};
use super::foreground::listen;
use super::identity::Identity;
use super::kept::Kept;
use super::log::{LIMIT, RotatingLog};
use super::plane::{self, Options, Plane};
use super::services;
use super::token::Credentials;
use crate::env::state::{ChildState, Phase, Plan, State};
use crate::hint::{Exit, Failure, chain};
use crate::{clock, files};

/// Name of the hidden subcommand.
pub(crate) const SUBCOMMAND: &str = "supervise";
/// Time for a service to end in order: the operator gives up its Lease, the mock writes its cloud.
const STOP_GRACE: Duration = Duration::from_secs(5);
/// First and longest pause before a control plane that ended is started again.
const PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));
/// A control plane that ran this long was healthy.
const HEALTHY: Duration = Duration::from_secs(60);

/// Options of the hidden subcommand.
#[derive(Debug, clap::Args)]
#[group(id = "supervise")]
pub(crate) struct Args {
    /// Directory of the environment
    #[arg(long)]
    dir: PathBuf,
}

/// Why the supervisor stops waiting.
enum Wake {
    Stop,
    Reload,
    PlaneFailed(plane::Error),
    ServiceChanged,
    TokenDue,
}

/// Runs an environment until it is told to end.
///
/// # Errors
/// Another supervisor has the environment, or the control plane cannot be started at all.
pub(crate) async fn run(args: Args) -> Result<(), Failure> {
    // The terminal of `up` must not take us along when it goes. Already a leader: as good.
    let _ = rustix::process::setsid();
    let failed = |error: &dyn std::error::Error| {
        Failure::new(Exit::Environment, "VMC-SUPERVISOR", chain(error))
    };
    let path = args.dir.join("supervisor.lock");
    let Some(_lock) = files::Lock::try_take(&path).map_err(|error| failed(&error))? else {
        return Err(Failure::new(
            Exit::Conflict,
            "VMC-LOCKED",
            "another supervisor has the environment",
        ));
    };
    files::private_dir(&args.dir.join("logs")).map_err(|error| failed(&error))?;
    let log = RotatingLog::open(&args.dir.join("logs").join("supervisor.log"), LIMIT)
        .map_err(|error| failed(&error))?;
    let plan = read_plan(&args.dir)?;
    let own =
        Identity::own().ok_or_else(|| failed(&std::io::Error::other("cannot read /proc/self")))?;
    let state = State {
        supervisor: own,
        phase: Phase::Starting,
        message: None,
        evidence: Vec::new(),
        kubernetes: plan.binaries.version.clone(),
        server: None,
        children: Vec::new(),
        mock: None,
        operator: None,
    };
    let supervisor = Supervisor {
        dir: args.dir,
        plan,
        log,
        state,
        mock: None,
        operator: None,
        token_due: None,
    };
    supervisor.run(Signals::listen()?).await
}

fn read_plan(dir: &Path) -> Result<Plan, Failure> {
    let damaged = |cause: String| Failure::new(Exit::Environment, "VMC-STATE", cause);
    let text =
        files::read_optional(&dir.join("plan.json")).map_err(|error| damaged(chain(&error)))?;
    let text = text.ok_or_else(|| damaged("there is no plan.json".to_owned()))?;
    serde_json::from_str(&text).map_err(|error| damaged(format!("plan.json is damaged: {error}")))
}

struct Supervisor {
    dir: PathBuf,
    plan: Plan,
    log: RotatingLog,
    state: State,
    mock: Option<Kept>,
    operator: Option<Kept>,
    token_due: Option<Instant>,
}

impl Supervisor {
    async fn run(mut self, mut signals: Signals) -> Result<(), Failure> {
        let (mut pause, mut first) = (PAUSES.0, true);
        loop {
            self.say(if first {
                Phase::Starting
            } else {
                Phase::Restarting
            });
            let started = clock::now();
            let error = match self.start_plane(&mut signals).await {
                None => return self.end(None).await,
                Some(Err(error)) if first => return self.give_up(error).await,
                Some(Err(error)) => error,
                Some(Ok(plane)) => match self.serve(plane, &mut signals).await {
                    None => return Ok(()),
                    Some(error) => error,
                },
            };
            first = false;
            if started.elapsed() >= HEALTHY {
                pause = PAUSES.0;
            }
            self.note(&format!(
                "the control plane is started again in {} ms: {}",
                pause.as_millis(),
                chain(&error)
            ));
            self.state.message = Some(chain(&error));
            self.state.evidence = error.tail();
            self.say(Phase::Restarting);
            tokio::select! {
                () = clock::sleep(pause) => pause = (pause * 2).min(PAUSES.1),
                () = signals.stop() => return self.end(None).await,
            }
        }
    }

    /// Starts the control plane; `None` when we are told to end meanwhile.
    async fn start_plane(&mut self, signals: &mut Signals) -> Option<Result<Plane, plane::Error>> {
        let options = Options {
            dir: self.dir.clone(),
            binaries: self.plan.binaries.clone(),
            audit_log: self.plan.audit_log.clone(),
            controller_manager: true,
        };
        tokio::select! {
            outcome = Plane::start(options) => Some(outcome),
            () = signals.stop() => None,
        }
    }

    /// Runs beside a control plane. `None` when we were told to end, and everything has; else why the plane ended.
    async fn serve(&mut self, mut plane: Plane, signals: &mut Signals) -> Option<plane::Error> {
        self.note(&format!("the control plane answers at {}", plane.server()));
        self.state.message = None;
        self.state.evidence = Vec::new();
        self.state.server = Some(plane.server());
        self.converge(&plane).await;
        loop {
            self.observe(&plane);
            match self.wake(&mut plane, signals).await {
                Wake::Stop => {
                    let _ = self.end(Some(plane)).await;
                    return None;
                }
                Wake::PlaneFailed(error) => {
                    // What is left of it ends in the same breath.
                    plane.stop().await;
                    return Some(error);
                }
                Wake::Reload => {
                    match read_plan(&self.dir) {
                        Ok(plan) => self.plan = plan,
                        Err(failure) => self.note(&failure.cause),
                    }
                    self.converge(&plane).await;
                }
                Wake::TokenDue => {
                    self.renew_token(&plane).await;
                }
                Wake::ServiceChanged => {}
            }
        }
    }

    async fn wake(&mut self, plane: &mut Plane, signals: &mut Signals) -> Wake {
        let token = self.token_due;
        let services = [&mut self.mock, &mut self.operator].into_iter().flatten();
        let mut turns: Vec<_> = services.map(|kept| Box::pin(kept.turn())).collect();
        let service = async {
            if turns.is_empty() {
                return std::future::pending().await;
            }
            select_all(&mut turns).await;
        };
        let due = async {
            match token {
                Some(due) => clock::sleep(due.saturating_duration_since(clock::now())).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            told = signals.next() => told,
            turned = plane.turn() => turned.map_or_else(Wake::PlaneFailed, |()| Wake::ServiceChanged),
            () = service => Wake::ServiceChanged,
            () = due => Wake::TokenDue,
        }
    }

    /// Starts what is wanted and does not run, and ends an operator that is not wanted any more; a service that cannot stay up gets other ports.
    async fn converge(&mut self, plane: &Plane) {
        let down = |kept: &Option<Kept>| kept.as_ref().is_none_or(|kept| kept.child().is_none());
        if self.plan.mock && down(&self.mock) {
            match services::start_mock(&self.dir) {
                Ok((kept, state)) => (self.mock, self.state.mock) = (Some(kept), Some(state)),
                Err(error) => self.note(&format!(
                    "cannot start the mock provider: {}",
                    chain(&error)
                )),
            }
        }
        if !self.plan.operator
            && let Some(mut unwanted) = self.operator.take()
        {
            unwanted.stop(STOP_GRACE).await;
        }
        if self.plan.operator && down(&self.operator) && self.renew_token(plane).await {
            match services::start_operator(&self.dir, &Credentials::of(&self.dir).kubeconfig()) {
                Ok((kept, state)) => {
                    (self.operator, self.state.operator) = (Some(kept), Some(state))
                }
                Err(error) => self.note(&format!("cannot start the operator: {}", chain(&error))),
            }
        }
    }

    async fn renew_token(&mut self, plane: &Plane) -> bool {
        let renewed = Credentials::of(&self.dir)
            .renew(plane.client(), &plane.server(), plane.pki())
            .await;
        if let Err(error) = &renewed {
            self.note(&chain(error));
        }
        self.token_due = Some(clock::now() + Credentials::pause(renewed.is_ok()));
        renewed.is_ok()
    }

    /// Publishes who runs now, if that changed.
    fn observe(&mut self, plane: &Plane) {
        let kept = plane
            .controller_manager()
            .into_iter()
            .chain(&self.mock)
            .chain(&self.operator);
        let mut children: Vec<_> = plane.pair().into_iter().map(running).collect();
        children.extend(kept.map(|kept| ChildState {
            name: kept.name().to_owned(),
            process: kept.child().and_then(Child::identity).cloned(),
            restarts: kept.restarts(),
            last_end: kept.last_end().map(str::to_owned),
        }));
        if self.state.children != children {
            self.state.children = children;
        }
        self.say(Phase::Running);
    }

    async fn give_up(&mut self, error: plane::Error) -> Result<(), Failure> {
        self.note(&format!("gave up: {}", chain(&error)));
        self.state.message = Some(chain(&error));
        self.state.evidence = error.tail();
        self.say(Phase::Failed);
        Err(super::foreground::plane_failed(error))
    }

    /// Ends everything in order: the operator may still write, the mock still answer it, the API server still listen.
    async fn end(&mut self, plane: Option<Plane>) -> Result<(), Failure> {
        self.note("told to end");
        for service in [&mut self.operator, &mut self.mock].into_iter().flatten() {
            service.stop(STOP_GRACE).await;
        }
        if let Some(plane) = plane {
            plane.stop().await;
        }
        Ok(())
    }

    /// Writes the state if it differs from what is there.
    fn say(&mut self, phase: Phase) {
        self.state.phase = phase;
        let text = serde_json::to_vec_pretty(&self.state).unwrap_or_default();
        if let Err(error) = files::write_if_changed(&self.dir.join("state.json"), &text) {
            self.note(&chain(&error));
        }
    }

    fn note(&mut self, text: &str) {
        // Nobody reads along; a log that cannot be written must not end what works.
        let _ = self
            .log
            .line(format!("{} {text}\n", clock::timestamp()).as_bytes());
    }
}

fn running(child: &Child) -> ChildState {
    ChildState {
        name: child.name().to_owned(),
        process: child.identity().cloned(),
        restarts: 0,
        last_end: None,
    }
}

/// The signals that a supervisor listens to.
struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
    reload: tokio::signal::unix::Signal,
}

impl Signals {
    fn listen() -> Result<Self, Failure> {
        Ok(Self {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
            reload: listen(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) -> Wake {
        tokio::select! {
            _ = self.terminate.recv() => Wake::Stop,
            _ = self.interrupt.recv() => Wake::Stop,
            _ = self.reload.recv() => Wake::Reload,
        }
    }

    /// Only the order to end; a wish to look at the plan stays noted until it can be heeded.
    async fn stop(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// Starts a supervisor that outlives us. It finds its plan in the directory.
///
/// # Errors
/// The process cannot be made.
pub(crate) fn spawn(dir: &Path) -> Result<std::process::Child, Failure> {
    let failed = |error: std::io::Error| {
        Failure::new(
            Exit::Environment,
            "VMC-SUPERVISOR",
            format!("cannot start the supervisor: {error}"),
        )
    };
    // Only a crash ends up here, its own words go to its log.
    let last_words =
        std::fs::File::create(dir.join("logs").join("supervisor.stderr")).map_err(failed)?;
    child::again()
        .arg(SUBCOMMAND)
        .arg("--dir")
        .arg(dir)
        .env(child::MARKER, dir)
        .current_dir("/")
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .stderr(last_words)
        .spawn()
        .map_err(failed)
}
