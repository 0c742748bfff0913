//! The differential oracle sees what differs.

use crate::simulation::runner::{Setting, world};
use crate::simulation::users::{Deed, name};
use crate::simulation::world::World;

/// A world in which one VM runs at the end.
fn with_one_vm() -> World {
    let setting = Setting {
        words: Some(crate::simulation::swarm::Words::parse("crash,lost")),
        ..Setting::drawn()
    };
    (1..100)
        .find_map(|seed| {
            let mut world = world(seed, setting, false);
            let running = world.run().unwrap().counts.running;
            (running == 1 && world.api.objects.len() == 1).then_some(world)
        })
        .expect("a seed in which one VM runs")
}

/// What the comparison says once something was changed that no fault-free run would leave.
fn after(change: impl FnOnce(&mut World)) -> String {
    let mut world = with_one_vm();
    world.compare_with_last_wishes().unwrap();
    world.compare_with_same_acts().unwrap();
    change(&mut world);
    let last = world.compare_with_last_wishes();
    let acts = world.compare_with_same_acts();
    last.and(acts).unwrap_err()
}

fn the_key(world: &World) -> crate::domain::ObjectKey {
    world.api.objects.keys().next().unwrap().clone()
}

#[test]
fn what_no_run_without_faults_would_leave_is_seen() {
    let wiped = after(|world| {
        let key = the_key(world);
        world.api.wipe_status(&key);
    });
    assert!(wiped.starts_with("H: "), "{wiped}");
    let stripped = after(|world| {
        let key = the_key(world);
        world.api.edit(&key, |view, _| view.finalizers.clear());
    });
    assert!(stripped.starts_with("H: "), "{stripped}");
    let stale = after(|world| {
        let key = the_key(world);
        world.api.edit(&key, |view, _| view.object.generation += 1);
    });
    assert!(stale.starts_with("H: "), "{stale}");
}

#[test]
fn instances_beside_the_one_and_objects_beyond_the_wishes_are_seen() {
    let doubled = after(|world| {
        let twin = world.cloud.machines.last().unwrap().clone();
        world.cloud.machines.push(twin);
    });
    assert!(doubled.starts_with("H: "), "{doubled}");
    let made_twice = after(|world| {
        let mut twin = world.cloud.machines.last().unwrap().clone();
        twin.alive = false;
        world.cloud.machines.push(twin);
    });
    assert!(made_twice.starts_with("R: "), "{made_twice}");
    let unwished = after(|world| world.script.push(Deed::Delete(0)));
    assert!(unwished.starts_with("R: "), "{unwished}");
    let other_spec = after(|world| {
        let key = name(0);
        world.api.edit(&key, |view, _| {
            if let Some(spec) = &mut view.object.spec {
                spec.cpu += 1;
            }
        });
    });
    assert!(
        other_spec.starts_with("H: ") || other_spec.starts_with("R: "),
        "{other_spec}"
    );
}
