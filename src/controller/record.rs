//! Record: the only writer of status, the id included. Nothing is written when nothing differs.

use serde_json::{Value, json};

use super::observe::Sight;
use super::{AFTER_CONFLICT, Clouds, Cluster, Pass, Reconciler, patch};
use crate::api::VirtualMachineStatus;
use crate::lifecycle::{Action, Outcome, Plan, Report, Requeue, Tried, basic};
use crate::runtime::clock::Clock;
use crate::runtime::failpoint;

impl<C: Cluster, B: Clouds, T: Clock> Reconciler<C, B, T> {
    /// Writes the status where it differs, and says what the pass came to.
    pub(super) async fn record(
        &self,
        sight: &Sight<B::Cloud>,
        plan: &Plan,
        report: Report,
    ) -> Pass {
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
                Outcome::Nothing
                | Outcome::Written
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
            let claim = memory.claim_mut();
            claim.telling(Tried::of(status));
            if plan.action == Action::NoteAttempt {
                claim.noting(clear);
            }
            before
        });
        failpoint::reach("record");
        let result = self.cluster.write_status(&sight.guard(), difference).await;
        let outcome = self.written(sight, result, sent, before).await;
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
