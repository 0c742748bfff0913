//! One operator process, a watch that the test moves, and passes until rest.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::Value;

use super::cloud::{Cloud, Sky};
use super::double::{Api, Time, key};
use super::events::Ear;
use crate::controller::children::OwnedKind;
use crate::controller::{Duration, Pass, Reconciler, Requeue, Target, View};
use crate::domain::{InstancePhase, Uid};
use crate::lifecycle::fixtures::{config, policy, secs};
use crate::lifecycle::{ChildKind, Present};

/// One operator process between a cluster and a cloud.
pub(super) struct Rig {
    pub(super) api: Api,
    pub(super) cloud: Cloud,
    pub(super) sky: Sky,
    pub(super) time: Time,
    pub(super) loop_: Reconciler<Api, Sky, Time>,
    pub(super) ear: Ear,
    /// What the watch delivered last.
    shown: Option<View>,
    shown_children: BTreeMap<ChildKind, (Uid, Present)>,
    pub(super) departed: Vec<Target>,
    /// Whether the watch delivers what happens.
    pub(super) watching: bool,
}

impl Rig {
    pub(super) fn new() -> Self {
        let (api, cloud, time) = (Api::default(), Cloud::default(), Time::default());
        let sky = Sky {
            cloud: cloud.clone(),
            config: Arc::new(Mutex::new(Ok(config()))),
            inventory: Arc::default(),
        };
        let ear = Ear::default();
        let loop_ = Self::process(&api, &sky, &time, &ear);
        Self {
            api,
            cloud,
            sky,
            time,
            loop_,
            ear,
            shown: None,
            shown_children: BTreeMap::new(),
            departed: Vec::new(),
            watching: true,
        }
    }

    fn process(api: &Api, sky: &Sky, time: &Time, ear: &Ear) -> Reconciler<Api, Sky, Time> {
        let loop_ = Reconciler::new(api.clone(), sky.clone(), time.clone(), policy());
        let loop_ = loop_.telling(Arc::new(ear.clone()));
        loop_.lead();
        for kind in OwnedKind::ALL {
            loop_.owned().listed(kind);
        }
        loop_
    }

    /// With an object that the watch showed being added.
    pub(super) fn with_object() -> Self {
        let mut rig = Self::new();
        rig.api.create("u-1");
        rig.deliver();
        rig
    }

    /// The process dies; the next one lists.
    pub(super) fn crash(&mut self) {
        self.loop_ = Self::process(&self.api, &self.sky, &self.time, &self.ear);
        self.departed.clear();
        self.shown = None;
        self.shown_children.clear();
        self.deliver_children();
        if let Some(view) = self.api.view() {
            self.loop_.arrived(view.clone(), false);
            self.shown = Some(view);
        }
    }

    /// The watch catches up.
    pub(super) fn deliver(&mut self) {
        let now = self.api.view();
        let before = self.shown.take();
        let departed = match (&before, &now) {
            (Some(old), Some(new)) if old == new => None,
            (Some(_), Some(new)) => self.loop_.arrived(new.clone(), false),
            (None, Some(new)) => self.loop_.arrived(new.clone(), true),
            (Some(old), None) => self.loop_.vanished(&key(), &old.object.uid),
            (None, None) => None,
        };
        self.departed.extend(departed);
        self.shown = now;
        self.deliver_children();
    }

    fn deliver_children(&mut self) {
        let now = self.api.owned().shown();
        let before = std::mem::replace(&mut self.shown_children, now.clone());
        let index = self.loop_.owned();
        for (kind, (owner, present)) in &before {
            if now
                .get(kind)
                .is_none_or(|(_, other)| other.held.uid != present.held.uid)
            {
                index.vanished(owner, *kind, &present.held);
            }
        }
        for (kind, (owner, present)) in now {
            index.arrived(&owner, kind, present);
        }
    }

    pub(super) async fn pass(&mut self) -> Pass {
        let target = self.departed.first().cloned();
        let target = target.unwrap_or_else(|| Target::Object(key()));
        let pass = self.loop_.reconcile(&target).await;
        if self.watching {
            self.deliver();
        }
        let follow_ups = self.loop_.follow_ups();
        self.departed.extend(
            follow_ups
                .into_iter()
                .filter(|t| *t != Target::Object(key())),
        );
        if matches!(target, Target::Departed { .. }) && pass.requeue == Requeue::OnChange {
            self.departed.retain(|one| *one != target);
        }
        pass
    }

    /// Passes until nothing but a slow round is due; panics where that never comes.
    pub(super) async fn settle(&mut self) -> Vec<&'static str> {
        let mut actions = Vec::new();
        for _ in 0..60 {
            let owed = !self.departed.is_empty();
            let pass = self.pass().await;
            actions.push(pass.action);
            let wait = match pass.requeue {
                Requeue::Now => Duration::ZERO,
                Requeue::After(wait) => wait,
                Requeue::Retry(wait) => wait.unwrap_or(secs(1)),
                Requeue::Steady(_) | Requeue::OnChange if owed || !self.departed.is_empty() => {
                    Duration::ZERO
                }
                Requeue::Steady(_) | Requeue::OnChange => {
                    actions.retain(|action| *action != "hold" && *action != "none");
                    return actions;
                }
            };
            self.time.0.advance(wait);
        }
        panic!("no rest after {actions:?}");
    }

    /// Passes until the instance is made and running, and told so.
    pub(super) async fn until_running(&mut self) -> Vec<&'static str> {
        let mut actions = Vec::new();
        for _ in 0..40 {
            let pass = self.pass().await;
            actions.push(pass.action);
            self.cloud.all_are(&InstancePhase::Running);
            match pass.requeue {
                Requeue::After(wait) => self.time.0.advance(wait),
                Requeue::Retry(wait) => self.time.0.advance(wait.unwrap_or(secs(1))),
                Requeue::Now => {}
                Requeue::Steady(_) | Requeue::OnChange => break,
            }
        }
        assert_eq!(self.status()["phase"], "Running", "{actions:?}");
        actions
    }

    pub(super) fn status(&self) -> Value {
        self.api.object().unwrap()["status"].clone()
    }

    pub(super) fn reason(&self, kind: &str) -> String {
        let status = self.status();
        let conditions = status["conditions"].as_array().unwrap();
        let one = conditions.iter().find(|c| c["type"] == kind);
        one.map_or(String::new(), |c| c["reason"].as_str().unwrap().to_owned())
    }

    pub(super) fn instances(&self) -> usize {
        self.cloud.lock().instances.len()
    }
}
