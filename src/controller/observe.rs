//! Observe: the version to decide on, its config, and the looks at the provider that are due.

use std::sync::Arc;

use jiff::Timestamp;

use super::children::Found;
use super::knowledge::Known;
use super::view::View;
use super::{Clouds, Cluster, ClusterError, Guard, Reconciler};
use crate::domain::{Incarnation, InstanceId, Moment, ObjectKey, ProviderError, Uid};
use crate::lifecycle::due::{gap, long_gap};
use crate::lifecycle::policy::Planted;
use crate::lifecycle::{
    Answers, ChildKind, Children, Config, ConfigProblem, Current, Departed, Due, Find, Judged,
    Memory, Observed, Recorded, Sighting, Sureness, basic, due,
};
use crate::provider::Provider;
use crate::runtime::clock::Clock;

/// How many polls apart the full looks of a steady VM are: they find doubles and higher incarnations, which
/// should never be there.
pub(super) const FULL_LOOK_EVERY: u32 = 10;

/// Everything that a pass over an object works with.
pub(super) struct Sight<P> {
    pub(super) view: Arc<View>,
    pub(super) memory: Memory,
    pub(super) config: Result<Config, ConfigProblem>,
    pub(super) cloud: Option<Arc<P>>,
    pub(super) sighting: Sighting,
    pub(super) children: Option<Children>,
    pub(super) now: Moment,
    pub(super) wall: Timestamp,
}

/// Everything that a pass over a departed object works with.
pub(super) struct DepartedSight<P> {
    pub(super) departed: Departed,
    pub(super) config: Result<Config, ConfigProblem>,
    pub(super) cloud: Option<Arc<P>>,
    pub(super) sighting: Sighting,
    /// Whether an instance may exist of which nobody knows the id.
    pub(super) doubt: bool,
    pub(super) now: Moment,
}

impl<P> Sight<P> {
    pub(super) fn observed(&self) -> Observed<'_> {
        Observed {
            object: &self.view.object,
            config: &self.config,
            sighting: &self.sighting,
            memory: &self.memory,
            children: self.children.as_ref(),
            now: self.now,
            wall: self.wall,
        }
    }

    pub(super) fn key(&self) -> &ObjectKey {
        &self.view.object.key
    }

    pub(super) fn uid(&self) -> &Uid {
        &self.view.object.uid
    }

    pub(super) fn guard(&self) -> Guard {
        let object = &self.view.object;
        Guard {
            key: object.key.clone(),
            uid: object.uid.clone(),
            version: object.version.clone(),
        }
    }
}

impl<C: Cluster, B: Clouds, T: Clock> Reconciler<C, B, T> {
    /// Observes one object, `failures` passes of which failed in a row before; `None` where there is nothing of that name.
    /// Fails where only a live read could tell what to decide on, and none succeeds.
    pub(super) async fn observe(
        &self,
        key: &ObjectKey,
        failures: u32,
    ) -> Result<Option<Sight<B::Cloud>>, ClusterError> {
        let Some(known) = self.version_to_decide_on(key).await? else {
            return Ok(None);
        };
        let object = &known.view.object;
        self.knowledge
            .remember(key, &object.uid, |memory| memory.begins_after(failures));
        let (config, cloud) = self.resolve(&object.key.namespace, &object.provider_ref);
        let mut sight = Sight {
            view: Arc::clone(&known.view),
            memory: known.memory,
            config,
            cloud,
            sighting: Sighting::unasked(),
            children: None,
            now: self.time.now(),
            wall: self.time.wall(),
        };
        let due = due(
            &self.policy,
            &sight.view.object,
            &sight.memory,
            &sight.config,
            sight.now,
            known.full_look,
        );
        match due {
            Due::Nothing => {}
            Due::Wait(at) => {
                sight.sighting.current = Current::Absent(Sureness::LookAgainAt(at));
            }
            Due::Look(id, find) => {
                if !self.told(&mut sight, known.seen.as_ref()) {
                    self.look(&mut sight, id.as_ref(), find).await;
                    self.count_losses(&mut sight);
                }
            }
        }
        self.look_at_secret(&sight).await;
        Ok(Some(self.refresh(sight)))
    }

    /// Where Secrets are not watched, now and then: is the one that this VirtualMachine owns there, and as it was
    /// written? Where that cannot be read, what was known stays, or nothing is known.
    async fn look_at_secret(&self, sight: &Sight<B::Cloud>) {
        let (key, uid) = (sight.key(), sight.uid());
        if sight.view.object.deleting || !self.owned.look_is_due(uid, self.time.now()) {
            return;
        }
        match self.cluster.live_child(key, ChildKind::Connection).await {
            Ok(found) => {
                let ours =
                    |found: &Found| found.owner.as_ref().is_some_and(|owner| owner.uid == *uid);
                let present = found.filter(ours).map(|found| found.present);
                self.owned.looked(uid, present, self.time.now());
            }
            Err(error) => {
                tracing::info!(namespace = %key.namespace, name = %key.name, %error, "an owned Secret could not be read");
            }
        }
    }

