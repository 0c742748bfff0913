//! Random requests.

use serde_json::{Value, json};

use super::pair::Pair;
use crate::api;

/// Names of the two objects.
pub(super) const NAMES: [&str; 2] = ["a", "b"];

/// One request. Where it is guarded, by which of the versions seen so far.
#[derive(Clone, Debug)]
pub(super) enum Request {
    Create(usize, u32, bool),
    Delete(usize),
    DeleteGuarded(usize),
    /// Finalizer and intent of this incarnation, as the operator writes them.
    Intend(usize, u32),
    /// The whole list of finalizers.
    Finalizers(usize, Vec<&'static str>),
    Status(usize, Value),
    WipeStatus(usize),
    /// A user's edit of the spec, of an object that has no VM yet.
    Edit(usize, u32),
    StripFinalizer(usize),
    StripIntent(usize),
    Relabel(usize),
}

impl Pair {
    /// Draws the next request.
    pub(super) fn draw(&mut self) -> Request {
        let at = self.random.usize(..NAMES.len());
        let there = self.double.live(&self.key(at)).is_some();
        if !there && self.random.u8(..3) > 0 {
            return Request::Create(at, self.random.u32(1..4), self.random.u8(..4) == 0);
        }
        // Mostly the newest version, else any that was ever seen, of either name.
        let newest = self
            .seen
            .iter()
            .rposition(|seen| seen.double.key.name.as_ref() == NAMES[at]);
        let any = (!self.seen.is_empty()).then(|| self.random.usize(..self.seen.len()));
        let guard = if self.random.u8(..10) < 7 {
            newest
        } else {
            any
        };
        let Some(guard) = guard else {
            return Request::Create(at, 1, false);
        };
        match self.random.u8(..20) {
            0 => Request::Create(at, 2, false),
            1 => Request::Delete(at),
            2 => Request::DeleteGuarded(guard),
            3..6 => Request::Intend(guard, self.random.u32(1..4)),
            6..10 => Request::Finalizers(guard, self.finalizers()),
            10..14 => Request::Status(guard, self.status()),
            14 => Request::WipeStatus(at),
            15 | 16 => Request::Edit(at, self.random.u32(1..4)),
            17 => Request::StripFinalizer(at),
            18 => Request::StripIntent(at),
            _ => Request::Relabel(at),
        }
    }

    fn finalizers(&mut self) -> Vec<&'static str> {
        let all = [api::FINALIZER, "example.org/other"];
        all.into_iter().filter(|_| self.random.bool()).collect()
    }

    fn status(&mut self) -> Value {
        let ready = |status: &str| {
            json!([{ "type": "Ready", "status": status, "reason": "Drawn", "message": "",
                "lastTransitionTime": "2026-01-02T03:04:05Z", "observedGeneration": 1 }])
        };
        match self.random.u8(..5) {
            0 => {
                json!({ "id": "vm-1", "incarnation": 1, "phase": "Running", "conditions": ready("True") })
            }
            1 => {
                json!({ "phase": "Pending", "conditions": ready("False"), "observedGeneration": 1 })
            }
            2 => json!({ "id": null, "incarnation": null }),
            3 => json!({ "phase": null, "conditions": null }),
            _ => json!({}),
        }
    }
}
