//! The runner.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::oracle::{Broken, Counts};
use super::planted::{Bug, ROWS};
use super::swarm::{Swarm, Words};
use super::trace::Trace;
use super::world::{Verdict, World};
use crate::domain::ClusterId;
use crate::lifecycle::Policy;

/// Seeds of a run without SIM_SEEDS.
const DEFAULT_SEEDS: u64 = 5_000;

fn world(seed: u64, words: Option<Words>, bug: Option<Bug>, keep: bool) -> World {
    let mut random = fastrand::Rng::with_seed(seed ^ 0x5eed_0000_0000_0000);
    let swarm = Swarm::draw(&mut random, words);
    let policy = Policy::new(ClusterId::new("c"));
    World::new(seed, swarm, policy, bug, Trace::new(keep))
}

/// Runs one seed; a panic is a failure like any other.
fn run(seed: u64, words: Option<Words>, bug: Option<Bug>) -> Result<Verdict, Broken> {
    let mut world = world(seed, words, bug, false);
    catch_unwind(AssertUnwindSafe(|| world.run())).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(format!("panic: {}", text.unwrap_or("of another kind")))
    })
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} must be a number, not {text:?}")))
}

fn words() -> Option<Words> {
    std::env::var("SIM_WORDS").ok().map(|list| Words::parse(&list))
}

fn replay_with(seed: u64) -> String {
    format!("SIM_SEED={seed} cargo test --lib simulation::tests::replay -- --nocapture")
}

#[test]
fn seeds() {
    let seeds = number("SIM_SEEDS").unwrap_or(DEFAULT_SEEDS);
    let first = number("SIM_FIRST").unwrap_or(1);
    let words = words();
    let mut sum = Counts::default();
    let (mut steps, mut faults) = (0u64, 0u64);
    let mut failures: Vec<(u64, Broken)> = Vec::new();
    let most = usize::try_from(number("SIM_FAILURES").unwrap_or(1)).unwrap();
    for seed in first..first + seeds {
        match run(seed, words, None) {
            Ok(verdict) => {
                steps += u64::from(verdict.steps);
                faults += u64::from(verdict.faults);
                sum.add(&verdict.counts);
                if seed % 100 == 0 {
                    let again = run(seed, words, None).map(|v| v.hash);
                    assert_eq!(again, Ok(verdict.hash), "seed {seed} runs differently twice");
                }
            }
            Err(broken) => {
                println!("seed {seed}: {broken}");
                failures.push((seed, broken));
                if failures.len() >= most {
                    break;
                }
            }
        }
    }
    println!("{seeds} seeds, {steps} steps, {faults} faults, {sum:?}");
    if let Some((seed, broken)) = failures.first() {
        panic!("seed {seed}: {broken}\nreplay: {}", replay_with(*seed));
    }
}

#[test]
fn replay() {
    let Some(seed) = number("SIM_SEED") else {
        println!("set SIM_SEED to a seed to see its trace");
        return;
    };
    let bug = std::env::var("SIM_BUG").ok().map(|name| {
        let row = ROWS.iter().find(|row| row.name == name);
        row.expect("SIM_BUG names no planted bug").bug
    });
    let mut world = world(seed, words(), bug, true);
    println!("{}: {:?}", world.swarm.words.list(), world.swarm);
    let result = catch_unwind(AssertUnwindSafe(|| world.run()));
    for line in world.trace.lines() {
        println!("{line}");
    }
    println!("{result:?}");
    assert!(matches!(result, Ok(Ok(_))), "seed {seed} fails");
}

impl Counts {
    fn add(&mut self, other: &Self) {
        self.gone += other.gone;
        self.excused += other.excused;
        self.leaked += other.leaked;
        self.running += other.running;
        self.refused += other.refused;
        self.drifted += other.drifted;
        self.duplicates += other.duplicates;
    }
}

/// Seeds until a bug is found in its world, with what was broken.
fn hunt(row: &super::planted::Row) -> Option<(u64, Broken)> {
    let words = (!row.words.is_empty()).then(|| Words::parse(row.words));
    (1..=row.budget).find_map(|seed| {
        let what = run(seed, words, Some(row.bug)).err()?;
        // Without the bug the same seed must be clean, or it shows something else.
        run(seed, words, None).is_ok().then_some((seed, what))
    })
}

#[test]
fn every_planted_bug_is_found() {
    let mut missed = Vec::new();
    for row in ROWS {
        match hunt(row) {
            Some((seeds, what)) => println!("{:<40} {seeds:>6} seeds  {what}", row.name),
            None => {
                println!("{:<40} NOT FOUND in {} seeds", row.name, row.budget);
                missed.push(row.name);
            }
        }
    }
    assert!(missed.is_empty(), "not found: {missed:?}");
}
