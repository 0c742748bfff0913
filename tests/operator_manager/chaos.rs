//! Three replicas that are killed one after the other while work goes on.

use crate::e2e::operator::Operator;
use crate::e2e::until_or;
use crate::stage::Stage;

/// Rounds of work and death.
const ROUNDS: usize = 4;

/// D10, shortened to some minutes of the half hour; the seed is printed.
#[test]
fn three_replicas_under_random_kills_make_and_remove_every_vm_once() {
    let stage = Stage::set();
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let mut replicas: Vec<Operator> = (0..3).map(|n| stage.replica(&format!("r{n}"))).collect();
    let mut living: Vec<String> = Vec::new();
    for round in 0..ROUNDS {
        stage.create_many(&format!("round-{round}"), 4);
        living.extend((0..4).map(|number| format!("round-{round}-{number}")));
        let leaving = living.swap_remove(random.usize(..living.len()));
        stage.house.delete(&stage.namespace, &leaving);
        // Every other time it is the one that matters.
        let holder = stage.holder();
        let leads = replicas
            .iter()
            .position(|one| one.state()["leader"]["identity"].as_str() == Some(holder.as_str()));
        let victim = match leads {
            Some(leads) if round % 2 == 0 => leads,
            Some(_) | None => random.usize(..replicas.len()),
        };
        replicas.swap_remove(victim).kill();
        replicas.push(stage.start(&format!("r{}", round + 3), &[], None));
        let led = || !stage.holder().is_empty() && stage.holder() != holder;
        if leads == Some(victim) {
            until_or("another one leads", led, || stage.holder());
        }
    }
    stage.all_ready(living.len());
    let mut names: Vec<String> = stage
        .vms()
        .iter()
        .map(|vm| {
            vm["metadata"]["name"]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        })
        .collect();
    names.sort();
    living.sort();
    assert_eq!(names, living);
    assert_eq!(stage.cloud.ours().len(), living.len());
    stage.end();
}
