//! Requests under way, and what can become of them.

use std::time::Duration;

use super::oracle::Broken;
use super::swarm::Aim;
use super::wire::{Answer, Request};
use super::world::World;
use crate::controller::Target;
use crate::domain::{ErrorKind, Moment, Uid};

/// How long a client waits for the API server.
const CLUSTER_TIMEOUT: Duration = Duration::from_secs(10);

/// One request, or its answer, under way.
#[derive(Debug)]
pub(super) struct Flight {
    pub(super) id: u64,
    pub(super) slot: usize,
    pub(super) life: u32,
    call: u64,
    pub(super) request: Request,
    state: State,
    /// Whether somebody still waits for the answer.
    pub(super) client: bool,
    /// When the client gives up, and when the request can take no effect any more.
    pub(super) deadline: Option<Moment>,
    /// Whose instance it writes.
    uid: Option<Uid>,
    pub(super) target: Target,
    incarnation: Option<u32>,
    pub(super) low: bool,
    /// Abandoned by its client, it comes as late as it can.
    pub(super) lazy: bool,
}

#[derive(Debug)]
enum State {
    Sent,
    Answered(Box<Answer>),
    /// Lost; the client waits.
    Silent,
}

/// What can become of a flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// Arrives and takes effect.
    Arrive,
    /// Its answer arrives.
    Deliver,
    /// Dies on the way; the client waits for its time-out.
    Die,
    /// The client sees a reset while the request goes on.
    GiveUp,
    /// Arrives; the server fails before it applies it.
    FailBefore(ErrorKind),
    /// Arrives and is applied; the server answers with a failure.
    FailAfter(ErrorKind),
    /// Arrives, is applied and acknowledged, and a racing DELETE removes the object.
    Race,
}

impl Flight {
    /// Whether it can still change instances of this uid.
    pub(super) fn may_still_write(&self, uid: &Uid) -> bool {
        let under_way = matches!(self.state, State::Sent);
        let writes = matches!(self.request, Request::Create { .. } | Request::Delete(_));
        under_way && writes && self.uid.as_ref().is_none_or(|own| own == uid)
    }

    /// What it is and what can become of it, of the process in this place, without its number.
    pub(super) fn shape(&self, slot: usize) -> String {
        let Self { request, state, .. } = self;
        let whose = (slot, self.client, &self.target, self.deadline);
        let what = (&self.uid, self.incarnation, self.low, self.lazy);
        format!("{whose:?} {what:?} {request:?} {state:?}")
    }

    pub(super) fn is_sent(&self) -> bool {
        matches!(self.state, State::Sent)
    }

    /// Whether it was lost, and its client waits in vain.
    pub(super) fn is_silent(&self) -> bool {
        matches!(self.state, State::Silent)
    }

    pub(super) fn is_answered(&self) -> bool {
        matches!(self.state, State::Answered(_))
    }

    /// The incarnation that it creates, once sent and until it arrives.
    pub(super) fn creates(&self) -> Option<u32> {
        self.incarnation.filter(|_| self.is_sent())
    }

    /// Whether it takes our finalizer off.
    pub(super) fn removes_finalizer(&self) -> bool {
        matches!(self.request, Request::Metadata(..)) && !self.is_finalizer_patch()
    }

    pub(super) fn is_aimed_at(&self, aim: Aim) -> bool {
        match aim {
            Aim::Everything => true,
            Aim::Creates => matches!(self.request, Request::Create { .. }),
            Aim::Writes => self.request.is_write(),
            Aim::Cluster => self.request.to_cluster(),
            Aim::Cloud => !self.request.to_cluster(),
        }
    }

    pub(super) fn is_finalizer_patch(&self) -> bool {
        match &self.request {
            Request::Metadata(_, patch) => !patch["annotations"].is_null(),
            _ => false,
        }
    }
}

impl World {
    /// A pass has made a call.
    pub(super) fn park(&mut self, slot: usize, call: u64, request: Request) -> Result<(), Broken> {
        let Some(process) = &self.processes[slot] else {
            return Ok(());
        };
        let running = process.passes.iter().find(|r| r.call == Some(call));
        let target = running.expect("a call belongs to a pass").target.clone();
        self.flights_made += 1;
        self.flights.push(Flight {
            id: self.flights_made,
            slot,
            life: process.life,
            call,
            request,
            state: State::Sent,
            client: true,
            deadline: None,
            uid: None,
            target,
            incarnation: None,
            low: false,
            lazy: false,
        });
        self.send(self.flights.len() - 1)
    }

