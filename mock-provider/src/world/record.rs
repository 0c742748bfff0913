//! What the cloud keeps about one VM, beyond what clients see.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Vm, earlier, text::Interner};

/// A VM and its plans.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Record {
    pub(super) vm: Vm,
    /// When it does something by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) due: Option<Timestamp>,
    /// When it went away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) deleted_at: Option<Timestamp>,
    /// What lagging lists still show, oldest first; empty without list lag.
    #[serde(skip)]
    past: Vec<Past>,
}

/// How a VM was until some time.
#[derive(Debug, Clone)]
struct Past {
    until: Timestamp,
    /// `None`: it was not there yet.
    state: Option<Box<Vm>>,
}

impl Record {
    pub(super) fn new(vm: Vm, due: Option<Timestamp>) -> Self {
        Self {
            vm,
            due,
            deleted_at: None,
            past: Vec::new(),
        }
    }

    /// Remembers how it is (or that it is not there yet) before it changes.
    pub(super) fn remember(&mut self, exists: bool, now: Timestamp, lag: std::time::Duration) {
        if lag.is_zero() {
            self.past = Vec::new();
            return;
        }
        let oldest = earlier(now, lag);
        self.past.retain(|past| past.until > oldest);
        self.past.push(Past {
            until: now,
            state: exists.then(|| Box::new(self.vm.clone())),
        });
    }

    /// How it was at `time`; `None` when it was not there.
    pub(super) fn at(&self, time: Timestamp) -> Option<&Vm> {
        match self.past.iter().find(|past| past.until > time) {
            Some(past) => past.state.as_deref(),
            None if self.deleted_at.is_some() => None,
            None => Some(&self.vm),
        }
    }

    /// Lets it share its words with the others.
    pub(super) fn share(&mut self, words: &mut Interner) {
        self.vm.image = words.share(&self.vm.image);
        self.vm.memory = words.share(&self.vm.memory);
        let tags = self.vm.tags.iter();
        self.vm.tags = tags
            .map(|(key, value)| words.share_tag(key, value))
            .collect();
    }
}
