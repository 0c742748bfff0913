//! Instances without an object: which of those that a provider shows are orphans. Pure: what was shown, what is known
//! and when come in as values.
//!
//! An instance is an orphan once all of this holds; nothing is ever done to one, it is reported:
//!
//! * it bears this cluster's tags (the inventory keeps no others) and is not being deleted;
//! * the provider showed it in a complete and fresh picture, at least twice, and all the time for the grace. The grace
//!   is counted by our own monotonic clock from the first sight: clocks of two machines are never compared;
//! * no object that this process knows bears its uid, not even one that departed and is still cleaned up after;
//! * a live list of all objects, made after all that, has no such uid either.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use crate::domain::{InstanceId, Moment, Uid};

/// The instances of one ProviderConfig that seem to have no object.
#[derive(Clone, Debug, Default)]
pub struct Suspects {
    /// As of when the last picture was.
    as_of: Option<Moment>,
    seen: BTreeMap<InstanceId, Suspect>,
}

#[derive(Clone, Debug)]
struct Suspect {
    uid: Uid,
    since: Moment,
    looks: u32,
    confirmed: bool,
}

impl Suspects {
    /// Takes what a complete picture of `as_of` or later shows without a known object. Those of before that are not
    /// among them are no suspects any more. The same picture twice is one look.
    pub fn look(&mut self, as_of: Moment, shown: Vec<(InstanceId, Uid)>) {
        let news = self.as_of.is_none_or(|before| before < as_of);
        self.as_of = Some(as_of);
        let mut before = std::mem::take(&mut self.seen);
        for (id, uid) in shown {
            let fresh = || Suspect {
                uid: uid.clone(),
                since: as_of,
                looks: 0,
                confirmed: false,
            };
            // An id that is used again for somebody else's is another instance.
            let same = before.remove(&id).filter(|one| one.uid == uid);
            let mut suspect = same.unwrap_or_else(fresh);
            suspect.looks += u32::from(news || suspect.looks == 0);
            self.seen.insert(id, suspect);
        }
    }

    /// The uids that only a live list can clear: seen twice at least, and for the grace.
    #[must_use]
    pub fn ripe(&self, grace: Duration) -> HashSet<Uid> {
        let Some(now) = self.as_of else {
            return HashSet::new();
        };
        let ripe = self
            .seen
            .values()
            .filter(|one| !one.confirmed && one.looks >= 2 && now.since(one.since) >= grace);
        ripe.map(|one| one.uid.clone()).collect()
    }

    /// A live list shows that no object has these uids. Gives the instances that are orphans from now on.
    pub fn confirm(&mut self, dead: &HashSet<Uid>) -> Vec<InstanceId> {
        let mut new = Vec::new();
        for (id, suspect) in &mut self.seen {
            if !suspect.confirmed && dead.contains(&suspect.uid) {
                suspect.confirmed = true;
                new.push(id.clone());
            }
        }
        new
    }

    /// The orphans.
    pub fn orphans(&self) -> impl Iterator<Item = &InstanceId> {
        let all = self.seen.iter().filter(|(_, suspect)| suspect.confirmed);
        all.map(|(id, _)| id)
    }

    /// The number to show where `old` is shown: what an earlier process counted stays for as long as the suspects of
    /// this one may be the same.
    #[must_use]
    pub fn count(&self, old: Option<u32>) -> u32 {
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let confirmed = number(self.orphans().count());
        confirmed.max(old.unwrap_or(0).min(number(self.seen.len())))
    }
}

#[cfg(test)]
mod tests;
