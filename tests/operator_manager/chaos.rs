//! Three replicas that are killed one after the other while work goes on.

use std::time::Duration;

use vmoperator::runtime::clock::{Clock, SystemClock};

use crate::e2e::operator::Operator;
use crate::e2e::until_or;
use crate::stage::Stage;

/// Rounds of work and death, at least.
const ROUNDS: usize = 4;

/// VMs from which on as many leave in a round as come.
const MOST: usize = 40;

/// Seconds for which rounds go on; 0 without `VMOPERATOR_TEST_SOAK_SECONDS`.
fn soak() -> Duration {
    let text = std::env::var("VMOPERATOR_TEST_SOAK_SECONDS").unwrap_or_else(|_| "0".to_owned());
    let seconds = text.parse().ok().map(Duration::from_secs);
    seconds.unwrap_or_else(|| {
        panic!("VMOPERATOR_TEST_SOAK_SECONDS={text:?}: write a number of seconds")
    })
}

/// D10: four rounds, about a minute; `VMOPERATOR_TEST_SOAK_SECONDS=1800` for the half hour. The seed is printed.
#[test]
fn three_replicas_under_random_kills_make_and_remove_every_vm_once() {
    let stage = Stage::set();
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let mut replicas: Vec<Operator> = (0..3).map(|n| stage.replica(&format!("r{n}"))).collect();
    let mut living: Vec<String> = Vec::new();
    let (clock, soak) = (SystemClock, soak());
    let began = clock.now();
    let mut rounds = 0;
    while rounds < ROUNDS || clock.now().since(began) < soak {
        let round = rounds;
        rounds += 1;
        stage.create_many(&format!("round-{round}"), 4);
        living.extend((0..4).map(|number| format!("round-{round}-{number}")));
        // A long soak does not grow: as many leave as came.
        for _ in 0..if living.len() > MOST { 4 } else { 1 } {
            let leaving = living.swap_remove(random.usize(..living.len()));
            stage.house.delete(&stage.namespace, &leaving);
        }
        for one in &replicas {
            let (code, report) = one.health("/livez");
            assert_eq!(code, 200, "{report}");
        }
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
        let last = replicas.pop().map(Operator::ready);
        replicas.extend(last);
    }
    println!("{rounds} rounds");
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