    /// A request leaves its process. That it may is for the client to see to; here is only looked whether it did.
    fn send(&mut self, at: usize) -> Result<(), Broken> {
        self.check_start(at)?;
        let (mut uid, mut low, mut number) = (None, false, None);
        if let Request::Create { body, .. } = &self.flights[at].request {
            let (owner, incarnation) = owner_of(body.as_str());
            low = self.check_create(&owner, incarnation)?;
            uid = Some(owner);
            number = Some(incarnation);
        }
        let timeout = if self.flights[at].request.to_cluster() {
            CLUSTER_TIMEOUT
        } else {
            self.swarm.timeout
        };
        let deadline = self.now + timeout;
        let flight = &mut self.flights[at];
        let (life, id) = (flight.life, flight.id);
        let word = flight.request.word();
        self.trace.mix(id);
        self.trace.line(20, || format!("p{life} #{id} {word}"));
        (flight.uid, flight.low, flight.incarnation) = (uid, low, number);
        flight.deadline = Some(deadline);
        Ok(())
    }

    /// I7: no provider write starts outside the term. I7b: no create starts later than our own write before it allows.
    fn check_start(&self, at: usize) -> Result<(), Broken> {
        let flight = &self.flights[at];
        let (request, now) = (&flight.request, self.now);
        let term = self.processes[flight.slot].as_ref().map(|p| p.term.term());
        let fenced = !request.to_cluster() && request.is_write();
        if fenced && !term.is_some_and(|term| term.allows(now)) {
            return Err(format!(
                "I7: p{} sends {} outside its term",
                flight.life,
                request.word()
            ));
        }
        match request {
            Request::Create { start_before, .. } if now >= *start_before => Err(format!(
                "I7b: p{} sends {} too late after its own write",
                flight.life,
                request.word()
            )),
            _ => Ok(()),
        }
    }

    /// Something becomes of a flight.
    pub(super) fn network(&mut self, at: usize, fate: Fate) -> Result<(), Broken> {
        let id = self.flights[at].id;
        if fate != Fate::Deliver {
            self.trace.mix(id);
            self.trace.line(21, || format!("#{id} {fate:?}"));
        }
        match fate {
            Fate::Deliver => return self.deliver(at),
            Fate::Die => {
                self.note_lost(at);
                self.flights[at].state = State::Silent;
                if !self.flights[at].client {
                    self.flights.swap_remove(at);
                }
            }
            Fate::GiveUp => self.give_up(at),
            Fate::FailBefore(kind) => {
                if kind.may_have_happened() {
                    self.note_lost(at);
                }
                let answer = self.flights[at].request.failure(kind);
                self.answered(at, answer);
            }
            Fate::FailAfter(kind) => {
                self.note_lost(at);
                self.apply(at)?;
                let answer = self.flights[at].request.failure(kind);
                self.answered(at, answer);
            }
            Fate::Arrive => {
                let answer = self.apply(at)?;
                self.answered(at, answer);
            }
            Fate::Race => {
                let answer = self.apply(at)?;
                self.race(at);
                self.answered(at, answer);
            }
        }
        Ok(())
    }

    fn answered(&mut self, at: usize, answer: Answer) {
        self.flights[at].state = State::Answered(Box::new(answer));
        if !self.flights[at].client {
            self.flights.swap_remove(at);
        }
    }

    /// What a create made, if anything, is not told.
    fn note_lost(&mut self, at: usize) {
        let flight = &self.flights[at];
        let uid = match &flight.request {
            // Nobody can tell whose an attempt is whose note got no answer.
            Request::Status(guard, _) => Some(guard.uid.clone()),
            Request::Create { body, .. } => Some(owner_of(body.as_str()).0),
            _ => None,
        };
        self.note_unanswered(uid.as_ref());
    }