    /// The memory and the time as they are now, after waiting for somebody.
    pub(super) fn refresh(&self, mut sight: Sight<B::Cloud>) -> Sight<B::Cloud> {
        let (key, uid) = (sight.key().clone(), sight.uid().clone());
        sight.memory = self.knowledge.remember(&key, &uid, |memory| memory.clone());
        sight.now = self.time.now();
        sight.children = self.owned.of(&uid, sight.now);
        sight
    }

    /// The store's version, the overlay of our own write, or a live read where that overlay is in doubt.
    async fn version_to_decide_on(&self, key: &ObjectKey) -> Result<Option<Known>, ClusterError> {
        let mut known = self.knowledge.get(key, self.time.now());
        if self.policy.planted(Planted::StaleStore)
            && let (Some(known), Some(stored)) = (&mut known, self.knowledge.stored(key))
        {
            (known.view, known.doubtful) = (stored, false);
        }
        if known.as_ref().is_none_or(|known| !known.doubtful) {
            return Ok(known);
        }
        self.read_live(key).await?;
        Ok(self.knowledge.get(key, self.time.now()))
    }

    /// Reads the object past every cache and takes note of what that shows.
    pub(super) async fn read_live(&self, key: &ObjectKey) -> Result<(), ClusterError> {
        let before = self.knowledge.newest(key);
        let view = self.cluster.live(key).await?;
        self.accept_live(key, before.as_ref(), view);
        Ok(())
    }

    /// Takes note of what a live read, begun when `before` was the newest known, has shown.
    fn accept_live(&self, key: &ObjectKey, before: Option<&(Uid, String)>, view: Option<View>) {
        let now = self.time.now();
        let uid = self
            .knowledge
            .read_live(&self.policy, key, before, view, now);
        if let Some(target) = self.departs(Arc::clone(&key.namespace), uid) {
            self.follow(target);
        }
    }

    fn resolve(
        &self,
        namespace: &str,
        name: &str,
    ) -> (Result<Config, ConfigProblem>, Option<Arc<B::Cloud>>) {
        match self.clouds.resolve(namespace, name) {
            Ok((config, cloud)) => (Ok(config), Some(cloud)),
            Err(problem) => (Err(problem), None),
        }
    }

    async fn look(&self, sight: &mut Sight<B::Cloud>, id: Option<&InstanceId>, find: Find) {
        let (Ok(config), Some(cloud)) = (&sight.config, &sight.cloud) else {
            return;
        };
        let owner = sight.view.object.owner(&self.policy.cluster);
        let began = self.time.now();
        let mut answers = Answers::default();
        if let Some(id) = id {
            let got = cloud.get(id).await;
            answers.got = Some(if config.safe_create() {
                got
            } else {
                let ours = basic::ours(&sight.view.object, &sight.memory);
                got.map(|instance| basic::adopted(ours, &owner, instance))
            });
        }
        if find == Find::Always || !got_ours(&answers, &owner) {
            answers.found = Some(found(config, cloud.as_ref(), &owner).await);
            self.knowledge
                .full_look_made(sight.key(), self.time.now() + config.poll * FULL_LOOK_EVERY);
        }
        let ended = self.time.now();
        let object = &sight.view.object;
        let least = if self.policy.planted(Planted::OlderRecorded) {
            Incarnation::FIRST
        } else {
            least(object)
        };
        let gap = gap(&self.policy, object, &sight.memory, config, began);
        let (key, uid, version) = (&object.key, &object.uid, &object.version);
        let complete = matches!(answers.found, Some(Ok(_)));
        sight.sighting = match answers.judge(object, &owner, least) {
            Judged::Seen(sighting) => {
                self.knowledge.remember(key, uid, |memory| {
                    if complete {
                        memory.found(&sighting.others);
                    }
                    note(memory, &sighting, ended);
                });
                if let Some(instance) = sighting.present() {
                    self.knowledge.saw_instance(key, uid, instance);
                }
                sighting
            }
            Judged::Nothing(others) => {
                let sureness = self.knowledge.remember(key, uid, |memory| {
                    memory.found(&others);
                    memory.looked();
                    Some(memory.looked_in_vain(&self.policy, version, (began, ended), gap))
                });
                Sighting {
                    current: sureness.map_or(Current::Unasked, Current::Absent),
                    others,
                }
            }
        };
        self.note_presence(sight, (began, ended));
    }

