//! The effect of a pass on one owned object.

use std::time::Duration;

use crate::controller::observe::Sight;
use crate::controller::{Clouds, Cluster, ClusterError, Reconciler};
use crate::domain::Reason;
use crate::lifecycle::children::{conflict, refusal};
use crate::lifecycle::{ChildKind, ChildWrite, Held, Obstacle, Outcome, Present};
use crate::runtime::clock::Clock;
use crate::runtime::failpoint;

/// How often in a row a write of an owned object may stay unanswered before the object's status tells of it. An
/// admission webhook that is down answers like this for hours, and nothing else of the VM may wait for it.
const UNANSWERED: u32 = 3;
/// How long a refused write is let be (30 s). Not longer: an API server that has just started refuses for a few
/// seconds what it allows a moment later.
const AFTER_REFUSAL: Duration = Duration::from_secs(30);
/// How long an unanswered write is let be then (30 s).
const AFTER_SILENCE: Duration = Duration::from_secs(30);

impl<C: Cluster, B: Clouds, T: Clock> Reconciler<C, B, T> {
    /// Makes an owned object, or writes it over.
    pub(in crate::controller) async fn write_child(
        &self,
        sight: &Sight<B::Cloud>,
        write: &ChildWrite,
    ) -> Outcome {
        failpoint::reach("apply-child");
        let result = self.cluster.write_child(&sight.guard(), write).await;
        failpoint::reach("applied-child");
        match result {
            Ok(answer) => {
                // What it holds now is what we wrote, whoever is in the book for it: a patch that changes nothing
                // enters nothing.
                let present = Present {
                    mark: write.content.mark(),
                    intact: true,
                    ports: write.content.service_ports(),
                    ..answer
                };
                let now = self.time.now();
                self.owned.answered(sight.uid(), write.kind, present, now);
                self.remember(sight, |memory| {
                    memory.children_mut().written(write.kind, now)
                });
                Outcome::Written
            }
            Err(error) => self.child_failed(sight, write.kind, error).await,
        }
    }

    /// Deletes an owned object.
    pub(in crate::controller) async fn delete_child(
        &self,
        sight: &Sight<B::Cloud>,
        kind: ChildKind,
        held: &Held,
    ) -> Outcome {
        match self.cluster.delete_child(sight.key(), kind, held).await {
            Ok(()) => {
                let now = self.time.now();
                self.owned.vanished(sight.uid(), kind, held);
                self.remember(sight, |memory| memory.children_mut().written(kind, now));
                Outcome::Written
            }
            Err(error) => self.child_failed(sight, kind, error).await,
        }
    }

    async fn child_failed(
        &self,
        sight: &Sight<B::Cloud>,
        kind: ChildKind,
        error: ClusterError,
    ) -> Outcome {
        let (key, name) = (sight.key(), kind.name(&sight.key().name));
        tracing::info!(namespace = %key.namespace, kind = kind.word(), %name, %error, "write of an owned object failed");
        match error {
            ClusterError::Conflict | ClusterError::Gone => self.child_is(sight, kind).await,
            ClusterError::Refused(why) => {
                self.child_blocked(sight, kind, refusal(kind, &key.name, &why), AFTER_REFUSAL)
            }
            ClusterError::Unknown(ref why) => {
                let count = self.remember(sight, |memory| memory.children_mut().unanswered(kind));
                if count < UNANSWERED {
                    return self.unwritten(sight, &error);
                }
                self.child_blocked(sight, kind, refusal(kind, &key.name, why), AFTER_SILENCE)
            }
        }
    }

    /// Something else than was known bears the name: finds out what.
    async fn child_is(&self, sight: &Sight<B::Cloud>, kind: ChildKind) -> Outcome {
        let uid = sight.uid();
        match self.cluster.live_child(sight.key(), kind).await {
            Ok(Some(found)) if found.owner.as_ref().is_some_and(|owner| owner.uid == *uid) => {
                self.owned
                    .answered(uid, kind, found.present, self.time.now());
                Outcome::Outdated
            }
            // The last object of this name owned it.
            Ok(Some(found)) if found.owner.as_ref().is_some_and(|o| o.key == *sight.key()) => {
                self.owned.absent(uid, kind);
                self.clear_name(sight, kind, &found.present).await
            }
            Ok(Some(_)) => {
                self.owned.absent(uid, kind);
                let wait = self.policy.longest_backoff;
                self.child_blocked(sight, kind, conflict(kind, &sight.key().name), wait)
            }
            Ok(None) => {
                self.owned.absent(uid, kind);
                // With a wait: where the namespace is gone too, this would turn in a tight loop.
                self.unwritten(sight, &ClusterError::Gone)
            }
            Err(error) => self.unwritten(sight, &error),
        }
    }

    /// Removes what the last object of this name owned, as the collector does, which may be late or away. Only while
    /// this object is live: what was found before that cannot be its successor's.
    async fn clear_name(
        &self,
        sight: &Sight<B::Cloud>,
        kind: ChildKind,
        found: &Present,
    ) -> Outcome {
        match self.cluster.live(sight.key()).await {
            Ok(Some(view)) if view.object.uid == *sight.uid() && !found.going => {}
            // It goes by itself, or its own owner will see to it.
            Ok(_) => return self.unwritten(sight, &ClusterError::Gone),
            Err(error) => return self.unwritten(sight, &error),
        }
        let deleted = self
            .cluster
            .delete_child(sight.key(), kind, &found.held)
            .await;
        match deleted {
            Ok(()) | Err(ClusterError::Gone) => Outcome::Outdated,
            Err(error) => self.unwritten(sight, &error),
        }
    }

    /// Lets the object be for a while; the next pass tells why.
    fn child_blocked(
        &self,
        sight: &Sight<B::Cloud>,
        kind: ChildKind,
        (reason, message): (Reason, String),
        wait: Duration,
    ) -> Outcome {
        let obstacle = Obstacle {
            reason,
            message,
            generation: sight.view.object.generation,
            until: self.time.now() + wait,
        };
        self.remember(sight, |memory| memory.children_mut().met(kind, obstacle));
        Outcome::Outdated
    }
}
