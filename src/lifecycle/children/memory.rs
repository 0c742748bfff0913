//! What is remembered of a VirtualMachine's owned objects beyond what is there.

use super::ChildKind;
use crate::domain::{Moment, Reason};

/// Per kind: when we last wrote it, and what is in the way of writing it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChildMemory([Trace; ChildKind::ALL.len()]);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Trace {
    written_at: Option<Moment>,
    obstacle: Option<Obstacle>,
    /// Writes in a row whose answer said nothing.
    unanswered: u32,
}

/// What is in the way of an owned object. It is tried again after a while, and when the spec changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// The reason for the condition.
    pub reason: Reason,
    /// In words: what is wrong and what to do.
    pub message: String,
    /// The generation of the VirtualMachine at which it was met.
    pub generation: i64,
    /// From then on it is tried again.
    pub until: Moment,
}

impl ChildMemory {
    /// A write of ours was acknowledged.
    pub fn written(&mut self, kind: ChildKind, now: Moment) {
        self.0[kind.place()] = Trace {
            written_at: Some(now),
            obstacle: None,
            unanswered: 0,
        };
    }

    /// A write met an obstacle.
    pub fn met(&mut self, kind: ChildKind, obstacle: Obstacle) {
        let trace = &mut self.0[kind.place()];
        trace.obstacle = Some(obstacle);
        trace.unanswered = 0;
    }

    /// A write got no answer, or one that says nothing. Gives how many did in a row.
    pub fn unanswered(&mut self, kind: ChildKind) -> u32 {
        let trace = &mut self.0[kind.place()];
        trace.unanswered = trace.unanswered.saturating_add(1);
        trace.unanswered
    }

    /// When we last wrote it.
    #[must_use]
    pub fn written_at(&self, kind: ChildKind) -> Option<Moment> {
        self.0[kind.place()].written_at
    }

    /// The obstacle that stands now, at this generation of the VirtualMachine.
    #[must_use]
    pub fn obstacle(&self, kind: ChildKind, generation: i64, now: Moment) -> Option<&Obstacle> {
        let obstacle = self.0[kind.place()].obstacle.as_ref()?;
        (obstacle.generation == generation && now < obstacle.until).then_some(obstacle)
    }
}