    /// Observes a departed object; `None` where it is done with, or turned out to be there.
    pub(super) async fn observe_departed(&self, uid: &Uid) -> Option<DepartedSight<B::Cloud>> {
        let entry = self.knowledge.departed(uid)?;
        let last = &entry.departed.last;
        let key = last.key.clone();
        let (config, cloud) = self.resolve(&key.namespace, &last.provider_ref);
        let mut sight = DepartedSight {
            departed: entry.departed.clone(),
            config,
            cloud,
            sighting: Sighting::unasked(),
            doubt: basic::is_in_doubt(last, &entry.memory),
            now: self.time.now(),
        };
        let before = self.knowledge.newest(&key);
        let live = if self.policy.planted(Planted::StaleStore) {
            Ok(None)
        } else {
            self.cluster.live(&key).await
        };
        match live {
            Ok(Some(view)) if view.object.uid == *uid => {
                self.accept_live(&key, before.as_ref(), Some(view));
                self.knowledge.forget_departed(uid);
                self.follow(super::Target::Object(key));
                return None;
            }
            Ok(_) => {}
            Err(_) => return Some(sight),
        }
        let gap = sight
            .config
            .as_ref()
            .ok()
            .map(|c| long_gap(&self.policy, c));
        let (Some(gap), Some(cloud)) = (gap, sight.cloud.clone()) else {
            return Some(sight);
        };
        let again = if entry.told {
            entry.memory.look_again_at(gap)
        } else {
            Some(sight.now + self.policy.transition_poll)
        };
        if let Some(at) = again.filter(|at| sight.now < *at) {
            sight.sighting.current = Current::Absent(Sureness::LookAgainAt(at));
            return Some(sight);
        }
        let id = basic::ours(last, &entry.memory).cloned();
        self.look_for_departed(&mut sight, &cloud, id, gap).await;
        Some(sight)
    }

    async fn look_for_departed(
        &self,
        sight: &mut DepartedSight<B::Cloud>,
        cloud: &B::Cloud,
        ours: Option<Recorded>,
        gap: std::time::Duration,
    ) {
        let last = &sight.departed.last;
        let owner = last.owner(&self.policy.cluster);
        let began = self.time.now();
        let answers = match &sight.config {
            Ok(config) if !config.safe_create() => {
                let got = match &ours {
                    Some(ours) => Some(cloud.get(&ours.id).await),
                    None => None,
                };
                let adopted = |one| basic::adopted(ours.as_ref(), &owner, one);
                Answers {
                    got: got.map(|got| got.map(adopted)),
                    found: Some(found(config, cloud, &owner).await),
                }
            }
            Ok(_) | Err(_) => Answers {
                got: None,
                found: Some(cloud.find(&owner).await),
            },
        };
        let ended = self.time.now();
        let (key, uid, version) = (&last.key, &last.uid, &last.version);
        sight.sighting = match answers.judge(last, &owner, Incarnation::FIRST) {
            Judged::Seen(sighting) => {
                self.knowledge
                    .remember(key, uid, |memory| note(memory, &sighting, ended));
                sighting
            }
            Judged::Nothing(others) => {
                let sureness = self.knowledge.remember(key, uid, |memory| {
                    memory.looked();
                    Some(memory.looked_in_vain(&self.policy, version, (began, ended), gap))
                });
                Sighting {
                    current: sureness.map_or(Current::Unasked, Current::Absent),
                    others,
                }
            }
        };
        sight.now = ended;
    }
}

/// The find by owner; nothing is found where a provider knows no owners.
async fn found<P: Provider>(
    config: &Config,
    cloud: &P,
    owner: &crate::domain::Owner,
) -> Result<Vec<crate::domain::Instance>, ProviderError> {
    if config.safe_create() || config.finds() {
        cloud.find(owner).await
    } else {
        Ok(Vec::new())
    }
}

fn got_ours(answers: &Answers, owner: &crate::domain::Owner) -> bool {
    matches!(&answers.got, Some(Ok(instance)) if instance.belongs_to(owner))
}

/// While it lives, only the intent's incarnation and higher ones count; a deletion takes all.
pub(super) fn least(object: &crate::lifecycle::Object) -> Incarnation {
    if object.deleting {
        Incarnation::FIRST
    } else {
        object.incarnation()
    }
}

/// What a look that showed something, or failed, leaves in memory.
pub(super) fn note(memory: &mut Memory, sighting: &Sighting, now: Moment) {
    match &sighting.current {
        Current::Unknown(error) => memory.failed(error, now),
        Current::Present(instance) | Current::Unproven(instance) => {
            memory.forget_looks();
            memory.looked();
            memory.presence_mut().shows(&instance.phase, now);
        }
        Current::Unasked | Current::Absent(_) => {}
    }
}
