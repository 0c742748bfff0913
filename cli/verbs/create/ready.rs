//! The wait until created VirtualMachines are Ready, and every way in which one may not become so.

use std::collections::BTreeMap;

use serde_json::Value;
use vmoperator::api::condition::ConditionType;

use crate::cluster::call::{Collection, Filter, Form};
use crate::cluster::follow::{Change, Follow};
use crate::cluster::object::Object;
use crate::hint::{Exit, Failure};
use crate::verbs::advice::advice;
use crate::verbs::duration::Limit;
use crate::verbs::problems::Problems;
use crate::verbs::progress::Progress;

/// An object that is not Ready yet.
struct Open {
    created: Value,
    /// As it was last seen.
    last: Value,
    seen: bool,
}

/// A wait for some objects.
pub(super) struct Ready<'a> {
    machines: &'a Collection,
    /// By name.
    open: BTreeMap<String, Open>,
    /// Those that became so, in this order.
    ready: Vec<Value>,
    /// In the order in which they were created.
    names: Vec<String>,
    progress: Progress,
}

impl<'a> Ready<'a> {
    /// Nothing is looked at yet.
    pub(super) fn new(machines: &'a Collection, created: &[Value]) -> Self {
        let open = |created: &Value| Open {
            created: created.clone(),
            last: created.clone(),
            seen: false,
        };
        let name = |created: &Value| Object(created).name().to_owned();
        Self {
            machines,
            open: created.iter().map(|one| (name(one), open(one))).collect(),
            ready: Vec::new(),
            names: created.iter().map(name).collect(),
            progress: Progress::new(),
        }
    }

    /// Waits until all are Ready or cannot become so; returns those that are, as they are then, in the order in which
    /// they were created. What becomes of the others goes to the problems.
    ///
    /// # Errors
    /// They cannot be followed any more.
    pub(super) async fn wait(
        mut self,
        limit: Limit,
        problems: &mut Problems,
    ) -> Result<Vec<Value>, Failure> {
        let filter = Filter {
            name: (self.names.len() == 1).then(|| self.names.concat()),
            ..Filter::default()
        };
        let mut follow = Follow::new(self.machines.clone(), filter, Form::Objects);
        let waited = async {
            while !self.open.is_empty() {
                let change = self.progress.next(&mut follow).await?;
                self.take(change, problems);
            }
            Ok::<(), Failure>(())
        };
        match tokio::time::timeout(limit.0, waited).await {
            Ok(outcome) => outcome?,
            Err(_elapsed) => self.give_up(limit, follow.is_cut(), problems),
        }
        let place = |object: &Value| {
            let name = Object(object).name();
            self.names.iter().position(|one| one == name)
        };
        self.ready.sort_by_key(place);
        Ok(self.ready)
    }

    fn take(&mut self, change: Change, problems: &mut Problems) {
        match change {
            Change::Present(item) => {
                let name = Object(&item.object).name().to_owned();
                if let Some(open) = self.open.get_mut(&name) {
                    open.last = item.object;
                    open.seen = true;
                    self.judge(&name, problems);
                }
            }
            Change::Gone(item) => {
                let gone = Object(&item.object);
                let ours = self.open.get(gone.name());
                if ours.is_some_and(|open| Object(&open.created).uid() == gone.uid()) {
                    self.fail(
                        gone.name(),
                        deleted(self.machines, gone.name(), DELETED),
                        problems,
                    );
                }
            }
            // What was not among them went before we could look.
            Change::Listed => {
                let unseen = self.open.iter().filter(|(_, open)| !open.seen);
                let unseen: Vec<String> = unseen.map(|(name, _)| name.clone()).collect();
                for name in unseen {
                    self.fail(&name, deleted(self.machines, &name, DELETED), problems);
                }
            }
            Change::Columns(_) | Change::Cut(_) | Change::Back => {}
        }
    }

