//! Every interleaving of a small world, over the production loop, breadth first.
//!
//! A pass that waits cannot be copied, so a state is the list of what happened on the way to it, and is reached by
//! letting all of it happen again in a fresh world. Three things keep that bearable, and leave nothing out:
//! * where only one thing can happen, it happens at once: only states with a choice, and ends, are kept and compared;
//! * a state that was just reached is kept alive, so that its first choice needs no way; only the others do;
//! * what happens again was judged when it happened first: it is not judged again.

use std::collections::HashSet;

use super::oracle::Broken;
use super::runner::{guarded, number};
use super::small::{Choice, Scope, Sighted};
use super::world::World;

/// Worlds of the next level that each thread keeps alive, which take some 100 KB each.
const ALIVE: usize = 5_000;
/// Steps without a choice after which something must be wrong.
const LONGEST: usize = 2_000;

/// What a search came to.
#[derive(Debug, Default)]
pub(super) struct Searched {
    /// States with a choice, and ends.
    pub(super) states: usize,
    /// Things that happened, each counted once.
    pub(super) transitions: usize,
    /// Things that happen on the longest way.
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

/// A state, by how it is reached from another one.
struct Node {
    parent: u32,
    /// A choice, and what happens then without one.
    then: Box<[Choice]>,
    depth: usize,
    /// From this step of the way on, what passes go by matters for those that are under way.
    trails_from: u32,
}

/// What follows from a state.
struct Next {
    node: Node,
    print: u64,
    sight: Sighted,
    /// Where nothing can happen any more.
    ends: bool,
    world: Option<Box<World>>,
}

/// A state to go on from.
struct Open {
    at: u32,
    world: Option<Box<World>>,
}

/// What one part of a level came to.
#[derive(Default)]
struct Part {
    next: Vec<Next>,
    prints: HashSet<u64>,
    transitions: usize,
}

type Failed = (Broken, Vec<Choice>);

impl Scope {
    /// The way to a state, from the beginning.
    fn way(nodes: &[Node], mut at: u32) -> Vec<Choice> {
        let mut parts = Vec::new();
        while at > 0 {
            let node = &nodes[at as usize];
            parts.push(&node.then);
            at = node.parent;
        }
        parts.into_iter().rev().flatten().copied().collect()
    }

    /// The world at the end of a way.
    fn reach(&self, way: &[Choice], trails_from: u32) -> Result<World, Broken> {
        let mut world = self.world(false);
        for choice in way {
            world.keep_trails(world.steps >= trails_from);
            world.choose_again(*choice)?;
        }
        world.keep_trails(true);
        Ok(world)
    }

    fn delays_left(&self, way: &[Choice]) -> u32 {
        let gone = way.iter().filter(|choice| choice.delays).count();
        self.delays
            .saturating_sub(u32::try_from(gone).unwrap_or(u32::MAX))
    }

    /// The trace of a way.
    pub(super) fn told(&self, way: &[Choice]) -> Vec<String> {
        let mut world = self.world(true);
        let result = guarded(|| way.iter().try_for_each(|choice| world.choose(*choice)));
        let mut lines = world.trace.lines().to_vec();
        lines.extend(result.err());
        lines
    }

    /// Everything that follows from a state, but what was seen before.
    fn expand(
        &self,
        nodes: &[Node],
        seen: &HashSet<u64>,
        open: Open,
        part: &mut Part,
    ) -> Result<(), Failed> {
        let way = Self::way(nodes, open.at);
        let node = &nodes[open.at as usize];
        let again = || self.reach(&way, node.trails_from).map(Box::new);
        let mut first = match open.world {
            Some(world) => world,
            None => again().map_err(|broken| (broken, way.clone()))?,
        };
        let choices = first.alternatives(self.delays_left(&way));
        let mut alive = Some(first);
        for choice in choices {
            let mut way = way.clone();
            let world = match alive.take() {
                Some(world) => Ok(world),
                None => again(),
            };
            let next = world.and_then(|world| self.go_on(world, &mut way, choice, node));
            let mut next = next.map_err(|broken| (broken, way.clone()))?;
            part.transitions += next.node.then.len();
            next.node.parent = open.at;
            if !seen.contains(&next.print) && part.prints.insert(next.print) {
                let keep = part.next.len() < ALIVE && !next.ends;
                next.world = next.world.filter(|_| keep);
                part.next.push(next);
            }
        }
        Ok(())
    }

