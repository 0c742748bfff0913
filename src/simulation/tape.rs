//! A run written down step by step, so that it can be cut down and played again.
//!
//! Each step is described in words that still mean something when steps before it are left out: a request is the
//! first one of its kind and slot, a time is a distance. What no longer fits is passed over.

use std::time::Duration;

use super::choice::Cost;
use super::network::Fate;
use super::oracle::Broken;
use super::world::{Event, Verdict, World};

/// What happened in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// Something became of a request.
    Network(Sign, Fate),
    /// Time went on.
    Time(Duration),
    /// Anything else; it names no request.
    Other(Event),
}

/// By what a request is known again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sign {
    slot: usize,
    kind: &'static str,
    /// Whether somebody waits for the answer.
    awaited: bool,
}

/// A step, and the state of chance in which it was taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    what: What,
    dice: u64,
}

/// The storm of a run, and the state of chance when it ended.
#[derive(Clone, Debug, Default)]
pub(super) struct Tape {
    pub(super) steps: Vec<Step>,
    pub(super) rest: u64,
}

impl Step {
    /// Whether it is a fault or a user's act, rather than the world going on.
    pub(super) fn is_adverse(&self) -> bool {
        match self.what {
            What::Network(_, fate) => !matches!(fate, Fate::Arrive | Fate::Deliver),
            What::Time(_) => false,
            What::Other(event) => !matches!(
                event,
                Event::Watch(_) | Event::Take(_) | Event::Elect(_) | Event::Start(_)
            ),
        }
    }
}

impl World {
    /// Writes a step down, where that is wanted, before it is taken.
    pub(super) fn record(&mut self, event: Event) {
        if self.tape.is_none() {
            return;
        }
        let step = Step {
            what: self.describe(event),
            dice: self.random.get_seed(),
        };
        if let Some(tape) = &mut self.tape {
            tape.steps.push(step);
        }
    }

    fn describe(&self, event: Event) -> What {
        match event {
            Event::Network(at, fate) => What::Network(self.sign(at), fate),
            Event::Time(to) => What::Time(to.since(self.now)),
            other => What::Other(other),
        }
    }

    fn sign(&self, at: usize) -> Sign {
        let flight = &self.flights[at];
        Sign {
            slot: flight.slot,
            kind: flight.request.kind(),
            awaited: flight.client,
        }
    }

    /// The event that was described, if it can happen here, and its price.
    fn recognize(&mut self, what: What) -> Option<(Cost, Event)> {
        if let What::Time(distance) = what {
            let (to, cost) = self.bound(self.now + distance);
            return (to > self.now).then_some((cost, Event::Time(to)));
        }
        let list = self.events();
        let known = |event: &Event| self.describe(*event) == what;
        let found = list.0.iter().find(|(_, _, event)| known(event));
        found.map(|(_, cost, event)| (*cost, *event))
    }

    /// Plays a tape in a fresh world, and lets it run out.
    pub(super) fn play(&mut self, tape: &Tape) -> Result<Verdict, Broken> {
        for step in &tape.steps {
            let Some((cost, event)) = self.recognize(step.what) else {
                continue;
            };
            self.pay(cost);
            self.random = fastrand::Rng::with_seed(step.dice);
            self.step(event)?;
        }
        self.random = fastrand::Rng::with_seed(tape.rest);
        self.calm()?;
        self.verdict()
    }
}
