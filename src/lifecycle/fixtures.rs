//! Values for tests of the core: one object in a few states, its instances, a config, and memories by what happened.

pub(crate) mod worlds;

use std::time::Duration;

use jiff::Timestamp;

use super::memory::{Arrival, Memory};
use super::object::{IntentState, Object, Recorded, Tried};
use super::observed::{Config, ConfigProblem, Losses};
use super::policy::Policy;
use super::sighting::{Current, Sighting};
use crate::domain::{
    Capabilities, ClusterId, ErrorKind, Incarnation, Instance, InstanceId, InstancePhase,
    InstanceSpec, Moment, ObjectKey, Operation, Owner, OwnerTag, ProviderError, Quantity, Reason,
    Uid,
};

pub(crate) const NOW: Moment = Moment::from_secs(10_000);
pub(crate) const LAG: Duration = Duration::from_secs(2);
pub(crate) const LONG: Duration = Duration::from_secs(15 + 2 + 5);
pub(crate) const KEY_LIFE: Duration = Duration::from_secs(3_600);
pub(crate) const MADE_AT: &str = "2026-01-01T00:00:00Z";

pub(crate) fn policy() -> Policy {
    Policy::new(ClusterId::new("c-1"))
}

pub(crate) fn wall() -> Timestamp {
    "2026-01-01T00:05:00.123Z".parse().unwrap()
}

pub(crate) fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

pub(crate) fn nth(number: u32) -> Incarnation {
    Incarnation::new(number).unwrap()
}

pub(crate) fn owner() -> Owner {
    Owner {
        cluster: ClusterId::new("c-1"),
        uid: Uid::new("u-1"),
    }
}

/// As a user makes it: no mark of ours.
pub(crate) fn bare() -> Object {
    Object {
        key: ObjectKey::new("team-a", "web-1"),
        uid: Uid::new("u-1"),
        version: "10".to_owned(),
        generation: 1,
        deleting: false,
        finalizer: false,
        intent: IntentState::Missing,
        recorded: None,
        given_up: None,
        tried: Tried::default(),
        spec: Some(InstanceSpec {
            image: "ubuntu-22.04".to_owned(),
            cpu: 2,
            memory: "4Gi".to_owned(),
        }),
        owned: None,
        provider_ref: "default".to_owned(),
        paused: false,
        force_orphan: None,
    }
}

/// With our finalizer and the intent of this incarnation.
pub(crate) fn intended(incarnation: u32) -> Object {
    let mut object = bare();
    object.version = "11".to_owned();
    object.finalizer = true;
    let intent = object.fresh_intent(&policy().cluster, nth(incarnation), Some("acct"));
    object.intent = IntentState::Valid(intent.unwrap());
    object
}

/// With finalizer, intent and the id in status.
pub(crate) fn created(incarnation: u32) -> Object {
    let mut object = intended(incarnation);
    object.version = "12".to_owned();
    object.recorded = Some(recorded(incarnation));
    object
}

pub(crate) fn recorded(incarnation: u32) -> Recorded {
    Recorded {
        id: InstanceId::new(format!("i-{incarnation}")),
        incarnation: nth(incarnation),
        created_at: MADE_AT.parse().ok(),
    }
}

pub(crate) fn with(mut object: Object, change: impl FnOnce(&mut Object)) -> Object {
    change(&mut object);
    object
}

pub(crate) fn deleting(object: Object) -> Object {
    with(object, |o| {
        o.deleting = true;
        o.version.push('0');
    })
}

/// Another spec than the one that the intent was made from.
pub(crate) fn edited(object: Object) -> Object {
    with(object, |o| {
        o.generation += 1;
        o.version.push('5');
        o.spec = Some(InstanceSpec {
            image: "ubuntu-24.04".to_owned(),
            cpu: 2,
            memory: "4Gi".to_owned(),
        });
    })
}

pub(crate) fn instance(incarnation: u32, phase: InstancePhase) -> Instance {
    let owner = owner();
    Instance {
        id: InstanceId::new(format!("i-{incarnation}")),
        image: "ubuntu-22.04".to_owned(),
        cpu: 2,
        memory: Quantity::parse("4096Mi").unwrap(),
        phase,
        owner: Some(OwnerTag {
            cluster: owner.cluster,
            uid: owner.uid,
            incarnation: nth(incarnation),
        }),
        addresses: Vec::new(),
        created_at: MADE_AT.to_owned(),
        message: None,
        revision: None,
    }
}

pub(crate) fn running(incarnation: u32) -> Instance {
    instance(incarnation, InstancePhase::Running)
}

pub(crate) fn config() -> Config {
    Config {
        name: "default".to_owned(),
        terminating: false,
        protected: true,
        paused: false,
        watched: false,
        awaited: false,
        allow_unsafe_create: false,
        confirmed_loss: None,
        losses: Losses::default(),
        timeout: secs(15),
        poll: secs(30),
        capabilities: Capabilities {
            account: Some("acct".to_owned()),
            list: true,
            tag_filter: true,
            list_lag: LAG,
            changes: false,
            key_lifetime: Some(KEY_LIFE),
            delete_is_async: false,
        },
    }
}

pub(crate) fn no_config() -> ConfigProblem {
    ConfigProblem {
        reason: Reason::ProviderConfigNotFound,
        message: "there is no ProviderConfig default; create it".to_owned(),
        error: None,
    }
}

pub(crate) fn failure(kind: ErrorKind, operation: Operation) -> ProviderError {
    ProviderError::without_answer(kind, operation)
}

pub(crate) fn sees(current: Current) -> Sighting {
    Sighting {
        current,
        others: Vec::new(),
    }
}

/// A memory to which this version came by a list.
pub(crate) fn met(object: &Object) -> Memory {
    let mut memory = Memory::default();
    memory.saw(&policy(), object, Arrival::Seen);
    memory
}

/// A memory that saw this version being added.
pub(crate) fn born(object: &Object) -> Memory {
    let mut memory = Memory::default();
    memory.saw(&policy(), object, Arrival::Added);
    memory
}

/// A memory whose process wrote the intent of this version a second ago, and sent nothing since.
pub(crate) fn wrote_first(object: &Object) -> Memory {
    let mut memory = born(&bare());
    let sent = NOW - secs(1);
    memory.sending_intent(sent);
    memory.saw(&policy(), object, Arrival::OwnWrite);
    memory.intent_acknowledged(sent, true, KEY_LIFE);
    memory
}

/// As [`wrote_first`], and a create was answered like this.
pub(crate) fn answered(object: &Object, answer: Result<(), ErrorKind>) -> Memory {
    let mut memory = wrote_first(object);
    memory.sending_create(NOW, KEY_LIFE);
    memory.create_answered(answer, object.generation);
    memory
}
