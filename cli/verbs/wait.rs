//! `vmctl wait`: until a condition holds, a phase is reached, or an object is gone.

mod goal;

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::choice::{self, Selectors};
use super::completion;
use super::duration::Limit;
use super::input::Input;
use super::interrupt::interruptible;
use super::problems::Problems;
use super::progress::Progress;
use crate::cluster::call::{Collection, Filter, Form};
use crate::cluster::follow::{Change, Follow, Item};
use crate::cluster::kind::Kind;
use crate::cluster::object::{Object, reference};
use crate::cluster::{Cluster, ClusterArgs};
use crate::hint::{Exit, Failure};
use crate::output;
use goal::Goal;

const EXAMPLES: &str = "\
Examples:
  vmctl wait vm web-1 --for condition=Ready
  vmctl wait vm web-1 web-2 --for phase=Running --timeout 10m
  vmctl wait vm web-1 --for delete
  vmctl wait vm -l tier=front --for condition=Ready

Exits with 0 once it is so, 3 when the time is over, 4 when there is no such object. What speaks of an older
generation of the spec does not count.";

/// How long one look may take.
const LOOK: Duration = Duration::from_secs(30);

/// Options of `vmctl wait`.
#[derive(Debug, clap::Args)]
#[group(id = "wait")]
#[command(before_help = EXAMPLES)]
pub(crate) struct Args {
    /// vm or pcfg, and names; or KIND/NAME
    #[arg(value_name = "KIND NAME", num_args = 1.., add = completion::objects())]
    words: Vec<String>,
    #[command(flatten)]
    selectors: Selectors,
    #[command(flatten)]
    input: Input,
    /// All that exist in the namespace
    #[arg(long)]
    all: bool,
    /// condition=TYPE[=STATUS], phase=PHASE or delete
    #[arg(long = "for", value_name = "GOAL")]
    goal: Goal,
    /// Longest wait; 0 looks once
    #[arg(long, value_name = "TIME", default_value = "5m")]
    timeout: Limit,
    #[command(flatten)]
    cluster: ClusterArgs,
}

/// Waits.
///
/// # Errors
/// See [`EXAMPLES`]; [`Exit::Unreachable`] when the API server does not answer.
pub(crate) async fn run(mut args: Args) -> Result<(), Failure> {
    let kinds = [Kind::VirtualMachine, Kind::ProviderConfig];
    let mut named = choice::named(&args.words, &args.input, &kinds, &mut args.cluster).await?;
    choice::either(&named.names, &args.selectors)?;
    let many = args.all || args.selectors.is_given();
    if named.names.is_empty() && !many {
        let cause = "nothing is named that could be waited for";
        return Err(Failure::new(Exit::Usage, "VMC-NAME", cause)
            .fix("vmctl wait vm NAME --for condition=Ready"));
    }
    let cluster = args.cluster.open().await?;
    let objects = Collection::new(&cluster, named.kind);
    if named.names.is_empty() {
        named.names = chosen(&objects, &args).await?;
    }
    if named.names.is_empty() {
        return nothing_to_wait_for(&args.goal, &cluster, named.kind);
    }
    let names = named.names.join(" ");
    let words = format!("wait {} {names} --for {}", named.kind.short(), args.goal);
    let mut wait = Wait {
        goal: &args.goal,
        kind: named.kind,
        once: args.timeout.0.is_zero(),
        open: named
            .names
            .iter()
            .map(|name| (name.clone(), None))
            .collect(),
        progress: Progress::new(),
        problems: Problems::default(),
        again: cluster.vmctl(&words),
        list: cluster.vmctl(&format!("get {}", named.kind.short())),
    };
    let filter = Filter {
        name: (named.names.len() == 1).then(|| named.names.concat()),
        ..Filter::default()
    };
    let mut follow = Follow::new(objects, filter, Form::Objects);
    let again = wait.again.clone();
    let ended = |exit| {
        let cause = "interrupted; nothing was changed";
        Failure::new(exit, "VMC-INTERRUPTED", cause).fix(format!("wait again: {again}"))
    };
    interruptible(wait.limited(&mut follow, args.timeout), ended).await
}

/// The names of what the selectors choose now; what comes later is not waited for, as kubectl has it.
async fn chosen(objects: &Collection, args: &Args) -> Result<Vec<String>, Failure> {
    let mut none = Problems::default();
    let found = choice::objects(objects, &[], &args.selectors, true, &mut none).await?;
    let names = found.iter().map(|object| Object(object).name().to_owned());
    Ok(names.collect())
}

fn nothing_to_wait_for(goal: &Goal, cluster: &Cluster, kind: Kind) -> Result<(), Failure> {
    match goal {
        Goal::Delete => Ok(()),
        Goal::Condition { .. } | Goal::Phase(_) => {
            let cause = format!("there is no such {} ({})", kind.kind(), cluster.label);
            let list = cluster.vmctl(&format!("get {}", kind.short()));
            Err(Failure::new(Exit::NotFound, "VMC-NOT-FOUND", cause)
                .fix(format!("see what there is: {list}")))
        }
    }
}

