//! What is excused: a leak that nobody could have kept from happening, and nothing beside it.

use crate::simulation::network::Fate;
use crate::simulation::oracle::Broken;
use crate::simulation::small::Scope;
use crate::simulation::users::Act;
use crate::simulation::world::{Event, World};

const SCOPE: Scope = Scope {
    words: "delete,strip,stripstatus,crash,noconfig",
    faults: 9,
    acts: 9,
    delays: 0,
    most: 0,
    bug: None,
};

/// A world whose leader died with its create under way: finalizer and intent are there, nothing is recorded.
fn with_a_create_under_way() -> World {
    let mut world = SCOPE.world(true);
    happens(&mut world, Event::Elect(0));
    happens(&mut world, Event::User(Act::Create(0)));
    goes_on(&mut world, creates);
    assert!(creates(&world), "{:#?}", world.trace.lines());
    happens(&mut world, Event::Crash(0));
    world
}

fn happens(world: &mut World, event: Event) {
    world.step(event).unwrap();
}

fn creates(world: &World) -> bool {
    world.flights.iter().any(|f| f.creates().is_some())
}

/// The first process works, and the second hears of nothing, until something holds.
fn goes_on(world: &mut World, until: impl Fn(&World) -> bool) {
    for _ in 0..100 {
        if until(world) {
            return;
        }
        let list = world.events().0;
        let own = |event: &Event| match event {
            Event::Watch(0) | Event::Take(0) => true,
            Event::Network(at, Fate::Arrive | Fate::Deliver) => world.flights[*at].client,
            _ => false,
        };
        let next = list.into_iter().map(|(_, _, event)| event).find(own);
        let Some(next) = next else { return };
        happens(world, next);
    }
    panic!("no rest: {:#?}", world.trace.lines());
}

/// The next leader starts before or after the user strips the object, without a ProviderConfig; then it is deleted, and
/// the old create arrives.
fn stripped(sees_a_sign: bool) -> World {
    let mut world = with_a_create_under_way();
    happens(&mut world, Event::ConfigGone);
    if !sees_a_sign {
        happens(&mut world, Event::User(Act::StripBoth(0)));
    }
    happens(&mut world, Event::Start(0));
    happens(&mut world, Event::Elect(0));
    goes_on(&mut world, |_| false);
    if sees_a_sign {
        happens(&mut world, Event::User(Act::StripBoth(0)));
    }
    goes_on(&mut world, |_| false);
    happens(&mut world, Event::User(Act::Delete(0)));
    goes_on(&mut world, |_| false);
    assert!(world.lives[0].gone);
    world
}

/// The old create arrives, and every leader has forgotten the object.
fn leaks(world: &mut World) -> Result<(), Broken> {
    let uid = world.lives[0].uid.clone();
    for process in world.processes.iter().flatten() {
        process.reconciler.knowledge().forget_departed(&uid);
    }
    let at = world.flights.iter().position(|f| f.creates().is_some());
    world.step(Event::Network(at.unwrap(), Fate::Arrive))
}

#[test]
fn what_no_leader_ever_saw_a_sign_of_is_excused_where_nobody_can_be_asked() {
    let mut world = stripped(false);
    assert!(world.lives[0].excused);
    assert_eq!(leaks(&mut world), Ok(()));
    assert_eq!(world.cloud.live(&world.lives[0].uid).count(), 1);
}

#[test]
fn what_a_living_leader_saw_a_sign_of_is_not_excused_and_forgetting_it_is_found() {
    let mut world = stripped(true);
    assert!(!world.lives[0].excused);
    let broken = leaks(&mut world).unwrap_err();
    assert!(broken.starts_with("I3"), "{broken}");
}

#[test]
fn what_still_shows_a_sign_or_can_be_asked_about_is_not_excused() {
    // The finalizer alone is taken off: the intent shows what may come.
    let mut world = with_a_create_under_way();
    happens(&mut world, Event::ConfigGone);
    happens(&mut world, Event::User(Act::StripFinalizer(0)));
    happens(&mut world, Event::Start(0));
    happens(&mut world, Event::Elect(0));
    happens(&mut world, Event::User(Act::Delete(0)));
    assert!(world.lives[0].gone && !world.lives[0].excused);
    // Its ProviderConfig is there.
    let mut world = with_a_create_under_way();
    happens(&mut world, Event::User(Act::StripBoth(0)));
    happens(&mut world, Event::Start(0));
    happens(&mut world, Event::Elect(0));
    happens(&mut world, Event::User(Act::Delete(0)));
    assert!(world.lives[0].gone && !world.lives[0].excused);
}
