//! What must hold: after each step, and at the end.

mod ends;

use super::process::Process;
use super::world::World;
use crate::domain::{ObjectKey, Uid};
use crate::lifecycle::{IntentState, Object};

/// What the oracle remembers of one uid.
#[derive(Clone, Debug)]
pub(super) struct Life {
    pub(super) uid: Uid,
    pub(super) key: ObjectKey,
    /// The highest incarnation that was ever durable together with the finalizer.
    durable: u32,
    /// Every incarnation that was, as bits.
    written: u64,
    /// The incarnation in the last version, where it had one.
    intended: Option<u32>,
    /// It fell from one version to the next.
    fell: bool,
    /// Its last version shows no sign of an intent: no finalizer, no annotation, nothing recorded.
    bare: bool,
    pub(super) gone: bool,
    /// It vanished, but not by our removal of the finalizer.
    unasked: bool,
    /// A process that led has ended since it was made.
    exited: bool,
    /// A create of it got no proper answer.
    pub(super) unanswered: bool,
    /// A leak is left to the orphan sweep.
    pub(super) excused: bool,
}

/// A broken invariant.
pub(super) type Broken = String;

/// What the oracle counts, so that excusals cannot hide everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Objects that are gone.
    pub(super) gone: u32,
    /// … of which a leak would be excused, because a leading process ended since.
    pub(super) excused: u32,
    /// … and of which one was.
    pub(super) leaked: u32,
    pub(super) running: u32,
    pub(super) refused: u32,
    pub(super) drifted: u32,
    pub(super) duplicates: u32,
    /// Objects whose create nobody can tell about.
    pub(super) doubts: u32,
}

impl Counts {
    pub(super) fn add(&mut self, other: &Self) {
        self.gone += other.gone;
        self.excused += other.excused;
        self.leaked += other.leaked;
        self.running += other.running;
        self.refused += other.refused;
        self.drifted += other.drifted;
        self.duplicates += other.duplicates;
        self.doubts += other.doubts;
    }
}

impl World {
    /// Takes note of what the API server shows, after anything that may have changed it. `asked`: the operator
    /// took its finalizer off.
    pub(super) fn note_objects(&mut self, asked: bool) {
        for stored in self.api.objects.values() {
            let object = &stored.view.object;
            let life = match self.lives.iter_mut().find(|l| l.uid == object.uid) {
                Some(life) => life,
                None => {
                    self.lives.push(Life {
                        uid: object.uid.clone(),
                        key: object.key.clone(),
                        durable: 0,
                        written: 0,
                        intended: None,
                        fell: false,
                        bare: true,
                        gone: false,
                        unasked: false,
                        exited: false,
                        unanswered: false,
                        excused: false,
                    });
                    self.lives.last_mut().unwrap()
                }
            };
            if let Some(text) = &stored.annotation
                && self.exported.len() < 3
                && !self.exported.contains(text)
            {
                self.exported.push(text.clone());
            }
            let intended = object.intent().map(|intent| intent.incarnation.get());
            life.fell |= intended.is_some_and(|new| life.intended.is_some_and(|old| new < old));
            life.intended = intended;
            life.bare = !object.shows_intent();
            if object.finalizer
                && let IntentState::Valid(intent) = &object.intent
            {
                let number = intent.incarnation.get();
                life.durable = life.durable.max(number);
                life.written |= 1 << number.min(63);
            }
        }
        for at in 0..self.lives.len() {
            let life = &self.lives[at];
            if life.gone || self.api.of_uid(&life.uid).is_some() {
                continue;
            }
            let unavoidable = self.leak_is_unavoidable(life);
            let life = &mut self.lives[at];
            life.gone = true;
            life.unasked = !asked;
            life.excused = !asked && life.exited && unavoidable;
        }
    }

    /// Whether nobody can keep what is left of an object that goes now, unasked: no leader knows of it; or users took
    /// off whatever showed an intent, no leader ever saw such a sign, and there is no ProviderConfig to ask by.
    fn leak_is_unavoidable(&self, life: &Life) -> bool {
        let known = self.leaders().any(|p| {
            p.store.values().any(|v| v.object.uid == life.uid)
                || self.logged(p, life).next().is_some()
        });
        let nobody_to_ask = self.config.lock().unwrap().is_none();
        let seen = || self.leaders().any(|p| self.saw_a_sign(p, life));
        !known || nobody_to_ask && life.bare && !seen()
    }

    /// Whether a process saw that an instance of this object may exist, or is about to.
    fn saw_a_sign(&self, process: &Process, life: &Life) -> bool {
        let knowledge = process.reconciler.knowledge();
        let known = knowledge.get(&life.key, self.now);
        known.is_some_and(|k| k.view.object.uid == life.uid && k.memory.sign())
            || knowledge
                .departed(&life.uid)
                .is_some_and(|entry| entry.departed.sign)
            || self
                .logged(process, life)
                .any(|object| object.shows_intent())
    }