/// A wait for several objects.
struct Wait<'a> {
    goal: &'a Goal,
    kind: Kind,
    /// Look, do not wait.
    once: bool,
    /// What is not as wanted yet, and how it was last seen.
    open: BTreeMap<String, Option<Value>>,
    progress: Progress,
    /// What cannot come about any more.
    problems: Problems,
    /// The command that waits again.
    again: String,
    /// The command that lists what there is.
    list: String,
}

impl Wait<'_> {
    /// Waits for no longer than the limit; where that is 0, for one look.
    async fn limited(&mut self, follow: &mut Follow, limit: Limit) -> Result<(), Failure> {
        let time = if self.once { LOOK } else { limit.0 };
        let waited = tokio::time::timeout(time, self.run(follow)).await;
        let waited = waited.unwrap_or_else(|_elapsed| Err(self.timed_out(limit, follow.is_cut())));
        if let Err(failure) = waited {
            self.problems.add(failure);
        }
        std::mem::take(&mut self.problems).outcome()
    }

    fn timed_out(&self, limit: Limit, cut: bool) -> Failure {
        if cut {
            let cause = format!("the API server has not answered for a while, {limit} are over");
            return Failure::new(Exit::Unreachable, "VMC-API", cause)
                .fix(format!("wait again once it answers: {}", self.again));
        }
        let cause = format!("not so after {limit}: {}", self.open_stories());
        Failure::new(Exit::NotReady, "VMC-TIMEOUT", cause)
            .fix(format!("wait longer: {} --timeout 1h", self.again))
    }

    async fn run(&mut self, follow: &mut Follow) -> Result<(), Failure> {
        while !self.open.is_empty() {
            match self.progress.next(follow).await? {
                Change::Present(item) => self.present(item)?,
                Change::Gone(item) => self.gone(&item)?,
                Change::Listed => {
                    self.listed()?;
                    if self.once && !self.open.is_empty() {
                        return Err(self.timed_out(Limit(Duration::ZERO), false));
                    }
                }
                Change::Columns(_) | Change::Cut(_) | Change::Back => {}
            }
        }
        Ok(())
    }

    fn present(&mut self, item: Item) -> Result<(), Failure> {
        let object = Object(&item.object);
        let name = object.name().to_owned();
        let Some(seen) = self.open.get_mut(&name) else {
            return Ok(());
        };
        // The one that was there at first is waited for; another one under its name means that it is gone.
        let replaced = seen
            .as_ref()
            .is_some_and(|seen| Object(seen).uid() != object.uid());
        if replaced || self.goal.is_met(object) {
            if replaced && *self.goal != Goal::Delete {
                self.lost(&name, "was replaced by another one of its name");
                return Ok(());
            }
            return self.met(&name);
        }
        self.progress.tell(&name, &self.goal.story(object));
        *seen = Some(item.object);
        Ok(())
    }

    fn gone(&mut self, item: &Item) -> Result<(), Failure> {
        let name = Object(&item.object).name();
        if !self.open.contains_key(name) {
            return Ok(());
        }
        match self.goal {
            Goal::Delete => self.met(name),
            Goal::Condition { .. } | Goal::Phase(_) => {
                self.lost(name, "was deleted meanwhile");
                Ok(())
            }
        }
    }

    /// What has not been seen by now does not exist.
    fn listed(&mut self) -> Result<(), Failure> {
        let unseen = self.open.iter().filter(|(_, seen)| seen.is_none());
        let unseen: Vec<String> = unseen.map(|(name, _)| name.clone()).collect();
        for name in unseen {
            match self.goal {
                Goal::Delete => self.met(&name)?,
                Goal::Condition { .. } | Goal::Phase(_) => self.lost(&name, "does not exist"),
            }
        }
        Ok(())
    }

    fn met(&mut self, name: &str) -> Result<(), Failure> {
        self.open.remove(name);
        self.progress.done(name, "as wanted");
        output::data(&format!("{} condition met", reference(self.kind, name)))
    }

    fn open_stories(&self) -> String {
        let story = |(name, seen): (&String, &Option<Value>)| match seen {
            Some(object) => format!("{name}: {}", self.goal.story(Object(object))),
            None => format!("{name}: not seen yet"),
        };
        self.open.iter().map(story).collect::<Vec<_>>().join("; ")
    }

    /// One less to wait for; the others go on.
    fn lost(&mut self, name: &str, what: &str) {
        self.open.remove(name);
        let cause = format!("{} {name} {what}", self.kind.kind());
        let failure = Failure::new(Exit::NotFound, "VMC-NOT-FOUND", cause);
        self.problems
            .add(failure.fix(format!("see what there is: {}", self.list)));
    }
}
