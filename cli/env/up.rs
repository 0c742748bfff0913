//! `vmctl up`: makes an environment so that a VirtualMachine can be created in it right now.

use std::time::Duration;

use serde_json::json;
use tokio::signal::unix::SignalKind;

use super::down;
use super::drift::Drift;
use super::journal::Event;
use super::report::{Format, Outcome, Report, Taken};
use super::state::{Plan, State};
use super::steps::Steps;
use super::{Environment, Selection};
use crate::hint::{Exit, Failure, chain};
use crate::output::{self, Talk};
use crate::runtime::embedded::binaries::Lookup;
use crate::runtime::embedded::foreground::listen;
use crate::{clock, failpoint, files};

/// Where an environment can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Runtime {
    /// As processes on this machine.
    Embedded,
}

const EXAMPLES: &str = "\
Examples:
  vmctl up
  vmctl up --env team --smoke
  vmctl up --offline -o json
  export KUBECONFIG=$(vmctl up --quiet)

Run it again at any time: what is as it should be stays as it is. Interrupted, it goes on where it was.";

/// Options of `vmctl up`.
#[derive(Debug, clap::Args)]
#[group(id = "up")]
#[command(before_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    selection: Selection,
    /// Where the environment runs
    #[arg(long, value_enum, default_value_t = Runtime::Embedded)]
    runtime: Runtime,
    #[command(flatten)]
    lookup: Lookup,
    /// Make a VirtualMachine and remove it, as the first `up` does
    #[arg(long)]
    smoke: bool,
    /// Where it differs in what cannot be changed in place, remove the environment and make it anew; its data is lost
    #[arg(long)]
    recreate: bool,
    /// Record every request (who, what, when; no bodies) in the environment's logs; heeded at its first start
    #[arg(long)]
    audit_log: bool,
    /// Form of the output
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    output: Format,
    /// Print nothing but the path of the kubeconfig
    #[arg(short, long)]
    quiet: bool,
}

/// How often a step that takes long is told.
const TICK: Duration = Duration::from_secs(1);
/// Steps that are always taken; the smoke test comes on top.
const STEPS: usize = 11;

/// Converges an environment.
///
/// # Errors
/// A step fails, or a signal cuts the run off; what was made stays, and the next run goes on from there.
pub(crate) async fn run(args: Args) -> Result<(), Failure> {
    failpoint::check()?;
    let environment = Environment::at(&args.selection.name)?;
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut terminate = listen(SignalKind::terminate())?;
    let mut hang_up = listen(SignalKind::hangup())?;
    let drift = Drift::find(&environment, &args.lookup, args.audit_log).await;
    let talk = Talk::new(args.quiet || args.output == Format::Json);
    if args.recreate && drift.is_some() {
        drift.tell(&talk, None);
        down::remove(&environment, false, &talk).await?;
    }
    files::private_dir(environment.dir()).map_err(|error| {
        Failure::new(Exit::Environment, "VMC-FILES", chain(&error))
            .fix("set XDG_STATE_HOME to a directory of yours")
    })?;
    let _lock = environment.lock()?;
    let smoke = args.smoke || environment.plan()?.is_none_or(|plan| !plan.proven);
    let total = STEPS + usize::from(smoke);
    let mut report = Report::new(args.output, args.quiet, total);
    if !args.recreate {
        drift.tell(&talk, Some(&environment));
    }
    let mut steps = Steps::new(&environment, &args.lookup, args.audit_log, report.talk());
    let journal = steps.journal.clone();
    let exit = tokio::select! {
        outcome = converge(&mut report, &mut steps, smoke) => {
            let failed = |failure: &Failure| journal.write("up", Event::Failed, &failure.cause);
            outcome.inspect_err(failed)?;
            let drift = if args.recreate { Drift::default() } else { drift };
            return summary(&args, &environment, &report, &drift);
        }
        _ = interrupt.recv() => Exit::Interrupted,
        _ = terminate.recv() => Exit::Terminated,
        _ = hang_up.recv() => Exit::HungUp,
    };
    journal.write("up", Event::Interrupted, "by a signal");
    let name = environment.name();
    Err(Failure::new(
        exit,
        "VMC-INTERRUPTED",
        "interrupted; what was made so far is kept",
    )
    .fix(format!(
        "go on with: vmctl up --env {name}; remove it with: vmctl down --env {name}"
    )))
}

async fn converge(report: &mut Report, steps: &mut Steps<'_>, smoke: bool) -> Result<(), Failure> {
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
    report: &Report,
    drift: &Drift,
) -> Result<(), Failure> {
    let kubeconfig = environment.kubeconfig();
    if args.quiet {
        return output::data(&kubeconfig.display().to_string());
    }
    let (Some(state), Some(plan)) = (environment.running()?, environment.plan()?) else {
        let cause = "the environment ended meanwhile";
        return Err(Failure::new(Exit::Environment, "VMC-NOT-RUNNING", cause));
    };
    let unchanged = !report.taken().iter().any(|taken| taken.changed);
    match args.output {
        Format::Text => output::data(&text(environment, report, &state, &plan, unchanged)),
        Format::Json => {
            let summary = json!({
                "version": 1, "type": "summary", "environment": environment.name().as_str(),
                "runtime": "embedded", "kubernetes": state.kubernetes, "server": state.server,
                "kubeconfig": kubeconfig, "mockProvider": state.mock, "operator": state.operator,
                "unchanged": unchanged, "drift": drift.lines(), "seconds": report.elapsed().as_secs_f64(),
                "vmctl": env!("CARGO_PKG_VERSION"),
                "controllerManager": plan.binaries.controller_manager.is_some(),
            });
            output::data(&summary.to_string())
        }
    }
}

fn text(
    environment: &Environment,
    report: &Report,
    state: &State,
    plan: &Plan,
    unchanged: bool,
) -> String {
    let name = environment.name();
    let mut slowest = report.taken().to_vec();
    slowest.sort_by_key(|taken| std::cmp::Reverse(taken.time));
    let told = |taken: &Taken| format!("{} {:.1} s", taken.step, taken.time.as_secs_f64());
    let slowest: Vec<String> = slowest.iter().take(3).map(told).collect();
    let verdict = if unchanged {
        "is up, unchanged"
    } else {
        "is up"
    };
    let (seconds, slowest) = (report.elapsed().as_secs_f64(), slowest.join(", "));
    let mut lines = vec![
        format!("environment {name} {verdict} ({seconds:.1} s; slowest: {slowest})"),
        "  runtime     embedded: there are no nodes, so pods do not run".to_owned(),
    ];
    if plan.binaries.controller_manager.is_none() {
        lines.push(
            "              no kube-controller-manager: owned objects are not collected,".to_owned(),
        );
        lines.push("              namespaces do not finish deleting".to_owned());
    }
    lines.push(format!(
        "  versions    Kubernetes {}, vmctl {}",
        state.kubernetes,
        env!("CARGO_PKG_VERSION")
    ));
    lines.push(format!(
        "  API server  {}",
        state.server.as_deref().unwrap_or_default()
    ));
    lines.push(format!(
        "  kubeconfig  {}",
        environment.kubeconfig().display()
    ));
    lines.push("next:".to_owned());
    let vm = "web-1 --image ubuntu-22.04 --cpu 2 --memory 4Gi";
    lines.push(format!("  vmctl create vm {vm} --env {name}"));
    lines.push(format!("  vmctl get vm --env {name} -o wide"));
    lines.push(format!("  vmctl down --env {name}"));
    lines.join("\n")
}
