//! What a schedule will do, without what it has done: two of the same shape go on alike.

use std::fmt::Debug;

use super::{Entry, Place, Schedule, Tenant};
use crate::domain::time::Moment;

impl<K: Debug + Tenant> Schedule<K> {
    /// The shape in words. Moments are in it as they are; tickets only as an order, since when something waits not at
    /// all.
    pub(crate) fn shape(&self) -> String {
        let mut lines: Vec<((u8, Moment, u64), String)> = self
            .entries
            .iter()
            .map(|(key, entry)| line(key, entry))
            .collect();
        lines.sort();
        let lines: Vec<String> = lines.into_iter().map(|(_, line)| line).collect();
        // Where nothing is shortened, what was drawn counts nothing.
        let draws = self.options.jitter > 0.0;
        let seed = draws.then(|| self.random.get_seed());
        let hurried = (self.high.hurried_turns(), self.low.hurried_turns());
        let turns = self.high_turns;
        format!("{turns} {hurried:?} {seed:?} {lines:?}")
    }
}

fn line<K: Debug>(key: &K, entry: &Entry) -> ((u8, Moment, u64), String) {
    let (order, place) = match &entry.place {
        Place::Ready { ticket, .. } => ((0, Moment::START, *ticket), "ready".to_owned()),
        Place::Delayed {
            due,
            ticket,
            backoff,
        } => ((1, *due, *ticket), format!("{due:?} {backoff}")),
        Place::Running { wishes, .. } => ((2, Moment::START, 0), format!("{wishes:?}")),
    };
    let (lane, failures) = (entry.lane, entry.failures);
    let (early, hurried) = (entry.early, entry.hurried);
    (
        order,
        format!("{key:?} {lane:?} {failures} {early} {hurried} {place}"),
    )
}
