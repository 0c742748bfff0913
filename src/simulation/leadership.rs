//! Processes that start, lead, work, are paused and end, and the time by which their leases run.

use std::time::Duration;

use super::network::Fate;
use super::oracle::Broken;
use super::process::{Polled, Process};
use super::wire::Request;
use super::world::{Doctored, Lease, World};
use crate::domain::{Moment, TermHolder, Uid};

/// A leader renews within this, or is one no more.
const RENEW_DEADLINE: Duration = Duration::from_secs(10);
/// Another may take over after this.
const LEASE: Duration = Duration::from_secs(15);
/// Requests at one moment of virtual time before that counts as a loop.
const MOST_AT_ONCE: u32 = 300;

impl World {
    pub(super) fn watch(&mut self, slot: usize) {
        let Some(process) = &mut self.processes[slot] else {
            return;
        };
        let entry = &self.api.log[process.cursor];
        let life = process.life;
        self.trace.line(7, || {
            let object = &entry.view.object;
            format!(
                "p{life} watch: {:?} {} {}@{}",
                entry.kind, object.key, object.uid, object.version
            )
        });
        process.watch(&self.api);
    }

    pub(super) fn list(&mut self, slot: usize) {
        let Some(process) = &mut self.processes[slot] else {
            return;
        };
        let life = process.life;
        self.trace.line(8, || format!("p{life} lists anew"));
        let skipped: Vec<Uid> = self.api.log[process.cursor..]
            .iter()
            .map(|e| e.view.object.uid.clone())
            .filter(|uid| !process.store.values().any(|v| v.object.uid == *uid))
            .collect();
        let len = self.api.log.len();
        let back = if self.storm && self.swarm.back_in_time {
            self.random.usize(..=4)
        } else {
            0
        };
        process.list(&self.api, len - back.min(len));
        self.note_jump(&skipped);
    }

    pub(super) fn start(&mut self, slot: usize) {
        self.next_life += 1;
        let life = self.next_life;
        let len = self.api.log.len();
        let back = if self.storm && self.swarm.words.stale {
            self.random.usize(..=3)
        } else {
            0
        };
        let position = len - back.min(len);
        self.trace
            .line(9, || format!("p{life} starts, lists {position}/{len}"));
        let mut process = Process::start(
            life,
            &self.policy,
            &self.clock,
            &self.config,
            self.access,
            &self.api,
            position,
        );
        if self.exhaustive {
            process.leave_nothing_to_chance();
        }
        process.status_wakes = self.doctored == Some(Doctored::StatusWakes);
        self.processes[slot] = Some(process);
    }

    /// Polls what `take` began and what answers woke.
    pub(super) fn take(&mut self, slot: usize) -> Result<(), Broken> {
        let before = self.steps.saturating_sub(1);
        let Some(process) = &mut self.processes[slot] else {
            return Ok(());
        };
        let Some(polled) = process.take(before) else {
            return Ok(());
        };
        self.polled(slot, polled)
    }

    /// Who waits for the limiter goes on as soon as it may.
    pub(super) fn nudge(&mut self) -> Result<(), Broken> {
        for slot in 0..2 {
            loop {
                let process = self.processes[slot].as_mut().filter(|p| !p.paused);
                let Some(polled) = process.and_then(Process::nudge) else {
                    break;
                };
                self.polled(slot, polled)?;
            }
        }
        Ok(())
    }

    pub(super) fn polled(&mut self, slot: usize, polled: Polled) -> Result<(), Broken> {
        match polled {
            Polled::Asks(call, request) => {
                self.at_this_moment += 1;
                self.held.1 += u32::from(matches!(request, Request::Capabilities));
                if self.at_this_moment > MOST_AT_ONCE {
                    return Err(format!("I9: a loop of calls: {}", request.word()));
                }
                self.park(slot, call, request)
            }
            Polled::Waits => {
                self.held.0 += 1;
                Ok(())
            }
            Polled::Ended(target, pass) => {
                let life = self.processes[slot].as_ref().map_or(0, |p| p.life);
                self.passes += 1;
                self.trace.line(6, || {
                    format!(
                        "  p{life} {target:?}: {} {} -> {:?}",
                        pass.action, pass.reason, pass.requeue
                    )
                });
                Ok(())
            }
        }
    }

