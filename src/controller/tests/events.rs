//! What a whole life tells, and when it tells nothing.

use std::sync::{Arc, Mutex};

use serde_json::json;

use super::double::Fault;
use super::rig::Rig;
use crate::api::CREATE_ANNOTATION;
use crate::controller::EventSink;
use crate::controller::events::Regarding;
use crate::domain::{ErrorKind, InstancePhase};
use crate::lifecycle::Event;
use crate::lifecycle::fixtures::{no_config, secs};

/// Everything that was told.
#[derive(Clone, Debug, Default)]
pub(super) struct Ear(Arc<Mutex<Vec<(Regarding, Event)>>>);

impl EventSink for Ear {
    fn tell(&self, about: Regarding, event: Event) {
        self.0.lock().unwrap().push((about, event));
    }
}

impl Ear {
    fn all(&self) -> Vec<(Regarding, Event)> {
        self.0.lock().unwrap().clone()
    }

    /// `Normal Created`, …; forgets them.
    fn words(&self) -> Vec<String> {
        let all = std::mem::take(&mut *self.0.lock().unwrap());
        let word = |(_, event): (_, Event)| format!("{} {}", event.tone.as_str(), event.reason);
        all.into_iter().map(word).collect()
    }
}

async fn running() -> Rig {
    let mut rig = Rig::with_object();
    rig.until_running().await;
    rig.settle().await;
    rig
}

#[tokio::test]
async fn two_to_running_two_to_the_end_and_none_at_rest() {
    let mut rig = running().await;
    for (about, event) in rig.ear.all() {
        assert_eq!((&*about.key.name, about.uid.as_str()), ("web-1", "u-1"));
        assert!(!event.note.is_empty());
    }
    assert_eq!(rig.ear.words(), ["Normal Created", "Normal Running"]);
    for _ in 0..20 {
        rig.time.0.advance(secs(30));
        rig.pass().await;
    }
    rig.crash();
    rig.settle().await;
    assert_eq!(rig.ear.words(), [""; 0], "at rest, and after a restart");
    rig.api.delete();
    rig.deliver();
    rig.settle().await;
    assert_eq!(rig.ear.words(), ["Normal Deleting", "Normal Deleted"]);
}

#[tokio::test]
async fn a_status_that_is_not_written_is_not_told() {
    let mut rig = Rig::with_object();
    rig.pass().await;
    rig.api.faults(&[Fault::RequestLost]);
    let pass = rig.pass().await;
    assert_eq!((pass.action, rig.ear.words()), ("create", vec![]));
    rig.until_running().await;
    rig.settle().await;
    // Told once, when it is.
    let words = rig.ear.words();
    assert_eq!(words, ["Normal Created", "Normal Running"]);
}

#[tokio::test]
async fn what_goes_wrong_is_told_once_and_so_is_its_end() {
    let mut rig = running().await;
    rig.ear.words();
    let config = std::mem::replace(&mut *rig.sky.config.lock().unwrap(), Err(no_config()));
    for _ in 0..5 {
        rig.pass().await;
    }
    *rig.sky.config.lock().unwrap() = config;
    for _ in 0..5 {
        rig.pass().await;
    }
    assert_eq!(
        rig.ear.words(),
        ["Warning ProviderConfigNotFound", "Normal Running"]
    );
    rig.cloud.all_are(&InstancePhase::Failed);
    for _ in 0..5 {
        rig.time.0.advance(secs(30));
        rig.pass().await;
    }
    assert_eq!(rig.ear.words(), ["Warning InstanceFailed"]);
}

#[tokio::test]
async fn a_lost_instance_is_told_as_lost_recreated_created_and_running() {
    let mut rig = running().await;
    rig.ear.words();
    rig.cloud.lock().instances.clear();
    rig.time.0.advance(secs(600));
    rig.until_running().await;
    rig.settle().await;
    assert_eq!(
        rig.ear.words(),
        [
            "Warning Lost",
            "Normal Recreating",
            "Normal Created",
            "Normal Running"
        ]
    );
}

#[tokio::test]
async fn a_refused_create_is_told_with_what_to_do() {
    let mut rig = Rig::with_object();
    rig.cloud
        .lock()
        .faults
        .push_back(Fault::Refused(ErrorKind::QuotaExceeded));
    rig.pass().await;
    rig.pass().await;
    let all = rig.ear.all();
    assert_eq!(rig.ear.words(), ["Warning QuotaExceeded"]);
    assert!(all[0].1.note.contains("raise the quota"), "{all:?}");
}

#[tokio::test]
async fn somebody_elses_intent_is_told_to_be_replaced() {
    let mut rig = Rig::new();
    rig.api.create("u-1");
    let foreign = json!({ CREATE_ANNOTATION: "copied from elsewhere" });
    rig.api
        .edit(&json!({ "metadata": { "annotations": foreign } }));
    rig.deliver();
    rig.until_running().await;
    assert_eq!(rig.ear.words()[0], "Warning IntentReplaced");
}

#[tokio::test]
async fn what_is_let_go_of_is_told_and_counted() {
    let mut rig = running().await;
    rig.ear.words();
    *rig.sky.config.lock().unwrap() = Err(no_config());
    rig.api.delete();
    rig.deliver();
    rig.settle().await;
    assert_eq!(rig.loop_.orphaned(), 0);
    let why = json!({ "compute.example.com/force-orphan": "the cloud is closed" });
    rig.api.edit(&json!({ "metadata": { "annotations": why } }));
    rig.deliver();
    rig.pass().await;
    assert_eq!(
        rig.ear.words(),
        ["Warning DeletionBlocked", "Warning Orphaned"]
    );
    assert_eq!((rig.api.object(), rig.loop_.orphaned()), (None, 1));
}
