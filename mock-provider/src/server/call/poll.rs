//! Change feeds that wait for something to say.

use std::sync::Arc;
use std::time::Duration;

use crate::journal::Entry;
use crate::server::cloud::Cloud;
use crate::server::effect;
use crate::server::tasks::pause;
use crate::wire::{Written, write_answer, write_refusal};
use crate::world::{Answer, Text};

/// A change feed that waits.
pub(super) struct Poll {
    pub(super) account: Text,
    pub(super) since: u64,
    /// How long at most.
    pub(super) seconds: u64,
    /// Its entry in the log, noted when it is answered.
    pub(super) entry: Entry,
    /// Whether a rule wants the answer to speak of another VM.
    pub(super) wrong_id: bool,
}

impl Poll {
    /// Looks again at each change until there is something to say, the time is over or the server stops.
    pub(super) async fn wait(self, cloud: &Arc<Cloud>, request_id: &str) -> Written {
        tokio::select! {
            () = self.news(cloud) => {}
            () = pause(Duration::from_secs(self.seconds)) => {}
            () = cloud.stop.cancelled() => {}
        }
        self.answer(cloud, request_id)
    }

    async fn news(&self, cloud: &Arc<Cloud>) {
        let mut versions = cloud.versions();
        // Something may have changed since the first look.
        versions.mark_changed();
        while versions.changed().await.is_ok() {
            let news = cloud.with(|inner| inner.world.changes(&self.account, self.since));
            if !news.is_ok_and(|feed| feed.changes.is_empty()) {
                return;
            }
        }
    }

    fn answer(mut self, cloud: &Arc<Cloud>, request_id: &str) -> Written {
        cloud.with(|inner| {
            let changes = inner.world.changes(&self.account, self.since);
            let mut outcome = changes.map(Answer::Changes);
            if let (true, Ok(answer)) = (self.wrong_id, &mut outcome) {
                effect::wrong_id(answer);
            }
            let written = match &outcome {
                Ok(answer) => write_answer(answer, false),
                Err(refusal) => write_refusal(refusal, request_id),
            };
            self.entry.note_outcome(&outcome);
            self.entry.status = written.status;
            inner.journal.note(self.entry);
            written
        })
    }
}
