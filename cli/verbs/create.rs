//! `vmctl create vm`: makes VirtualMachines, waits for them phase by phase, and exits by outcome.

mod ready;
mod wanted;

use serde_json::Value;
use vmoperator::api::DEFAULT_PROVIDER;
use vmoperator::domain::Quantity;

use super::confirm;
use super::duration::Limit;
use super::input::Input;
use super::interrupt::interruptible;
use super::problems::Problems;
use crate::cluster::call::{Collection, Error, Form};
use crate::cluster::kind::Kind;
use crate::cluster::object::{Object, reference};
use crate::cluster::print::{self, Encoding};
use crate::cluster::{Cluster, ClusterArgs};
use crate::hint::{Exit, Failure};
use crate::output;
use ready::Ready;

/// How often a name that is taken and free in turn is tried.
const ATTEMPTS: usize = 5;

const EXAMPLES: &str = "\
Examples:
  vmctl create vm web-1 --image ubuntu-22.04 --cpu 2 --memory 4Gi
  vmctl create vm web-1 --image ubuntu-22.04 --cpu 2 --memory 4Gi --if-absent -o name
  vmctl create vm web-1 --image ubuntu-22.04 --cpu 2 --memory 4Gi --dry-run=client -o yaml > web-1.yaml
  vmctl create vm web --count 3 --image ubuntu-22.04 --cpu 2 --memory 4Gi
  vmctl create -f web-1.yaml
  vmctl create -f - --if-absent < vms.yaml

Exits with 0 once it is Ready, 1 when it waits for a person, 3 when the time is over, 5 when it exists already. Of
several each has its own result, and the first failure decides.";

/// What is only tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum DryRun {
    /// Print the object; no cluster is asked.
    Client,
    /// Let the API server check the object; nothing is stored.
    Server,
}

/// Options of `vmctl create`.
#[derive(Debug, clap::Args)]
#[group(id = "create")]
#[command(before_help = EXAMPLES)]
pub(crate) struct Args {
    /// vm and a name, or vm/NAME
    #[arg(value_name = "KIND NAME", required_unless_present = "filename", conflicts_with = "filename", num_args = 1..=2)]
    words: Vec<String>,
    #[command(flatten)]
    input: Input,
    /// The provider's name of the image to boot from
    #[arg(long, required_unless_present = "filename", conflicts_with = "filename",
        value_parser = clap::builder::NonEmptyStringValueParser::new())]
    image: Option<String>,
    /// Number of virtual CPUs
    #[arg(long, required_unless_present = "filename", conflicts_with = "filename",
        value_parser = clap::value_parser!(u32).range(1..=512))]
    cpu: Option<u32>,
    /// Memory, such as 512Mi or 4Gi
    #[arg(long, required_unless_present = "filename", conflicts_with = "filename", value_parser = Quantity::parse)]
    memory: Option<Quantity>,
    /// ProviderConfig whose cloud runs it
    #[arg(long, value_name = "NAME", conflicts_with = "filename", default_value = DEFAULT_PROVIDER)]
    provider: String,
    /// Make so many, named NAME-1, NAME-2 and so on
    #[arg(long, value_name = "NUMBER", conflicts_with = "filename", value_parser = clap::value_parser!(u32).range(1..=1000))]
    count: Option<u32>,
    /// Wait until it is Ready
    #[arg(long, value_name = "true|false", default_value_t = true, num_args = 0..=1, require_equals = true,
        default_missing_value = "true", action = clap::ArgAction::Set)]
    wait: bool,
    /// Longest wait
    #[arg(long, value_name = "TIME", default_value = "5m")]
    timeout: Limit,
    /// Only try it
    #[arg(long, value_name = "WHERE", value_enum)]
    dry_run: Option<DryRun>,
    /// Succeed if it exists already with the same image, cpu, memory and provider
    #[arg(long)]
    if_absent: bool,
    /// Print the object, in the end, in this form
    #[arg(short, long, value_enum)]
    output: Option<Encoding>,
    /// Do not ask before work on a cluster that is no environment of vmctl
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// Creates, waits, and says what came of it.
///
/// # Errors
/// By outcome, see [`EXAMPLES`]; [`Exit::Unreachable`] when the API server does not answer.
pub(crate) async fn run(mut args: Args) -> Result<(), Failure> {
    let mut objects = wanted::objects(&mut args).await?;
    if args.dry_run == Some(DryRun::Client) {
        let namespace = args.cluster.namespace_or_default()?;
        wanted::place(&mut objects, namespace);
        return printed(&args, objects, "created (dry run)");
    }
    let cluster = args.cluster.open().await?;
    wanted::place(&mut objects, &cluster.namespace);
    if args.dry_run.is_none() {
        confirm::may_change(&cluster, args.yes).await?;
    }
    let ended = |exit| interrupted(exit, &objects, &cluster);
    interruptible(create(&args, &objects, &cluster), ended).await
}

