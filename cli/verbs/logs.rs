//! `vmctl logs`: what the programs of an environment wrote down, or all that was told about one VirtualMachine.

pub(super) mod line;
mod machine;
pub(super) mod tail;

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use super::completion;
use super::interrupt::{interruptible, reader_gone};
use crate::clock;
use crate::cluster::ClusterArgs;
use crate::cluster::kind::Kind;
use crate::env::Environment;
use crate::env::report::Format;
use crate::hint::{Exit, Failure};
use crate::output;
use line::{Subject, told};
use tail::Tail;

/// How often a log that is followed is looked at.
const LOOK: Duration = Duration::from_millis(200);
/// The program whose log is shown where none is named.
const OPERATOR: &str = "operator";

const EXAMPLES: &str = "\
Examples:
  vmctl logs vm web-1
  vmctl logs vm web-1 -n team -f
  vmctl logs
  vmctl logs -f --vm default/web-1
  vmctl logs kube-apiserver mock-provider --tail 20
  vmctl logs operator -o json | jq .

Of a VirtualMachine: the lines of every replica of the operator, the calls that reached the provider, and the events,
merged by time (UTC).";

/// Options of `vmctl logs`.
#[derive(Debug, clap::Args)]
#[group(id = "logs")]
#[command(before_help = EXAMPLES)]
pub(crate) struct Args {
    /// vm and a name; or programs: operator, mock-provider, kube-apiserver, etcd and so on
    #[arg(value_name = "vm NAME|PROGRAM", add = completion::objects())]
    programs: Vec<String>,
    /// Go on until Ctrl-C
    #[arg(short, long)]
    follow: bool,
    /// How many of the latest lines of each
    #[arg(long, value_name = "LINES", default_value_t = 100)]
    tail: usize,
    /// Only what is about this VirtualMachine
    #[arg(long, value_name = "[NAMESPACE/]NAME")]
    vm: Option<Subject>,
    /// Form of the output; json is each line as it was written
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    output: Format,
    #[command(flatten)]
    cluster: ClusterArgs,
}

impl Args {
    /// Whether a VirtualMachine is named, and no program.
    fn is_about_a_machine(&self) -> bool {
        let first = self.programs.first().map_or("", String::as_str);
        let kind = first.split('/').next().unwrap_or_default();
        Kind::of(kind) == Some(Kind::VirtualMachine)
    }
}

/// One log that is shown.
pub(super) struct Shown {
    /// In front of its lines, where several are shown.
    pub(super) name: Option<String>,
    pub(super) tail: Tail,
}

/// Shows logs.
///
/// # Errors
/// There is no such environment or log, or nobody reads any more.
pub(crate) async fn run(args: Args) -> Result<(), Failure> {
    if args.is_about_a_machine() {
        return machine::run(&args).await;
    }
    if args.cluster.is_by_hand() {
        let cause = "in a cluster made by hand only the logs of a VirtualMachine are shown";
        return Err(Failure::new(Exit::Usage, "VMC-USAGE", cause).fix("vmctl logs vm NAME"));
    }
    let environment = Environment::at(&args.cluster.environment_name()?)?;
    let mut logs = open(&environment, &args)?;
    let subject = args.vm.as_ref();
    for log in &mut logs {
        let lines = log.tail.last(args.tail);
        show(log.name.as_deref(), &lines, args.output, subject)?;
    }
    if !args.follow {
        return Ok(());
    }
    let following = async {
        tokio::select! {
            failure = follow(&mut logs, args.output, subject) => Err::<(), _>(failure),
            failure = reader_gone() => Err(failure),
        }
    };
    interruptible(following, Failure::ended).await
}

/// Shows what comes, until nobody reads any more.
pub(super) async fn follow(
    logs: &mut [Shown],
    format: Format,
    subject: Option<&Subject>,
) -> Failure {
    loop {
        if let Err(failure) = catch_up(logs, format, subject) {
            return failure;
        }
        clock::sleep(LOOK).await;
    }
}

/// Shows what has come since the last look.
///
/// # Errors
/// Nobody reads any more.
pub(super) fn catch_up(
    logs: &mut [Shown],
    format: Format,
    subject: Option<&Subject>,
) -> Result<(), Failure> {
    for log in logs {
        let lines = log.tail.news();
        show(log.name.as_deref(), &lines, format, subject)?;
    }
    Ok(())
}

fn show(
    name: Option<&str>,
    lines: &[String],
    format: Format,
    subject: Option<&Subject>,
) -> Result<(), Failure> {
    let about = |line: &&String| subject.is_none_or(|subject| subject.is_in(line));
    for line in lines.iter().filter(about) {
        let text = match format {
            Format::Json => output::clean(line),
            Format::Text => told(line),
        };
        match name.filter(|_| format == Format::Text) {
            Some(name) => output::data(&format!("{name:<14} {text}"))?,
            None => output::data(&text)?,
        }
    }
    Ok(())
}

fn open(environment: &Environment, args: &Args) -> Result<Vec<Shown>, Failure> {
    let name = environment.name();
    if environment.kind()?.is_some() {
        let cause = format!("the programs of environment {name} run in pods");
        let fix = format!(
            "about a VM: vmctl logs vm NAME --env {name}; all: vmctl kubectl --env {name} -n vmoperator-system logs \
             deploy/vmoperator-controller-manager"
        );
        return Err(Failure::new(Exit::Usage, "VMC-LOGS-IN-PODS", cause).fix(fix));
    }
    if !environment.dir().is_dir() {
        let cause = format!("there is no environment {name}");
        let up = format!("vmctl up --env {name}");
        return Err(Failure::new(Exit::NotFound, "VMC-NO-ENVIRONMENT", cause).fix(up));
    }
    let folder = environment.dir().join("logs");
    let there: BTreeSet<String> = fs::read_dir(&folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Some(entry.file_name().to_str()?.strip_suffix(".log")?.to_owned()))
        .collect();
    let mut wanted = args.programs.clone();
    if wanted.is_empty() {
        wanted.push(OPERATOR.to_owned());
    }
    if let Some(unknown) = wanted.iter().find(|one| !there.contains(*one)) {
        let unknown = output::clean(unknown);
        let cause = format!("environment {name} has no log of {unknown}");
        let all: Vec<&str> = there.iter().map(String::as_str).collect();
        let fix = format!("name one of these: {}", all.join(", "));
        return Err(Failure::new(Exit::NotFound, "VMC-NO-LOG", cause).fix(fix));
    }
    let several = wanted.len() > 1;
    let shown = |program: String| Shown {
        tail: Tail::of(folder.join(format!("{program}.log"))),
        name: several.then_some(program),
    };
    Ok(wanted.into_iter().map(shown).collect())
}
