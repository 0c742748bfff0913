//! The runner.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::oracle::{Broken, Counts};
use super::planted::{Bias, Bug, ROWS, Row};
use super::swarm::{Swarm, Words};
use super::trace::Trace;
use super::world::{Verdict, World};
use crate::domain::ClusterId;
use crate::lifecycle::Policy;
use crate::runtime::clock::{Clock, SystemClock};

/// Seeds of a run without SIM_SEEDS.
const DEFAULT_SEEDS: u64 = 15_000;

/// How a seed is run: in which worlds, and with which bug.
#[derive(Clone, Copy)]
struct Setting {
    words: Option<Words>,
    steer: fn(&mut Swarm),
    bias: Bias,
    bug: Option<Bug>,
}

impl Setting {
    fn drawn() -> Self {
        Self {
            words: None,
            steer: |_| (),
            bias: super::planted::none,
            bug: None,
        }
    }

    fn of(row: &Row) -> Self {
        Self {
            words: Some(Words::parse(row.words)),
            steer: row.steer,
            bias: row.bias,
            bug: Some(row.bug),
        }
    }

    /// What the environment asks for.
    fn asked() -> Self {
        let row = std::env::var("SIM_BUG").ok().map(|name| {
            let row = ROWS.iter().find(|row| row.name == name);
            row.expect("SIM_BUG names no planted bug")
        });
        let mut setting = row.map_or_else(Self::drawn, Self::of);
        if std::env::var_os("SIM_CLEAN").is_some() {
            setting.bug = None;
        }
        if let Ok(list) = std::env::var("SIM_WORDS") {
            setting.words = Some(Words::parse(&list));
        }
        match std::env::var("SIM_STEER").as_deref() {
            Ok("basic") => setting.steer = super::planted::basic,
            Ok("mass_loss") => setting.steer = super::planted::mass_loss,
            Ok("back_in_time") => setting.steer = super::planted::back_in_time,
            Ok(other) => panic!("SIM_STEER names no world: {other}"),
            Err(_) => {}
        }
        setting
    }
}

fn world(seed: u64, setting: Setting, keep: bool) -> World {
    // The production breaker draws its jitter from the thread's generator.
    fastrand::seed(seed);
    let mut random = fastrand::Rng::with_seed(seed ^ 0x5eed_0000_0000_0000);
    let mut swarm = Swarm::draw(&mut random, setting.words);
    (setting.steer)(&mut swarm);
    let bug = setting.bug;
    let policy = Policy::new(ClusterId::new("c"));
    let mut world = World::new(seed, swarm, policy, bug, Trace::new(keep));
    world.bias = setting.bias;
    world
}

/// Runs one seed; a panic is a failure like any other.
fn run(seed: u64, setting: Setting) -> Result<Verdict, Broken> {
    let mut world = world(seed, setting, false);
    catch_unwind(AssertUnwindSafe(|| world.run())).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(format!("panic: {}", text.unwrap_or("of another kind")))
    })
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{variable} must be a number, not {text:?}")),
    )
}

fn replay_with(seed: u64) -> String {
    format!("SIM_SEED={seed} cargo test --lib simulation::tests::replay -- --nocapture")
}

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
        if let Err(broken) = run(seed, Setting::drawn()) {
            panic!("seed {seed}: {broken}\nreplay: {}", replay_with(seed));
        }
    }
}

#[test]
fn seeds() {
    let seeds = number("SIM_SEEDS").unwrap_or(DEFAULT_SEEDS);
    let first = number("SIM_FIRST").unwrap_or(1);
    let setting = Setting::asked();
    let began = SystemClock.now();
    let mut sum = Counts::default();
    let (mut steps, mut faults) = (0u64, 0u64);
    let (mut waits, mut probes) = (0u64, 0u64);
    let mut failures: Vec<(u64, Broken)> = Vec::new();
    let most = usize::try_from(number("SIM_FAILURES").unwrap_or(1)).unwrap();
    for seed in first..first + seeds {
        match run(seed, setting) {
            Ok(verdict) => {
                steps += u64::from(verdict.steps);
                faults += u64::from(verdict.faults);
                waits += u64::from(verdict.held.0);
                probes += u64::from(verdict.held.1);
                sum.add(&verdict.counts);
                if seed % 100 == 0 {
                    let again = run(seed, setting).map(|v| v.hash);
                    assert_eq!(
                        again,
                        Ok(verdict.hash),
                        "seed {seed} runs differently twice"
                    );
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
    let took = SystemClock.now().since(began).as_secs_f64();
    println!(
        "{seeds} seeds in {took:.1} s, {:.0} per second: {steps} steps, {faults} faults",
        seeds as f64 / took
    );
    println!(
        "at the end: {sum:?} (leaked: instances left to the orphan sweep, as the protocol excuses)"
    );
    println!(
        "calls waited for the limiter {waits} times, and breakers probed the cloud {probes} times"
    );
    if let Some((seed, broken)) = failures.first() {
        panic!("seed {seed}: {broken}\nreplay: {}", replay_with(*seed));
    }
    if seeds >= DEFAULT_SEEDS && setting.words.is_none() {
        assert!(
            waits > 0 && probes > 0,
            "limiter or breaker never did anything"
        );
    }
}

#[test]
fn replay() {
    let Some(seed) = number("SIM_SEED") else {
        println!("set SIM_SEED to a seed to see its trace");
        return;
    };
    let mut world = world(seed, Setting::asked(), true);
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
        self.doubts += other.doubts;
    }
}

/// Seeds until a bug is found in its world, with what was broken.
fn hunt(row: &Row) -> Option<(u64, Broken)> {
    let planted = Setting::of(row);
    let clean = Setting {
        bug: None,
        ..planted
    };
    (1..=row.budget).find_map(|seed| {
        let what = run(seed, planted).err()?;
        // Without the bug the same seed must be clean, or it shows something else.
        run(seed, clean).is_ok().then_some((seed, what))
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
        for seed in 1..=seeds {
            match run(seed, setting) {
                Ok(verdict) => sum.add(&verdict.counts),
                Err(broken) => panic!("{list}, seed {seed}: {broken}"),
            }
        }
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
