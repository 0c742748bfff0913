//! What an end must be like.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::{Broken, Counts};
use crate::api::condition::{self, ConditionType};
use crate::domain::InstancePhase;
use crate::simulation::api_server::Stored;
use crate::simulation::world::World;

impl World {
    /// Whether an end is reached, and a good one; the error says what is missing.
    pub(in crate::simulation) fn end(&self) -> Result<Counts, Broken> {
        let mut counts = Counts::default();
        for stored in self.api.objects.values() {
            self.end_of(stored, &mut counts)?;
        }
        for life in self.lives.iter().filter(|l| l.gone) {
            counts.gone += 1;
            counts.excused += u32::from(life.excused);
            if self.cloud.live(&life.uid).next().is_some() {
                if !self.excuses(life) {
                    return Err(format!("I3: {} is gone and its instance lives", life.uid));
                }
                counts.leaked += 1;
            }
            if self
                .leaders()
                .any(|p| p.reconciler.knowledge().departed(&life.uid).is_some())
            {
                return Err(format!("I4: departed key of {} is never done", life.uid));
            }
        }
        let orphan = self
            .cloud
            .machines
            .iter()
            .find(|m| m.alive && !m.is_strange() && !self.lives.iter().any(|l| l.uid == m.uid));
        match orphan {
            Some(machine) => Err(format!("I3: {} belongs to nobody", machine.instance.id)),
            None => Ok(counts),
        }
    }

    /// An object may end without an instance where the provider refuses it, or where nobody can find out.
    fn end_without_id(
        &self,
        stored: &Stored,
        ready: &Condition,
        counts: &mut Counts,
    ) -> Result<(), Broken> {
        let (object, status) = (&stored.view.object, &stored.view.status);
        let uid = &object.uid;
        let bad = |what: &str| Err(format!("I4: {uid}: {what}"));
        let life = self.lives.iter().find(|l| l.uid == *uid);
        let doubtful = life.is_some_and(|l| l.unanswered || l.exited);
        if self.swarm.basic && doubtful && ready.reason == "CreateInDoubt" {
            counts.doubts += 1;
            let stalled = condition::is_true(&status.conditions, ConditionType::Stalled);
            return if stalled {
                Ok(())
            } else {
                bad("in doubt and not Stalled")
            };
        }
        let wanted = object.spec.as_ref().is_some_and(|s| s.image == "bad");
        if wanted && self.cloud.live(uid).next().is_none() {
            counts.refused += 1;
            let stalled = condition::is_true(&status.conditions, ConditionType::Stalled);
            return if ready.reason == "InvalidImage" && stalled {
                Ok(())
            } else {
                Err(format!(
                    "I11: {uid}: refused, but Ready says {}",
                    ready.reason
                ))
            };
        }
        bad("no id")
    }

    fn end_of(&self, stored: &Stored, counts: &mut Counts) -> Result<(), Broken> {
        let (object, status) = (&stored.view.object, &stored.view.status);
        let uid = &object.uid;
        let bad = |what: &str| Err(format!("I4: {uid}: {what}"));
        if object.deleting {
            return bad("deletion does not end");
        }
        let Some(intent) = object.intent().filter(|_| object.finalizer) else {
            return bad("no finalizer or no intent");
        };
        let ready = condition::find(&status.conditions, ConditionType::Ready);
        let Some(ready) = ready else {
            return bad("no condition Ready");
        };
        let Some(recorded) = object.known() else {
            return self.end_without_id(stored, ready, counts);
        };
        let machine = self.cloud.live(uid).find(|m| m.instance.id == recorded.id);
        let Some(machine) = machine else {
            return bad("the recorded instance is gone");
        };
        if machine.incarnation != recorded.incarnation.get()
            || machine.incarnation != intent.incarnation.get()
        {
            return bad("the recorded instance is not of the intent's incarnation");
        }
        if machine.instance.phase != InstancePhase::Running
            || status.phase != Some(crate::api::Phase::Running)
        {
            return bad("not shown as Running");
        }
        let others = self.cloud.live(uid).count() - 1;
        counts.duplicates += u32::try_from(others).unwrap_or(u32::MAX);
        // Where the protocol's assumptions hold there is none at an end, as in its model.
        if others > 0 && !self.swarm.words.late {
            return bad("a double is left");
        }
        match ready.reason.as_str() {
            "Running" if ready.status == "True" => counts.running += 1,
            "DriftDetected"
                if object.spec.as_ref().is_some_and(|s| {
                    s.image != machine.instance.image || s.cpu != machine.instance.cpu
                }) =>
            {
                counts.drifted += 1
            }
            other => return Err(format!("I11: {uid}: Ready is {} {other}", ready.status)),
        }
        Ok(())
    }
}