async fn create(args: &Args, wanted: &[Value], cluster: &Cluster) -> Result<(), Failure> {
    let machines = Collection::new(cluster, Kind::VirtualMachine);
    let dry_run = args.dry_run == Some(DryRun::Server);
    let wait = args.wait && !dry_run;
    let mut problems = Problems::default();
    let mut objects = Vec::new();
    for wanted in wanted {
        match made(&machines, wanted, args.if_absent, dry_run).await {
            Ok((object, word)) => {
                let note = if dry_run { " (server dry run)" } else { "" };
                if args.output.is_none() {
                    let reference = reference(Kind::VirtualMachine, Object(&object).name());
                    output::data(&format!("{reference} {word}{note}"))?;
                }
                objects.push(object);
            }
            Err(failure) => {
                let hopeless = failure.exit == Exit::Unreachable;
                problems.add(failure);
                if hopeless {
                    break;
                }
            }
        }
    }
    if wait {
        objects = Ready::new(&machines, &objects)
            .wait(args.timeout, &mut problems)
            .await?;
    }
    if let Some(encoding) = args.output {
        shown(objects, wanted.len() > 1, encoding)?;
    }
    problems.outcome()
}

/// The object as it was created, or as it was there and the same, and a word for which of them.
async fn made(
    machines: &Collection,
    wanted: &Value,
    if_absent: bool,
    dry_run: bool,
) -> Result<(Value, &'static str), Failure> {
    let name = Object(wanted).name();
    let mut refusal = None;
    for _attempt in 0..ATTEMPTS {
        match machines.create(wanted, dry_run).await {
            Ok(object) => return Ok((object, "created")),
            Err(error) if error.is_taken() && if_absent => {
                refusal = Some(machines.failed(error));
            }
            Err(error) => return Err(refused(machines, error, name)),
        }
        match machines.get(name, Form::Objects).await {
            Ok(present) => return unchanged(machines, wanted, present),
            // It went in between, so that it can be made now.
            Err(error) if error.is_absent(Kind::VirtualMachine) => {}
            Err(error) => return Err(machines.failed(error)),
        }
    }
    let cause = format!("VirtualMachine {name} comes and goes");
    Err(refusal.unwrap_or_else(|| Failure::new(Exit::Conflict, "VMC-CONFLICT", cause)))
}

fn refused(machines: &Collection, error: Error, name: &str) -> Failure {
    let cluster = &machines.cluster;
    let sent = error.code().is_none();
    let failure = machines.failed(error);
    if sent && failure.exit == Exit::Unreachable {
        // The request may have arrived though its answer did not.
        let look = cluster.vmctl(&format!("get vm {name}"));
        let server = failure.fix.clone().unwrap_or_default();
        return failure.fix(format!("{server}; whether it was created shows: {look}"));
    }
    failure
}

