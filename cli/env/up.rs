//! `vmctl up`: makes an environment so that a VirtualMachine can be created in it right now.

mod choice;

use std::time::Duration;

use tokio::signal::unix::SignalKind;

use choice::Choice;

use super::down;
use super::drift::Drift;
use super::journal::Event;
use super::report::{Format, Outcome, Report};
use super::steps::Steps;
use super::steps::kind::Options;
use super::{Environment, Selection, context, rehearsal, summary};
use crate::hint::{Exit, Failure, chain};
use crate::output::{self, Talk};
use crate::runtime::embedded::binaries::Lookup;
use crate::runtime::embedded::foreground::listen;
use crate::{clock, diag, failpoint, files};

/// Where an environment can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Runtime {
    /// As pods of a kind cluster.
    Kind,
    /// As processes on this machine.
    Embedded,
}

impl Runtime {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Kind => "kind",
            Self::Embedded => "embedded",
        }
    }

    /// Steps that are always taken; the smoke test comes on top.
    fn steps(self) -> usize {
        match self {
            Self::Kind => 12,
            Self::Embedded => 11,
        }
    }
}

const EXAMPLES: &str = "\
Examples:
  vmctl up
  vmctl up --env team --smoke
  vmctl up --dry-run
  vmctl up --offline -o json
  export KUBECONFIG=$(vmctl up --quiet)

Run it again at any time: what is as it should be stays as it is. Interrupted, it goes on where it was.";

/// How often a step that takes long is told.
const TICK: Duration = Duration::from_secs(1);

/// Options of `vmctl up`.
#[derive(Debug, clap::Args)]
#[group(id = "up")]
#[command(before_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    selection: Selection,
    /// Where the environment runs [default: kind where it can make a cluster, else embedded]
    #[arg(long, env = "VMCTL_RUNTIME", hide_env_values = true, value_enum)]
    runtime: Option<Runtime>,
    #[command(flatten)]
    lookup: Lookup,
    /// Make a VirtualMachine and remove it, as the first `up` does
    #[arg(long)]
    smoke: bool,
    /// Where it differs in what cannot be changed in place, remove the environment and make it anew; its data is lost
    #[arg(long)]
    recreate: bool,
    /// Say what would be done; nothing is made, written, fetched or started
    #[arg(long, conflicts_with_all = ["recreate", "quiet", "use_context"])]
    dry_run: bool,
    /// Record every request (who, what, when; no bodies) in the environment's logs; heeded at its first start
    #[arg(long)]
    audit_log: bool,
    /// Make its context the current one of your own kubeconfig, which is otherwise never touched; `down` puts it back
    #[arg(long)]
    use_context: bool,
    /// Form of the output
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    output: Format,
    /// Print nothing but the path of the kubeconfig
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    kind: Options,
}

/// Converges an environment.
///
/// # Errors
/// A step fails, or a signal cuts the run off; what was made stays, and the next run goes on from there.
pub(crate) async fn run(args: Args) -> Result<(), Failure> {
    failpoint::check()?;
    let environment = Environment::at(&args.selection.name)?;
    if args.dry_run {
        return rehearse(&args, &environment).await;
    }
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut terminate = listen(SignalKind::terminate())?;
    let mut hang_up = listen(SignalKind::hangup())?;
    let drift = settled(&args, &environment).await?;
    files::private_dir(environment.dir()).map_err(|error| {
        Failure::new(Exit::Environment, "VMC-FILES", chain(&error))
            .fix("set XDG_STATE_HOME to a directory of yours")
    })?;
    let _lock = environment.lock()?;
    let choice = Choice::make(&args, &environment).await?;
    let runtime = choice.runtime;
    if runtime == Runtime::Kind && args.audit_log {
        let cause = "--audit-log is for the runtime embedded alone";
        return Err(Failure::new(Exit::Usage, "VMC-USAGE", cause)
            .fix("leave it out, or add --runtime embedded"));
    }
    let smoke = args.smoke || !is_proven(&environment, runtime)?;
    let total = runtime.steps() + usize::from(smoke);
    let mut report = Report::new(args.output, args.quiet, total);
    let talk = report.talk();
    let options = choice.options(&args.kind);
    let mut steps = Steps::new(&environment, &args.lookup, args.audit_log, &options, talk);
    let journal = steps.journal.clone();
    let converging = converge(choice, &mut report, &mut steps, smoke);
    let exit = tokio::select! {
        outcome = converging => {
            let runtime = match outcome {
                Ok(runtime) => runtime,
                Err(failure) => {
                    journal.write("up", Event::Failed, &failure.cause);
                    return Err(packed(&environment, failure, Talk::new(args.quiet)).await);
                }
            };
            if args.use_context {
                talk.line(&context::adopt(&environment).await?);
            }
            return summary(&args, &environment, runtime, &report, &drift);
        }
        _ = interrupt.recv() => Exit::Interrupted,
        _ = terminate.recv() => Exit::Terminated,
        _ = hang_up.recv() => Exit::HungUp,
    };
    journal.write("up", Event::Interrupted, "by a signal");
    Err(interrupted(&environment, exit))
}

/// A failure, told beside an archive of all that is known. One that comes of a closed pipe is told nobody.
async fn packed(environment: &Environment, failure: Failure, talk: Talk) -> Failure {
    if !failure.is_silent()
        && let Some(path) = diag::of_failure(environment).await
    {
        talk.line(&format!(
            "diagnostics, without credentials: {}",
            path.display()
        ));
    }
    failure
}

