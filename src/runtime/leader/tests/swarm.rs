//! Candidates on machines whose links fail, whose wall clocks jump and which are suspended, chosen by a seed: never do
//! two take themselves for the leader, and when all is well again one of them leads. Planted bugs show that the search
//! would find them; what leaders write meanwhile is added by `simulation::leaders`.

use super::SECOND;
use super::fake::{Fault, LeaseServer, Link};
use crate::domain::term::Term;
use crate::domain::time::Moment;
use crate::runtime::clock::{Clock, TokioClock, wait_until};
use crate::runtime::leader::{Leader, Options};
use jiff::Timestamp;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
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

/// What a machine measures intervals by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Measure {
    /// A clock that goes on while the machine is suspended (`CLOCK_BOOTTIME`).
    Boottime,
    /// Planted: one that stands still meanwhile (`CLOCK_MONOTONIC`, the one of `std` and tokio).
    Uptime,
    /// Planted: the wall clock.
    Wall,
}

/// The clocks of one machine. Administrators move the wall clock; nothing that decides may see it.
pub(crate) struct MachineClock {
    monotonic: TokioClock,
    /// By how many seconds the wall clock is off.
    off: Mutex<i64>,
    measure: Measure,
    sleep: Mutex<Sleep>,
}

/// How long a machine was suspended, and whether it is.
#[derive(Default)]
struct Sleep {
    since: Option<Moment>,
    slept: Duration,
    /// Its process, which goes on where it stood.
    process: Option<Waker>,
}

impl MachineClock {
    fn suspend(&self) {
        let now = self.monotonic.now();
        self.sleep.lock().unwrap().since.get_or_insert(now);
    }

    fn resume(&self) {
        let mut sleep = self.sleep.lock().unwrap();
        if let Some(since) = sleep.since.take() {
            sleep.slept += self.monotonic.now().since(since);
        }
        if let Some(process) = sleep.process.take() {
            process.wake();
        }
    }

    fn is_suspended(&self) -> bool {
        self.sleep.lock().unwrap().since.is_some()
    }

    /// Runs the machine's process, which stands still while the machine is suspended.
    async fn run<T>(&self, process: impl Future<Output = T>) -> T {
        let mut process = pin!(process);
        poll_fn(|context| {
            let mut sleep = self.sleep.lock().unwrap();
            if sleep.since.is_some() {
                sleep.process = Some(context.waker().clone());
                return Poll::Pending;
            }
            drop(sleep);
            process.as_mut().poll(context)
        })
        .await
    }
}