    /// The client is told that nobody knows, while the request is still under way.
    fn give_up(&mut self, at: usize) {
        self.note_lost(at);
        let deadline = self.rest_dies_at(at);
        let lazy = !self.exhaustive && self.random.bool();
        let flight = &mut self.flights[at];
        let rest = Flight {
            id: flight.id,
            slot: flight.slot,
            life: flight.life,
            call: 0,
            request: flight.request.clone(),
            state: State::Sent,
            client: false,
            deadline,
            uid: flight.uid.clone(),
            target: flight.target.clone(),
            incarnation: flight.incarnation,
            low: flight.low,
            lazy,
        };
        let stays = flight.is_sent() && flight.request.is_write();
        flight.state = State::Answered(Box::new(flight.request.failure(ErrorKind::Unavailable)));
        flight.deadline = None;
        if stays {
            self.flights.push(rest);
        }
    }

    /// When an abandoned request can take no effect any more. One to the cluster is guarded by its version and
    /// may come at any time.
    fn rest_dies_at(&self, at: usize) -> Option<Moment> {
        let flight = &self.flights[at];
        flight
            .deadline
            .filter(|_| !flight.request.to_cluster() && !self.swarm.words.late)
    }

    /// The answer reaches its pass, which goes on to its next call.
    fn deliver(&mut self, at: usize) -> Result<(), Broken> {
        let flight = self.flights.swap_remove(at);
        let (id, slot) = (flight.id, flight.slot);
        let State::Answered(answer) = flight.state else {
            return Ok(());
        };
        self.trace.mix(id);
        self.trace
            .line(22, || format!("#{id} answered: {}", answer.shown()));
        let Some(process) = &mut self.processes[slot] else {
            return Ok(());
        };
        let pass = process
            .passes
            .iter()
            .position(|r| r.call == Some(flight.call));
        let pass = pass.expect("an answer belongs to a pass");
        if process.trails {
            process.note(pass, &format!("{answer:?}"));
        }
        process.wire.answer(flight.call, *answer);
        let polled = process.poll(pass);
        self.polled(slot, polled)
    }

    /// A process ended: what it had sent may stay in the network, what it waited for is nobody's.
    pub(super) fn abandon(&mut self, life: u32) {
        for at in (0..self.flights.len()).rev() {
            if self.flights[at].life != life || !self.flights[at].client {
                continue;
            }
            let stays = self.flights[at].is_sent() && self.flights[at].request.is_write();
            if stays {
                self.flights[at].deadline = self.rest_dies_at(at);
                self.flights[at].client = false;
                self.flights[at].lazy = !self.exhaustive && self.random.bool();
            } else {
                self.flights.swap_remove(at);
            }
        }
    }

    /// The last moment at which an abandoned request that comes as late as it can may still take effect.
    pub(super) fn last_call(&self) -> Option<(usize, Moment)> {
        let lazy = self
            .flights
            .iter()
            .enumerate()
            .filter(|(_, f)| f.lazy && !f.client);
        let last = lazy.filter_map(|(at, f)| Some((at, f.deadline? - Duration::from_millis(1))));
        last.min_by_key(|(_, moment)| *moment)
    }

    /// Deadlines that have passed: clients give up, and a request to the cloud takes no effect later.
    pub(super) fn time_out(&mut self) {
        for at in (0..self.flights.len()).rev() {
            let flight = &self.flights[at];
            if flight.deadline.is_none_or(|deadline| deadline > self.now) {
                continue;
            }
            let may_still_come = flight.is_sent() && flight.request.is_write();
            let keeps = flight.request.to_cluster() || self.swarm.words.late;
            if !flight.client {
                self.flights.swap_remove(at);
                continue;
            }
            if may_still_come && keeps {
                self.give_up(at);
            }
            self.note_lost(at);
            let flight = &mut self.flights[at];
            flight.state = State::Answered(Box::new(flight.request.failure(ErrorKind::TimedOut)));
            flight.deadline = None;
        }
    }
}

/// Uid and incarnation in a create's tags.
fn owner_of(body: &str) -> (Uid, u32) {
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    let tag = |name: &str| body["tags"][name].as_str().unwrap_or_default();
    let uid = tag(crate::domain::intent::tags::UID);
    let incarnation = tag(crate::domain::intent::tags::INCARNATION).parse();
    (Uid::new(uid), incarnation.unwrap())
}
