//! The wait until deleted objects are gone.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use vmoperator::api::condition::ConditionType;

use super::told;
use crate::cluster::call::{Collection, Filter, Form};
use crate::cluster::follow::{Change, Follow, Item};
use crate::cluster::object::Object;
use crate::hint::{Exit, Failure};
use crate::verbs::advice::advice;
use crate::verbs::duration::Limit;
use crate::verbs::progress::Progress;

/// Objects on their way out.
pub(super) struct Going<'a> {
    machines: &'a Collection,
    /// Uid and name, in the order in which their deletion was asked for.
    open: Vec<(String, String)>,
    /// How each was last seen, by uid.
    last: BTreeMap<String, Value>,
}

impl<'a> Going<'a> {
    /// Objects, by uid and name, whose deletion was asked for.
    pub(super) fn new(machines: &'a Collection, open: Vec<(String, String)>) -> Self {
        Self {
            machines,
            open,
            last: BTreeMap::new(),
        }
    }

    /// Waits until all are gone.
    ///
    /// # Errors
    /// The time is over, or the API server refuses to be watched.
    pub(super) async fn wait(mut self, limit: Limit) -> Result<(), Failure> {
        if self.open.is_empty() {
            return Ok(());
        }
        let name = match self.open.as_slice() {
            [(_uid, name)] => Some(name.clone()),
            _several => None,
        };
        let filter = Filter {
            name,
            ..Filter::default()
        };
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
        let mut seen = BTreeSet::new();
        let mut first = true;
        while !self.open.is_empty() {
            match progress.next(follow).await? {
                Change::Present(item) => {
                    seen.insert(Object(&item.object).uid().to_owned());
                    self.present(item, progress);
                }
                Change::Gone(item) => self.gone(Object(&item.object).uid(), progress)?,
                // Those that the first list lacks were gone before we looked.
                Change::Listed if first => {
                    first = false;
                    let open: Vec<String> = self.open.iter().map(|(uid, _)| uid.clone()).collect();
                    for uid in open.iter().filter(|uid| !seen.contains(*uid)) {
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
        if let Some((_, name)) = self.open.iter().find(|(uid, _)| uid == object.uid()) {
            progress.tell(name, &object.story());
            self.last.insert(object.uid().to_owned(), item.object);
        }
    }

    fn gone(&mut self, uid: &str, progress: &mut Progress) -> Result<(), Failure> {
        match self.open.iter().position(|(open, _)| open == uid) {
            Some(at) => {
                let (_uid, name) = self.open.remove(at);
                progress.done(&name, "gone");
                told(self.machines, &name, "deleted")
            }
            None => Ok(()),
        }
    }

    fn timed_out(&self, limit: Limit, cut: bool) -> Failure {
        let cluster = &self.machines.cluster;
        let names: Vec<&str> = self.open.iter().map(|(_, name)| name.as_str()).collect();
        let again = cluster.vmctl(&format!("wait vm {} --for delete", names.join(" ")));
        if cut {
            let cause = format!(
                "the API server has not answered for a while, {limit} are over ({})",
                cluster.label
            );
            return Failure::new(Exit::Unreachable, "VMC-API", cause)
                .fix(format!("wait again once it answers: {again}"));
        }
        let story = |(uid, name): &(String, String)| {
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
        let held = match self.open.as_slice() {
            [(uid, name)] => self.last.get(uid).and_then(|last| {
                let condition = Object(last).condition(ConditionType::Deleting.as_str())?;
                Some(advice(condition.reason, name, cluster))
            }),
            _several => None,
        };
        let fix = match held {
            Some(advice) => format!("{advice}; go on waiting: {again}"),
            None => format!("go on waiting: {again}"),
        };
        Failure::new(Exit::NotReady, "VMC-TIMEOUT", cause).fix(fix)
    }
}
