//! One object that is there: the store's version, and what stands in for it while the store is older.

use std::sync::Arc;

use crate::controller::view::View;
use crate::domain::{ErrorKind, InstanceId, Moment};
use crate::lifecycle::{Arrival, Memory, Policy};

/// One object that is there.
#[derive(Debug)]
pub(super) struct Entry {
    /// The newest version that the watch delivered.
    pub(super) stored: Arc<View>,
    /// The answer of our last write, while the store is older.
    pub(super) overlay: Option<Overlay>,
    pub(super) memory: Memory,
    /// Whether the watch has shown it, and so will tell of its end too. Else live reads alone have.
    pub(super) watched: bool,
    /// When the next full look (for doubles and higher incarnations) is due.
    pub(super) full_look_at: Moment,
    /// The instance that the last call of ours showed, and its revision: what an inventory shows must not be older.
    pub(super) seen: Option<(InstanceId, u64)>,
}

#[derive(Debug)]
pub(super) struct Overlay {
    pub(super) view: Arc<View>,
    /// From then on a live read decides.
    pub(super) until: Moment,
}

impl Entry {
    pub(super) fn new(view: &View) -> Self {
        Self {
            stored: Arc::new(view.clone()),
            overlay: None,
            memory: Memory::default(),
            watched: false,
            full_look_at: Moment::START,
            seen: None,
        }
    }

    /// Whether its last call was refused because the account holds no more.
    pub(super) fn is_short_of_quota(&self) -> bool {
        let failure = self.memory.failure();
        failure.is_some_and(|failure| failure.error.kind == ErrorKind::QuotaExceeded)
    }

    pub(super) fn newest(&self) -> &View {
        self.overlay.as_ref().map_or(&self.stored, |o| &o.view)
    }

    pub(super) fn is_of_another(&self, view: &View) -> bool {
        self.stored.object.uid != view.object.uid
    }

    /// From now on only a live read decides what the newest version is.
    pub(super) fn doubt(&mut self) {
        let view = match &self.overlay {
            Some(overlay) => Arc::clone(&overlay.view),
            None => Arc::clone(&self.stored),
        };
        self.overlay = Some(Overlay {
            view,
            until: Moment::START,
        });
    }

    pub(super) fn store(&mut self, policy: &Policy, view: View, arrival: Arrival) {
        match &self.overlay {
            Some(overlay) if is_older(&view, &overlay.view) => {
                self.memory.saw_older(&view.object);
            }
            Some(overlay) => {
                let own = overlay.view.object.version == view.object.version;
                let arrival = if own { Arrival::OwnWrite } else { arrival };
                self.memory.saw(policy, &view.object, arrival);
                self.overlay = None;
            }
            None => self.memory.saw(policy, &view.object, arrival),
        }
        self.stored = Arc::new(view);
        self.watched = true;
    }

    /// Lets a version stand in for the store, unless the store shows that very version.
    pub(super) fn lay_over(&mut self, policy: &Policy, view: View, now: Moment) {
        let needed = view.object.version != self.stored.object.version;
        self.overlay = needed.then(|| Overlay {
            view: Arc::new(view),
            until: now + policy.overlay_valid,
        });
    }
}

/// Whether a version is older than another of the same object. Kubernetes promises that resourceVersions of one
/// kind compare as numbers; where they are none, what arrives later counts as newer.
pub(super) fn is_older(view: &View, than: &View) -> bool {
    let number = |view: &View| view.object.version.parse::<u64>();
    match (number(view), number(than)) {
        (Ok(one), Ok(other)) => one < other,
        (Ok(_) | Err(_), Ok(_) | Err(_)) => false,
    }
}