    /// A choice, and all that happens then without one.
    fn go_on(
        &self,
        mut world: Box<World>,
        way: &mut Vec<Choice>,
        choice: Choice,
        from: &Node,
    ) -> Result<Next, Broken> {
        let begun = way.len();
        let mut next = Some(choice);
        let mut ends = false;
        while let Some(choice) = next {
            way.push(choice);
            guarded(|| world.choose(choice))?;
            let choices = world.alternatives(self.delays_left(way));
            ends = choices.is_empty();
            next = match choices.as_slice() {
                [only] if way.len() - begun < LONGEST => Some(*only),
                [_] => return Err("I4: goes on and on, and there is no choice".to_owned()),
                _ => None,
            };
        }
        if ends {
            world.end()?;
        }
        let then: Box<[Choice]> = way[begun..].into();
        Ok(Next {
            node: Node {
                parent: 0,
                depth: from.depth + then.len(),
                trails_from: world.trails_from(),
                then,
            },
            print: world.fingerprint(self.delays_left(way)),
            sight: world.sighted(),
            ends,
            world: Some(world),
        })
    }

    /// All that follows from the states of one level, on every core (`SIM_THREADS` says on how many).
    fn level(
        &self,
        nodes: &[Node],
        seen: &HashSet<u64>,
        mut level: Vec<Open>,
    ) -> Result<Vec<Part>, Failed> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = number("SIM_THREADS").map_or(cores, |n| usize::try_from(n).unwrap());
        let share = level.len().div_ceil(threads).max(1);
        let work = |shares: Vec<Open>| -> Result<Part, Failed> {
            let mut part = Part::default();
            for open in shares {
                self.expand(nodes, seen, open, &mut part)?;
            }
            Ok(part)
        };
        let work = &work;
        std::thread::scope(|scope| {
            let mut running = Vec::new();
            while !level.is_empty() {
                let rest = level.split_off(share.min(level.len()));
                let own = std::mem::replace(&mut level, rest);
                running.push(scope.spawn(move || work(own)));
            }
            running.into_iter().map(|t| t.join().unwrap()).collect()
        })
    }

    /// Searches everything, those states first that take the fewest choices.
    pub(super) fn search(&self) -> Searched {
        let begin = self.world(false);
        let mut nodes = vec![Node {
            parent: 0,
            then: Box::default(),
            depth: 0,
            trails_from: 0,
        }];
        let mut seen = HashSet::from([begin.fingerprint(self.delays)]);
        let mut found = Searched {
            states: 1,
            ..Searched::default()
        };
        let mut level = vec![Open { at: 0, world: None }];
        while !level.is_empty() && found.states < self.most {
            if std::env::var_os("SIM_TELL").is_some() {
                println!("{} states, {} open", found.states, level.len());
            }
            let parts = match self.level(&nodes, &seen, std::mem::take(&mut level)) {
                Ok(parts) => parts,
                Err(broken) => {
                    found.broken = Some(broken);
                    return found;
                }
            };
            for part in parts {
                found.transitions += part.transitions;
                for next in part.next {
                    if seen.insert(next.print) {
                        found.note(&next);
                        if !next.ends {
                            let at = u32::try_from(nodes.len()).unwrap();
                            let world = next.world;
                            level.push(Open { at, world });
                            nodes.push(next.node);
                        }
                    }
                }
            }
        }
        found.complete = level.is_empty();
        found
    }
}

impl Searched {
    fn note(&mut self, next: &Next) {
        self.states += 1;
        self.depth = self.depth.max(next.node.depth);
        self.running += usize::from(next.sight.running);
        self.gone += usize::from(next.sight.gone);
        self.recalled += usize::from(next.sight.recalled);
    }
}

impl World {
    /// Passes keep a trail from now on, or do not.
    fn keep_trails(&mut self, keep: bool) {
        for process in self.processes.iter_mut().flatten() {
            process.trails = keep;
        }
    }

    /// The step before which the oldest pass under way began.
    fn trails_from(&self) -> u32 {
        let processes = self.processes.iter().flatten();
        let passes = processes.flat_map(|process| &process.passes);
        passes.map(|pass| pass.begun).min().unwrap_or(self.steps)
    }
}
