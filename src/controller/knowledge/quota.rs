//! Who waits for a place in an account.

use super::Knowledge;
use super::entry::Entry;
use crate::domain::ObjectKey;

impl Knowledge {
    /// Who of a namespace has waited longest since the provider first refused it for want of quota.
    #[must_use]
    pub fn longest_short_of_quota(&self, namespace: &str) -> Option<ObjectKey> {
        let mut inner = self.lock();
        if !inner.short_of_quota {
            return None;
        }
        let short = |(_, entry): &(&ObjectKey, &Entry)| entry.is_short_of_quota();
        let waiting: Vec<_> = inner.objects.iter().filter(short).collect();
        let here = waiting
            .iter()
            .filter(|(key, _)| key.namespace.as_ref() == namespace);
        let since = |entry: &Entry| entry.memory.failure().map(|failure| failure.since);
        let longest = here.min_by_key(|(key, entry)| (since(entry), *key));
        let (longest, any) = (longest.map(|(key, _)| (*key).clone()), !waiting.is_empty());
        inner.short_of_quota = any;
        longest
    }
}
