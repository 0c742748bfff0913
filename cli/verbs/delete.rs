//! `vmctl delete vm`: deletes and waits until each is gone, telling what it waits for.

mod going;

use serde_json::Value;

use super::confirm;
use super::duration::Limit;
use super::interrupt::interruptible;
use crate::cluster::call::{Collection, Filter, Form, taken};
use crate::cluster::kind::{Kind, Named};
use crate::cluster::object::Object;
use crate::cluster::{Cluster, ClusterArgs};
use crate::hint::{Exit, Failure};
use crate::output::{self, Talk};
use going::Going;

const EXAMPLES: &str = "\
Examples:
  vmctl delete vm web-1 web-2
  vmctl delete vm -l tier=front --timeout 10m
  vmctl delete vm --all --yes

Exits with 0 once they are gone, 3 when the time is over (the deletion goes on), 4 when there is no such object.";

/// Options of `vmctl delete`.
#[derive(Debug, clap::Args)]
#[group(id = "delete")]
#[command(before_help = EXAMPLES)]
pub(crate) struct Args {
    /// vm and names, or vm/NAME
    #[arg(value_name = "KIND [NAME]", required = true, num_args = 1..)]
    words: Vec<String>,
    /// All with these labels
    #[arg(short = 'l', long, value_name = "LABELS", conflicts_with = "all")]
    selector: Option<String>,
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
pub(crate) async fn run(args: Args) -> Result<(), Failure> {
    let named = Named::parse(&args.words, &[Kind::VirtualMachine])?;
    let ways = usize::from(!named.names.is_empty())
        + usize::from(args.selector.is_some())
        + usize::from(args.all);
    if ways != 1 {
        let cause = "say which VirtualMachines: by names, by -l LABELS, or --all";
        return Err(Failure::new(Exit::Usage, "VMC-USAGE", cause).fix("vmctl delete vm NAME"));
    }
    let cluster = args.cluster.open().await?;
    confirm::may_change(&cluster, args.yes).await?;
    let machines = Collection::new(&cluster, Kind::VirtualMachine);
    let ended = |exit| {
        let see = cluster.vmctl("get vm");
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
    let found = if names.is_empty() {
        all(args, machines).await?
    } else {
        these(args, names, machines, &mut problems).await?
    };
    let mut going = Vec::new();
    for object in found {
        let (name, uid) = (Object(&object).name(), Object(&object).uid());
        match machines.delete(name, uid).await {
            Ok(_) => {
                going.push((uid.to_owned(), name.to_owned()));
            }
            // Somebody else was faster.
            Err(error) if error.is_absent(Kind::VirtualMachine) => told(machines, name, "deleted")?,
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

/// The named objects that exist.
async fn these(
    args: &Args,
    names: &[String],
    machines: &Collection,
    problems: &mut Problems,
) -> Result<Vec<Value>, Failure> {
    let mut found = Vec::new();
    for name in names {
        match machines.get(name, Form::Objects).await {
            Ok(object) => found.push(object),
            Err(error) if error.is_absent(Kind::VirtualMachine) && args.ignore_not_found => {}
            Err(error) if error.is_absent(Kind::VirtualMachine) => {
                problems.add(machines.failed(error))
            }
            Err(error) => return Err(machines.failed(error)),
        }
    }
    Ok(found)
}

/// All objects, or those with the labels.
async fn all(args: &Args, machines: &Collection) -> Result<Vec<Value>, Failure> {
    let filter = Filter {
        labels: args.selector.clone(),
        name: None,
    };
    let list = machines.list(&filter, Form::Objects).await;
    let mut list = list.map_err(|error| machines.failed(error))?;
    let found = match taken(&mut list, "items") {
        Value::Array(found) => found,
        _none => Vec::new(),
    };
    if found.is_empty() {
        Talk::new(false).line(&format!(
            "No resources found in {} namespace.",
            machines.cluster.namespace
        ));
    } else if args.all && !args.yes {
        let count = found.len();
        confirm::ask(&question(count, &machines.cluster), &count.to_string()).await?;
    }
    Ok(found)
}

fn question(count: usize, cluster: &Cluster) -> String {
    format!(
        "delete {count} VirtualMachine{} in namespace {} of {}, gone at the provider, too? type the number:",
        if count == 1 { "" } else { "s" },
        cluster.namespace,
        cluster.label
    )
}

fn told(machines: &Collection, name: &str, what: &str) -> Result<(), Failure> {
    output::data(&format!("{} \"{name}\" {what}", machines.kind.resource()))
}

/// Failures of several objects: each is told, the first decides how the command ends.
#[derive(Debug, Default)]
struct Problems {
    first: Option<Failure>,
    others: Vec<Failure>,
}

impl Problems {
    fn add(&mut self, failure: Failure) {
        if self.first.is_none() {
            self.first = Some(failure);
        } else {
            self.others.push(failure);
        }
    }

    fn outcome(self) -> Result<(), Failure> {
        for other in &self.others {
            output::failure(other);
        }
        self.first.map_or(Ok(()), Err)
    }
}