    /// Versions of an object that a process's watch is yet to deliver.
    fn logged<'a>(
        &'a self,
        process: &Process,
        life: &'a Life,
    ) -> impl Iterator<Item = &'a Object> + use<'a> {
        let entries = self.api.log[process.cursor..].iter();
        let objects = entries.map(|entry| &entry.view.object);
        objects.filter(|object| object.uid == life.uid)
    }

    /// A process that led has ended.
    pub(super) fn note_exit(&mut self) {
        for life in &mut self.lives {
            life.exited = true;
            life.excused |= life.unasked;
        }
    }

    /// A list jumped over the whole life of an object.
    pub(super) fn note_jump(&mut self, never_seen: &[Uid]) {
        for life in &mut self.lives {
            if never_seen.contains(&life.uid) && life.unasked && life.exited {
                life.excused = true;
            }
        }
    }

    /// I2 and I9 of a create that is sent now. Gives whether its incarnation was given up before.
    pub(super) fn check_create(&self, uid: &Uid, incarnation: u32) -> Result<bool, Broken> {
        let Some(life) = self.lives.iter().find(|l| l.uid == *uid) else {
            return Err(format!("I2: create for {uid}, which never was"));
        };
        if life.written & (1 << incarnation.min(63)) == 0 {
            return Err(format!(
                "I2: create of {uid}/{incarnation} before finalizer and intent were durable"
            ));
        }
        if self.mass.contains(uid) {
            return Err(format!(
                "I14: {uid} is made anew although all instances vanished and nobody confirmed that"
            ));
        }
        Ok(life.durable > incarnation)
    }

    /// Invariants of a state.
    pub(super) fn check(&self) -> Result<(), Broken> {
        for life in &self.lives {
            self.check_doubles(life)?;
            if life.fell {
                return Err(format!("I13: the incarnation of {} fell", life.uid));
            }
            if life.gone && !self.excuses(life) && self.cloud.live(&life.uid).next().is_some() {
                self.check_leak(life)?;
            }
        }
        for stored in self.api.objects.values() {
            let object = &stored.view.object;
            let named = object.recorded.as_ref().and_then(|recorded| {
                let mut machines = self.cloud.machines.iter();
                machines.find(|m| m.instance.id == recorded.id)
            });
            if let Some(machine) = named
                && machine.uid != object.uid
                && !machine.is_strange()
            {
                return Err(format!(
                    "S: status of {} names {} of {}",
                    object.uid, machine.instance.id, machine.uid
                ));
            }
        }
        Ok(())
    }

    /// Whether an instance may be left behind: where nobody can be asked, also that of a create without an answer.
    fn excuses(&self, life: &Life) -> bool {
        life.excused || self.swarm.basic && (life.unanswered || life.exited)
    }

    /// A create of this object gets no proper answer.
    pub(super) fn note_unanswered(&mut self, uid: Option<&Uid>) {
        for life in &mut self.lives {
            life.unanswered |= Some(&life.uid) == uid;
        }
    }

    fn check_doubles(&self, life: &Life) -> Result<(), Broken> {
        let live = || self.cloud.live(&life.uid);
        let mut list = live();
        let (Some(first), Some(_)) = (list.next(), list.next()) else {
            return Ok(());
        };
        let uid = &first.uid;
        if live().filter(|m| m.incarnation >= life.durable).count() > 1 {
            return Err(format!(
                "I1: two live instances of {uid}, none confirmed lost"
            ));
        }
        if live().any(|m| m.low) {
            return Err(format!(
                "I1c: two live instances of {uid}, one from a create for an incarnation given up"
            ));
        }
        let twice = |n: u32| live().filter(|m| m.incarnation == n).count() > 1;
        if live().any(|m| twice(m.incarnation)) {
            return Err(format!(
                "I1b: two live instances of {uid} and one incarnation"
            ));
        }
        Ok(())
    }

    fn check_leak(&self, life: &Life) -> Result<(), Broken> {
        let flying = self.flights.iter().any(|f| f.may_still_write(&life.uid));
        let mut leaders = self.leaders().peekable();
        if flying || leaders.peek().is_none() {
            return Ok(());
        }
        let knows = leaders.any(|p| {
            let knowledge = p.reconciler.knowledge();
            let known = knowledge.get(&life.key, self.now);
            knowledge.departed(&life.uid).is_some()
                || known.is_some_and(|k| k.view.object.uid == life.uid)
                || self.logged(p, life).next().is_some()
        });
        if knows {
            Ok(())
        } else {
            Err(format!(
                "I3: {} is gone, nothing is in flight, nobody remembers, and its instance lives",
                life.uid
            ))
        }
    }
}
