//! Every interleaving of a small world, breadth first, over the production loop.
//!
//! A pass that waits cannot be copied, so a state is the list of what happened on the way to it, and is reached by
//! letting all of it happen again in a fresh world. What bounds the search, beside the budgets of faults and acts:
//! * while anything of a process is about to happen, time goes on only so often (`delays`);
//! * where all is well and nothing moves, only people and faults go on, not time;
//! * a process that died is started again at once; a standby hears of nothing but while there is no leader, or while it
//!   may become a second one; the first leader is the first process.

use std::collections::HashSet;

use super::choice::Cost;
use super::network::Fate;
use super::oracle::Broken;
use super::planted::Bug;
use super::process::Process;
use super::runner::guarded;
use super::swarm::{Aim, Swarm, Words};
use super::trace::Trace;
use super::users::Act;
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

/// What a search came to.
#[derive(Debug, Default)]
pub(super) struct Searched {
    pub(super) states: usize,
    pub(super) transitions: usize,
    pub(super) depth: usize,
    /// Ends at which a VM runs.
    pub(super) running: usize,
    /// Ends at which the object is gone.
    pub(super) gone: usize,
    /// States in which a create was repeated and led to the instance of the one before.
    pub(super) recalled: usize,
    /// Whether every state within the bounds was seen.
    pub(super) complete: bool,
    /// What was broken, and the way there.
    pub(super) broken: Option<(Broken, Vec<Choice>)>,
}

/// One thing that can happen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    event: Event,
    cost: Cost,
    delays: bool,
}

#[derive(Clone, Copy)]
struct Node {
    parent: u32,
    choice: Choice,
}

/// What follows from a state.
struct Next {
    parent: u32,
    choice: Choice,
    print: u64,
    sight: Sighted,
}

#[derive(Clone, Copy, Default)]
struct Sighted {
    running: bool,
    gone: bool,
    recalled: bool,
}

impl Scope {
    fn world(&self, keep: bool) -> World {
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
            process.trails = true;
        }
        world
    }

    /// The way to a state, from the beginning.
    fn way(nodes: &[Node], mut at: u32) -> Vec<Choice> {
        let mut way = Vec::new();
        while at > 0 {
            let node = nodes[at as usize];
            way.push(node.choice);
            at = node.parent;
        }
        way.reverse();
        way
    }

    /// The world at the end of a way, and how many delays are left there.
    fn reach(&self, way: &[Choice], keep: bool) -> Result<(World, u32), Broken> {
        let mut world = self.world(keep);
        let mut delays = self.delays;
        for choice in way {
            delays -= u32::from(choice.delays);
            world.choose(*choice)?;
        }
        Ok((world, delays))
    }

    /// The trace of a way.
    pub(super) fn told(&self, way: &[Choice]) -> Vec<String> {
        let mut world = self.world(true);
        let result = guarded(|| way.iter().try_for_each(|choice| world.choose(*choice)));
        let mut lines = world.trace.lines().to_vec();
        lines.extend(result.err());
        lines
    }

    /// Everything that follows from a state.
    fn expand(&self, nodes: &[Node], at: u32) -> Result<Vec<Next>, (Broken, Vec<Choice>)> {
        let way = Self::way(nodes, at);
        let fails = |broken: Broken, last: Option<Choice>| {
            let mut way = way.clone();
            way.extend(last);
            (broken, way)
        };
        let (mut world, delays) = self.reach(&way, false).map_err(|b| fails(b, None))?;
        let choices = world.alternatives(delays);
        if choices.is_empty() {
            world.end().map_err(|broken| fails(broken, None))?;
        }
        let mut list = Vec::with_capacity(choices.len());
        let mut world = Some(world);
        for choice in choices {
            let here = match world.take() {
                Some(world) => Ok((world, delays)),
                None => self.reach(&way, false),
            };
            let next = here.and_then(|(mut world, delays)| {
                guarded(|| world.choose(choice))?;
                let left = delays - u32::from(choice.delays);
                Ok(Next {
                    parent: at,
                    choice,
                    print: world.fingerprint(left),
                    sight: world.sighted(),
                })
            });
            list.push(next.map_err(|broken| fails(broken, Some(choice)))?);
        }
        Ok(list)
    }

    /// All states of one depth, on every core.
    fn level(&self, nodes: &[Node], level: &[u32]) -> Result<Vec<Next>, (Broken, Vec<Choice>)> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let share = level.len().div_ceil(cores).max(1);
        let work = |part: &[u32]| -> Result<Vec<Next>, (Broken, Vec<Choice>)> {
            let mut all = Vec::new();
            for at in part {
                all.extend(self.expand(nodes, *at)?);
            }
            Ok(all)
        };
        let work = &work;
        let parts: Vec<_> = std::thread::scope(|scope| {
            let threads = level
                .chunks(share)
                .map(|part| scope.spawn(move || work(part)));
            let threads: Vec<_> = threads.collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        let mut all = Vec::new();
        for part in parts {
            all.extend(part?);
        }
        Ok(all)
    }

    /// Searches everything, breadth first: what is found broken is found by a shortest way.
    pub(super) fn search(&self) -> Searched {
        let begin = Choice {
            event: Event::Time(Moment::START),
            cost: Cost::Free,
            delays: false,
        };
        let mut nodes = vec![Node {
            parent: 0,
            choice: begin,
        }];
        let mut seen = HashSet::from([self.world(false).fingerprint(self.delays)]);
        let mut found = Searched::default();
        let mut level = vec![0];
        while !level.is_empty() && nodes.len() < self.most {
            let next = match self.level(&nodes, &level) {
                Ok(next) => next,
                Err(broken) => {
                    found.broken = Some(broken);
                    break;
                }
            };
            level.clear();
            found.transitions += next.len();
            for Next {
                parent,
                choice,
                print,
                sight,
            } in next
            {
                if seen.insert(print) {
                    level.push(u32::try_from(nodes.len()).unwrap());
                    nodes.push(Node { parent, choice });
                    found.running += usize::from(sight.running);
                    found.gone += usize::from(sight.gone);
                    found.recalled += usize::from(sight.recalled);
                }
            }
            found.depth += 1;
        }
        found.complete = level.is_empty() && found.broken.is_none();
        found.states = nodes.len();
        found
    }
}

impl World {
    /// Lets one thing happen.
    fn choose(&mut self, choice: Choice) -> Result<(), Broken> {
        self.pay(choice.cost);
        self.step(choice.event)?;
        for slot in 0..self.processes.len() {
            if self.processes[slot].is_none() {
                self.start(slot);
            }
        }
        let age = self.now.since(Moment::from_secs(3600));
        match self.end() {
            Err(broken) if age > ENDS_WITHIN => Err(broken),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Everything that can happen next.
    fn alternatives(&mut self, delays: u32) -> Vec<Choice> {
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

    fn sighted(&self) -> Sighted {
        let rest = self.at_rest();
        let there = !self.api.objects.is_empty();
        Sighted {
            running: rest && there,
            gone: rest && !there && !self.lives.is_empty(),
            recalled: self.cloud.replays > 0,
        }
    }
}
