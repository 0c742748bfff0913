//! `vmctl run`: the operator of this very build in the foreground against an environment, in place of its own.

use std::convert::Infallible;
use std::ffi::OsString;
use std::time::Duration;

use futures::future::{join_all, select_all};
use tokio::signal::unix::{Signal, SignalKind};

use super::interrupt::reader_gone;
use super::logs::tail::Tail;
use super::logs::{Shown, catch_up, follow};
use crate::clock;
use crate::env::report::Format;
use crate::env::{Environment, Selection};
use crate::hint::{Exit, Failure, chain};
use crate::output::Talk;
use crate::runtime::embedded::foreground::listen;
use crate::runtime::embedded::kept::Kept;
use crate::runtime::embedded::services;

/// Names of replicas, which are also those of their logs.
const NAMES: [&str; 9] = [
    "run-1", "run-2", "run-3", "run-4", "run-5", "run-6", "run-7", "run-8", "run-9",
];
/// Time for a replica to end in order: longer than it gives its passes.
const STOP_GRACE: Duration = Duration::from_secs(30);
/// How often it is looked whether the environment's own operator has ended.
const POLL: Duration = Duration::from_millis(100);
/// How often, at most: a minute.
const LOOKS: usize = 600;

const EXAMPLES: &str = "\
Examples:
  vmctl run
  vmctl run --replicas 3
  vmctl run -- --log-level=debug --concurrency=32";

/// Options of `vmctl run`.
#[derive(Debug, clap::Args)]
#[group(id = "run")]
#[command(before_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    selection: Selection,
    /// How many; one of them leads
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=9))]
    replicas: u8,
    /// Form of the log; json is each line as it was written
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    output: Format,
    /// Further options of the operator
    #[arg(last = true, value_name = "OPTIONS")]
    options: Vec<OsString>,
}

/// Runs replicas until Ctrl-C; then the environment's own operator takes over again.
///
/// # Errors
/// The environment is not up or not of this kind, or a replica cannot be started.
pub(crate) async fn run(args: Args) -> Result<(), Failure> {
    let environment = Environment::open(&args.selection.name)?;
    let name = environment.name();
    if environment.plan()?.is_none() {
        let cause = format!(
            "the operator of environment {name} runs in pods, and its provider answers pods alone"
        );
        let fix = "make an embedded one: vmctl up --runtime embedded --env NAME";
        return Err(Failure::new(Exit::Environment, "VMC-RUN-IN-PODS", cause).fix(fix));
    }
    // Nobody makes or removes the environment meanwhile.
    let _lock = environment.lock()?;
    let (talk, mut ends) = (Talk::new(false), Ends::listen()?);
    own_operator(&environment, false)?;
    let outcome = in_its_place(&environment, &args, talk, &mut ends).await;
    own_operator(&environment, true)?;
    talk.line(&format!("environment {name} has its own operator again"));
    outcome
}

async fn in_its_place(
    environment: &Environment,
    args: &Args,
    talk: Talk,
    ends: &mut Ends,
) -> Result<(), Failure> {
    tokio::select! {
        ended = until_ended(environment) => ended?,
        exit = ends.next() => return Err(Failure::ended(exit)),
    }
    let (mut replicas, mut logs) = start(environment, args, talk)?;
    let failure = tokio::select! {
        failure = follow(&mut logs, args.output, None) => failure,
        failure = reader_gone() => failure,
        never = keep(&mut replicas, talk) => match never {},
        exit = ends.next() => Failure::ended(exit),
    };
    talk.line("the replicas finish what is under way; once more to end them at once");
    tokio::select! {
        _ = join_all(replicas.iter_mut().map(|one| one.stop(STOP_GRACE))) => {}
        _ = ends.next() => {}
    }
    // Their last words, where anybody still reads.
    let _ = catch_up(&mut logs, args.output, None);
    Err(failure)
}

/// Says whether the environment's own operator is wanted, and tells its supervisor.
fn own_operator(environment: &Environment, wanted: bool) -> Result<(), Failure> {
    let Some(mut plan) = environment.plan()? else {
        return Ok(());
    };
    plan.operator = wanted;
    if environment.set_plan(&plan)?
        && let Some(state) = environment.running()?
    {
        state.supervisor.signal(rustix::process::Signal::HUP);
    }
    Ok(())
}

/// Waits until the environment's own operator has ended: its ports are free then, and its Lease.
async fn until_ended(environment: &Environment) -> Result<(), Failure> {
    for _look in 0..LOOKS {
        let state = environment.running()?;
        let runs = state.is_some_and(|state| {
            let mut children = state.children.iter();
            children.any(|child| child.name == "operator")
        });
        if !runs {
            return Ok(());
        }
        clock::sleep(POLL).await;
    }
    let cause = "the environment's own operator does not end";
    let fix = format!("vmctl status --env {}", environment.name());
    Err(Failure::new(Exit::Environment, "VMC-RUN-OPERATOR", cause).fix(fix))
}

fn start(
    environment: &Environment,
    args: &Args,
    talk: Talk,
) -> Result<(Vec<Kept>, Vec<Shown>), Failure> {
    let failed =
        |error: services::Error| Failure::new(Exit::Environment, "VMC-RUN-OPERATOR", chain(&error));
    let (mut replicas, mut logs) = (Vec::new(), Vec::new());
    for (number, name) in NAMES
        .into_iter()
        .enumerate()
        .take(usize::from(args.replicas))
    {
        let path = environment.dir().join("logs").join(format!("{name}.log"));
        logs.push(Shown {
            name: (args.replicas > 1).then(|| name.to_owned()),
            tail: Tail::at_the_end(path),
        });
        // Whoever looks for the environment's operator finds the first one in its place.
        let in_place = number == 0;
        let replica = services::start_replica(environment.dir(), name, in_place, &args.options);
        replicas.push(replica.map_err(failed)?);
        talk.line(&format!("{name} started"));
    }
    Ok((replicas, logs))
}

/// Starts replicas again that end, as a kubelet would, and tells of it.
async fn keep(replicas: &mut [Kept], talk: Talk) -> Infallible {
    loop {
        let turns = replicas.iter_mut().map(|replica| Box::pin(replica.turn()));
        let (_, which, others) = select_all(turns).await;
        drop(others);
        if let Some(replica) = replicas.get(which) {
            let name = replica.name();
            match (replica.child(), replica.last_end()) {
                (Some(_), _) => talk.line(&format!("{name} started again")),
                (None, why) => talk.line(&format!("{name} ended: {}", why.unwrap_or_default())),
            }
        }
    }
}

/// The signals that end us.
struct Ends {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Ends {
    fn listen() -> Result<Self, Failure> {
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hang_up: listen(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) -> Exit {
        tokio::select! {
            _ = self.interrupt.recv() => Exit::Interrupted,
            _ = self.terminate.recv() => Exit::Terminated,
            _ = self.hang_up.recv() => Exit::HungUp,
        }
    }
}
