//! A provider account's instances, kept up to date by one task per ProviderConfig, so that knowing costs calls by the
//! page and not by the VM.
//!
//! It follows the change feed where there is one, and lists where there is none or it fails. What it shows stands in
//! for a GET of a known id and for nothing else: absence here is a hint that wakes an object, never a proof.

mod index;

use std::collections::HashSet;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::time::Time;
use super::{Changes, Provider};
use crate::domain::{
    Capabilities, ClusterId, ErrorKind, Instance, InstanceId, Moment, Operation, Owner,
    ProviderError, Uid,
};
use index::{Backwards, Index};

/// Most pages of one list, as for finds.
const MAX_PAGES: usize = 1000;
/// Distance of lists while instances are on their way: the guide's interval.
const QUICK: Duration = Duration::from_secs(2);
/// Longest that the feed is asked to wait.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// After an answer with changes, before the next is asked for: a burst of changes is ten answers a second at most, a fifth
/// of the calls that a ProviderConfig allows by default, and what happens is known within a tenth of a second.
const BURST: Duration = Duration::from_millis(100);
/// After a feed that worked for a while broke.
const HICCUP: Duration = Duration::from_secs(1);
/// Longest distance of lists that fail.
const LONGEST_BACKOFF: Duration = Duration::from_mins(1);

/// What an inventory has to know.
#[derive(Clone, Debug)]
pub struct InventoryOptions {
    /// Instances of other clusters are not kept.
    pub cluster: ClusterId,
    /// What the provider offers.
    pub capabilities: Capabilities,
    /// How old the knowledge of a steady instance may get: the distance of lists.
    pub poll: Duration,
    /// Time-out of one call.
    pub timeout: Duration,
}

/// The inventory of one ProviderConfig.
#[derive(Debug)]
pub struct Inventory {
    options: InventoryOptions,
    state: Mutex<State>,
}

/// What is known of an instance.
#[derive(Clone, Debug)]
pub struct Fact {
    /// The instance.
    pub instance: Arc<Instance>,
    /// Its revision.
    pub revision: u64,
    /// Whether a change of it will be noticed within seconds.
    pub watched: bool,
    /// It was so at this moment, or later.
    pub as_of: Moment,
}

/// How an inventory stands, for metrics and debug output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Whether the change feed is being followed; else it lists.
    pub feed: bool,
    /// Instances known.
    pub instances: usize,
    /// As of when; `None` before the first complete list.
    pub as_of: Option<Moment>,
}

#[derive(Debug)]
struct State {
    index: Index,
    /// The feed answered last time.
    feed: bool,
    /// The first list has ended, well or not.
    begun: bool,
    /// The provider went back to an earlier state, and not everything is known to be there again.
    went_back: bool,
    /// Pages of the last complete list.
    pages: usize,
}

/// A complete list.
struct List {
    began: Moment,
    items: Vec<Instance>,
    revision: Option<u64>,
    pages: usize,
}

impl Inventory {
    /// An inventory that knows nothing yet; `None` for a provider that offers no list to begin with.
    #[must_use]
    pub fn new(options: InventoryOptions) -> Option<Self> {
        let index = Index::new(options.cluster.clone());
        options.capabilities.list.then_some(Self {
            options,
            state: Mutex::new(State {
                index,
                feed: false,
                begun: false,
                went_back: false,
                pages: 0,
            }),
        })
    }

    /// What is known of an owner's instance: only where it is the owner's only one, bears a revision, and was
    /// confirmed not longer ago than the poll interval and the time of one call.
    #[must_use]
    pub fn fact(&self, owner: &Owner, id: &InstanceId, now: Moment) -> Option<Fact> {
        let state = self.lock();
        let as_of = state.index.as_of()?;
        // A list that is due may take a call's time to arrive.
        if now.since(as_of) > self.options.poll + self.options.timeout {
            return None;
        }
        let instance = state.index.only(owner, id)?;
        Some(Fact {
            instance: Arc::clone(instance),
            revision: instance.revision?,
            watched: state.feed || state.lists_quickly(),
            as_of,
        })
    }

