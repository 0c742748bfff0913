//! Which event comes next: everything that may happen, with its weight and its price.

use std::time::Duration;

use super::network::Fate;
use super::world::{Event, World};
use crate::domain::{ErrorKind, Moment};

/// What it takes from a budget that something happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cost {
    Free,
    Fault,
    Act,
}

/// What may happen next, with quarters of a weight, and what it costs.
#[derive(Debug, Default)]
pub(super) struct Events(pub(super) Vec<(u32, Cost, Event)>);

impl Events {
    fn free(&mut self, weight: u32, event: Event) {
        self.0.push((weight * 4, Cost::Free, event));
    }

    fn fault(&mut self, weight: u32, event: Event) {
        self.0.push((weight * 4, Cost::Fault, event));
    }
}

impl World {
    /// Chooses what happens next.
    pub(super) fn pick(&mut self) -> Event {
        let mut list = self.events();
        if self.storm {
            self.add_time(&mut list);
        }
        for (weight, _, event) in &mut list.0 {
            *weight *= (self.bias)(self, event);
        }
        let total: u32 = list.0.iter().map(|(weight, _, _)| weight).sum();
        if total == 0 {
            list.0.clear();
            self.choices = list.0;
            return Event::Time(
                self.next_timer()
                    .unwrap_or(self.now + Duration::from_secs(1)),
            );
        }
        let mut at = self.random.u32(..total);
        let chosen = list.0.iter().find(|(weight, _, _)| {
            let here = at < *weight;
            at = at.saturating_sub(*weight);
            here
        });
        let (_, cost, event) = *chosen.expect("weights add up");
        // The list is made for every step: its memory is kept.
        list.0.clear();
        self.choices = list.0;
        self.pay(cost);
        event
    }

    /// Everything that may happen next but the passing of time.
    pub(super) fn events(&mut self) -> Events {
        let mut list = Events(std::mem::take(&mut self.choices));
        self.add_network(&mut list);
        self.add_processes(&mut list);
        if self.storm {
            self.add_users(&mut list);
            self.add_faults(&mut list);
        }
        list
    }

    pub(super) fn pay(&mut self, cost: Cost) {
        match cost {
            Cost::Free => {}
            Cost::Fault => {
                self.faults -= 1;
                self.effective += 1;
            }
            Cost::Act => self.acts -= 1,
        }
    }

    fn add_network(&self, list: &mut Events) {
        let words = self.swarm.words;
        let fault = self.storm && self.faults > 0;
        let malice = self.swarm.malice;
        for (at, flight) in self.flights.iter().enumerate() {
            let process = self.processes[flight.slot].as_ref();
            let awake = process.is_some_and(|p| p.life == flight.life && !p.paused);
            let go = |fate| Event::Network(at, fate);
            let fault = fault && flight.is_aimed_at(self.swarm.aim);
            if flight.is_answered() && awake {
                list.free(40, go(Fate::Deliver));
                if fault && words.lost {
                    list.fault(malice, go(Fate::GiveUp));
                }
            } else if flight.is_sent() {
                if flight.lazy {
                    let (arrive, die) = if self.storm { (1, 0) } else { (20, 5) };
                    list.0.push((arrive, Cost::Free, go(Fate::Arrive)));
                    list.0.push((die, Cost::Free, go(Fate::Die)));
                    continue;
                }
                list.free(if flight.client { 40 } else { 6 }, go(Fate::Arrive));
                if !flight.client {
                    list.free(2, go(Fate::Die));
                    continue;
                }
                if fault && words.lost {
                    list.fault(malice / 2, go(Fate::Die));
                    list.fault(malice, go(Fate::GiveUp));
                }
                if fault && words.errors {
                    let kinds = [
                        ErrorKind::Unavailable,
                        ErrorKind::RateLimited,
                        ErrorKind::Conflict,
                    ];
                    let kind = kinds[flight.id as usize % 3];
                    list.fault(malice / 2, go(Fate::FailBefore(kind)));
                    let kinds = [ErrorKind::Unavailable, ErrorKind::Malformed];
                    let kind = kinds[flight.id as usize % 2];
                    list.fault(malice, go(Fate::FailAfter(kind)));
                }
                if self.storm && self.faults > 0 && words.race && self.can_race(flight) {
                    list.fault(malice * 2, go(Fate::Race));
                }
            }
        }
    }

