//! When to give the process up: when a loop has stopped turning, and never because something else is out of order.

use std::sync::Arc;
use std::time::Duration;

use super::Parts;
use super::election::Election;
use crate::runtime::clock::Clock;
use crate::telemetry::health::Checks;

/// A watch tries something at least every two minutes, whatever the API server does: 30 s for its start, 60 s for a
/// stream that says nothing, 30 s of back-off; the rest is grace.
const WATCH_STUCK: Duration = Duration::from_mins(3);
/// The election tries every 2 s, and one try ends within 10 s.
const ELECTION_STUCK: Duration = Duration::from_secs(30);

/// Fails when a watch does not even try any more.
pub(super) fn watches(live: &Checks, parts: &Parts) {
    let (watches, clock) = (Arc::clone(&parts.watches), Arc::clone(&parts.clock));
    live.add("watches-turn", move || {
        let now = clock.now();
        let silence = |status: &Arc<crate::runtime::watch::WatchStatus>| {
            (now.since(status.last_beat()), status.kind().to_owned())
        };
        let worst = watches.statuses().iter().map(silence).max();
        match worst {
            Some((age, kind)) if age > WATCH_STUCK => Err(format!(
                "the watch on {kind} has not tried anything for {} s",
                age.as_secs()
            )),
            Some(_) | None => Ok(()),
        }
    });
}

/// Fails when the election does not even try any more; a candidate that waits for ever tries for ever.
pub(super) fn election(live: &Checks, parts: &Parts, election: &Election) {
    let Some(status) = election.status() else {
        return;
    };
    let (shutdown, clock) = (parts.shutdown.clone(), Arc::clone(&parts.clock));
    live.add("election-turns", move || {
        let attempted = status.attempted().filter(|_| !shutdown.is_draining());
        let age = attempted.map_or(Duration::ZERO, |then| clock.now().since(then));
        if age > ELECTION_STUCK {
            return Err(format!("no try for the lease for {} s", age.as_secs()));
        }
        Ok(())
    });
}
