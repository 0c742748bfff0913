//! What all calls share.

use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use crate::clock::{self, Clock};
use crate::faults::Faults;
use crate::journal::Journal;
use crate::keyring::Keyring;
use crate::store::Store;
use crate::world::World;

/// The world behind its lock, and the signals around it.
#[derive(Debug)]
pub(crate) struct Cloud {
    inner: Mutex<Inner>,
    /// The world's version, for whoever waits for a change.
    version: watch::Sender<u64>,
    /// What is in the data file.
    pub(super) saved: watch::Sender<Kept>,
    /// The timer's plan may be out of date.
    pub(super) wake: Notify,
    pub(crate) stop: CancellationToken,
    pub(super) store: Option<Store>,
}

/// How far the data file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kept {
    pub(super) version: u64,
    /// Whether the last try failed.
    pub(super) failed: bool,
}

/// What the lock protects.
#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) world: World,
    pub(crate) clock: Clock,
    pub(crate) faults: Faults,
    pub(crate) journal: Journal,
    pub(crate) keyring: Keyring,
    requests: u64,
}

impl Inner {
    pub(crate) fn new(world: World, keyring: Keyring, seed: u64, log: usize) -> Self {
        // Another seed than the world's: whether a rule hits must not depend on how the VMs' delays fell.
        let faults = Faults::new(seed.wrapping_add(1));
        Self {
            world,
            clock: Clock::default(),
            faults,
            journal: Journal::new(log),
            keyring,
            requests: 0,
        }
    }

    pub(crate) fn request_id(&mut self) -> String {
        self.requests += 1;
        format!("req-{:08}", self.requests)
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now(clock::real())
    }
}

impl Cloud {
    pub(super) fn new(inner: Inner, store: Option<Store>) -> Self {
        let version = watch::Sender::new(inner.world.version());
        let saved = watch::Sender::new(Kept {
            version: inner.world.version(),
            failed: false,
        });
        Self {
            inner: Mutex::new(inner),
            version,
            saved,
            wake: Notify::new(),
            stop: CancellationToken::new(),
            store,
        }
    }

    /// Works under the lock, then tells whoever waits for changes. Nothing may wait inside.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut Inner) -> T) -> T {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let due = inner.world.next_due();
        let done = work(&mut inner);
        let (version, planned) = (inner.world.version(), inner.world.next_due());
        drop(inner);
        if due != planned {
            self.wake.notify_one();
        }
        self.version
            .send_if_modified(|known| std::mem::replace(known, version) != version);
        done
    }

    /// The clock was touched: the timer has to look again.
    pub(crate) fn clock_changed(&self) {
        self.wake.notify_one();
    }

    pub(super) fn versions(&self) -> watch::Receiver<u64> {
        self.version.subscribe()
    }

    /// Waits until everything up to now is in the data file, where there is one; false when it could not be written.
    pub(super) async fn kept(&self) -> bool {
        if self.store.is_none() {
            return true;
        }
        let version = self.with(|inner| inner.world.version());
        let mut saved = self.saved.subscribe();
        let enough = saved
            .wait_for(|kept| kept.failed || kept.version >= version)
            .await;
        enough.is_ok_and(|kept| kept.version >= version)
    }
}
