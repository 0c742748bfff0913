//! `vmctl delete vm`: deletes and waits until each is gone, telling what it waits for.

mod going;

use super::choice::{self, Selectors};
use super::completion;
use super::confirm;
use super::duration::Limit;
use super::input::Input;
use super::interrupt::interruptible;
use super::problems::Problems;
use crate::cluster::ClusterArgs;
use crate::cluster::call::Collection;
use crate::cluster::kind::Kind;
use crate::cluster::object::Object;
use crate::hint::{Exit, Failure};
use crate::output;
use going::Going;

const EXAMPLES: &str = "\
Examples:
  vmctl delete vm web-1 web-2
  vmctl delete vm -l tier=front --timeout 10m
  vmctl delete vm --field-selector status.phase=Failed
  vmctl delete -f web-1.yaml --ignore-not-found
  vmctl delete vm --all --yes

Exits with 0 once they are gone, 3 when the time is over (the deletion goes on), 4 when there is no such object.";

/// Options of `vmctl delete`.
#[derive(Debug, clap::Args)]
#[group(id = "delete")]
#[command(before_help = EXAMPLES)]
pub(crate) struct Args {
    /// vm or pcfg, and names; or KIND/NAME
    #[arg(value_name = "KIND [NAME]", num_args = 1.., add = completion::objects())]
    words: Vec<String>,
    #[command(flatten)]
    selectors: Selectors,
    #[command(flatten)]
    input: Input,
    /// All of the namespace; asks for their number
    #[arg(long)]
    all: bool,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    /// Do not mind if one does not exist
    #[arg(long)]
    ignore_not_found: bool,
    /// Wait until they are gone
    #[arg(long, value_name = "true|false", default_value_t = true, num_args = 0..=1, require_equals = true,
        default_missing_value = "true", action = clap::ArgAction::Set)]
    wait: bool,
    /// Longest wait
    #[arg(long, value_name = "TIME", default_value = "5m")]
    timeout: Limit,
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// Deletes, waits, and says what came of it.
///
/// # Errors
/// See [`EXAMPLES`]; [`Exit::Conflict`] when it is not confirmed.
pub(crate) async fn run(mut args: Args) -> Result<(), Failure> {
    let kinds = [Kind::VirtualMachine, Kind::ProviderConfig];
    let named = choice::named(&args.words, &args.input, &kinds, &mut args.cluster).await?;
    let ways = usize::from(!named.names.is_empty())
        + usize::from(args.selectors.is_given())
        + usize::from(args.all);
    if ways != 1 {
        let cause = "say which ones: by names, by -l LABELS, by --field-selector FIELDS, or --all";
        return Err(Failure::new(Exit::Usage, "VMC-USAGE", cause).fix("vmctl delete vm NAME"));
    }
    let cluster = args.cluster.open().await?;
    confirm::may_change(&cluster, args.yes).await?;
    let machines = Collection::new(&cluster, named.kind);
    let ended = |exit| {
        let see = cluster.vmctl(&format!("get {}", named.kind.short()));
        Failure::new(
            exit,
            "VMC-INTERRUPTED",
            "interrupted; a deletion that was asked for goes on",
        )
        .fix(format!("see what is left: {see}"))
    };
    interruptible(delete(&args, &named.names, &machines), ended).await
}

async fn delete(args: &Args, names: &[String], machines: &Collection) -> Result<(), Failure> {
    let mut problems = Problems::default();
    let missing = args.ignore_not_found;
    let found = choice::objects(machines, names, &args.selectors, missing, &mut problems).await?;
    if names.is_empty() {
        confirmed(args, machines, found.len()).await?;
    }
    let mut going = Vec::new();
    for object in found {
        let (name, uid) = (Object(&object).name(), Object(&object).uid());
        match machines.delete(name, uid).await {
            Ok(_) => {
                going.push((uid.to_owned(), name.to_owned()));
            }
            // Somebody else was faster.
            Err(error) if error.is_absent(machines.kind) => told(machines, name, "deleted")?,
            Err(error) => problems.add(machines.failed(error)),
        }
    }
    if args.wait {
        let waited = Going::new(machines, going).wait(args.timeout).await;
        waited.unwrap_or_else(|failure| problems.add(failure));
    } else {
        for (_uid, name) in &going {
            told(machines, name, "is being deleted")?;
        }
    }
    problems.outcome()
}

/// Where names were not given, somebody must know how many it hits.
async fn confirmed(args: &Args, machines: &Collection, count: usize) -> Result<(), Failure> {
    if count == 0 {
        choice::say_nothing_found(Some(&machines.cluster.namespace));
    } else if args.all && !args.yes {
        confirm::ask(&question(count, machines), &count.to_string()).await?;
    }
    Ok(())
}

fn question(count: usize, machines: &Collection) -> String {
    let (cluster, plural) = (&machines.cluster, if count == 1 { "" } else { "s" });
    let gone = match machines.kind {
        Kind::VirtualMachine => ", gone at the provider, too",
        Kind::ProviderConfig | Kind::Event => "",
    };
    format!(
        "delete {count} {}{plural} in namespace {} of {}{gone}? type the number:",
        machines.kind.kind(),
        cluster.namespace,
        cluster.label
    )
}

fn told(machines: &Collection, name: &str, what: &str) -> Result<(), Failure> {
    output::data(&format!("{} \"{name}\" {what}", machines.kind.resource()))
}
