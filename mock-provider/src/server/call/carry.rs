//! Carrying a call out under the lock, in one step.

use std::time::Duration;

use super::plan::Plan;
use super::poll::Poll;
use crate::faults::Effect;
use crate::journal::Entry;
use crate::keyring::unauthenticated;
use crate::server::cloud::Inner;
use crate::server::effect;
use crate::wire::{Written, write_answer, write_refusal};
use crate::world::{Answer, Call, Operation, Refusal, Request, Response, Vm};

/// A call that was carried out, or turned away.
pub(super) struct Done {
    pub(super) written: Written,
    pub(super) request_id: String,
    pub(super) effect: Option<Effect>,
    pub(super) delay: Duration,
    /// The answer to a write: it may leave once what it says is in the data file.
    pub(super) promises: bool,
    /// A change feed that has nothing to say yet.
    pub(super) poll: Option<Poll>,
}

impl Done {
    pub(super) fn new(written: Written, request_id: String) -> Self {
        let delay = Duration::ZERO;
        Self {
            written,
            request_id,
            effect: None,
            delay,
            promises: false,
            poll: None,
        }
    }
}

impl Plan {
    pub(super) fn carry_out(self, inner: &mut Inner) -> Done {
        let now = inner.now();
        let mut entry = self.entry(now);
        let (account, written) = (self.caller.account.clone(), self.turned_away());
        let (Some(account), None) = (account, &written) else {
            return self.finish(inner, entry, written.unwrap_or_default(), Duration::ZERO);
        };
        let (call, hold) = (self.read.call.clone(), self.hold());
        let mut response = inner.world.handle(
            Request {
                account: account.clone(),
                call,
                hold,
            },
            now,
        );
        if let Some(since) = self.must_wait(&response) {
            let wrong_id = matches!(self.effect(), Some(Effect::WrongId));
            let poll = Poll {
                account,
                since,
                seconds: self.read.wait,
                entry,
                wrong_id,
            };
            let mut done = Done::new(Written::default(), self.request_id);
            (done.poll, done.delay) = (Some(poll), response.delay);
            done.effect = self.fault.map(|(_, effect)| effect);
            return done;
        }
        entry.note_outcome(&response.outcome);
        entry.applied = response.applied;
        if let (Some(Effect::WrongId), Ok(answer)) = (self.effect(), &mut response.outcome) {
            effect::wrong_id(answer);
        }
        let made_up = self
            .effect()
            .and_then(|effect| effect::made_up(effect, &self.request_id));
        let written = made_up.unwrap_or_else(|| match &response.outcome {
            Ok(answer) => write_answer(answer, inner.world.settings().basic),
            Err(refusal) => write_refusal(refusal, &self.request_id),
        });
        self.finish(inner, entry, written, response.delay)
    }

    /// What a caller hears whose call does not reach the world; nothing where a rule drops it.
    fn turned_away(&self) -> Option<Written> {
        if self.caller.account.is_none() {
            return Some(write_refusal(&unauthenticated(), &self.request_id));
        }
        match self.effect() {
            Some(Effect::DropBefore) => Some(Written::default()),
            Some(effect @ Effect::Status { applied: false, .. }) => {
                effect::made_up(effect, &self.request_id)
            }
            Some(_) | None => None,
        }
    }

    fn hold(&self) -> Duration {
        match self.effect() {
            Some(Effect::Delay {
                milliseconds,
                applied: true,
            }) => Duration::from_millis(*milliseconds),
            Some(_) | None => Duration::ZERO,
        }
    }

    /// The revision after which a change feed waits, when it has nothing to say and may wait.
    fn must_wait(&self, response: &Response) -> Option<u64> {
        let (Call::Changes { since }, Ok(Answer::Changes(feed))) =
            (&self.read.call, &response.outcome)
        else {
            return None;
        };
        let made_up = matches!(self.effect(), Some(Effect::Status { .. }));
        (feed.changes.is_empty() && self.read.wait > 0 && !made_up).then_some(*since)
    }

    fn finish(
        self,
        inner: &mut Inner,
        mut entry: Entry,
        written: Written,
        delay: Duration,
    ) -> Done {
        entry.status = written.status;
        if let Some(Effect::Status { code, .. }) = self.effect() {
            entry.code.clone_from(code);
        }
        // A replay promises as much as the call that it repeats.
        let promises = matches!(entry.operation, Operation::Create | Operation::Delete);
        inner.journal.note(entry);
        let effect = self.fault.map(|(_, effect)| effect);
        Done {
            delay,
            promises,
            effect,
            ..Done::new(written, self.request_id)
        }
    }
}

impl Entry {
    /// Notes which VM it was about, as far as the answer tells, and why it was refused.
    pub(super) fn note_outcome(&mut self, outcome: &Result<Answer, Refusal>) {
        match outcome {
            Ok(
                Answer::Created(vm)
                | Answer::Replayed(vm)
                | Answer::Found(vm)
                | Answer::Deleting(vm),
            ) => self.note_vm(vm),
            Ok(
                Answer::Capabilities(_) | Answer::Page(_) | Answer::Changes(_) | Answer::Deleted,
            ) => {}
            Err(refusal) => {
                self.code = Some(refusal.code.parts().0.to_owned());
                if let Some(id) = refusal.id {
                    self.vm_id = Some(id.to_string());
                }
            }
        }
    }

    fn note_vm(&mut self, vm: &Vm) {
        self.vm_id = Some(vm.id.to_string());
        self.note_tags(&vm.tags);
    }
}
