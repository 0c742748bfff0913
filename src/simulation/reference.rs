//! The differential oracle: what a run with faults came to is what the same acts come to without a fault, and what
//! the last wishes come to without a history.
//!
//! Identities, moments and incarnations differ and are left out; everything else that a user can see must not.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::api_server::Stored;
use super::cloud::Machine;
use super::oracle::Broken;
use super::swarm::{Swarm, Words};
use super::trace::Trace;
use super::users::{Deed, name};
use super::world::World;
use crate::domain::{InstanceSpec, ObjectKey, Uid};
use crate::lifecycle::IntentState;

/// What users see of one object and its instances at an end.
#[derive(Debug, PartialEq)]
struct ObjectEnd {
    spec: Option<InstanceSpec>,
    finalizers: Vec<String>,
    intent: bool,
    status: Value,
    instances: Vec<String>,
}

/// Passes that one object may cost without faults, from nothing until it was polled twice at rest, beside those that ask
/// how far the provider is.
const PASSES: u32 = 8;

impl World {
    /// The same cluster and cloud, with the same bug if one is planted, without a fault and with nothing in it.
    fn sister(&self) -> Self {
        let words = Words {
            slowdelete: self.swarm.words.slowdelete,
            ..Words::default()
        };
        let swarm = Swarm {
            words,
            faults: 0,
            acts: 0,
            mass_loss: false,
            back_in_time: false,
            ..self.swarm.clone()
        };
        let policy = self.policy.clone();
        let mut sister = Self::new(1, swarm, policy, self.bug, Trace::new(false));
        sister.storm = false;
        sister
    }

    fn done(&mut self, deed: Deed) {
        self.do_deed(deed);
        self.note_objects(false);
    }

    fn shown(&self) -> BTreeMap<ObjectKey, ObjectEnd> {
        let objects = self.api.objects.values();
        objects
            .map(|stored| (stored.view.object.key.clone(), self.shown_of(stored)))
            .collect()
    }

    fn shown_of(&self, stored: &Stored) -> ObjectEnd {
        let object = &stored.view.object;
        let mut instances: Vec<String> = self.cloud.live(&object.uid).map(shape).collect();
        instances.sort();
        ObjectEnd {
            spec: object.spec.clone(),
            finalizers: stored.view.finalizers.clone(),
            intent: matches!(object.intent, IntentState::Valid(_)),
            status: without_identity(&stored.view.status, object.generation),
            instances,
        }
    }

    /// What an object's one instance is, where that is not what the object asks for: what was made before an edit.
    fn drifted(&self, stored: &Stored) -> Option<InstanceSpec> {
        let spec = stored.view.object.spec.as_ref()?;
        let machine = self.cloud.live(&stored.view.object.uid).next()?;
        let (image, cpu) = (&machine.instance.image, machine.instance.cpu);
        let differs = *image != spec.image || cpu != spec.cpu;
        differs.then(|| InstanceSpec {
            image: image.clone(),
            cpu,
            memory: spec.memory.clone(),
        })
    }

    /// The end depends on the last wishes, not on the way there: objects made with them at once end alike.
    pub(super) fn compare_with_last_wishes(&self) -> Result<(), Broken> {
        let mut sister = self.sister();
        let mut edits = Vec::new();
        let mut polls = 0;
        for at in 0..self.swarm.names {
            let Some(stored) = self.api.objects.get(&name(at)) else {
                continue;
            };
            let Some(spec) = stored.view.object.spec.clone() else {
                continue;
            };
            match self.drifted(stored) {
                Some(made) => {
                    sister.done(Deed::Make(at, made, None));
                    edits.push(Deed::Respec(at, spec));
                }
                None => sister.done(Deed::Make(at, spec, None)),
            }
            polls += PASSES;
            polls +=
                u32::try_from(self.swarm.provisioning.as_secs().div_ceil(2)).unwrap_or(u32::MAX);
        }
        sister.converge()?;
        if sister.passes > polls {
            let passes = sister.passes;
            return Err(format!(
                "I9: {passes} passes without a fault, {polls} at most"
            ));
        }
        if !edits.is_empty() {
            for edit in edits {
                sister.done(edit);
            }
            sister.converge()?;
        }
        differs("H", &self.shown(), &sister.shown())
    }

