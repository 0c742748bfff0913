//! Apply: the one effect of a pass. The only place from which a provider is written to, and the only writer of
//! finalizer and intent.

use serde_json::{Value, json};

use super::observe::{DepartedSight, Sight};
use super::{AFTER_CONFLICT, Clouds, Cluster, ClusterError, Hand, Pass, Reconciler};
use crate::api;
use crate::domain::{
    ErrorKind, Instance, InstanceId, Intent, Moment, ObjectKey, Operation, ProviderError, Uid,
};
use crate::lifecycle::policy::Planted;
use crate::lifecycle::{Action, Config, Memory, Outcome, Plan, Recorded, Requeue, basic, event};
use crate::provider::Provider;
use crate::runtime::clock::Clock;
use crate::runtime::failpoint;

impl<C: Cluster, B: Clouds, T: Clock> Reconciler<C, B, T> {
    /// Carries the effect out.
    pub(super) async fn apply(
        &self,
        sight: &Sight<B::Cloud>,
        plan: &Plan,
        hand: &mut Hand,
    ) -> Outcome {
        match &plan.action {
            // An attempt is noted by the status write itself, which `record` makes.
            Action::Hold(_) | Action::NoteAttempt | Action::Forget => Outcome::Nothing,
            Action::Intend { intent, first } => self.intend(sight, intent, *first).await,
            Action::Create => self.create(sight, hand).await,
            Action::Settle => self.settle(sight, hand).await,
            Action::Delete(id) => self.delete(sight, id).await,
            Action::ApplyChild(write) => self.write_child(sight, write).await,
            Action::DeleteChild(kind, held) => self.delete_child(sight, *kind, held).await,
            Action::RemoveFinalizer { orphaned } => {
                self.remove_finalizer(sight, orphaned.as_deref()).await
            }
        }
    }

    /// Waits for the turn of the create that this plan sends, or writes down that it is about to send: what has to wait
    /// long says so, and writes nothing that only a create needs. Says whether it has waited.
    pub(super) async fn line_up(
        &self,
        sight: &Sight<B::Cloud>,
        plan: &Plan,
        hand: &mut Hand,
    ) -> Result<bool, ProviderError> {
        let Some(cloud) = sight.cloud.as_ref() else {
            return Ok(false);
        };
        if !plan.action.needs_turn() || hand.place.is_some() {
            return Ok(false);
        }
        hand.place = Some(cloud.line_up().await?);
        Ok(true)
    }

    async fn intend(&self, sight: &Sight<B::Cloud>, intent: &Intent, first: bool) -> Outcome {
        let mut finalizers = sight.view.finalizers.clone();
        if !sight.view.object.finalizer {
            finalizers.push(api::FINALIZER.to_owned());
        }
        let metadata = json!({
            "finalizers": finalizers,
            "annotations": { api::CREATE_ANNOTATION: intent.to_annotation() },
        });
        let sent = self.time.now();
        self.remember(sight, |memory| memory.sending_intent(sent));
        failpoint::reach("intend");
        let outcome = self.write_metadata(sight, metadata, sent).await;
        if outcome == Outcome::Written {
            let life = sight
                .config
                .as_ref()
                .map_or(std::time::Duration::ZERO, |c| c.key_lifetime());
            self.remember(sight, |memory| {
                memory.intent_acknowledged(sent, first, life)
            });
        }
        failpoint::reach("intended");
        outcome
    }

    async fn remove_finalizer(&self, sight: &Sight<B::Cloud>, orphaned: Option<&str>) -> Outcome {
        let kept: Vec<&String> = sight
            .view
            .finalizers
            .iter()
            .filter(|finalizer| *finalizer != api::FINALIZER)
            .collect();
        if let Some(reason) = orphaned {
            let object = &sight.view.object;
            let id = object.recorded.as_ref().map(|r| r.id.as_str());
            tracing::warn!(
                namespace = %object.key.namespace, name = %object.key.name, id, reason,
                "instance let go of"
            );
        }
        failpoint::reach("remove-finalizer");
        let sent = self.time.now();
        let outcome = self
            .write_metadata(sight, json!({ "finalizers": kept }), sent)
            .await;
        if outcome == Outcome::Written {
            self.knowledge.finalizer_removed(sight.key(), sight.uid());
        }
        failpoint::reach("removed-finalizer");
        outcome
    }

