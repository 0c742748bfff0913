//! What the server does without being called: time passes, the data file follows.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::cloud::{Cloud, Kept};
use crate::store::StoreError;

/// Longest sleep of the timer; only so that a clock that was set is noticed.
const LONGEST_SLEEP: Duration = Duration::from_secs(60);

/// Lets time pass in the world: one task for all VMs.
pub(super) async fn keep_time(cloud: Arc<Cloud>) -> Result<(), super::Error> {
    loop {
        let sleep = cloud.with(|inner| {
            let now = inner.now();
            inner.world.advance(now);
            let next = inner.world.next_due().filter(|_| !inner.clock.is_frozen());
            next.map_or(LONGEST_SLEEP, |at| {
                Duration::try_from(at.duration_since(now)).unwrap_or_default()
            })
        });
        // A little late rather than a little early: early would find nothing due and look again.
        let sleep = sleep.min(LONGEST_SLEEP) + Duration::from_millis(1);
        tokio::select! {
            () = cloud.stop.cancelled() => return Ok(()),
            () = cloud.wake.notified() => {}
            () = pause(sleep) => {}
        }
    }
}

/// Writes the data file whenever something changed. Calls that changed something wait for it, all that came during
/// one write for the next.
pub(super) async fn keep_file(cloud: Arc<Cloud>) -> Result<(), super::Error> {
    let mut versions = cloud.versions();
    versions.mark_changed();
    loop {
        tokio::select! {
            () = cloud.stop.cancelled() => return Ok(()),
            changed = versions.changed() => if changed.is_err() { return Ok(()) },
        }
        versions.mark_unchanged();
        let began = now();
        if let Err(error) = save(&cloud).await {
            tracing::error!(%error, "the data file is behind");
            versions.mark_changed();
            rest(&cloud, Duration::from_secs(1)).await;
        }
        // Half of the time at most goes into writing a large cloud.
        rest(&cloud, began.elapsed().min(Duration::from_secs(1))).await;
    }
}

/// Writes the data file, where there is one.
pub(super) async fn save(cloud: &Arc<Cloud>) -> Result<(), StoreError> {
    let shared = cloud.clone();
    let written = tokio::task::spawn_blocking(move || {
        let Some(store) = &shared.store else {
            return Ok(0);
        };
        let (version, draft) =
            shared.with(|inner| (inner.world.version(), store.draft(&inner.world.save())));
        store.replace(&draft?).map(|()| version)
    });
    let result = written.await.map_err(StoreError::Interrupted).flatten();
    cloud.saved.send_modify(|kept| match &result {
        Ok(version) => {
            *kept = Kept {
                version: kept.version.max(*version),
                failed: false,
            }
        }
        Err(_) => kept.failed = true,
    });
    result.map(|_| ())
}

#[expect(
    clippy::disallowed_methods,
    reason = "the server's edge: the world itself waits for nothing"
)]
pub(super) async fn pause(time: Duration) {
    tokio::time::sleep(time).await;
}

#[expect(
    clippy::disallowed_methods,
    reason = "measures how long a write took, to bound its share of the time"
)]
fn now() -> Instant {
    Instant::now()
}

/// A pause that the server's end cuts short.
async fn rest(cloud: &Cloud, time: Duration) {
    tokio::select! {
        () = cloud.stop.cancelled() => {}
        () = pause(time) => {}
    }
}
