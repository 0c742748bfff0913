//! `vmctl delete vm`: deletes and waits until each is gone, telling what it waits for.

use std::collections::BTreeMap;

use serde_json::Value;
use vmoperator::api::condition::ConditionType;

use super::advice::advice;
use super::confirm;
use super::duration::Limit;
use super::interrupt::interruptible;
use super::progress::Progress;
use crate::cluster::call::{Collection, Filter, Form, taken};
use crate::cluster::follow::{Change, Follow, Item};
use crate::cluster::kind::{Kind, Named};
use crate::cluster::object::Object;
use crate::cluster::{Cluster, ClusterArgs};
use crate::hint::{Exit, Failure};
use crate::output::{self, Talk};

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
    confirm::may_change(&cluster, args.yes)?;
    let machines = Collection::new(&cluster, Kind::VirtualMachine);
    let ended = |exit| {
        let see = cluster.vmctl("get vm");
        Failure::new(
            exit,
            "VMC-INTERRUPTED",
            "interrupted; what is being deleted goes on being deleted",
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
    let mut going = BTreeMap::new();
    for object in found {
        let (name, uid) = (Object(&object).name(), Object(&object).uid());
        match machines.delete(name, uid).await {
            Ok(_) => {
                going.insert(uid.to_owned(), name.to_owned());
            }
            // Somebody else was faster.
            Err(error) if error.is_absent(Kind::VirtualMachine) => told(machines, name, "deleted")?,
            Err(error) => problems.add(machines.failed(error)),
        }
    }
    if args.wait {
        Going {
            machines,
            open: going,
            last: BTreeMap::new(),
        }
        .wait(args.timeout)
        .await
        .unwrap_or_else(|failure| problems.add(failure));
    } else {
        for name in going.values() {
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
        confirm::ask(&question(count, &machines.cluster), &count.to_string())?;
    }
    Ok(found)
}

fn question(count: usize, cluster: &Cluster) -> String {
    format!(
        "delete {count} VirtualMachines in namespace {} of {}, and their machines at the provider? type their number:",
        cluster.namespace, cluster.label
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

/// Objects on their way out, by uid.
struct Going<'a> {
    machines: &'a Collection,
    open: BTreeMap<String, String>,
    /// How each was last seen, by uid.
    last: BTreeMap<String, Value>,
}

impl Going<'_> {
    async fn wait(mut self, limit: Limit) -> Result<(), Failure> {
        if self.open.is_empty() {
            return Ok(());
        }
        let name = (self.open.len() == 1)
            .then(|| self.open.values().next().cloned())
            .flatten();
        let filter = Filter { name, labels: None };
        let mut follow = Follow::new(self.machines.clone(), filter, Form::Objects);
        let mut progress = Progress::new();
        let waited =
            tokio::time::timeout(limit.0, self.until_gone(&mut follow, &mut progress)).await;
        drop(progress);
        waited.unwrap_or_else(|_elapsed| Err(self.timed_out(limit, follow.is_cut())))
    }

    async fn until_gone(
        &mut self,
        follow: &mut Follow,
        progress: &mut Progress,
    ) -> Result<(), Failure> {
        let mut seen = Vec::new();
        let mut first = true;
        while !self.open.is_empty() {
            match progress.next(follow).await? {
                Change::Present(item) => {
                    seen.push(Object(&item.object).uid().to_owned());
                    self.present(item, progress);
                }
                Change::Gone(item) => self.gone(Object(&item.object).uid(), progress)?,
                // Those that the first list lacks were gone before we looked.
                Change::Listed if first => {
                    first = false;
                    let open: Vec<String> = self.open.keys().cloned().collect();
                    for uid in open.iter().filter(|uid| !seen.contains(uid)) {
                        self.gone(uid, progress)?;
                    }
                }
                Change::Listed | Change::Columns(_) | Change::Cut(_) | Change::Back => {}
            }
        }
        Ok(())
    }

    fn present(&mut self, item: Item, progress: &mut Progress) {
        let object = Object(&item.object);
        if let Some(name) = self.open.get(object.uid()) {
            progress.tell(name, &object.story());
            self.last.insert(object.uid().to_owned(), item.object);
        }
    }

    fn gone(&mut self, uid: &str, progress: &mut Progress) -> Result<(), Failure> {
        match self.open.remove(uid) {
            Some(name) => {
                progress.done(&name, "gone");
                told(self.machines, &name, "deleted")
            }
            None => Ok(()),
        }
    }

    fn timed_out(&self, limit: Limit, cut: bool) -> Failure {
        let cluster = &self.machines.cluster;
        let names: Vec<&str> = self.open.values().map(String::as_str).collect();
        let again = cluster.vmctl(&format!("wait vm {} --for delete", names.join(" ")));
        if cut {
            let cause = format!(
                "the API server has not answered for a while, {limit} are over ({})",
                cluster.label
            );
            return Failure::new(Exit::Unreachable, "VMC-API", cause)
                .fix(format!("wait again once it answers: {again}"));
        }
        let story = |(uid, name): (&String, &String)| {
            let story = self
                .last
                .get(uid)
                .map_or("not seen".to_owned(), |last| Object(last).story());
            format!("{name}: {story}")
        };
        let stories: Vec<String> = self.open.iter().map(story).collect();
        let cause = format!(
            "not gone after {limit}, the deletion goes on: {}",
            stories.join("; ")
        );
        let held = self.last.values().find_map(|last| {
            let reason = Object(last)
                .condition(ConditionType::Deleting.as_str())?
                .reason;
            Some(advice(reason, Object(last).name(), cluster))
        });
        let fix = match held {
            Some(advice) if self.open.len() == 1 => format!("{advice}; go on waiting: {again}"),
            Some(_) | None => format!("go on waiting: {again}"),
        };
        Failure::new(Exit::NotReady, "VMC-TIMEOUT", cause).fix(fix)
    }
}
