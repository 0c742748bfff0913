//! `/debug/state`: what this process knows of itself, for people and for the dashboard. `docs/operations.md` describes
//! every field; a field may be added, none changes its meaning.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::Parts;
use super::configs::Configs;
use super::election::Election;
use super::inventories::Inventories;
use super::machines::Machines;
use crate::controller::Target;
use crate::controller::configs::ConfigTarget;
use crate::domain::{Moment, ObjectKey};
use crate::provider::breaker::Position;
use crate::provider::limited::Standing;
use crate::runtime::clock::Clock;
use crate::runtime::leader::LeaderStatus;
use crate::runtime::metrics::WatchMetrics;
use crate::runtime::queue::Stats;
use crate::runtime::schedule::{Line, Whereabouts};
use crate::runtime::shutdown::Shutdown;
use crate::runtime::watch::WatchStatus;

/// Everything that the page is made of. Costs nothing until it is asked for.
pub(super) struct Debug {
    machines: Machines,
    configs: Configs,
    inventories: Inventories,
    leader: Option<Arc<LeaderStatus>>,
    watches: Arc<WatchMetrics>,
    shutdown: Shutdown,
    clock: Arc<dyn Clock>,
    concurrency: usize,
}

impl Debug {
    pub(super) fn new(
        parts: &Parts,
        machines: &Machines,
        configs: &Configs,
        inventories: &Inventories,
        election: &Election,
    ) -> Self {
        Self {
            machines: machines.clone(),
            configs: configs.clone(),
            inventories: inventories.clone(),
            leader: election.status(),
            watches: Arc::clone(&parts.watches),
            shutdown: parts.shutdown.clone(),
            clock: Arc::clone(&parts.clock),
            concurrency: parts.settings.concurrency.get(),
        }
    }

    /// The page.
    pub(super) fn page(&self) -> Value {
        let now = self.clock.now();
        let (machines, configs) = (self.machines.queue(), self.configs.queue());
        let standings = self.configs.standings();
        let watches = self.watches.statuses();
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "time": self.clock.wall().to_string(),
            "draining": self.shutdown.is_draining(),
            "leader": self.leader.as_ref().map(|status| leader(status, now)),
            "workers": [
                workers("virtualmachine", self.concurrency, &machines.stats()),
                workers("providerconfig", Configs::concurrency(), &configs.stats()),
            ],
            "queue": machines.snapshot().iter().map(machine_line).collect::<Vec<_>>(),
            "configQueue": configs.snapshot().iter().map(config_line).collect::<Vec<_>>(),
            "inventories": self.inventories.snapshot(),
            "breakers": standings.iter().map(breaker).collect::<Vec<_>>(),
            "watches": watches.iter().map(|status| watch(status, now)).collect::<Vec<_>>(),
        })
    }
}

fn leader(status: &LeaderStatus, now: Moment) -> Value {
    json!({
        "lease": status.name(),
        "identity": status.identity(),
        "leading": status.is_leading(),
        "holder": status.holder(),
        "transitions": status.transitions(),
        "termSecondsLeft": status.until().map(|until| seconds(until.since(now))),
        "lastTrySecondsAgo": status.attempted().map(|then| seconds(now.since(then))),
    })
}

fn workers(controller: &str, concurrency: usize, stats: &Stats) -> Value {
    json!({
        "controller": controller,
        "concurrency": concurrency,
        "running": stats.running,
        "readyHigh": stats.high,
        "readyLow": stats.low,
        "delayed": stats.delayed,
        "oldestReadySeconds": seconds(stats.oldest_ready),
        "longestRunningSeconds": seconds(stats.longest_running),
        "adds": stats.counts.adds,
        "retries": stats.counts.retries,
    })
}

fn machine_line(line: &Line<Target>) -> Value {
    match &line.key {
        Target::Object(key) => queue_line(line, key.to_string(), key, None),
        Target::Departed { namespace, uid } => {
            let key = format!("{namespace}/departed:{uid}");
            let nameless = ObjectKey::new(Arc::clone(namespace), "");
            queue_line(line, key, &nameless, Some(uid.as_str()))
        }
    }
}

fn config_line(line: &Line<ConfigTarget>) -> Value {
    match &line.key {
        ConfigTarget::Config(key) => queue_line(line, key.to_string(), key, None),
        ConfigTarget::Secret(key) => queue_line(line, format!("secret:{key}"), key, None),
    }
}

fn queue_line<K>(line: &Line<K>, key: String, object: &ObjectKey, departed: Option<&str>) -> Value {
    let (state, age, backoff) = match line.whereabouts {
        Whereabouts::Ready(age) => ("ready", age, false),
        Whereabouts::Delayed(left, backoff) => ("delayed", left, backoff),
        Whereabouts::Running(age) => ("running", age, false),
    };
    json!({
        "key": key,
        "namespace": &*object.namespace,
        "name": &*object.name,
        "departedUid": departed,
        "state": state,
        "seconds": seconds(age),
        "lane": line.lane.label(),
        "failures": line.failures,
        "backoff": backoff,
    })
}

fn breaker((config, standing): &(ObjectKey, Standing)) -> Value {
    let state = match standing.breaker {
        Position::Closed => "closed",
        Position::Open => "open",
        Position::Probing => "probing",
    };
    json!({
        "providerConfig": config.to_string(),
        "state": state,
        "heldBackSeconds": standing.held_back.map(seconds),
        "pausedSeconds": seconds(standing.paused),
        "inFlight": standing.in_flight,
        "maxInFlight": standing.max_in_flight,
    })
}

fn watch(status: &Arc<WatchStatus>, now: Moment) -> Value {
    let failure = status.failure().map(
        |failure| json!({ "step": failure.step, "code": failure.code, "message": failure.message }),
    );
    json!({
        "kind": status.kind(),
        "namespace": status.scope(),
        "listed": status.is_listed(),
        "lists": status.lists(),
        "lastHeardSecondsAgo": seconds(now.since(status.last_heard())),
        "lastTrySecondsAgo": seconds(now.since(status.last_beat())),
        "failure": failure,
    })
}

/// To the millisecond: more digits are noise.
fn seconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1000.0).round() / 1000.0
}
