//! The tasks that keep inventories up to date, one for each usable ProviderConfig, and what they tell.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::{AbortHandle, JoinSet};

use super::Parts;
use super::connect::Cloud;
use super::machines::Machines;
use crate::controller::configs::ConfigBook;
use crate::domain::{Moment, ObjectKey};
use crate::provider::Inventory;
use crate::provider::time::{Time, Timers};
use crate::runtime::clock::Clock;

/// The inventories that are being followed. Clones share them; the tasks end with the last clone.
#[derive(Clone)]
pub(super) struct Inventories {
    book: Arc<ConfigBook<Cloud>>,
    machines: Machines,
    clock: Arc<dyn Clock>,
    running: Arc<Mutex<Running>>,
}

#[derive(Default)]
struct Running {
    tasks: JoinSet<()>,
    of: HashMap<ObjectKey, Followed>,
}

struct Followed {
    inventory: Arc<Inventory>,
    since: Moment,
    task: AbortHandle,
}

/// The ages of what inventories know, for metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ages {
    /// The greatest of those that follow a change feed; zero where none does.
    pub(super) feed: Duration,
    /// The greatest of those that list.
    pub(super) list: Duration,
}

impl Inventories {
    pub(super) fn new(parts: &Parts, machines: &Machines) -> Self {
        Self {
            book: Arc::clone(&parts.book),
            machines: machines.clone(),
            clock: Arc::clone(&parts.clock),
            running: Arc::default(),
        }
    }

    /// Sees to it that the inventory of this ProviderConfig, as the book has it now, is followed, and no earlier one.
    /// To be called whenever it was checked.
    pub(super) fn follow(&self, key: &ObjectKey) {
        let wanted = self.book.followed(key);
        let mut running = self.lock();
        // Tasks that were ended are let go of.
        while running.tasks.try_join_next().is_some() {}
        let Some((inventory, cloud)) = wanted else {
            running.end(key);
            return;
        };
        let same = running.of.get(key).is_some_and(|followed| {
            Arc::ptr_eq(&followed.inventory, &inventory) && !followed.task.is_finished()
        });
        if same {
            return;
        }
        running.end(key);
        let task = {
            let (machines, clock) = (self.machines.clone(), Arc::clone(&self.clock));
            let inventory = Arc::clone(&inventory);
            async move {
                let time: Arc<dyn Time> = Arc::new(Timers(move || clock.now()));
                let wake = |uids: HashSet<_>| machines.wake_owners(&uids);
                match inventory.follow(cloud.as_ref(), time.as_ref(), wake).await {}
            }
        };
        let followed = Followed {
            inventory,
            since: self.clock.now(),
            task: running.tasks.spawn(task),
        };
        running.of.insert(key.clone(), followed);
    }

    pub(super) fn ages(&self) -> Ages {
        let now = self.clock.now();
        let mut ages = Ages::default();
        for followed in self.lock().of.values() {
            let standing = followed.inventory.standing();
            let age = now.since(standing.as_of.unwrap_or(followed.since));
            let greatest = if standing.feed {
                &mut ages.feed
            } else {
                &mut ages.list
            };
            *greatest = age.max(*greatest);
        }
        ages
    }

    /// The inventories for the debug page.
    pub(super) fn snapshot(&self) -> Value {
        let now = self.clock.now();
        let running = self.lock();
        let line = |(key, followed): (&ObjectKey, &Followed)| {
            let standing = followed.inventory.standing();
            json!({
                "providerConfig": key.to_string(),
                "source": if standing.feed { "feed" } else { "list" },
                "instances": standing.instances,
                "ageSeconds": standing.as_of.map(|as_of| now.since(as_of).as_secs_f64()),
            })
        };
        Value::Array(running.of.iter().map(line).collect())
    }

    fn lock(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Running {
    fn end(&mut self, key: &ObjectKey) {
        if let Some(followed) = self.of.remove(key) {
            followed.task.abort();
        }
    }
}
