//! Idempotency keys: which create made which VM.

use std::collections::{HashMap, VecDeque};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Digest, Text};

/// What is remembered about one key.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Key {
    /// The VM that it made.
    pub(super) number: u64,
    /// The body that it came with.
    pub(super) digest: Digest,
    /// Until when the create's answer is held back; until then the key is in work.
    pub(super) answered_at: Timestamp,
    /// When it is forgotten.
    pub(super) expires_at: Timestamp,
    /// Its VM is gone although another one bears the id now.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) orphaned: bool,
}

/// The keys of one account.
#[derive(Debug, Default)]
pub(super) struct Keys {
    known: HashMap<Text, Key>,
    /// Keys by age; an entry counts only while its time is the key's own.
    order: VecDeque<(Timestamp, Text)>,
}

impl Keys {
    /// The key, unless its lifetime is over.
    pub(super) fn get(&self, key: &str, now: Timestamp) -> Option<Key> {
        self.known
            .get(key)
            .copied()
            .filter(|known| known.expires_at > now)
    }

    pub(super) fn insert(&mut self, name: Text, key: Key) {
        self.order.push_back((key.expires_at, name.clone()));
        self.known.insert(name, key);
    }

    pub(super) fn expire(&mut self, now: Timestamp) {
        while let Some((at, _)) = self.order.front()
            && *at <= now
        {
            if let Some((at, name)) = self.order.pop_front()
                && self
                    .known
                    .get(&name)
                    .is_some_and(|key| key.expires_at == at)
            {
                self.known.remove(&name);
            }
        }
    }

    /// Forgets one key, or all of them; says how many.
    pub(super) fn forget(&mut self, name: Option<&str>) -> usize {
        if let Some(name) = name {
            return usize::from(self.known.remove(name).is_some());
        }
        self.order.clear();
        std::mem::take(&mut self.known).len()
    }

    /// The VM that these keys made is gone, whoever bears its id.
    pub(super) fn orphan(&mut self, number: u64) {
        for key in self.known.values_mut() {
            key.orphaned |= key.number == number;
        }
    }

    pub(super) fn len(&self) -> usize {
        self.known.len()
    }

    /// Oldest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Text, &Key)> {
        self.order.iter().filter_map(|(at, name)| {
            self.known
                .get_key_value(name)
                .filter(|(_, key)| key.expires_at == *at)
        })
    }
}
