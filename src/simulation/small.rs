//! Small worlds: what may happen in one, and what a search of it may choose.
//!
//! What bounds a search, beside the budgets of faults and acts:
//! * while anything of a process is about to happen, time goes on only so often (`delays`);
//! * where all is well and nothing moves, only people and faults go on, not time;
//! * a process that died is started again at once; a standby hears of nothing but while there is no leader, or while it
//!   may become a second one; the first leader is the first process;
//! * waits are as long as they can be: nothing shortens them by chance.

use super::api_server::ApiServer;
use super::choice::Cost;
use super::network::Fate;
use super::oracle::Broken;
use super::planted::Bug;
use super::process::Process;
use super::swarm::{Aim, Swarm, Words};
use super::trace::Trace;
use super::users::Act;
use super::wire::Request;
use super::world::{Event, World};
use crate::domain::{ClusterId, Moment};
use crate::lifecycle::Policy;

/// The world is never older than this: what has not come to an end by then does not.
const ENDS_WITHIN: std::time::Duration = std::time::Duration::from_mins(30);

/// What a search covers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scope {
    /// What may happen.
    pub(super) words: &'static str,
    pub(super) faults: u32,
    /// Users' acts, the making of the object among them.
    pub(super) acts: u32,
    /// How often time goes on although something else could happen.
    pub(super) delays: u32,
    /// States after which the search gives up.
    pub(super) most: usize,
    pub(super) bug: Option<Bug>,
}

/// One thing that can happen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    event: Event,
    cost: Cost,
    /// Whether it is time that goes on although something else could happen.
    pub(super) delays: bool,
}

/// What a state is an example of.
#[derive(Clone, Copy, Default)]
pub(super) struct Sighted {
    pub(super) running: bool,
    pub(super) gone: bool,
    pub(super) recalled: bool,
}

impl Scope {
    pub(super) fn world(&self, keep: bool) -> World {
        let secs = std::time::Duration::from_secs;
        let words = Words::parse(self.words);
        let swarm = Swarm {
            names: 1,
            faults: self.faults,
            acts: self.acts,
            storm: u32::MAX,
            timeout: secs(10),
            lag: secs(0),
            key_life: secs(24 * 3600),
            provisioning: secs(0),
            deletion: secs(3),
            poll: secs(300),
            haste: 8,
            malice: 10,
            aim: Aim::Everything,
            watch: 10,
            basic: false,
            mass_loss: false,
            back_in_time: false,
            words,
        };
        fastrand::seed(0);
        let policy = Policy::new(ClusterId::new("c"));
        let mut world = World::new(0, swarm, policy, self.bug, Trace::new(keep));
        world.exhaustive = true;
        for process in world.processes.iter_mut().flatten() {
            process.leave_nothing_to_chance();
        }
        world
    }
}

impl World {
    /// Lets one thing happen, and judges it.
    pub(super) fn choose(&mut self, choice: Choice) -> Result<(), Broken> {
        self.pay(choice.cost);
        self.step(choice.event)?;
        self.tidy_up();
        let age = self.now.since(Moment::from_secs(3600));
        if age <= ENDS_WITHIN {
            return Ok(());
        }
        self.end().map(drop)
    }

    /// Lets happen again what was judged before.
    pub(super) fn choose_again(&mut self, choice: Choice) -> Result<(), Broken> {
        self.pay(choice.cost);
        self.step_unjudged(choice.event)?;
        self.tidy_up();
        Ok(())
    }

    /// Processes that died are started again, and abandoned writes that can change nothing any more are dropped: they are
    /// guarded by a version that is no more, and none ever comes back.
    fn tidy_up(&mut self) {
        let api = &self.api;
        self.flights
            .retain(|flight| flight.client || !is_too_late(api, &flight.request));
        for slot in 0..self.processes.len() {
            if self.processes[slot].is_none() {
                self.start(slot);
            }
        }
    }

    /// Everything that can happen next.
    pub(super) fn alternatives(&mut self, delays: u32) -> Vec<Choice> {
        let list = self.events().0;
        let leaders = self.leaders().count();
        let second = self.swarm.words.overlap && leaders == 1 && self.faults > 0;
        let standby_hears = leaders == 0 || second;
        let mut choices: Vec<Choice> = list
            .into_iter()
            .filter(|(weight, _, event)| {
                *weight > 0
                    && match event {
                        Event::Watch(slot) => standby_hears || self.leads(*slot),
                        Event::Elect(slot) => *slot == 0 || self.lease.is_some(),
                        Event::User(Act::Create(_)) => {
                            self.lives.is_empty() || self.swarm.words.recreate
                        }
                        _ => true,
                    }
            })
            .map(|(_, cost, event)| Choice {
                event,
                cost,
                delays: false,
            })
            .collect();
        let busy = choices
            .iter()
            .any(|choice| choice.cost == Cost::Free && !self.is_ghost(choice.event));
        if (busy && delays > 0) || (!busy && !self.at_rest()) {
            choices.extend(self.time(busy));
        }
        choices
    }

    fn leads(&self, slot: usize) -> bool {
        self.processes[slot].as_ref().is_some_and(Process::leading)
    }

    /// Whether this is about a request for which nobody waits.
    fn is_ghost(&self, event: Event) -> bool {
        match event {
            Event::Network(at, Fate::Arrive | Fate::Die) => !self.flights[at].client,
            _ => false,
        }
    }

    /// Nothing is under way, and all is well.
    fn at_rest(&self) -> bool {
        self.flights.iter().all(|flight| !flight.client) && self.end().is_ok()
    }

    /// Time goes on to when it changes something.
    fn time(&self, busy: bool) -> Option<Choice> {
        let deadlines = self.flights.iter().filter_map(|flight| flight.deadline);
        let next = deadlines
            .chain(self.next_timer())
            .filter(|at| *at > self.now);
        let to = next.min()?;
        // Who waits for what was lost was paid for; whom a slow answer makes give up is a fault of its own.
        let gives_up = self.flights.iter().any(|flight| {
            let over = flight.deadline.is_some_and(|at| at <= to);
            over && flight.client && !flight.is_silent()
        });
        let cost = match gives_up {
            true if self.swarm.words.lost && self.faults > 0 => Cost::Fault,
            true => return None,
            false => Cost::Free,
        };
        Some(Choice {
            event: Event::Time(to),
            cost,
            delays: busy,
        })
    }

    pub(super) fn sighted(&self) -> Sighted {
        let rest = self.at_rest();
        let there = !self.api.objects.is_empty();
        Sighted {
            running: rest && there,
            gone: rest && !there && !self.lives.is_empty(),
            recalled: self.cloud.replays > 0,
        }
    }
}

/// Whether a write is guarded by a version that is no more.
fn is_too_late(api: &ApiServer, request: &Request) -> bool {
    let guard = match request {
        Request::Metadata(guard, _) if !api.unguarded_metadata => guard,
        Request::Status(guard, _) if !api.unguarded_status => guard,
        Request::Live(_)
        | Request::Metadata(..)
        | Request::Status(..)
        | Request::Get(_)
        | Request::Find(_)
        | Request::Create { .. }
        | Request::Delete(_)
        | Request::Capabilities => return false,
    };
    api.objects.get(&guard.key).is_none_or(|stored| {
        let object = &stored.view.object;
        object.uid != guard.uid || object.version != guard.version
    })
}
