//! Models for tests: a small cluster in the middle of its work, and scrapes as an operator writes them.

use std::fmt::Write;

use crate::age::Stamp;
use crate::keys::Key;
use crate::message::{
    Condition, Config, Context, Event, Health, Lease, LogLine, Machine, Message, Operation, Outlet,
    QueueLine, ReplicaState, Source,
};
use crate::model::{Effect, Model, Options};
use crate::update::update;

/// Noon of a day long ago.
pub(crate) const NOON: Stamp = Stamp(1_700_049_600_000);

/// So many seconds after noon.
pub(crate) fn after(seconds: i64) -> Stamp {
    Stamp(NOON.0 + seconds * 1000)
}

/// A scrape of an operator that counts on from its start.
#[derive(Clone, Debug)]
pub(crate) struct Counted {
    pub(crate) start: f64,
    pub(crate) leading: bool,
    pub(crate) ready: f64,
    pub(crate) passes: f64,
    pub(crate) errors: f64,
    /// Creates that took at most 0.1 s, at most 1 s, and longer.
    pub(crate) creates: [f64; 3],
}

impl Counted {
    pub(crate) fn text(&self) -> String {
        let mut text = String::from("# HELP a b\n# TYPE a counter\n");
        let queue = r#"name="virtualmachine",controller="virtualmachine""#;
        let Self {
            start,
            leading,
            ready,
            passes,
            errors,
            creates: [fast, slow, slower],
        } = self;
        let _ = writeln!(text, "process_start_time_seconds {start}");
        let _ = writeln!(
            text,
            "leader_election_master_status{{name=\"vmoperator-leader\"}} {}",
            f64::from(u8::from(*leading))
        );
        let _ = writeln!(text, "workqueue_depth{{{queue},priority=\"0\"}} {ready}");
        let _ = writeln!(text, "workqueue_depth{{{queue},priority=\"-100\"}} 1");
        let _ = writeln!(text, "workqueue_delayed_depth{{{queue}}} 3");
        let _ = writeln!(text, "workqueue_oldest_age_seconds{{{queue}}} 1.5");
        let _ = writeln!(
            text,
            "controller_runtime_active_workers{{controller=\"virtualmachine\"}} 4"
        );
        let _ = writeln!(
            text,
            "controller_runtime_max_concurrent_reconciles{{controller=\"virtualmachine\"}} 5"
        );
        for (result, count) in [("success", passes), ("error", errors)] {
            let _ = writeln!(
                text,
                "controller_runtime_reconcile_total{{controller=\"virtualmachine\",result=\"{result}\"}} {count}"
            );
        }
        let _ = writeln!(
            text,
            "vmoperator_provider_errors_total{{operation=\"create\",kind=\"RateLimited\"}} {errors}"
        );
        let _ = writeln!(text, "vmoperator_provider_in_flight 2");
        for (bound, count) in [
            ("0.1", *fast),
            ("1.0", fast + slow),
            ("+Inf", fast + slow + slower),
        ] {
            let _ = writeln!(
                text,
                "vmoperator_provider_call_duration_seconds_bucket{{le=\"{bound}\",operation=\"create\"}} {count}"
            );
        }
        text
    }
}

pub(crate) fn condition(kind: &str, status: &str, reason: &str, since: Stamp) -> Condition {
    Condition {
        kind: kind.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: format!("a sentence about {reason}"),
        since,
    }
}

/// A machine in a phase; its number makes name and uid.
pub(crate) fn machine(number: usize, phase: &str) -> Machine {
    let ready = if phase == "Running" { "True" } else { "False" };
    Machine {
        uid: format!("uid-{number:05}"),
        namespace: if number.is_multiple_of(3) {
            "team-a"
        } else {
            "default"
        }
        .to_owned(),
        name: format!("web-{number}"),
        phase: phase.to_owned(),
        cpu: 2,
        memory: "4Gi".to_owned(),
        image: "ubuntu-22.04".to_owned(),
        provider: "default".to_owned(),
        id: format!("vm-{number}"),
        address: format!("198.18.0.{}", number % 250),
        created: after(-600 - i64::try_from(number).unwrap_or(0) * 60),
        current: true,
        conditions: vec![
            condition("Ready", ready, phase, after(-30)),
            condition("Synced", "True", "Synced", after(-500)),
        ],
        ..Machine::default()
    }
}

/// A model to which messages were told.
pub(crate) fn told(messages: Vec<Message>) -> Model {
    let mut model = Model::new(Options::default());
    for message in messages {
        update(&mut model, message);
    }
    model.settle();
    model
}

/// Presses keys.
pub(crate) fn press(model: &mut Model, keys: &[Key]) -> Vec<Effect> {
    let effects = keys
        .iter()
        .flat_map(|key| update(model, Message::Key { key: *key }));
    let effects = effects.collect();
    model.settle();
    effects
}

