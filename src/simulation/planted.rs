//! Bugs that the simulator must find.

use std::time::Duration;

use super::network::Fate;
use super::swarm::{Aim, Swarm};
use super::users::Act;
use super::world::{Doctored, Event, World};
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
    /// How much likelier an event is than it would be: 1 as always, 0 never.
    pub(super) bias: Bias,
    /// Whether it takes a comparison with the references to find it.
    pub(super) compare: bool,
    /// It must be found within so many seeds.
    pub(super) budget: u64,
}

/// A hand on the scales of chance.
pub(super) type Bias = fn(&World, &Event) -> u32;

/// Seeds that the search for one bug may take.
const BUDGET: u64 = 10_000;

const fn row(name: &'static str, bug: Bug, words: &'static str, steer: fn(&mut Swarm)) -> Row {
    Row {
        name,
        bug,
        words,
        steer,
        bias: none,
        compare: false,
        budget: BUDGET,
    }
}

const fn biased(mut row: Row, bias: Bias) -> Row {
    row.bias = bias;
    row
}

const fn compared(mut row: Row) -> Row {
    row.compare = true;
    row
}

/// Chance alone.
pub(super) fn none(_: &World, _: &Event) -> u32 {
    1
}

/// Keeps a create of the first incarnation away until the second is written and its create is lost with its process.
fn old_create_comes_late(world: &World, event: &Event) -> u32 {
    if !world.storm {
        return 1;
    }
    let flying = |number| world.flights.iter().any(|f| f.creates() == Some(number));
    match event {
        Event::User(Act::Edit(_)) => 30 * u32::from(flying(1)),
        Event::Crash(_) => 50 * u32::from(flying(2)),
        Event::Network(at, fate) => match (world.flights[*at].creates(), fate) {
            (Some(1), Fate::GiveUp) => 20,
            (Some(1), Fate::Arrive) => 20 * u32::from(flying(2)),
            (Some(_), Fate::Arrive | Fate::GiveUp | Fate::Die) => 0,
            _ => 1,
        },
        _ => 1,
    }
}

/// One leader looks; then another writes, sends a create that is slow, and exits; then the first looks again.
fn looks_around_another(world: &World, event: &Event) -> u32 {
    if !world.storm {
        return 1;
    }
    let looked = world.first_look();
    let flying = world.flights.iter().find(|f| f.creates().is_some());
    match event {
        Event::User(Act::Delete(_)) => {
            let mut objects = world.api.objects.values();
            50 * u32::from(objects.any(|o| o.view.object.finalizer))
        }
        Event::Take(slot) => u32::from(!world.is_behind(*slot)),
        Event::Elect(_) if world.leaders().count() == 1 => {
            let late = looked.is_some_and(|at| world.now >= at + Duration::from_secs(6));
            50 * u32::from(late && flying.is_none())
        }
        Event::Exit(slot) => 50 * u32::from(flying.is_some_and(|f| f.client && f.slot == *slot)),
        Event::Time(to) => match (looked, flying) {
            (Some(at), None) => u32::from(*to < at + Duration::from_secs(25)),
            _ => 1,
        },
        Event::Network(at, fate) if world.flights[*at].creates().is_some() => {
            u32::from(!matches!(fate, Fate::Arrive | Fate::Die | Fate::GiveUp))
        }
        _ => 1,
    }
}

/// A leader dies with the removal of its finalizer under way, which meets the create of the next one; that dies too.
fn removal_meets_create(world: &World, event: &Event) -> u32 {
    if !world.storm {
        return 1;
    }
    let creating = world.flights.iter().any(|f| f.creates().is_some());
    let removing = world
        .flights
        .iter()
        .any(|f| f.is_sent() && f.removes_finalizer());
    let mut objects = world.api.objects.values();
    let gone = world.api.objects.is_empty();
    match event {
        Event::User(Act::Delete(_)) => 50 * u32::from(objects.any(|o| o.view.object.finalizer)),
        Event::Take(slot) => u32::from(!world.is_behind(*slot)),
        Event::Crash(_) => {
            let first = removing && world.flights.iter().all(|f| f.client);
            50 * u32::from(first || (gone && creating))
        }
        Event::Network(at, fate) => {
            let flight = &world.flights[*at];
            match fate {
                Fate::Arrive if flight.creates().is_some() => u32::from(gone && !flight.client),
                Fate::Arrive if flight.removes_finalizer() => 50 * u32::from(creating),
                Fate::Die | Fate::GiveUp => 0,
                _ => 1,
            }
        }
        _ => 1,
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
    swarm.storm = 200;
    swarm.timeout = Duration::from_secs(20);
    swarm.lag = Duration::ZERO;
}

/// As a duel, with a network that is slow for every write.
fn writes(swarm: &mut Swarm) {
    duel(swarm);
    swarm.aim = Aim::Writes;
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

/// A cloud that knows neither keys nor tags nor lists.
pub(super) fn basic(swarm: &mut Swarm) {
    swarm.basic = true;
}

/// Two objects, whose instances vanish at one moment.
pub(super) fn mass_loss(swarm: &mut Swarm) {
    swarm.names = 2;
    swarm.acts = 2;
    swarm.storm = 300;
    swarm.mass_loss = true;
}

/// Lists that show an older state than was seen before, as after a restore of the API server's data.
pub(super) fn back_in_time(swarm: &mut Swarm) {
    swarm.back_in_time = true;
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
    row(
        "new key on retry",
        Bug::Around(Doctored::NewKey),
        "delete,lag,lost",
        any,
    ),
    row(
        "retry below the fence",
        Bug::Around(Doctored::RetryBelowFence),
        "delete,pause,errors",
        any,
    ),
    row(
        "acting on a stale store",
        Bug::Inside(Planted::StaleStore),
        "relist",
        back_in_time,
    ),
    row(
        "done after one look",
        Bug::Inside(Planted::OneLook),
        "delete,race,lag",
        any,
    ),
    row(
        "short looks where long ones are due",
        Bug::Inside(Planted::ShortLooks),
        "delete,race,lost",
        any,
    ),
    biased(
        row(
            "looks kept over a change",
            Bug::Inside(Planted::LooksKept),
            "delete,overlap,lost",
            duel,
        ),
        looks_around_another,
    ),
    row(
        "create in doubt dropped",
        Bug::Inside(Planted::DoubtDropped),
        "delete,lost,late",
        creates,
    ),
    biased(
        row(
            "create without our own write before",
            Bug::Inside(Planted::NoWriteBeforeCreate),
            "delete,crash,lost",
            writes,
        ),
        removal_meets_create,
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
    biased(
        row(
            "older incarnation recorded",
            Bug::Inside(Planted::OlderRecorded),
            "crash,edit,lost,late",
            edits,
        ),
        old_create_comes_late,
    ),
    row(
        "doubt repeated without keys",
        Bug::Inside(Planted::DoubtRepeated),
        "crash,lost,errors",
        basic,
    ),
    row(
        "losses not counted",
        Bug::Inside(Planted::LossesUncounted),
        "crash,relabel,lag",
        mass_loss,
    ),
    row(
        "incarnation not raised",
        Bug::Inside(Planted::NotRaised),
        "delete,vanish",
        any,
    ),
    row(
        "finalizer off before the end is confirmed",
        Bug::Inside(Planted::RemovalUnconfirmed),
        "delete,slowdelete",
        any,
    ),
    row(
        "delete by id without a look at tags",
        Bug::Around(Doctored::TagsUnread),
        "delete,vanish,reuse",
        any,
    ),
    compared(row(
        "status write wakes us",
        Bug::Around(Doctored::StatusWakes),
        "",
        any,
    )),
];
