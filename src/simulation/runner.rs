//! Runs seeds: one, or many on every core.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::oracle::{Broken, Counts};
use super::planted::{Bias, Bug, ROWS, Row};
use super::shrink::shrink;
use super::swarm::{Swarm, Words};
use super::tape::Tape;
use super::trace::Trace;
use super::world::{Verdict, World};
use crate::domain::ClusterId;
use crate::lifecycle::Policy;

/// Of so many seeds one is compared with its references.
const COMPARE: u64 = 8;
/// Of so many seeds one is run twice: it must come to the same.
const TWICE: u64 = 100;

/// How a seed is run: in which worlds, and with which bug.
#[derive(Clone, Copy)]
pub(super) struct Setting {
    pub(super) words: Option<Words>,
    pub(super) steer: fn(&mut Swarm),
    pub(super) bias: Bias,
    pub(super) bug: Option<Bug>,
    /// Of how many seeds one is compared with its references; 0: none.
    pub(super) compare: u64,
}

impl Setting {
    pub(super) fn drawn() -> Self {
        Self {
            words: None,
            steer: |_| (),
            bias: super::planted::none,
            bug: None,
            compare: COMPARE,
        }
    }

    pub(super) fn of(row: &Row) -> Self {
        Self {
            words: Some(Words::parse(row.words)),
            steer: row.steer,
            bias: row.bias,
            bug: Some(row.bug),
            compare: u64::from(row.compare),
        }
    }

    /// What the environment asks for.
    pub(super) fn asked() -> Self {
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

pub(super) fn world(seed: u64, setting: Setting, keep: bool) -> World {
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
pub(super) fn run(seed: u64, setting: Setting) -> Result<Verdict, Broken> {
    let mut world = world(seed, setting, false);
    guarded(|| run_in(&mut world, seed, setting))
}

/// Runs one seed in its world, and compares its end where that is its turn.
pub(super) fn run_in(world: &mut World, seed: u64, setting: Setting) -> Result<Verdict, Broken> {
    let verdict = world.run()?;
    // Where nobody can be asked, what a fault leaves is a doubt, and ends differ.
    if seed.is_multiple_of(setting.compare) && !world.swarm.basic {
        world.compare_with_last_wishes()?;
        world.compare_with_same_acts()?;
    }
    Ok(verdict)
}

/// Takes a panic for what was broken.
pub(super) fn guarded<T>(run: impl FnOnce() -> Result<T, Broken>) -> Result<T, Broken> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(format!("panic: {}", text.unwrap_or("of another kind")))
    })
}

pub(super) fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{variable} must be a number, not {text:?}")),
    )
}

pub(super) fn replay_with(seed: u64) -> String {
    format!("SIM_SEED={seed} cargo test --lib simulation::tests::replay -- --nocapture")
}

/// What many seeds came to.
#[derive(Debug, Default)]
pub(super) struct Sum {
    pub(super) counts: Counts,
    pub(super) steps: u64,
    pub(super) faults: u64,
    /// Times that a call had to wait for the limiter, and probes of breakers.
    pub(super) held: (u64, u64),
    pub(super) failures: Vec<(u64, Broken)>,
}

/// Runs seeds on every core (`SIM_THREADS` says on how many), until so many have failed.
pub(super) fn run_all(first: u64, seeds: u64, setting: Setting, most: usize) -> Sum {
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    let threads = number("SIM_THREADS").unwrap_or(cores);
    let (next, sum) = (AtomicU64::new(first), Mutex::new(Sum::default()));
    let work = || {
        let mut own = Sum::default();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= first + seeds || sum.lock().unwrap().failures.len() >= most {
                break;
            }
            match run_twice(seed, setting) {
                Ok(verdict) => own.add(&verdict),
                Err(broken) => {
                    println!("seed {seed}: {broken}");
                    sum.lock().unwrap().failures.push((seed, broken));
                }
            }
        }
        sum.lock().unwrap().join(&own);
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    let mut sum = sum.into_inner().unwrap();
    sum.failures.sort();
    sum
}

/// The same seed is the same run.
fn run_twice(seed: u64, setting: Setting) -> Result<Verdict, Broken> {
    let verdict = run(seed, setting)?;
    if seed.is_multiple_of(TWICE) && run(seed, setting)? != verdict {
        return Err("I14: the same seed ran differently a second time".to_owned());
    }
    Ok(verdict)
}

impl Sum {
    fn add(&mut self, verdict: &Verdict) {
        self.counts.add(&verdict.counts);
        self.steps += u64::from(verdict.steps);
        self.faults += u64::from(verdict.faults);
        self.held.0 += u64::from(verdict.held.0);
        self.held.1 += u64::from(verdict.held.1);
    }

    fn join(&mut self, other: &Self) {
        self.counts.add(&other.counts);
        self.steps += other.steps;
        self.faults += other.faults;
        self.held.0 += other.held.0;
        self.held.1 += other.held.1;
    }
}

/// The storm of a seed that fails, cut down to what it needs to fail in the same way; `None` where it does not fail,
/// or not when it is played from its tape.
pub(super) fn shortest(seed: u64, setting: Setting) -> Option<(Tape, Broken)> {
    // A failure that only a comparison shows is one that every comparison must see.
    let setting = Setting {
        compare: u64::from(setting.compare > 0),
        ..setting
    };
    let mut world = world(seed, setting, false);
    world.tape = Some(Tape::default());
    let broken = guarded(|| run_in(&mut world, seed, setting)).err()?;
    let tape = world.tape.take()?;
    play(seed, setting, &tape)?;
    Some(shrink(tape, &broken, |tape| play(seed, setting, tape)))
}

/// What is broken when a tape is played in the world of a seed.
fn play(seed: u64, setting: Setting, tape: &Tape) -> Option<Broken> {
    let mut world = world(seed, setting, false);
    play_in(&mut world, setting, tape).err()
}

/// The same in a given world, which keeps its trace if it was made so.
pub(super) fn play_in(world: &mut World, setting: Setting, tape: &Tape) -> Result<(), Broken> {
    guarded(|| {
        world.play(tape)?;
        if setting.compare > 0 && !world.swarm.basic {
            world.compare_with_last_wishes()?;
            world.compare_with_same_acts()?;
        }
        Ok(())
    })
}