    pub(super) fn elect(&mut self, slot: usize) {
        let overlap = self.swarm.words.overlap;
        let Some(process) = &mut self.processes[slot] else {
            return;
        };
        let life = process.life;
        self.trace.line(10, || format!("p{life} is elected"));
        let until = if overlap {
            Moment::from_nanos(u64::MAX)
        } else {
            self.now + RENEW_DEADLINE
        };
        process.term.extend(until - Duration::from_secs(1));
        process.lead();
        self.lease = Some(Lease {
            life,
            renewed: self.now,
        });
    }

    pub(super) fn end_process(&mut self, slot: usize, how: &'static str) {
        let Some(process) = self.processes[slot].take() else {
            return;
        };
        let life = process.life;
        self.trace.line(11, || format!("p{life} {how}"));
        self.abandon(life);
        if process.leading() {
            self.note_exit();
        }
    }

    pub(super) fn pause(&mut self, slot: usize) {
        if let Some(process) = &mut self.processes[slot] {
            let life = process.life;
            self.trace.line(12, || format!("p{life} is paused"));
            process.paused = true;
        }
    }

    pub(super) fn resume(&mut self, slot: usize) {
        let now = self.now;
        let overlap = self.swarm.words.overlap;
        if let Some(process) = &mut self.processes[slot] {
            let life = process.life;
            self.trace.line(13, || format!("p{life} goes on"));
            process.paused = false;
            let holds = self
                .lease
                .is_some_and(|l| l.life == life && now < l.renewed + RENEW_DEADLINE);
            process.expired = process.leading() && !holds && !overlap;
        }
    }

    /// Time goes on: leases are renewed, requests time out, the cloud does its work.
    pub(super) fn advance(&mut self, to: Moment) -> Result<(), Broken> {
        while let Some((_, last)) = self.last_call().filter(|(_, last)| *last <= to) {
            self.pass_time(last);
            // Others may have timed out at this moment: the place in the list is another one now.
            if let Some((at, _)) = self.last_call() {
                self.network(at, Fate::Arrive)?;
            }
        }
        self.pass_time(to);
        Ok(())
    }

    fn pass_time(&mut self, to: Moment) {
        self.at_this_moment = 0;
        self.now = self.now.max(to);
        let now = self.now;
        self.trace
            .line(14, || format!("time {:.3}", now.as_nanos() as f64 / 1e9));
        self.clock.set(now);
        self.cloud.advance(now);
        if let Some(lease) = &mut self.lease {
            let mut all = self.processes.iter_mut().flatten();
            let holder = all.find(|p| p.life == lease.life && !p.paused && !p.expired);
            if let Some(holder) = holder {
                lease.renewed = now;
                extend(&mut holder.term, now);
            }
        }
        self.time_out();
    }

    /// When something happens by itself next.
    pub(super) fn next_timer(&self) -> Option<Moment> {
        let schedules = self
            .processes
            .iter()
            .flatten()
            .filter(|p| p.leading() && !p.paused)
            .flat_map(|p| [p.schedule.next_due(), p.timers.next()])
            .flatten();
        let lease = self.lease.map(|l| l.renewed + LEASE);
        let lease = lease.filter(|_| self.leaders().next().is_none());
        schedules
            .chain(self.cloud.next_due())
            .chain(lease)
            .filter(|at| *at > self.now)
            .min()
    }

    /// Whether a process may be elected now.
    pub(super) fn may_elect(&self, slot: usize) -> bool {
        let Some(process) = &self.processes[slot] else {
            return false;
        };
        if process.leading() || process.paused {
            return false;
        }
        let Some(lease) = self.lease else {
            return true;
        };
        // A process that ends releases the lease, or it runs out while the world has other things to do.
        let held = self
            .processes
            .iter()
            .flatten()
            .any(|p| p.life == lease.life);
        !held || self.now >= lease.renewed + LEASE
    }
}

fn extend(term: &mut TermHolder, now: Moment) {
    term.extend(now + RENEW_DEADLINE - Duration::from_secs(1));
}
