//! Bugs that the simulator must find.

use super::world::Doctored;
use crate::lifecycle::policy::Planted;

/// A planted bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bug {
    /// A rule taken out of the production code.
    Inside(Planted),
    /// A cluster or a cloud doctored around it.
    Around(Doctored),
}

/// A bug, the world in which it is looked for, and how many seeds that may take.
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) bug: Bug,
    pub(super) words: &'static str,
    pub(super) budget: u64,
}

const fn inside(name: &'static str, bug: Planted, words: &'static str, budget: u64) -> Row {
    Row { name, bug: Bug::Inside(bug), words, budget }
}

const fn around(name: &'static str, bug: Doctored, words: &'static str, budget: u64) -> Row {
    Row { name, bug: Bug::Around(bug), words, budget }
}

/// Every planted bug.
pub(super) const ROWS: &[Row] = &[
    around("no guard on the intent", Doctored::UnguardedIntent, "crash,vanish,lost", 10_000),
    around("status patch without resourceVersion", Doctored::UnguardedStatus, "delete,race,recreate,lost", 10_000),
    around("find by key instead of uid", Doctored::FindByKey, "delete,strip,vanish", 10_000),
    around("new key on retry", Doctored::NewKey, "delete,lag,lost", 10_000),
    inside("done after one look", Planted::OneLook, "delete,race,lag", 10_000),
    inside("short looks where long ones are due", Planted::ShortLooks, "delete,race,lost", 10_000),
    inside("looks kept over a change", Planted::LooksKept, "delete,overlap,lost", 10_000),
    inside("create in doubt dropped", Planted::DoubtDropped, "delete,lost,late", 10_000),
    inside("create without our own write before", Planted::NoWriteBeforeCreate, "delete,overlap,lost", 10_000),
    inside("right to create outlives the key", Planted::BlindForEver, "overlap,expire,lost", 10_000),
    inside("stripped taken as no intent", Planted::StrippedIsNoIntent, "delete,strip", 10_000),
    inside("older incarnation recorded", Planted::OlderRecorded, "edit,lost,late", 10_000),
    inside("incarnation not raised", Planted::NotRaised, "delete,vanish", 10_000),
];
