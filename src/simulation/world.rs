//! The world: two processes, an API server, a cloud, a network and users, driven by a seed.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::api_server::ApiServer;
use super::choice::Cost;
use super::client::Access;
use super::cloud::Cloud;
use super::network::Flight;
use super::oracle::{Broken, Counts, Life};
use super::planted::Bug;
use super::process::Process;
use super::swarm::Swarm;
use super::tape::Tape;
use super::trace::Trace;
use super::users::Deed;
use super::wire::SimClock;
use crate::domain::{ClusterId, Moment, Uid};
use crate::lifecycle::{Config, Policy};

/// Virtual time within which a run must converge once faults have stopped.
const CONVERGES_WITHIN: Duration = Duration::from_hours(2);
/// Steps within which it must.
const STEPS_TO_CONVERGE: u32 = 6_000;

/// Bugs that are planted around the production code, not in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doctored {
    /// The intent's patch is not guarded.
    UnguardedIntent,
    /// The status patch is not guarded.
    UnguardedStatus,
    /// Finds go by the key of the intent.
    FindByKey,
    /// A repeated create goes out under a new key.
    NewKey,
    /// Whatever an id leads to is taken for ours.
    TagsUnread,
    /// Our own status writes wake us like news.
    StatusWakes,
    /// The client repeats what failed beneath the fence of the term.
    RetryBelowFence,
}

/// Who holds the lease.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lease {
    pub(super) life: u32,
    pub(super) renewed: Moment,
}

/// The world.
pub(super) struct World {
    pub(super) random: fastrand::Rng,
    pub(super) swarm: Swarm,
    pub(super) now: Moment,
    pub(super) clock: SimClock,
    pub(super) api: ApiServer,
    pub(super) cloud: Cloud,
    pub(super) config: Arc<Mutex<Option<Config>>>,
    pub(super) the_config: Config,
    /// Objects whose instances vanished at one moment, which nobody has confirmed.
    pub(super) mass: Vec<Uid>,
    pub(super) policy: Policy,
    pub(super) processes: [Option<Process>; 2],
    pub(super) flights: Vec<Flight>,
    pub(super) flights_made: u64,
    pub(super) lease: Option<Lease>,
    pub(super) lives: Vec<Life>,
    pub(super) exported: Vec<String>,
    /// The bug that is planted.
    pub(super) bug: Option<Bug>,
    pub(super) doctored: Option<Doctored>,
    pub(super) access: Access,
    pub(super) posted: Vec<String>,
    pub(super) bias: super::planted::Bias,
    pub(super) next_life: u32,
    /// Faults and users' acts may still come.
    pub(super) storm: bool,
    pub(super) faults: u32,
    pub(super) acts: u32,
    pub(super) steps: u32,
    pub(super) effective: u32,
    /// Times that a call had to wait for the limiter, and probes of breakers.
    pub(super) held: (u32, u32),
    pub(super) at_this_moment: u32,
    pub(super) trace: Trace,
    /// What users did.
    pub(super) script: Vec<Deed>,
    /// Steps of the storm, where they are kept.
    pub(super) tape: Option<Tape>,
    /// Memory of the list of choices.
    pub(super) choices: Vec<(u32, Cost, Event)>,
    /// Passes that ended.
    pub(super) passes: u32,
    /// Nothing is left to chance: every choice is somebody else's.
    pub(super) exhaustive: bool,
}

/// What can happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    Network(usize, super::network::Fate),
    Watch(usize),
    List(usize),
    Take(usize),
    Elect(usize),
    Start(usize),
    Crash(usize),
    Pause(usize),
    Resume(usize),
    Exit(usize),
    User(super::users::Act),
    Vanish(usize),
    /// Its id is given to somebody else's.
    Reuse(usize),
    VanishAll,
    QuotaUsedUp,
    ConfigGone,
    ConfigBack,
    Time(Moment),
}

/// What a good run came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) counts: Counts,
    pub(super) steps: u32,
    pub(super) faults: u32,
    /// Times that a call had to wait for the limiter, and probes of breakers.
    pub(super) held: (u32, u32),
    pub(super) hash: u64,
}

