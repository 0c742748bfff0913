//! What the screen shows, as JSON for programs.

use serde_json::{Value, json};

use crate::message::{Health, Source};
use crate::numbers::{Counter, Estimate, WINDOW};
use crate::world::{Leader, World};

/// Most machines that are named because something is wrong with them.
const TROUBLED: usize = 100;

/// The state of everything. Numbers that nothing was measured for are null, never zero.
#[must_use]
pub fn summary(world: &World) -> Value {
    let phases: serde_json::Map<String, Value> = world
        .phases()
        .into_iter()
        .map(|(phase, count)| (phase.to_owned(), count.into()))
        .collect();
    let ready = world.machines.values().filter(|one| one.ready() == "yes");
    let (live, known) = world.replicas();
    json!({
        "version": 1,
        "at": world.now.0,
        "label": world.context.label,
        "server": world.context.server,
        "leader": leader(world),
        "replicas": { "known": known, "answering": live },
        "virtualMachines": {
            "listed": world.listed,
            "total": world.machines.len(),
            "ready": ready.count(),
            "phases": phases,
            "troubled": troubled(world),
        },
        "queue": queue(world),
        "passesPerSecond": passes(world),
        "windowSeconds": WINDOW,
        "provider": provider(world),
        "sources": sources(world),
    })
}

fn leader(world: &World) -> Value {
    let lease = world.lease.as_ref();
    let (state, names) = match world.leader() {
        Leader::Unknown => ("unknown", Vec::new()),
        Leader::Nobody { .. } => ("nobody", Vec::new()),
        Leader::Holder(name) => ("holder", vec![name]),
        Leader::Agreed(name) => ("agreed", vec![name]),
        Leader::Unconfirmed(name) => ("unconfirmed", vec![name]),
        Leader::Disputed(names) => ("disputed", names),
    };
    json!({
        "state": state,
        "names": names,
        "renewedSecondsAgo": lease.map(|lease| world.now.max(lease.at).seconds_since(lease.renewed)),
        "transitions": lease.map(|lease| lease.transitions),
        "changesSeen": world.handovers.len(),
    })
}

fn troubled(world: &World) -> Vec<Value> {
    let odd = world
        .machines
        .values()
        .filter(|one| !one.trouble().is_empty());
    odd.take(TROUBLED)
        .map(|one| json!({ "namespace": one.namespace, "name": one.name, "phase": one.shown_phase(), "why": one.trouble() }))
        .collect()
}

fn queue(world: &World) -> Value {
    let Some((replica, levels)) = world.leading() else {
        return Value::Null;
    };
    json!({
        "replica": replica,
        "ready": levels.ready,
        "running": levels.active,
        "workers": levels.workers,
        "delayed": levels.delayed,
        "oldestSeconds": levels.oldest,
    })
}

fn passes(world: &World) -> Value {
    let rate = |name: &str| {
        let wanted =
            |counter: &Counter| matches!(counter, Counter::Passes(result) if result == name);
        world.numbers.rate(world.now, wanted)
    };
    json!({
        "success": rate("success"),
        "error": rate("error"),
        "requeue": rate("requeue"),
        "requeueAfter": rate("requeue_after"),
    })
}

fn provider(world: &World) -> Value {
    let calls = world.numbers.calls(world.now);
    let rows: Vec<Value> = calls
        .iter()
        .map(|calls| {
            json!({
                "operation": calls.operation,
                "providerConfig": calls.config,
                "callsPerSecond": calls.rate,
                "p50": estimate(calls.p50),
                "p95": estimate(calls.p95),
                "p99": estimate(calls.p99),
            })
        })
        .collect();
    let kinds = world.numbers.kinds();
    let failures: serde_json::Map<String, Value> = kinds
        .into_iter()
        .map(|kind| {
            let wanted =
                |counter: &Counter| matches!(counter, Counter::Failures(one) if *one == kind);
            let rate = world.numbers.rate(world.now, wanted);
            (kind.clone(), json!(rate))
        })
        .collect();
    let throttled = world
        .numbers
        .rate(world.now, |counter| *counter == Counter::Throttled);
    json!({ "calls": rows, "failuresPerSecond": failures, "throttledSecondsPerSecond": throttled })
}

fn estimate(estimate: Option<Estimate>) -> Value {
    match estimate {
        None => Value::Null,
        Some(Estimate::About(seconds)) => json!(seconds),
        Some(Estimate::AtLeast(seconds)) => json!({ "atLeast": seconds }),
    }
}

fn sources(world: &World) -> Vec<Value> {
    let rows = world.sources.iter().map(|(source, standing)| {
        let (is, why) = match &standing.health {
            Health::Waiting => ("waiting", None),
            Health::Live => ("live", None),
            Health::Lost { why } => ("lost", Some(why)),
            Health::Absent { why } => ("absent", Some(why)),
        };
        let (kind, of) = match source {
            Source::Api => ("api", None),
            Source::Machines => ("machines", None),
            Source::Configs => ("configs", None),
            Source::Events => ("events", None),
            Source::Metrics(of) => ("metrics", Some(of)),
            Source::State(of) => ("state", Some(of)),
            Source::Logs => ("logs", None),
        };
        json!({ "source": kind, "of": of, "is": is, "why": why })
    });
    rows.collect()
}
