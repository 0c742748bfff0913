//! Bugs that the simulator must find.

use std::time::Duration;

use super::swarm::{Aim, Swarm};
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
    /// What may happen.
    pub(super) words: &'static str,
    /// Brings rare constellations closer.
    pub(super) steer: fn(&mut Swarm),
    /// It must be found within so many seeds.
    pub(super) budget: u64,
}

/// Seeds that the search for one bug may take.
const BUDGET: u64 = 10_000;

const fn row(name: &'static str, bug: Bug, words: &'static str, steer: fn(&mut Swarm)) -> Row {
    Row {
        name,
        bug,
        words,
        steer,
        budget: BUDGET,
    }
}

/// One object, and a network whose faults fall on creates alone.
fn creates(swarm: &mut Swarm) {
    swarm.names = 1;
    swarm.aim = Aim::Creates;
}

/// Two leaders that come and go while one object is made and deleted, and creates that are slow.
fn duel(swarm: &mut Swarm) {
    creates(swarm);
    swarm.malice = 20;
    swarm.acts = 2;
    swarm.faults = swarm.faults.max(4);
    swarm.timeout = Duration::from_secs(20);
    swarm.lag = Duration::ZERO;
}

/// Creates in doubt while the user edits.
fn edits(swarm: &mut Swarm) {
    creates(swarm);
    swarm.malice = 20;
    swarm.faults = 8;
    swarm.acts = 3;
    swarm.timeout = Duration::from_secs(5);
    swarm.storm = 300;
}

fn any(_: &mut Swarm) {}

/// Every planted bug.
pub(super) const ROWS: &[Row] = &[
    row(
        "no guard on the intent",
        Bug::Around(Doctored::UnguardedIntent),
        "crash,vanish,lost",
        any,
    ),
    row(
        "status patch without resourceVersion",
        Bug::Around(Doctored::UnguardedStatus),
        "delete,race,recreate,lost",
        any,
    ),
    row(
        "find by key instead of uid",
        Bug::Around(Doctored::FindByKey),
        "delete,strip,vanish",
        any,
    ),
    row("new key on retry", Bug::Around(Doctored::NewKey), "delete,lag,lost", any),
    row("done after one look", Bug::Inside(Planted::OneLook), "delete,race,lag", any),
    row(
        "short looks where long ones are due",
        Bug::Inside(Planted::ShortLooks),
        "delete,race,lost",
        any,
    ),
    row(
        "looks kept over a change",
        Bug::Inside(Planted::LooksKept),
        "delete,overlap,lost",
        duel,
    ),
    row(
        "create in doubt dropped",
        Bug::Inside(Planted::DoubtDropped),
        "delete,lost,late",
        creates,
    ),
    row(
        "create without our own write before",
        Bug::Inside(Planted::NoWriteBeforeCreate),
        "delete,overlap,lost",
        any,
    ),
    row(
        "right to create outlives the key",
        Bug::Inside(Planted::BlindForEver),
        "overlap,expire,lost",
        any,
    ),
    row(
        "stripped taken as no intent",
        Bug::Inside(Planted::StrippedIsNoIntent),
        "delete,strip",
        any,
    ),
    row(
        "older incarnation recorded",
        Bug::Inside(Planted::OlderRecorded),
        "crash,edit,lost,late",
        edits,
    ),
    row("incarnation not raised", Bug::Inside(Planted::NotRaised), "delete,vanish", any),
];