impl World {
    pub(super) fn new(
        seed: u64,
        swarm: Swarm,
        mut policy: Policy,
        planted: Option<Bug>,
        trace: Trace,
    ) -> Self {
        let cluster = ClusterId::new("c");
        policy.cluster = cluster.clone();
        let mut api = ApiServer::new(cluster);
        let cloud = Cloud::of(&swarm);
        let mut doctored = None;
        match planted {
            Some(Bug::Inside(bug)) => policy.planted = Some(bug),
            Some(Bug::Around(bug)) => doctored = Some(bug),
            None => {}
        }
        api.unguarded_metadata = doctored == Some(Doctored::UnguardedIntent);
        api.unguarded_status = doctored == Some(Doctored::UnguardedStatus);
        let the_config = swarm.config();
        let (faults, acts) = (swarm.faults, swarm.acts);
        let mut world = Self {
            random: fastrand::Rng::with_seed(seed),
            now: Moment::from_secs(3600),
            clock: SimClock::default(),
            api,
            cloud,
            config: Arc::new(Mutex::new(Some(the_config.clone()))),
            the_config,
            mass: Vec::new(),
            policy,
            processes: [None, None],
            flights: Vec::new(),
            flights_made: 0,
            lease: None,
            lives: Vec::new(),
            exported: Vec::new(),
            bug: planted,
            doctored,
            access: Access::of(&swarm, doctored == Some(Doctored::RetryBelowFence)),
            posted: Vec::new(),
            bias: super::planted::none,
            next_life: 0,
            storm: true,
            faults,
            acts,
            steps: 0,
            effective: 0,
            held: (0, 0),
            at_this_moment: 0,
            trace,
            script: Vec::new(),
            tape: None,
            choices: Vec::new(),
            passes: 0,
            exhaustive: false,
            swarm,
        };
        world.clock.set(world.now);
        world.start(0);
        world.start(1);
        world
    }

    /// Processes that lead, or believe so.
    pub(super) fn leaders(&self) -> impl Iterator<Item = &Process> {
        self.processes.iter().flatten().filter(|p| p.leading())
    }

    /// Whether a process's watch has something to deliver.
    pub(super) fn is_behind(&self, slot: usize) -> bool {
        let process = self.processes[slot].as_ref();
        process.is_some_and(|p| p.cursor < self.api.log.len())
    }

    /// When a leader took the first look of a pair at an object that is being deleted.
    pub(super) fn first_look(&self) -> Option<Moment> {
        let deleting = self.api.objects.values().find(|o| o.view.object.deleting)?;
        let key = &deleting.view.object.key;
        self.leaders().find_map(|p| {
            let known = p.reconciler.knowledge().get(key, self.now)?;
            known.memory.look_again_at(Duration::ZERO)
        })
    }

    /// Runs to the end.
    pub(super) fn run(&mut self) -> Result<Verdict, Broken> {
        while self.storm {
            let event = self.pick();
            self.record(event);
            self.step(event)?;
            // What was begun badly goes on badly to its end.
            let settled = self.flights.is_empty() && self.leaders().count() < 2;
            let spent = self.faults == 0 && self.acts == 0 && settled;
            if spent || self.steps >= self.swarm.storm {
                self.calm()?;
            }
        }
        self.verdict()
    }

    /// Runs on to a good end without faults.
    pub(super) fn verdict(&mut self) -> Result<Verdict, Broken> {
        let counts = self.converge()?;
        Ok(Verdict {
            counts,
            steps: self.steps,
            faults: self.effective,
            held: self.held,
            hash: self.trace.hash(),
        })
    }

    /// Faults and acts stop: what is broken is repaired.
    pub(super) fn calm(&mut self) -> Result<(), Broken> {
        self.storm = false;
        if let Some(tape) = &mut self.tape {
            tape.rest = self.random.get_seed();
        }
        self.trace.line(1, || "--- calm ---".to_owned());
        for slot in 0..2 {
            if self.processes[slot].as_ref().is_some_and(|p| p.paused) {
                self.step(Event::Resume(slot))?;
            }
        }
        if self.leaders().count() > 1 {
            let slot = self.random.usize(..2);
            self.step(Event::Exit(slot))?;
        }
        self.cloud.quota_used_up = false;
        self.confirm_losses();
        self.step(Event::ConfigBack)
    }

