//! The runs of the gate.

mod excused;
mod page;
mod planted;
mod references;
mod shrinking;
mod small;

use super::oracle::Counts;
use super::runner::{
    Setting, guarded, number, play_in, replay_with, run, run_all, run_in, shortest, world,
};
use super::swarm::{Swarm, Words};
use crate::runtime::clock::{Clock, SystemClock};

/// Seeds of a run without SIM_SEEDS.
const DEFAULT_SEEDS: u64 = 4_000;

/// Seeds that once showed a bug in the production code, or that reach far: they always run.
#[test]
fn the_corpus_stays_clean() {
    for line in include_str!("corpus.txt").lines() {
        let seed = line.split_whitespace().next().unwrap_or("#");
        if seed.starts_with('#') {
            continue;
        }
        let seed = seed
            .parse()
            .expect("a line of the corpus begins with a seed");
        let setting = Setting {
            compare: 1,
            ..Setting::drawn()
        };
        if let Err(broken) = run(seed, setting) {
            panic!("{line}: {broken}\nreplay: {}", replay_with(seed));
        }
    }
}

#[test]
fn seeds() {
    let seeds = number("SIM_SEEDS").unwrap_or(DEFAULT_SEEDS);
    let first = number("SIM_FIRST").unwrap_or(1);
    let most = usize::try_from(number("SIM_FAILURES").unwrap_or(1)).unwrap();
    let began = SystemClock.now();
    let sum = run_all(first, seeds, Setting::asked(), most);
    let took = SystemClock.now().since(began).as_secs_f64();
    println!(
        "{seeds} seeds in {took:.1} s, {:.0} per second: {} steps, {} faults",
        seeds as f64 / took,
        sum.steps,
        sum.faults
    );
    println!(
        "at the end: {:?} (leaked: instances left to the orphan sweep, as the protocol excuses)",
        sum.counts
    );
    println!(
        "calls waited for the limiter {} times, and breakers probed the cloud {} times",
        sum.held.0, sum.held.1
    );
    if let Some((seed, broken)) = sum.failures.first() {
        panic!("seed {seed}: {broken}\nreplay: {}", replay_with(*seed));
    }
    if seeds >= DEFAULT_SEEDS && Setting::asked().words.is_none() {
        assert!(
            sum.held.0 > 0 && sum.held.1 > 0,
            "limiter or breaker never did anything"
        );
    }
}

/// One seed with its trace; with `SIM_SHRINK`, cut down to what it needs to fail.
#[test]
fn replay() {
    let Some(seed) = number("SIM_SEED") else {
        println!("set SIM_SEED to a seed to see its trace");
        return;
    };
    let setting = Setting {
        compare: 1,
        ..Setting::asked()
    };
    let mut world = world(seed, setting, true);
    println!("{}: {:?}", world.swarm.words.list(), world.swarm);
    let result = if std::env::var_os("SIM_SHRINK").is_some() {
        let (tape, _) = shortest(seed, setting).expect("SIM_SHRINK: the seed must fail");
        let adverse = tape.steps.iter().filter(|step| step.is_adverse()).count();
        println!(
            "{} steps, {adverse} of them faults and acts",
            tape.steps.len()
        );
        play_in(&mut world, setting, &tape)
    } else {
        guarded(|| run_in(&mut world, seed, setting)).map(drop)
    };
    for line in world.trace.lines() {
        println!("{line}");
    }
    println!("{result:?}");
    assert!(result.is_ok(), "seed {seed} fails");
}

/// Runs worlds that are not drawn, as many seeds for each list of words; gives what they came to.
fn steered(steer: fn(&mut Swarm), lists: &[&str]) -> Counts {
    let mut sum = Counts::default();
    let seeds = number("SIM_SEEDS").map_or(300, |seeds| seeds / 10);
    for list in lists {
        let setting = Setting {
            words: Some(Words::parse(list)),
            steer,
            ..Setting::drawn()
        };
        let all = run_all(1, seeds, setting, 1);
        if let Some((seed, broken)) = all.failures.first() {
            panic!("{list}, seed {seed}: {broken}");
        }
        sum.add(&all.counts);
    }
    println!("{} worlds of {seeds} seeds: {sum:?}", lists.len());
    sum
}

#[test]
fn without_keys_tags_and_lists_nothing_is_made_twice_and_what_is_in_doubt_says_so() {
    let sum = steered(
        super::planted::basic,
        &[
            "",
            "delete,recreate,relabel",
            "lost,errors",
            "crash,lost,relabel,pause",
            "delete,crash,lost,race,relist,errors",
            "edit,invalid,quota,errors,limiter,lost",
            "edit,invalid,quota,crash,relabel",
            "vanish,slowdelete,delete,recreate,noconfig,lost",
            "overlap,crash,errors,quota,invalid,edit",
        ],
    );
    assert!(sum.running > 0 && sum.doubts > 0 && sum.refused > 0 && sum.gone > 0);
}

#[test]
fn what_vanished_all_at_once_is_not_made_anew_before_somebody_confirms_it() {
    let sum = steered(
        super::planted::mass_loss,
        &["", "crash,relabel,lag", "crash,lost,errors,relist,pause"],
    );
    assert!(sum.running > 0);
}

/// B9: the API server's data went back in time, or another of its caches is behind.
#[test]
fn lists_that_show_an_older_state_than_before_make_and_delete_nothing_wrong() {
    let sum = steered(
        super::planted::back_in_time,
        &[
            "relist",
            "relist,delete",
            "relist,crash,vanish",
            "relist,lost,edit,delete",
        ],
    );
    assert!(sum.running > 0 && sum.gone > 0);
}