    /// Whether the wait for one is over, and how.
    fn judge(&mut self, name: &str, problems: &mut Problems) {
        let Some(open) = self.open.get(name) else {
            return;
        };
        let (object, created) = (Object(&open.last), Object(&open.created));
        let failure = if object.uid() != created.uid() {
            deleted(
                self.machines,
                name,
                "was replaced by another one of its name",
            )
        } else if object.is_deleting() {
            self.progress.tell(name, &object.story());
            deleted(self.machines, name, "is being deleted by somebody else")
        } else if object.holds(ConditionType::Ready).is_some() {
            self.progress
                .done(name, &format!("Ready{}", object.whereabouts()));
            if let Some(open) = self.open.remove(name) {
                self.ready.push(open.last);
            }
            return;
        } else {
            self.progress.tell(name, &object.story());
            let Some(stalled) = object.holds(ConditionType::Stalled) else {
                return;
            };
            let words = stalled.in_words();
            let cause = format!("VirtualMachine {name} does not become Ready: {words}");
            Failure::new(Exit::Failure, "VMC-STALLED", cause).fix(advice(
                stalled.reason,
                name,
                &self.machines.cluster,
            ))
        };
        self.fail(name, failure, problems);
    }

    fn fail(&mut self, name: &str, failure: Failure, problems: &mut Problems) {
        self.open.remove(name);
        self.progress.forget(name);
        problems.add(failure);
    }

    fn give_up(&mut self, limit: Limit, cut: bool, problems: &mut Problems) {
        for (name, open) in std::mem::take(&mut self.open) {
            self.progress.tell(&name, &Object(&open.last).story());
            self.progress.forget(&name);
            problems.add(timed_out(self.machines, &open.last, limit, cut));
        }
    }
}

const DELETED: &str = "was deleted by somebody else";

fn deleted(machines: &Collection, name: &str, what: &str) -> Failure {
    let again = machines.cluster.vmctl("get vm");
    Failure::new(
        Exit::NotFound,
        "VMC-DELETED",
        format!("VirtualMachine {name} {what}"),
    )
    .fix(format!("see what there is: {again}"))
}

fn timed_out(machines: &Collection, last: &Value, limit: Limit, cut: bool) -> Failure {
    let (cluster, object) = (&machines.cluster, Object(last));
    let name = object.name();
    let watch = cluster.vmctl(&format!("wait vm {name} --for condition=Ready"));
    if cut {
        let cause = format!(
            "the API server has not answered for a while, {limit} are over ({})",
            cluster.label
        );
        return Failure::new(Exit::Unreachable, "VMC-API", cause)
            .fix(format!("once it answers again, go on waiting: {watch}"));
    }
    let cause = format!(
        "VirtualMachine {name} is not Ready after {limit}: {}",
        object.story()
    );
    let fix = if object.condition(ConditionType::Ready.as_str()).is_none() && cluster.ours {
        format!(
            "see whether the operator runs: {}; go on waiting: {watch}",
            "vmctl status"
        )
    } else {
        format!("it goes on being made; go on waiting: {watch}")
    };
    Failure::new(Exit::NotReady, "VMC-TIMEOUT", cause).fix(fix)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::fake::{cluster, list, machine};
    use crate::cluster::kind::Kind;

    #[tokio::test(start_paused = true)]
    async fn an_object_that_went_before_the_first_look_or_was_replaced_is_not_waited_for() {
        let limit = "5m".parse().unwrap();
        for found in [vec![], vec![machine("a", "2", "4")]] {
            let (cluster, _asked) = cluster(vec![list("5", &found)]);
            let machines = Collection::new(&cluster, Kind::VirtualMachine);
            let mut problems = Problems::default();
            let created = [machine("a", "1", "3")];
            let waited = Ready::new(&machines, &created).wait(limit, &mut problems);
            assert_eq!(waited.await.unwrap(), Vec::<Value>::new());
            let failure = problems.outcome().unwrap_err();
            assert_eq!(
                (failure.exit, failure.id),
                (Exit::NotFound, "VMC-DELETED"),
                "{failure}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_that_runs_out_while_the_server_is_away_says_so() {
        let (cluster, _asked) = cluster(vec![list("5", &[machine("a", "1", "3")])]);
        let machines = Collection::new(&cluster, Kind::VirtualMachine);
        let mut problems = Problems::default();
        let created = [machine("a", "1", "3")];
        let waited = Ready::new(&machines, &created).wait("5m".parse().unwrap(), &mut problems);
        waited.await.unwrap();
        let failure = problems.outcome().unwrap_err();
        assert_eq!(
            (failure.exit, failure.id),
            (Exit::Unreachable, "VMC-API"),
            "{failure}"
        );
    }
}