    /// Runs without faults until nothing happens any more.
    pub(super) fn converge(&mut self) -> Result<Counts, Broken> {
        let (deadline, last) = (self.now + CONVERGES_WITHIN, self.steps + STEPS_TO_CONVERGE);
        let mut quiet_since = self.now;
        let mut writes = self.written();
        let mut missing = String::new();
        loop {
            let mut event = self.pick();
            if let Event::Time(_) = event {
                let end = self.end();
                if writes != self.written() || end.is_err() {
                    quiet_since = self.now;
                    writes = self.written();
                }
                match end {
                    Ok(counts) if self.now >= quiet_since + self.swarm.poll * 2 => {
                        return Ok(counts);
                    }
                    Ok(_) => missing.clear(),
                    Err(what) => missing = what,
                }
                event = Event::Time(self.next_timer().unwrap_or(self.now + self.swarm.poll));
            }
            self.step(event)?;
            if self.now > deadline || self.steps > last {
                return Err(if missing.is_empty() {
                    "I4: never quiet: writes go on although all is well".to_owned()
                } else {
                    missing
                });
            }
        }
    }

    fn written(&self) -> (u64, u64) {
        (self.api.writes, self.cloud.writes)
    }

    /// Does one thing and checks what must hold.
    pub(super) fn step(&mut self, event: Event) -> Result<(), Broken> {
        self.step_unjudged(event)?;
        self.check()
    }

    /// Does one thing.
    pub(super) fn step_unjudged(&mut self, event: Event) -> Result<(), Broken> {
        self.steps += 1;
        self.happen(event)?;
        self.nudge()?;
        self.note_objects(false);
        Ok(())
    }

    fn happen(&mut self, event: Event) -> Result<(), Broken> {
        match event {
            Event::Network(at, fate) => return self.network(at, fate),
            Event::Take(slot) => return self.take(slot),
            Event::User(act) => self.act(act),
            Event::Watch(slot) => self.watch(slot),
            Event::List(slot) => self.list(slot),
            Event::Elect(slot) => self.elect(slot),
            Event::Start(slot) => self.start(slot),
            Event::Crash(slot) => self.end_process(slot, "crashes"),
            Event::Exit(slot) => self.end_process(slot, "finds its term over and exits"),
            Event::Pause(slot) => self.pause(slot),
            Event::Resume(slot) => self.resume(slot),
            Event::Vanish(at) => {
                let id = self.cloud.machines[at].instance.id.clone();
                self.trace.line(2, || format!("{id} vanishes by itself"));
                self.cloud.vanish(at, self.now);
            }
            Event::Reuse(at) => {
                let id = self.cloud.machines[at].instance.id.clone();
                self.trace
                    .line(15, || format!("{id} is given to a stranger's"));
                self.cloud.reuse(at, self.now);
            }
            Event::VanishAll => self.vanish_all(),
            Event::QuotaUsedUp => {
                self.trace.line(3, || "the quota is used up".to_owned());
                self.cloud.quota_used_up = true;
            }
            Event::ConfigGone => {
                self.trace
                    .line(4, || "the ProviderConfig is gone".to_owned());
                *self.config.lock().unwrap() = None;
            }
            Event::ConfigBack => self.config_back(),
            Event::Time(to) => return self.advance(to),
        }
        Ok(())
    }

    fn config_back(&mut self) {
        let mut config = self.config.lock().unwrap();
        if config.is_some() {
            return;
        }
        *config = Some(self.the_config.clone());
        drop(config);
        self.trace
            .line(5, || "the ProviderConfig is back".to_owned());
        // Its watch wakes every user of it.
        for process in self.processes.iter_mut().flatten() {
            process.wake_all();
        }
    }
}