    /// The same acts without a fault, each once the one before is over: the same objects, and no more creates than
    /// those and one for each instance that went by itself.
    pub(super) fn compare_with_same_acts(&self) -> Result<(), Broken> {
        let mut sister = self.sister();
        for deed in &self.script {
            sister.done(deed.clone());
            sister.converge()?;
        }
        let wished = |world: &Self| -> BTreeMap<ObjectKey, Option<InstanceSpec>> {
            let objects = world.api.objects.iter();
            objects
                .map(|(key, stored)| (key.clone(), stored.view.object.spec.clone()))
                .collect()
        };
        differs("R", &wished(self), &wished(&sister))?;
        let (made, without) = (self.made(), sister.made());
        for (uid, (creates, lost)) in &made {
            // Where a deletion meets a create in doubt, that create is repeated to settle it: once, or once for each
            // life of a key.
            let settled = self.lives.iter().any(|life| life.uid == *uid && life.gone);
            let expected = without.get(uid).map_or(0, |(creates, _)| *creates).max(1);
            let expected = expected + u32::from(settled);
            let endless = self.swarm.words.late || settled && self.swarm.words.expire;
            if *creates > expected + lost && !endless {
                return Err(format!(
                    "R: {creates} instances of {uid} were made, {expected} without faults, and {lost} went by themselves"
                ));
            }
        }
        Ok(())
    }

    /// How many instances of each uid were ever made, and how many of them went by themselves.
    fn made(&self) -> BTreeMap<Uid, (u32, u32)> {
        let mut made: BTreeMap<Uid, (u32, u32)> = BTreeMap::new();
        for machine in self.cloud.machines.iter().filter(|m| !m.is_strange()) {
            let (creates, lost) = made.entry(machine.uid.clone()).or_default();
            *creates += 1;
            *lost += u32::from(machine.vanished);
        }
        made
    }
}

fn shape(machine: &Machine) -> String {
    let instance = &machine.instance;
    let (image, cpu, memory) = (&instance.image, instance.cpu, &instance.memory);
    format!("{image} {cpu} {memory} {:?}", instance.phase)
}

fn differs<T: PartialEq + std::fmt::Debug>(
    invariant: &str,
    ours: &BTreeMap<ObjectKey, T>,
    theirs: &BTreeMap<ObjectKey, T>,
) -> Result<(), Broken> {
    let keys = ours.keys().chain(theirs.keys());
    for key in keys {
        let (ours, theirs) = (ours.get(key), theirs.get(key));
        if ours != theirs {
            let (ours, theirs) = (format!("{ours:#?}"), format!("{theirs:#?}"));
            return Err(format!(
                "{invariant}: {key} ends with {:?}, without that with {:?}",
                only_in(&ours, &theirs),
                only_in(&theirs, &ours)
            ));
        }
    }
    Ok(())
}

/// Lines of a text that another one lacks.
fn only_in<'a>(text: &'a str, other: &str) -> Vec<&'a str> {
    let lacks = |line: &&str| !other.lines().any(|other| other.trim() == *line);
    text.lines().map(str::trim).filter(lacks).collect()
}

/// A status without identities and moments; that it speaks of the present generation stays.
fn without_identity(status: &crate::api::VirtualMachineStatus, generation: i64) -> Value {
    let mut shown = serde_json::to_value(status).unwrap();
    let id = shown["id"].as_str().map(ToOwned::to_owned);
    let current = |value: &Value| json!(value.as_i64() == Some(generation));
    shown["observedGeneration"] = current(&shown["observedGeneration"]);
    if let Some(instance) = shown["instance"].as_object_mut() {
        instance.remove("createdAt");
    }
    if let Some(operation) = shown["operation"].as_object_mut() {
        // How often, since when and until when something was tried is the way, not the end.
        operation.remove("startedAt");
        operation.remove("attempts");
        operation.remove("nextAttemptAt");
    }
    for condition in shown["conditions"].as_array_mut().into_iter().flatten() {
        condition["observedGeneration"] = current(&condition["observedGeneration"]);
        if let Some(fields) = condition.as_object_mut() {
            fields.remove("lastTransitionTime");
        }
        if let (Some(id), Some(message)) = (&id, condition["message"].as_str()) {
            condition["message"] = json!(message.replace(id, "ID"));
        }
    }
    if let Some(fields) = shown.as_object_mut() {
        fields.remove("incarnation");
        if let Some(id) = fields.get_mut("id") {
            *id = json!("ID");
        }
    }
    shown
}