    /// Whether the first list is still under way: it will tell of whatever is at rest.
    #[must_use]
    pub fn is_awaited(&self) -> bool {
        !self.lock().begun
    }

    /// Whether an instance is shown as its owner's; `None` where what is known is no newer than that moment. Absence is
    /// a hint: enough to count losses by, never to believe in one.
    #[must_use]
    pub fn shows(&self, owner: &Owner, id: &InstanceId, since: Moment) -> Option<bool> {
        let state = self.lock();
        let known = state.index.as_of().is_some_and(|as_of| as_of > since);
        known.then(|| state.index.has(owner, id))
    }

    /// Whether the provider went back to an earlier state, so that what it does not show may be there all the same.
    #[must_use]
    pub fn went_back(&self) -> bool {
        self.lock().went_back
    }

    /// Everything that should be there is: what the provider shows counts again.
    pub fn trust(&self) {
        self.lock().went_back = false;
    }

    /// The uids that own instances, and as of when: only from a complete picture that was confirmed not longer ago
    /// than the poll interval and the time of one call.
    #[must_use]
    pub fn owners(&self, now: Moment) -> Option<(Moment, HashSet<Uid>)> {
        let state = self.lock();
        let as_of = state.index.as_of()?;
        let fresh = now.since(as_of) <= self.options.poll + self.options.timeout;
        fresh.then(|| (as_of, state.index.owners()))
    }

    /// The instances of these owners that are not being deleted.
    #[must_use]
    pub fn instances_of(&self, uids: &HashSet<Uid>) -> Vec<(InstanceId, Uid)> {
        let state = self.lock();
        uids.iter()
            .flat_map(|uid| state.index.staying(uid).map(|id| (id.clone(), uid.clone())))
            .collect()
    }

    /// How it stands.
    #[must_use]
    pub fn standing(&self) -> Standing {
        let state = self.lock();
        Standing {
            feed: state.feed,
            instances: state.index.len(),
            as_of: state.index.as_of(),
        }
    }

    /// Keeps it up to date for ever. `wake` is told the owners of instances that changed, appeared or are not shown
    /// any more; it must not block.
    ///
    /// Cancelling it is safe; what is known then grows old.
    pub async fn follow<P: Provider>(
        &self,
        cloud: &P,
        time: &dyn Time,
        wake: impl Fn(HashSet<Uid>) + Send + Sync,
    ) -> Infallible {
        let mut failures = 0;
        loop {
            let listed = self.list(cloud, time).await;
            let wait = match listed {
                Err(error) => {
                    self.lock().begun = true;
                    failures += 1;
                    backoff(failures).max(error.retry_after.unwrap_or_default())
                }
                Ok(list) => {
                    failures = 0;
                    if !self.listed(list, &wake) {
                        continue;
                    }
                    let began = time.now();
                    self.follow_feed(cloud, time, &wake).await;
                    // One that never lasts must not make us list more often than without it.
                    if time.now().since(began) >= self.options.poll {
                        HICCUP
                    } else {
                        self.interval()
                    }
                }
            };
            time.sleep(jittered(wait)).await;
        }
    }

    /// All pages; only what is kept of them.
    async fn list<P: Provider>(&self, cloud: &P, time: &dyn Time) -> Result<List, ProviderError> {
        let endless = || ProviderError::without_answer(ErrorKind::Malformed, Operation::List);
        let mut list = List {
            began: time.now(),
            items: Vec::new(),
            revision: None,
            pages: 0,
        };
        let mut tokens = HashSet::new();
        let mut token: Option<String> = None;
        while list.pages < MAX_PAGES {
            let page = cloud.page(token.as_deref()).await?;
            // Later pages may show more; from the first one's revision on nothing is missed.
            if list.pages == 0 {
                list.revision = page.revision;
            }
            list.pages += 1;
            list.items.extend(self.kept(page.items));
            let Some(next) = page.next else {
                return Ok(list);
            };
            if !tokens.insert(next.clone()) {
                return Err(endless());
            }
            token = Some(next);
        }
        Err(endless())
    }