fn unchanged(
    machines: &Collection,
    wanted: &Value,
    present: Value,
) -> Result<(Value, &'static str), Failure> {
    let (cluster, name) = (&machines.cluster, Object(wanted).name());
    if Object(&present).is_deleting() {
        let cause = format!(
            "VirtualMachine {name} exists and is being deleted ({})",
            cluster.label
        );
        let wait = cluster.vmctl(&format!("wait vm {name} --for delete"));
        return Err(Failure::new(Exit::Conflict, "VMC-DELETING", cause)
            .fix(format!("run the command again when it is gone: {wait}")));
    }
    let differing = differences(&present["spec"], &wanted["spec"]);
    if differing.is_empty() {
        return Ok((present, "unchanged"));
    }
    let cause = format!(
        "VirtualMachine {name} exists with another spec ({})",
        cluster.label
    );
    Err(Failure::new(Exit::Conflict, "VMC-DIFFERENT", cause)
        .evidence(differing)
        .fix(format!(
            "choose another name, ask for what is there, or delete it first: {}",
            cluster.vmctl(&format!("delete vm {name}"))
        )))
}

/// What is asked for and is otherwise in the object that is there, a line each.
fn differences(present: &Value, wanted: &Value) -> Vec<String> {
    let fields = wanted.as_object().into_iter().flatten();
    let lines = fields.filter_map(|(field, wanted)| {
        let present = &present[field];
        let quantity = |value: &Value| Quantity::parse(value.as_str().unwrap_or_default()).ok();
        let same = present == wanted
            || field == "memory"
                && quantity(present).is_some()
                && quantity(present) == quantity(wanted);
        (!same).then(|| {
            format!(
                "spec.{field}: {} there, {} wanted",
                text(present),
                text(wanted)
            )
        })
    });
    lines.collect()
}

fn text(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

fn interrupted(exit: Exit, objects: &[Value], cluster: &Cluster) -> Failure {
    let names: Vec<&str> = objects.iter().map(|one| Object(one).name()).collect();
    let (what, names) = match names.as_slice() {
        [name] => (format!("VirtualMachine {name}"), (*name).to_owned()),
        several => (
            format!("what was created of {} VirtualMachines", several.len()),
            several.join(" "),
        ),
    };
    let watch = cluster.vmctl(&format!("get vm {names} -w"));
    let delete = cluster.vmctl(&format!("delete vm {names}"));
    let cause = format!("interrupted; {what} goes on being made");
    Failure::new(exit, "VMC-INTERRUPTED", cause)
        .fix(format!("watch it: {watch}; delete it: {delete}"))
}

fn printed(args: &Args, objects: Vec<Value>, word: &str) -> Result<(), Failure> {
    if let Some(encoding) = args.output {
        let several = objects.len() > 1;
        return shown(objects, several, encoding);
    }
    for object in &objects {
        let reference = reference(Kind::VirtualMachine, Object(object).name());
        output::data(&format!("{reference} {word}"))?;
    }
    Ok(())
}

/// One object as it is, several as a list.
fn shown(mut objects: Vec<Value>, several: bool, encoding: Encoding) -> Result<(), Failure> {
    if several {
        return print::list(objects, Kind::VirtualMachine, encoding);
    }
    match objects.pop() {
        Some(object) => print::object(object, Kind::VirtualMachine, encoding),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn another_spelling_of_the_same_memory_is_no_difference() {
        let wanted =
            json!({ "image": "a", "cpu": 2, "memory": "4096Mi", "providerRef": "default" });
        let mut present = json!({ "image": "a", "cpu": 2, "memory": "4Gi", "providerRef": "default", "service": {} });
        assert_eq!(differences(&present, &wanted), Vec::<String>::new());
        present["memory"] = json!("4G");
        present["cpu"] = json!(4);
        present["image"] = Value::Null;
        let lines = [
            "spec.cpu: 4 there, 2 wanted",
            "spec.image: null there, a wanted",
            "spec.memory: 4G there, 4096Mi wanted",
        ];
        assert_eq!(differences(&present, &wanted), lines);
    }
}