impl Clock for MachineClock {
    fn now(&self) -> Moment {
        let now = self.monotonic.now();
        let less = |stood: Duration| {
            let stood = u64::try_from(stood.as_nanos()).unwrap();
            Moment::from_nanos(now.as_nanos().saturating_sub(stood))
        };
        match self.measure {
            Measure::Boottime => now,
            Measure::Uptime => {
                let sleep = self.sleep.lock().unwrap();
                let asleep = sleep.since.map(|since| now.since(since));
                less(sleep.slept + asleep.unwrap_or_default())
            }
            Measure::Wall => {
                let off = self.off.lock().unwrap().saturating_mul(1_000_000_000);
                Moment::from_nanos(now.as_nanos().saturating_add_signed(off))
            }
        }
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
    fn new(monotonic: TokioClock, measure: Measure, work: Work) -> Self {
        Self {
            clock: Arc::new(MachineClock {
                monotonic,
                off: Mutex::new(0),
                measure,
                sleep: Mutex::default(),
            }),
            link: Link::default(),
            term: Arc::default(),
            work,
        }
    }

    /// Whether a provider write may start here and now.
    fn may_write(&self) -> bool {
        let term = self.term.lock().unwrap();
        !self.clock.is_suspended()
            && term
                .as_ref()
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

/// Lets something happen to a machine, which wakes up first if it was suspended.
fn strike(machine: &Machine, random: &mut fastrand::Rng) {
    machine.clock.resume();
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
        6 => {
            machine.clock.suspend();
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

pub(crate) async fn run(seed: u64, measure: Measure, work: Work) -> End {
    let mut random = fastrand::Rng::with_seed(seed);
    let (time, server) = (TokioClock::new(), LeaseServer::default());
    let machines: Vec<Machine> = (0..MACHINES)
        .map(|_| Machine::new(time, measure, work.clone()))
        .collect();
    let mut lives = JoinSet::new();
    for (name, machine) in machines.iter().enumerate() {
        let (clock, seed) = (Arc::clone(&machine.clock), random.u64(..));
        let life = machine.clone().live(server.clone(), name, seed);
        lives.spawn(async move { clock.run(life).await });
    }
    let writers = || machines.iter().filter(|one| one.may_write()).count();
    for _ in 0..STEPS {
        strike(&machines[random.usize(..MACHINES)], &mut random);
        // Before whoever has just woken up has done anything.
        if writers() > 1 {
            return End::Two;
        }
        for _ in 0..random.usize(1..80) {
            wait_until(&time, time.now() + SECOND / 10).await;
            if writers() > 1 {
                return End::Two;
            }
        }
    }
    for machine in &machines {
        *machine.link.lock().unwrap() = None;
        machine.clock.resume();
    }
    if writers() > 1 {
        return End::Two;
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
        let end = run(seed, Measure::Boottime, idle()).await;
        assert_eq!(end, End::Well, "seed {seed}");
    }
}

async fn is_found(measure: Measure) {
    for seed in 0..BUDGET {
        if run(seed, measure, idle()).await == End::Two {
            println!("intervals by {measure:?}: {} seeds", seed + 1);
            return;
        }
    }
    panic!("{measure:?} was not found in {BUDGET} seeds");
}

/// Planted: a lease by the wall clock.
#[tokio::test(start_paused = true)]
async fn a_lease_by_the_wall_clock_is_found() {
    is_found(Measure::Wall).await;
}

/// Planted: a lease by a clock that stands still while the machine is suspended.
#[tokio::test(start_paused = true)]
async fn a_lease_by_a_clock_that_stands_still_in_a_suspend_is_found() {
    is_found(Measure::Uptime).await;
}

/// D3, by itself: a leader's machine is suspended for longer than its lease lives, and another one leads. What wakes up
/// may not write, not even before it has looked at anything.
#[tokio::test(start_paused = true)]
async fn a_leader_that_wakes_up_after_a_suspend_may_not_write_while_another_leads() {
    for (measure, writers) in [(Measure::Boottime, 1), (Measure::Uptime, 2)] {
        let (time, server) = (TokioClock::new(), LeaseServer::default());
        let wait = async |secs: u32| wait_until(&time, time.now() + SECOND * secs).await;
        let machines: Vec<Machine> = (0..2)
            .map(|_| Machine::new(time, measure, idle()))
            .collect();
        let mut lives = JoinSet::new();
        for (name, machine) in machines.iter().enumerate() {
            let clock = Arc::clone(&machine.clock);
            let mut leader = Leader::new(
                server.api(),
                Options::new("vmoperator-leader", name.to_string()),
                machine.clock.clone(),
                fastrand::Rng::with_seed(7),
            );
            *machine.term.lock().unwrap() = Some(leader.term());
            lives.spawn(async move {
                clock
                    .run(async {
                        leader.acquire().await;
                        leader.hold().await
                    })
                    .await
            });
            // The first one leads before the second is there.
            wait(3).await;
        }
        assert!(machines[0].may_write() && !machines[1].may_write());
        machines[0].clock.suspend();
        wait(60).await;
        assert!(machines[1].may_write(), "{measure:?}: nobody took over");
        machines[0].clock.resume();
        let allowed = machines.iter().filter(|one| one.may_write()).count();
        assert_eq!(allowed, writers, "{measure:?}");
        // It sees who leads, and ends.
        let lost = lives.join_next().await.unwrap().unwrap();
        println!("{measure:?}: {lost}");
        assert!(machines[1].may_write() && !machines[0].may_write());
    }
}