    /// Takes a list; false where it went backwards and is to be made anew.
    fn listed(&self, list: List, wake: &(impl Fn(HashSet<Uid>) + Send + Sync)) -> bool {
        let as_of = list.began - self.options.capabilities.list_lag;
        let mut state = self.lock();
        (state.pages, state.begun) = (list.pages, true);
        let result = state.index.replace(list.items, list.revision, as_of);
        drop(state);
        self.tell(result, wake)
    }

    /// Follows the feed from the revision of the list until it fails.
    async fn follow_feed<P: Provider>(
        &self,
        cloud: &P,
        time: &dyn Time,
        wake: &(impl Fn(HashSet<Uid>) + Send + Sync),
    ) {
        let longest = (self.options.poll / 2).clamp(HICCUP, LONGEST_WAIT);
        // The first answer is to come at once: it shows that there is a feed.
        let mut wait = Duration::ZERO;
        while let Some(since) = self.feed_from() {
            let began = time.now();
            let answer = cloud.changes(since, wait).await;
            let took = time.now().since(began);
            let Ok(changes) = answer else { break };
            let empty = changes.upserts.is_empty() && changes.deletions.is_empty();
            if !empty && changes.revision == since {
                // It would say the same for ever.
                break;
            }
            // An answer without changes was given when the time was over, not before.
            let waited = if empty && took >= wait {
                wait
            } else {
                Duration::ZERO
            };
            let result = self.answered(changes, began + waited);
            if !self.tell(result, wake) {
                break;
            }
            if !empty {
                time.sleep(BURST).await;
            } else if took < wait {
                // It does not wait as it was asked to.
                time.sleep(QUICK.min(wait)).await;
            }
            wait = Duration::from_secs(longest.as_secs());
        }
        self.lock().feed = false;
    }

    fn kept(&self, mut items: Vec<Instance>) -> Vec<Instance> {
        let state = self.lock();
        items.retain(|one| state.index.keeps(one));
        items
    }

    fn answered(&self, changes: Changes, as_of: Moment) -> Result<HashSet<Uid>, Backwards> {
        let mut state = self.lock();
        state.feed = true;
        state.index.apply(changes, as_of)
    }

    fn feed_from(&self) -> Option<u64> {
        let state = self.lock();
        let revision = state.index.revision();
        revision.filter(|_| self.options.capabilities.changes)
    }

    /// Wakes whom a list or an answer concerns; false where everything is forgotten.
    fn tell(
        &self,
        result: Result<HashSet<Uid>, Backwards>,
        wake: &(impl Fn(HashSet<Uid>) + Send + Sync),
    ) -> bool {
        let sound = result.is_ok();
        let uids = result.unwrap_or_else(|Backwards| {
            let mut state = self.lock();
            state.went_back = true;
            state.index.forget()
        });
        if !uids.is_empty() {
            wake(uids);
        }
        sound
    }

    /// When to list again.
    fn interval(&self) -> Duration {
        if self.lock().lists_quickly() {
            QUICK.min(self.options.poll)
        } else {
            self.options.poll
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Whether so many instances are on their way that the list costs less than a GET for each.
    fn lists_quickly(&self) -> bool {
        let moving = self.index.in_transition();
        moving > 0 && moving >= self.pages
    }
}

/// Doubles from a second.
fn backoff(failures: u32) -> Duration {
    let doubled = Duration::from_secs(1).saturating_mul(1 << failures.saturating_sub(1).min(10));
    doubled.min(LONGEST_BACKOFF)
}

/// Up to a tenth sooner, so that many inventories do not list at the same time.
fn jittered(wait: Duration) -> Duration {
    wait.mul_f64(1.0 - fastrand::f64() / 10.0)
}

#[cfg(test)]
mod tests;