    /// A guarded write of metadata; a conflict is followed by a live read, so that the next pass decides anew.
    async fn write_metadata(
        &self,
        sight: &Sight<B::Cloud>,
        metadata: Value,
        sent: Moment,
    ) -> Outcome {
        let before = self.remember(sight, |memory| {
            let before = memory.own_write();
            memory.sending_write();
            before
        });
        let result = self.cluster.write_metadata(&sight.guard(), metadata).await;
        self.written(sight, result, sent, before).await
    }

    /// What every acknowledged, refused or unanswered write of ours to Kubernetes leaves behind.
    pub(super) async fn written(
        &self,
        sight: &Sight<B::Cloud>,
        result: Result<super::View, ClusterError>,
        sent: Moment,
        before: Option<Moment>,
    ) -> Outcome {
        match result {
            Ok(view) => {
                self.knowledge.wrote(&self.policy, view, self.time.now());
                self.remember(sight, |memory| memory.write_acknowledged(sent));
                Outcome::Written
            }
            Err(ClusterError::Conflict | ClusterError::Gone) => {
                self.remember(sight, |memory| memory.write_refused(before));
                match self.read_live(sight.key()).await {
                    Ok(()) => Outcome::Outdated,
                    Err(error) => self.unwritten(sight, &error),
                }
            }
            Err(error @ ClusterError::Refused(_)) => {
                self.remember(sight, |memory| memory.write_refused(before));
                self.unwritten(sight, &error)
            }
            Err(error @ ClusterError::Unknown(_)) => self.unwritten(sight, &error),
        }
    }

    pub(super) fn unwritten(&self, sight: &Sight<B::Cloud>, error: &ClusterError) -> Outcome {
        let key = sight.key();
        tracing::warn!(namespace = %key.namespace, name = %key.name, %error, "write to the API server failed");
        Outcome::Unwritten
    }

    async fn create(&self, sight: &Sight<B::Cloud>, hand: &mut Hand) -> Outcome {
        let generation = sight.view.object.generation;
        self.post(sight, hand, |memory, answer, _, _| {
            memory.create_answered(answer, generation);
        })
        .await
    }

    async fn settle(&self, sight: &Sight<B::Cloud>, hand: &mut Hand) -> Outcome {
        self.post(sight, hand, |memory, answer, sent, life| {
            memory.settle_answered(answer, sent, life);
        })
        .await
    }

    /// Posts the stored body under the intent's key, if it can start while our own write is young enough.
    async fn post(
        &self,
        sight: &Sight<B::Cloud>,
        hand: &mut Hand,
        answered: impl FnOnce(&mut Memory, Result<(), ErrorKind>, Moment, std::time::Duration),
    ) -> Outcome {
        let (Some(intent), Ok(config), Some(cloud)) =
            (sight.view.object.intent(), &sight.config, &sight.cloud)
        else {
            return Outcome::Nothing;
        };
        let life = config.key_lifetime();
        let sent = self.time.now();
        let own = sight.memory.own_write();
        let own = own.filter(|_| !self.policy.planted(Planted::NoWriteBeforeCreate));
        let own = own.unwrap_or(sent);
        self.remember(sight, |memory| memory.sending_create(sent, life));
        failpoint::reach("create");
        let start_before = own + self.policy.own_write_valid;
        let (key, body) = (intent.key(), &intent.body);
        let result = match hand.place.take() {
            Some(turn) => cloud.create_in(turn, &key, body, start_before).await,
            None => cloud.create(&key, body, start_before).await,
        };
        failpoint::reach("created");
        let result = result.and_then(|instance| whole(config, intent, instance));
        let answer = result.as_ref().map(|_| ()).map_err(|error| error.kind);
        self.remember(sight, |memory| answered(memory, answer, sent, life));
        match result {
            Ok(instance) => {
                let now = self.time.now();
                self.remember(sight, |memory| {
                    memory.succeeded();
                    memory.presence_mut().made(now);
                    memory.presence_mut().shows(&instance.phase, now);
                    memory.claim_mut().made_one(Recorded::of(&instance));
                });
                self.knowledge
                    .saw_instance(sight.key(), sight.uid(), &instance);
                Outcome::Made(Box::new(instance))
            }
            Err(error) => {
                if error.made_nothing() {
                    self.remember(sight, |memory| memory.claim_mut().nothing_made());
                }
                self.call_failed(sight.key(), sight.uid(), error)
            }
        }
    }

