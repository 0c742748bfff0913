//! The change feed of one account.

use super::account::Account;
use super::{Change, ChangeKind, Code, Feed, Refusal};

/// Most changes in one answer; the client asks again from its `revision` at once.
const BATCH: usize = 1000;

impl Account {
    /// Changes after `since`, of each VM only the latest, oldest first.
    pub(super) fn feed(&self, since: u64, history: u64) -> Result<Feed, Refusal> {
        // A revision from the future comes from a cloud that lost its state: everything may be different.
        if since > self.revision
            || since < self.floor
            || since < self.revision.saturating_sub(history)
        {
            let message = format!(
                "changes after {since} are not known (latest is {}); list again",
                self.revision
            );
            return Err(Refusal::new(Code::RevisionExpired, message));
        }
        let after = self.changes.range(since.saturating_add(1)..);
        let changes: Vec<Change> = after
            .filter_map(|(_, number)| self.change(*number))
            .take(BATCH)
            .collect();
        let last = changes.last().filter(|_| changes.len() == BATCH);
        Ok(Feed {
            revision: last.map_or(self.revision, |change| change.vm.revision),
            changes,
        })
    }

    fn change(&self, number: u64) -> Option<Change> {
        let live = self
            .live
            .get(&number)
            .map(|record| (ChangeKind::Upsert, record));
        let found = live.or_else(|| {
            self.gone
                .get(&number)
                .map(|record| (ChangeKind::Deleted, record))
        });
        found.map(|(kind, record)| Change {
            kind,
            vm: record.vm.clone(),
        })
    }
}