/// What would be done.
async fn rehearse(args: &Args, environment: &Environment) -> Result<(), Failure> {
    let drift = Drift::find(environment, &args.lookup, args.audit_log).await;
    let runtime = Choice::make(args, environment).await?.runtime;
    let smoke = args.smoke || !is_proven(environment, runtime)?;
    let talk = Talk::new(true);
    let steps = Steps::new(environment, &args.lookup, args.audit_log, &args.kind, talk);
    let rehearsal = rehearsal::of(environment, &args.lookup, &args.kind, steps, runtime, smoke);
    rehearsal.await?.print(environment, &drift, args.output)
}

/// What cannot be given to the environment in place: told, or with `--recreate` settled by removing it first.
async fn settled(args: &Args, environment: &Environment) -> Result<Drift, Failure> {
    let drift = Drift::find(environment, &args.lookup, args.audit_log).await;
    let talk = Talk::new(args.quiet || args.output == Format::Json);
    if args.recreate && drift.is_some() {
        drift.tell(&talk, None);
        down::remove(environment, false, &talk).await?;
        return Ok(Drift::default());
    }
    drift.tell(&talk, Some(environment));
    Ok(drift)
}

/// Whether a VirtualMachine was made and removed in it before.
fn is_proven(environment: &Environment, runtime: Runtime) -> Result<bool, Failure> {
    Ok(match runtime {
        Runtime::Embedded => environment.plan()?.is_some_and(|plan| plan.proven),
        Runtime::Kind => environment.kind()?.is_some_and(|record| record.proven),
    })
}

fn interrupted(environment: &Environment, exit: Exit) -> Failure {
    let name = environment.name();
    let cause = "interrupted; what was made so far is kept";
    Failure::new(exit, "VMC-INTERRUPTED", cause).fix(format!(
        "go on with: vmctl up --env {name}; remove it with: vmctl down --env {name}"
    ))
}

/// Takes all steps, and says where the environment runs now.
async fn converge(
    choice: Choice,
    report: &mut Report,
    steps: &mut Steps<'_>,
    smoke: bool,
) -> Result<Runtime, Failure> {
    match choice.runtime {
        Runtime::Embedded => converge_embedded(report, steps, smoke).await?,
        Runtime::Kind => match make_cluster(report, steps).await {
            Ok(()) => fill_cluster(report, steps, smoke).await?,
            Err(failure) if choice.gives_way_to(&failure) => {
                choice::give_up(report, steps, &failure, smoke).await?;
                converge_embedded(report, steps, smoke).await?;
                return Ok(Runtime::Embedded);
            }
            Err(failure) => return Err(failure),
        },
    }
    Ok(choice.runtime)
}

/// As far as the machine may refuse.
async fn make_cluster(report: &mut Report, steps: &mut Steps<'_>) -> Result<(), Failure> {
    step(report, "preflight", steps.kind_preflight()).await?;
    step(report, "images", steps.kind_images()).await?;
    step(report, "cluster", steps.kind_cluster()).await
}

async fn fill_cluster(
    report: &mut Report,
    steps: &mut Steps<'_>,
    smoke: bool,
) -> Result<(), Failure> {
    step(report, "api", steps.kind_api()).await?;
    step(report, "load", steps.kind_load()).await?;
    step(report, "definitions", steps.definitions()).await?;
    step(report, "rights", steps.rights()).await?;
    step(report, "mock-provider", steps.mock_pods()).await?;
    step(report, "provider-config", steps.pods_provider_config()).await?;
    step(report, "operator", steps.operator_pods()).await?;
    step(report, "admission", steps.admission()).await?;
    if smoke {
        step(report, "smoke", steps.smoke()).await?;
        steps.kind_proven()?;
    }
    step(report, "kubeconfig", steps.kubeconfig()).await
}

async fn converge_embedded(
    report: &mut Report,
    steps: &mut Steps<'_>,
    smoke: bool,
) -> Result<(), Failure> {
    step(report, "preflight", steps.preflight()).await?;
    step(report, "tools", steps.tools()).await?;
    step(report, "control-plane", steps.control_plane()).await?;
    step(report, "api", steps.api()).await?;
    step(report, "definitions", steps.definitions()).await?;
    step(report, "rights", steps.rights()).await?;
    step(report, "mock-provider", steps.mock_provider()).await?;
    step(report, "provider-config", steps.provider_config()).await?;
    step(report, "operator", steps.operator()).await?;
    step(report, "admission", steps.admission()).await?;
    if smoke {
        step(report, "smoke", steps.smoke()).await?;
    }
    step(report, "kubeconfig", steps.kubeconfig()).await
}

async fn step(
    report: &mut Report,
    name: &'static str,
    act: impl Future<Output = Result<Outcome, Failure>>,
) -> Result<(), Failure> {
    let began = report.begin(name)?;
    let mut act = std::pin::pin!(act);
    let outcome = loop {
        tokio::select! {
            outcome = &mut act => break outcome,
            () = clock::sleep(TICK) => report.tick(name, began)?,
        }
    };
    report.end(name, began, &outcome)?;
    outcome?;
    failpoint::reach(name).await;
    Ok(())
}

/// The result of a run, in the form that was asked for.
fn summary(
    args: &Args,
    environment: &Environment,
    runtime: Runtime,
    report: &Report,
    drift: &Drift,
) -> Result<(), Failure> {
    if args.quiet {
        return output::data(&environment.kubeconfig().display().to_string());
    }
    let facts = match runtime {
        Runtime::Embedded => summary::embedded(environment)?,
        Runtime::Kind => summary::kind(environment)?,
    };
    output::data(&match args.output {
        Format::Text => summary::text(environment, report, &facts),
        Format::Json => summary::json(environment, report, &facts, drift.lines()).to_string(),
    })
}