    fn add_processes(&mut self, list: &mut Events) {
        let watch = self.swarm.watch * 2;
        let log = self.api.log.len();
        let one_lives = self.leaders().next().is_some();
        for slot in 0..2 {
            let elect = self.may_elect(slot);
            let Some(process) = &mut self.processes[slot] else {
                list.free(5, Event::Start(slot));
                continue;
            };
            if process.paused {
                list.free(5, Event::Resume(slot));
                continue;
            }
            if process.cursor < log {
                list.free(watch, Event::Watch(slot));
            }
            if process.can_take() {
                list.free(30, Event::Take(slot));
            }
            if process.expired {
                list.free(10, Event::Exit(slot));
            }
            if elect && !one_lives {
                list.free(10, Event::Elect(slot));
            }
        }
    }

    fn add_faults(&self, list: &mut Events) {
        let words = self.swarm.words;
        let config_gone = self.config.lock().unwrap().is_none();
        if config_gone {
            list.free(3, Event::ConfigBack);
        }
        if self.faults == 0 {
            return;
        }
        let malice = self.swarm.malice;
        let mut fault = |on: bool, weight, event| {
            if on {
                list.fault(weight, event);
            }
        };
        let leaders = self.leaders().count();
        for slot in 0..2 {
            let Some(process) = &self.processes[slot] else {
                continue;
            };
            let leads = process.leading();
            let overlap = words.overlap && leaders == 1 && !leads && !process.paused;
            fault(overlap, malice, Event::Elect(slot));
            fault(words.overlap && leaders == 2 && leads, 4, Event::Exit(slot));
            fault(words.crash && leads, malice / 5 + 1, Event::Crash(slot));
            fault(
                words.pause && leads && !process.paused,
                malice / 2 + 1,
                Event::Pause(slot),
            );
            let behind = process.cursor < self.api.log.len() || self.swarm.back_in_time;
            fault(
                words.relist && behind && !process.paused,
                malice / 2 + 1,
                Event::List(slot),
            );
        }
        for (at, machine) in self.cloud.machines.iter().enumerate() {
            let ours = machine.alive && !machine.is_strange();
            fault(words.vanish && ours, malice / 2 + 1, Event::Vanish(at));
            let again = words.reuse && self.may_be_given_again(at);
            fault(again, malice / 2 + 1, Event::Reuse(at));
        }
        let all = self.swarm.mass_loss && self.mass.is_empty() && self.is_whole();
        fault(all, malice * 2, Event::VanishAll);
        fault(
            words.quota && !self.cloud.quota_used_up,
            2,
            Event::QuotaUsedUp,
        );
        fault(words.noconfig && !config_gone, 2, Event::ConfigGone);
    }

    fn add_time(&mut self, list: &mut Events) {
        let haste = self.swarm.haste;
        let short = self.now + Duration::from_millis(self.random.u64(1..2_000));
        let long = self.now + Duration::from_millis(self.random.u64(1_000..40_000));
        let timer = self.next_timer();
        for (weight, to) in [
            (haste, Some(short)),
            (haste.div_ceil(3), Some(long)),
            (haste, timer),
        ] {
            if let Some(to) = to {
                let (to, cost) = self.bound(to);
                if to > self.now {
                    list.0.push((weight * 4, cost, Event::Time(to)));
                }
            }
        }
    }

    /// How far time may go on towards `to`, and what that costs: a client that gives up is a fault.
    pub(super) fn bound(&self, to: Moment) -> (Moment, Cost) {
        let waiting = self.flights.iter().filter(|f| f.client);
        let least = waiting.filter_map(|f| f.deadline).min();
        let may_time_out = self.swarm.words.lost && self.faults > 0;
        match least {
            Some(least) if to >= least && !may_time_out => {
                (least - Duration::from_millis(1), Cost::Free)
            }
            Some(least) if to >= least => (to, Cost::Fault),
            _ => (to, Cost::Free),
        }
    }
}