/// Types a text.
pub(crate) fn type_text(model: &mut Model, text: &str) -> Vec<Effect> {
    let keys: Vec<Key> = text.chars().map(Key::Char).collect();
    press(model, &keys)
}

pub(crate) fn live(source: Source) -> Message {
    Message::Source {
        source,
        health: Health::Live,
        at: NOON,
    }
}

/// Twelve machines, one in trouble, one replica that leads, a change of leader a minute ago.
pub(crate) fn busy() -> Model {
    let mut messages = vec![Message::Context(Context {
        label: "environment dev".to_owned(),
        server: "https://127.0.0.1:6443".to_owned(),
        namespace: None,
        read_only: None,
    })];
    messages.extend(machines());
    messages.push(Message::Config(Config {
        uid: "c".to_owned(),
        namespace: "default".to_owned(),
        name: "default".to_owned(),
        ready: "True".to_owned(),
        reason: "Usable".to_owned(),
    }));
    messages.extend(told_by_operator());
    messages.extend(feeds());
    for source in [
        Source::Api,
        Source::Machines,
        Source::Configs,
        Source::Events,
        Source::Logs,
        Source::Metrics("127.0.0.1:8080".to_owned()),
        Source::State("127.0.0.1:8080".to_owned()),
    ] {
        messages.push(live(source));
    }
    messages.push(Message::Tick { now: NOON });
    told(messages)
}

fn machines() -> [Message; 2] {
    let phases = [
        "Running",
        "Running",
        "Provisioning",
        "Running",
        "Deleting",
        "Running",
    ];
    let mut list: Vec<Machine> = (1..12)
        .map(|number| machine(number, phases[number % 6]))
        .collect();
    let mut failed = machine(12, "Failed");
    failed.operation = Some(Operation {
        kind: "Create".to_owned(),
        attempts: 3,
        next: Some(after(25)),
        reason: "QuotaExceeded".to_owned(),
    });
    list.push(failed);
    [Message::Machines { list }, Message::Listed]
}

fn told_by_operator() -> Vec<Message> {
    let mut messages = Vec::new();
    for (holder, at) in [
        ("vmoperator-old", -70),
        ("vmoperator-1", -60),
        ("vmoperator-1", -1),
    ] {
        messages.push(Message::Lease(Lease {
            holder: holder.to_owned(),
            renewed: after(at),
            duration_secs: 15,
            transitions: 1,
            at: after(at),
        }));
    }
    for second in (-120..=0).step_by(5) {
        let passed = f64::from(second + 120);
        let counted = Counted {
            start: 1_700_000_000.0,
            leading: true,
            ready: f64::from((second + 120) / 5 % 9),
            passes: passed * 3.0,
            errors: passed / 10.0,
            creates: [passed * 2.0, passed / 2.0, passed / 50.0],
        };
        messages.push(Message::Scrape {
            replica: "127.0.0.1:8080".to_owned(),
            at: after(i64::from(second)),
            text: counted.text(),
        });
    }
    messages.push(Message::State {
        replica: "127.0.0.1:8080".to_owned(),
        state: ReplicaState {
            identity: "vmoperator-1".to_owned(),
            leading: true,
            lines: vec![QueueLine {
                key: "team-a/web-12".to_owned(),
                state: "delayed".to_owned(),
                seconds: 25.0,
                failures: 3,
            }],
            outlets: vec![Outlet {
                config: "default/default".to_owned(),
                breaker: "open".to_owned(),
                held_back: Some(12.0),
                ..Outlet::default()
            }],
            at: NOON,
        },
    });
    messages
}

fn feeds() -> Vec<Message> {
    let event = |number: i64, kind: &str, reason: &str| {
        Message::Event(Event {
            uid: format!("event-{number}"),
            at: after(-number * 7),
            kind: kind.to_owned(),
            reason: reason.to_owned(),
            message: format!("what happened for the {number}. time"),
            namespace: "default".to_owned(),
            object: format!("web-{number}"),
            object_uid: format!("uid-{number:05}"),
            count: 1,
        })
    };
    let line = |number: i64, level: &str| LogLine {
        at: after(-number),
        level: level.to_owned(),
        key: format!("default/web-{number}"),
        text: format!("create: Created  id=vm-{number}"),
        replica: "operator".to_owned(),
    };
    vec![
        event(1, "Normal", "Created"),
        event(2, "Warning", "QuotaExceeded"),
        event(3, "Normal", "Running"),
        Message::Logs {
            lines: vec![line(3, "INFO"), line(2, "WARN"), line(1, "ERROR")],
            dropped: 0,
        },
    ]
}
