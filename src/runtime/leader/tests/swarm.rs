//! Candidates on machines whose links fail and whose wall clocks jump, chosen by a seed: never do two take themselves
//! for the leader, and when all is well again one of them leads. Planted bugs show that the search would find them;
//! what leaders write meanwhile is added by `simulation::leaders`.

use super::SECOND;
use super::fake::{Fault, LeaseServer, Link};
use crate::domain::term::Term;
use crate::domain::time::Moment;
use crate::runtime::clock::{Clock, TokioClock, wait_until};
use crate::runtime::leader::{Leader, Options};
use jiff::Timestamp;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::task::JoinSet;

/// Seeds of the ordinary run.
const SEEDS: u64 = 12;
/// Seeds in which a planted bug must be found.
const BUDGET: u64 = 40;
/// What happens in one run.
const STEPS: usize = 60;
const MACHINES: usize = 3;

/// What a leader does from its election to its end, given its term, its machine's clock and a seed; never ends by itself.
pub(crate) type Work = Arc<
    dyn Fn(Term, Arc<MachineClock>, u64) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync,
>;

/// A leader that does nothing.
fn idle() -> Work {
    Arc::new(|_, _, _| Box::pin(std::future::pending()))
}

/// The clocks of one machine. Administrators move the wall clock; nothing that decides may see it.
pub(crate) struct MachineClock {
    monotonic: TokioClock,
    /// By how many seconds the wall clock is off.
    off: Mutex<i64>,
    /// Planted: intervals are measured by the wall clock.
    by_the_wall: bool,
}

impl Clock for MachineClock {
    fn now(&self) -> Moment {
        let now = self.monotonic.now();
        if !self.by_the_wall {
            return now;
        }
        let off = self.off.lock().unwrap().saturating_mul(1_000_000_000);
        Moment::from_nanos(now.as_nanos().saturating_add_signed(off))
    }

    fn wall(&self) -> Timestamp {
        let off = jiff::SignedDuration::from_secs(*self.off.lock().unwrap());
        self.monotonic.wall().checked_add(off).unwrap()
    }
}

/// One machine with a process that is started again whenever it ends.
#[derive(Clone)]
struct Machine {
    clock: Arc<MachineClock>,
    link: Link,
    term: Arc<Mutex<Option<Term>>>,
    work: Work,
}

impl Machine {
    fn new(monotonic: TokioClock, by_the_wall: bool, work: Work) -> Self {
        Self {
            clock: Arc::new(MachineClock {
                monotonic,
                off: Mutex::new(0),
                by_the_wall,
            }),
            link: Link::default(),
            term: Arc::default(),
            work,
        }
    }

    /// Whether a provider write may start here and now.
    fn may_write(&self) -> bool {
        let term = self.term.lock().unwrap();
        term.as_ref()
            .is_some_and(|term| term.allows(self.clock.now()))
    }

    async fn live(self, server: LeaseServer, name: usize, seed: u64) {
        let mut random = fastrand::Rng::with_seed(seed);
        let time = self.clock.monotonic;
        let wait =
            async |secs: u64| wait_until(&time, time.now() + Duration::from_secs(secs)).await;
        for life in 0.. {
            let mut leader = Leader::new(
                server.api_behind(self.link.clone()),
                Options::new("vmoperator-leader", format!("{name}-{life}")),
                self.clock.clone(),
                random.fork(),
            );
            *self.term.lock().unwrap() = Some(leader.term());
            leader.acquire().await;
            let work = (self.work)(leader.term(), self.clock.clone(), random.u64(..));
            tokio::select! {
                () = work => {}
                _ = leader.hold() => drop(leader),
                () = wait(random.u64(5..200)) => leader.release().await,
            }
            wait(random.u64(0..5)).await;
        }
    }
}

/// Lets something happen to a machine.
fn strike(machine: &Machine, random: &mut fastrand::Rng) {
    let fault = match random.u8(..10) {
        0 | 1 => Some(Fault::Silence),
        2 => Some(Fault::LoseAnswers),
        3 => Some(Fault::SlowAnswers),
        4 => Some(Fault::Refuse(503)),
        5 => {
            let off = random.i64(-3600..=3600);
            *machine.clock.off.lock().unwrap() = off;
            return;
        }
        _ => None,
    };
    *machine.link.lock().unwrap() = fault;
}

/// How a run ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// One leads.
    Well,
    /// Two might have written at the same time.
    Two,
    /// Nobody leads although all is well.
    Nobody,
}

pub(crate) async fn run(seed: u64, by_the_wall: bool, work: Work) -> End {
    let mut random = fastrand::Rng::with_seed(seed);
    let (time, server) = (TokioClock::new(), LeaseServer::default());
    let machines: Vec<Machine> = (0..MACHINES)
        .map(|_| Machine::new(time, by_the_wall, work.clone()))
        .collect();
    let mut lives = JoinSet::new();
    for (name, machine) in machines.iter().enumerate() {
        lives.spawn(machine.clone().live(server.clone(), name, random.u64(..)));
    }
    let writers = || machines.iter().filter(|one| one.may_write()).count();
    for _ in 0..STEPS {
        strike(&machines[random.usize(..MACHINES)], &mut random);
        for _ in 0..random.usize(1..80) {
            wait_until(&time, time.now() + SECOND / 10).await;
            if writers() > 1 {
                return End::Two;
            }
        }
    }
    for machine in &machines {
        *machine.link.lock().unwrap() = None;
    }
    for _ in 0..600 {
        wait_until(&time, time.now() + SECOND / 10).await;
        match writers() {
            0 => {}
            1 => return End::Well,
            _ => return End::Two,
        }
    }
    End::Nobody
}

#[tokio::test(start_paused = true)]
async fn whatever_links_and_wall_clocks_do_one_leads_at_most_and_one_does_in_the_end() {
    for seed in 0..SEEDS {
        assert_eq!(run(seed, false, idle()).await, End::Well, "seed {seed}");
    }
}

/// Planted: a lease by the wall clock.
#[tokio::test(start_paused = true)]
async fn a_lease_by_the_wall_clock_is_found() {
    for seed in 0..BUDGET {
        if run(seed, true, idle()).await == End::Two {
            println!("a lease by the wall clock: {} seeds", seed + 1);
            return;
        }
    }
    panic!("not found in {BUDGET} seeds");
}