    async fn delete(&self, sight: &Sight<B::Cloud>, id: &InstanceId) -> Outcome {
        let Some(cloud) = &sight.cloud else {
            return Outcome::Nothing;
        };
        self.delete_at(cloud, sight.key(), sight.uid(), id).await
    }

    async fn delete_at(
        &self,
        cloud: &B::Cloud,
        key: &ObjectKey,
        uid: &Uid,
        id: &InstanceId,
    ) -> Outcome {
        self.knowledge.remember(key, uid, Memory::forget_looks);
        failpoint::reach("delete");
        let result = cloud.delete(id).await;
        failpoint::reach("deleted");
        match result {
            Ok(()) => {
                self.knowledge
                    .remember(key, uid, |memory| memory.delete_accepted(id));
                Outcome::DeleteAccepted
            }
            Err(error) => self.call_failed(key, uid, error),
        }
    }

    pub(super) fn call_failed(&self, key: &ObjectKey, uid: &Uid, error: ProviderError) -> Outcome {
        let now = self.time.now();
        self.knowledge
            .remember(key, uid, |memory| memory.failed(&error, now));
        tracing::info!(namespace = %key.namespace, name = %key.name, %error, "call to the provider failed");
        Outcome::Failed(error)
    }

    /// The effect of a pass over a departed object.
    pub(super) async fn apply_departed(
        &self,
        sight: &DepartedSight<B::Cloud>,
        plan: &Plan,
    ) -> Pass {
        let last = &sight.departed.last;
        let requeue = match (&plan.action, &sight.cloud) {
            (Action::Forget, _) => {
                self.note_let_go(sight);
                self.knowledge.forget_departed(&last.uid);
                Requeue::OnChange
            }
            (Action::Delete(id), Some(cloud)) => {
                match self.delete_at(cloud, &last.key, &last.uid, id).await {
                    Outcome::Failed(error) => Requeue::Retry(error.retry_after),
                    Outcome::Nothing
                    | Outcome::Written
                    | Outcome::Outdated
                    | Outcome::Unwritten
                    | Outcome::Made(_)
                    | Outcome::DeleteAccepted => Requeue::After(AFTER_CONFLICT),
                }
            }
            (Action::Hold(Some(at)), _) => Requeue::After(at.since(sight.now)),
            (
                Action::Hold(None)
                | Action::Delete(_)
                | Action::Intend { .. }
                | Action::NoteAttempt
                | Action::Create
                | Action::Settle
                | Action::RemoveFinalizer { .. }
                | Action::ApplyChild(_)
                | Action::DeleteChild(..),
                _,
            ) => Requeue::Retry(None),
        };
        Pass {
            requeue,
            action: plan.action.label(),
            reason: plan.reason,
            id: None,
        }
    }

    /// A departed object ends in doubt where its provider cannot be asked.
    fn note_let_go(&self, sight: &DepartedSight<B::Cloud>) {
        let last = &sight.departed.last;
        let Ok(config) = &sight.config else { return };
        if !config.safe_create() && !config.finds() && sight.doubt {
            tracing::warn!(
                namespace = %last.key.namespace, name = %last.key.name, reason = basic::LET_GO,
                "instance let go of"
            );
            self.let_go(last, event::let_go(last, basic::LET_GO));
        }
    }

    pub(super) fn remember<R: Default>(
        &self,
        sight: &Sight<B::Cloud>,
        change: impl FnOnce(&mut Memory) -> R,
    ) -> R {
        self.knowledge.remember(sight.key(), sight.uid(), change)
    }
}

/// The answer to a create. One that bears other tags is about something else, and what came of ours is found out; one
/// without any is ours where the provider knows no tags.
fn whole(
    config: &Config,
    intent: &Intent,
    mut instance: Instance,
) -> Result<Instance, ProviderError> {
    if instance.owner.is_none() && !config.safe_create() {
        instance.owner = Some(basic::tag(&intent.owner, intent.incarnation));
    }
    if instance.belongs_to(&intent.owner) {
        Ok(instance)
    } else {
        let kind = ErrorKind::Malformed;
        Err(ProviderError::without_answer(kind, Operation::Create))
    }
}
