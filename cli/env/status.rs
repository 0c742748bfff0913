//! `vmctl status`: what of an environment runs, by looking.

mod kind;

use std::fmt::Write;
use std::time::Duration;

use serde_json::json;

use super::counts::Counts;
use super::report::Format;
use super::state::{ChildState, Phase, State};
use super::{Environment, Selection};
use crate::clock;
use crate::hint::{Exit, Failure};
use crate::output;
use crate::runtime::embedded::plane;
use crate::verbs::duration::Limit;
use crate::verbs::interrupt::interruptible;
use crate::verbs::progress::Progress;

const EXAMPLES: &str = "\
Examples:
  vmctl status
  vmctl status --wait --timeout 2m
  vmctl status --env team -o json

Exits with 0 when it is ready, 3 when something of it does not run, 4 when there is no such environment.";

/// How often an environment that is waited for is looked at.
const LOOK: Duration = Duration::from_millis(500);

/// Options of `vmctl status`.
#[derive(Debug, clap::Args)]
#[group(id = "status")]
#[command(before_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    selection: Selection,
    /// Form of the output
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    output: Format,
    /// Wait until it is ready
    #[arg(long)]
    wait: bool,
    /// Longest wait
    #[arg(long, value_name = "TIME", default_value = "5m", requires = "wait")]
    timeout: Limit,
}

/// Says how an environment is.
///
/// # Errors
/// [`Exit::NotFound`] when there is none, [`Exit::NotReady`] when something of it does not run.
pub(crate) async fn run(args: Args) -> Result<(), Failure> {
    let environment = Environment::at(&args.selection.name)?;
    let name = environment.name();
    let up = format!("vmctl up --env {name}");
    if !environment.dir().is_dir() {
        return Err(Failure::new(
            Exit::NotFound,
            "VMC-NO-ENVIRONMENT",
            format!("there is no environment {name}"),
        )
        .fix(up));
    }
    if args.wait {
        let ended = |exit| {
            let cause = "interrupted; nothing was changed";
            Failure::new(exit, "VMC-INTERRUPTED", cause)
                .fix(format!("wait again: vmctl status --wait --env {name}"))
        };
        interruptible(wait(&environment, args.timeout), ended).await?;
    }
    if let Some(record) = environment.kind()? {
        return kind::run(&environment, &record, args.output).await;
    }
    let lack = embedded(&environment).await?;
    let state = environment.state()?;
    let counts = match &lack {
        None => Some(Counts::of(&environment.client().await?).await),
        Some(_) => None,
    };
    match args.output {
        Format::Json => {
            let inside = counts.as_ref().map(Counts::as_json);
            let status = json!({ "inside": inside, "version": 1, "environment": name.as_str(), "ready": lack.is_none(), "lack": lack,
                "kubeconfig": environment.kubeconfig(), "state": state });
            output::data(&status.to_string())?;
        }
        Format::Text => {
            let mut text = text(&environment, state.as_ref(), lack.as_deref());
            for line in counts.iter().flat_map(Counts::lines) {
                text.push('\n');
                text.push_str(&output::clean(&line));
            }
            output::data(&text)?;
        }
    }
    verdict(&environment, lack)
}

/// Waits until it is ready or the time is over: how it is then, is looked at once more and told by the caller.
async fn wait(environment: &Environment, limit: Limit) -> Result<(), Failure> {
    let mut progress = Progress::new();
    let looking = async {
        loop {
            let lack = match environment.kind()? {
                Some(record) => kind::lack(environment, &record).await,
                None => embedded(environment).await?,
            };
            let Some(lack) = lack else { return Ok(()) };
            progress.tell(&format!("environment {}", environment.name()), &lack);
            progress.tick();
            clock::sleep(LOOK).await;
        }
    };
    tokio::time::timeout(limit.0, looking)
        .await
        .unwrap_or(Ok(()))
}

/// What an embedded environment lacks; `None` when it is ready.
async fn embedded(environment: &Environment) -> Result<Option<String>, Failure> {
    Ok(match environment.running()? {
        None => Some("the supervisor does not run".to_owned()),
        Some(state) => lack(environment, &state).await,
    })
}

fn verdict(environment: &Environment, lack: Option<String>) -> Result<(), Failure> {
    let Some(lack) = lack else {
        return Ok(());
    };
    let name = environment.name();
    let cause = format!("environment {name} is not ready: {lack}");
    Err(Failure::new(Exit::NotReady, "VMC-NOT-READY", cause).fix(format!("vmctl up --env {name}")))
}

/// What a running environment lacks; `None` when it is ready.
async fn lack(environment: &Environment, state: &State) -> Option<String> {
    match state.phase {
        Phase::Running => {}
        Phase::Starting => return Some("the control plane is being started".to_owned()),
        Phase::Restarting => return Some("the control plane is being started again".to_owned()),
        Phase::Failed => return Some("the control plane could not be started".to_owned()),
    }
    let dead = state.children.iter().find(|child| !is_alive(child));
    if let Some(child) = dead {
        return Some(format!("{} does not run", child.name));
    }
    match environment.client().await {
        Err(failure) => Some(failure.cause),
        Ok(client) => plane::not_ready(&client)
            .await
            .map(|lack| format!("the API server lacks {lack}")),
    }
}

fn is_alive(child: &ChildState) -> bool {
    child
        .process
        .as_ref()
        .is_some_and(crate::runtime::embedded::identity::Identity::is_alive)
}

fn text(environment: &Environment, state: Option<&State>, lack: Option<&str>) -> String {
    let mut text = format!(
        "environment {}: {}\n",
        environment.name(),
        lack.unwrap_or("ready")
    );
    let _ = writeln!(text, "kubeconfig   {}", environment.kubeconfig().display());
    let Some(state) = state else {
        return text.trim_end().to_owned();
    };
    let _ = writeln!(
        text,
        "API server   {} ({})",
        state.server.as_deref().unwrap_or("-"),
        state.kubernetes
    );
    if let Some(mock) = &state.mock {
        let _ = writeln!(
            text,
            "mock cloud   {} (admin {})",
            mock.endpoint, mock.admin
        );
    }
    if let Some(operator) = &state.operator {
        let _ = writeln!(
            text,
            "operator     {} (health {})",
            operator.metrics, operator.health
        );
    }
    text.push_str(&processes(state));
    text.trim_end().to_owned()
}

/// One line per process.
fn processes(state: &State) -> String {
    let supervisor = ChildState {
        name: "supervisor".to_owned(),
        process: Some(state.supervisor.clone()),
        restarts: 0,
        last_end: None,
    };
    let mut text = format!("{:<26} {:>8}  state  restarts\n", "process", "pid");
    for child in std::iter::once(&supervisor).chain(&state.children) {
        let process = child.process.as_ref();
        let pid = process.map_or("-".to_owned(), |process| process.pid.to_string());
        let alive = if is_alive(child) { "runs" } else { "dead" };
        let last = child.last_end.as_ref();
        let end = last.map_or(String::new(), |end| format!(" (last: {end})"));
        let _ = writeln!(
            text,
            "{:<26} {pid:>8}  {alive:<6} {}{end}",
            child.name, child.restarts
        );
    }
    text
}
