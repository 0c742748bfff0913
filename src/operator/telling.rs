//! The task that writes events, from the start of the process until the last of them is written or time is over.

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::Parts;
use crate::controller::events::{EventApi, EventWriter};
use crate::domain::Moment;
use crate::runtime::clock::wait_until;

/// The writer at work. Dropping it loses what is queued.
pub(super) struct Telling {
    over: CancellationToken,
    task: JoinSet<()>,
}

impl Telling {
    pub(super) fn start<A: EventApi>(writer: EventWriter<A>) -> Self {
        let over = CancellationToken::new();
        let mut task = JoinSet::new();
        task.spawn(writer.run(over.clone()));
        Self { over, task }
    }

    /// Nothing more is told: what is queued is written, until this moment at the latest, or until somebody asks a second
    /// time to stop.
    pub(super) async fn end(mut self, parts: &Parts, deadline: Moment) {
        self.over.cancel();
        tokio::select! {
            _ = self.task.join_next() => {}
            () = wait_until(parts.clock.as_ref(), deadline) => {
                tracing::warn!("stopping before every event is written");
            }
            () = parts.shutdown.immediate() => {}
        }
    }
}
