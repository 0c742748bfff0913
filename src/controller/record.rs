//! Record: the only writer of status, the id included, and of events. Nothing is written when nothing differs, and
//! what is not written is not told.

use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use super::events::{Kind, Regarding};
use super::observe::Sight;
use super::{AFTER_CONFLICT, Clouds, Cluster, Pass, Reconciler, patch};
use crate::api::VirtualMachineStatus;
use crate::lifecycle::{Action, Event, Object, Outcome, Plan, Report, Requeue, basic, event};
use crate::runtime::clock::Clock;
use crate::runtime::failpoint;

impl<C: Cluster, B: Clouds, T: Clock> Reconciler<C, B, T> {
    /// Writes the status where it differs, and says what the pass came to.
    pub(super) async fn record(
        &self,
        sight: &Sight<B::Cloud>,
        plan: &Plan,
        outcome: &Outcome,
        report: Report,
    ) -> Pass {
        if *outcome == Outcome::Written {
            self.tell_written(sight, plan);
        }
        let shown = report.status.as_ref().unwrap_or(&sight.view.status);
        let id = shown.id.clone();
        let mut requeue = report.requeue;
        if let Some(status) = &report.status {
            match self.write_status(sight, plan, status).await {
                Outcome::Outdated => requeue = Requeue::After(AFTER_CONFLICT),
                Outcome::Unwritten => requeue = Requeue::Retry(None),
                // An attempt that is not written down licenses nothing.
                Outcome::Nothing if plan.action == Action::NoteAttempt => {
                    requeue = Requeue::Retry(None);
                }
                Outcome::Written => {
                    let (object, old) = (&sight.view.object, &sight.view.status);
                    self.tell(object, event::of_status(object, plan, old, status));
                }
                Outcome::Nothing
                | Outcome::Made(_)
                | Outcome::DeleteAccepted
                | Outcome::Failed(_) => {}
            }
        }
        Pass {
            requeue,
            action: plan.action.label(),
            reason: report.reason,
            id,
        }
    }

    /// Tells what an acknowledged write of finalizer or intent meant, and counts what was let go of.
    fn tell_written(&self, sight: &Sight<B::Cloud>, plan: &Plan) {
        let before = &sight.view;
        let told = event::of_metadata(&before.object, plan, before.foreign_intent);
        match (&plan.action, told) {
            (Action::RemoveFinalizer { orphaned: Some(_) }, Some(event)) => {
                self.let_go(&before.object, event);
            }
            (_, told) => self.tell(&before.object, told),
        }
    }

    /// Counts and tells an object whose instance may be left.
    pub(super) fn let_go(&self, object: &Object, event: Event) {
        self.orphaned.fetch_add(1, Ordering::Relaxed);
        self.tell(object, [event]);
    }

    fn tell(&self, object: &Object, events: impl IntoIterator<Item = Event>) {
        for event in events {
            let about = Regarding {
                kind: Kind::VirtualMachine,
                key: object.key.clone(),
                uid: object.uid.clone(),
            };
            self.events.tell(about, event);
        }
    }

    async fn write_status(
        &self,
        sight: &Sight<B::Cloud>,
        plan: &Plan,
        status: &VirtualMachineStatus,
    ) -> Outcome {
        let Some(difference) = difference(&sight.view.status, status) else {
            return Outcome::Nothing;
        };
        let clear = basic::is_clear(&sight.view.object, &sight.memory);
        let sent = self.time.now();
        let before = self.remember(sight, |memory| {
            let before = memory.own_write();
            memory.sending_write();
            before
        });
        failpoint::reach("record");
        let result = self.cluster.write_status(&sight.guard(), difference).await;
        let outcome = self.written(sight, result, sent, before).await;
        if plan.action == Action::NoteAttempt && outcome == Outcome::Written {
            self.remember(sight, |memory| memory.claim_mut().noted(clear));
        }
        failpoint::reach("recorded");
        outcome
    }
}

fn difference(old: &VirtualMachineStatus, new: &VirtualMachineStatus) -> Option<Value> {
    // Most passes change nothing, and comparing is far cheaper than writing both out.
    if old == new {
        return None;
    }
    let value = |status| serde_json::to_value(status).unwrap_or_else(|_| json!({}));
    patch::between(&value(old), &value(new))
}
