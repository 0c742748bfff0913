//! What a request does where it arrives, and what doctored worlds do instead.

use super::cloud::Sight;
use super::network::Flight;
use super::oracle::Broken;
use super::users::{Deed, name};
use super::wire::{Answer, Request};
use super::world::{Doctored, World};
use crate::controller::Target;
use crate::domain::{IdempotencyKey, Incarnation, Instance, InstanceId, Owner, ProviderError};
use crate::lifecycle::Object;

impl World {
    /// The request takes effect.
    pub(super) fn apply(&mut self, at: usize) -> Result<Answer, Broken> {
        let request = self.flights[at].request.clone();
        let now = self.now;
        Ok(match &request {
            Request::Live(key) => Answer::Live(Ok(self.api.live(key))),
            Request::Metadata(guard, patch) => {
                let removes = !self.flights[at].is_finalizer_patch();
                let result = self.api.patch_metadata(guard, patch);
                self.note_objects(removes);
                Answer::Written(result)
            }
            Request::Status(guard, patch) => Answer::Written(self.api.patch_status(guard, patch)),
            Request::Get(id) => Answer::Instance(self.get(id)),
            Request::Find(owner) => Answer::Found(Ok(self.find(owner))),
            Request::Create { key, body, .. } => {
                let key = self.key(key);
                let in_work = self.storm && self.swarm.words.inuse && self.random.bool();
                let before = self.cloud.machines.len();
                let result = self.cloud.create(&key, body, now, in_work);
                if let Some(machine) = self.cloud.machines.get_mut(before) {
                    machine.low = self.flights[at].low;
                }
                Answer::Instance(result)
            }
            Request::Capabilities => Answer::Capable(Ok(self.the_config.capabilities.clone())),
            Request::Delete(id) => {
                let gone = self.cloud.delete(id, now);
                if let Some(machine) = gone {
                    self.check_delete(machine, &self.flights[at].target)?;
                }
                Answer::Deleted(Ok(()))
            }
        })
    }

    fn check_delete(&self, machine: usize, target: &Target) -> Result<(), Broken> {
        let machine = &self.cloud.machines[machine];
        let (id, uid) = (&machine.instance.id, &machine.uid);
        if let Some(stored) = self.api.of_uid(uid)
            && !stored.view.object.deleting
        {
            return Err(format!("D: {id} of the live object {uid} is deleted"));
        }
        let life = self.lives.iter().find(|l| l.uid == *uid);
        let right = match target {
            Target::Departed { uid: own, .. } => own == uid,
            Target::Object(key) => life.is_some_and(|l| l.key == *key),
        };
        if right {
            Ok(())
        } else {
            Err(format!("D: a pass over {target:?} deletes {id} of {uid}"))
        }
    }

    fn get(&self, id: &InstanceId) -> Result<Instance, ProviderError> {
        let mut instance = self.cloud.get(id)?;
        if self.doctored == Some(Doctored::TagsUnread) {
            let mut objects = self.api.objects.values().map(|o| &o.view.object);
            let named = |o: &&Object| o.recorded.as_ref().is_some_and(|r| r.id == *id);
            if let (Some(object), Some(tag)) = (objects.find(named), &mut instance.owner) {
                tag.cluster.clone_from(&self.policy.cluster);
                tag.uid = object.uid.clone();
                tag.incarnation = object.incarnation();
            }
        }
        Ok(instance)
    }

    fn find(&mut self, owner: &Owner) -> Vec<Instance> {
        let (words, random) = (self.swarm.words, &mut self.random);
        let mut found = self.cloud.find(owner, self.now, || Sight {
            misses_young: words.lag && random.bool(),
            shows_gone: words.ghost && random.bool(),
        });
        if self.doctored == Some(Doctored::FindByKey) {
            let stored = self.api.of_uid(&owner.uid);
            let intent = stored.and_then(|s| s.view.object.intent());
            let wanted = intent.map_or(Incarnation::FIRST, |i| i.incarnation);
            found.retain(|instance| instance.incarnation() == wanted);
        }
        found
    }

    fn key(&mut self, key: &IdempotencyKey) -> String {
        let mut text = key.as_str().to_owned();
        if self.doctored == Some(Doctored::NewKey) {
            let again = self.posted.iter().filter(|k| *k == key.as_str()).count();
            self.posted.push(text.clone());
            text = format!("{text}-{again}");
        }
        text
    }

    /// The racing DELETE that found no finalizer.
    pub(super) fn race(&mut self, at: usize) {
        let Request::Metadata(guard, _) = &self.flights[at].request else {
            return;
        };
        if let Some(stored) = self.api.objects.get(&guard.key).cloned() {
            // A user's act too, though no act of the script.
            let at = (0..self.swarm.names).find(|at| name(*at) == guard.key);
            self.script.extend(at.map(Deed::Delete));
            self.api.remove(stored);
        }
    }

    /// Whether a racing DELETE could have slipped in before this patch.
    pub(super) fn can_race(&self, flight: &Flight) -> bool {
        let Request::Metadata(guard, _) = &flight.request else {
            return false;
        };
        flight.is_sent()
            && flight.is_finalizer_patch()
            && self.api.objects.get(&guard.key).is_some_and(|stored| {
                let object = &stored.view.object;
                object.version == guard.version
                    && object.uid == guard.uid
                    && !object.deleting
                    && stored.view.finalizers.is_empty()
            })
    }
}
