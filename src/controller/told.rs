//! What an inventory tells in place of a look.

use super::observe::{FULL_LOOK_EVERY, Sight, least, note};
use super::{Clouds, Cluster, Reconciler};
use crate::domain::InstanceId;
use crate::lifecycle::due::may_be_told;
use crate::lifecycle::{Answers, Judged, report};
use crate::runtime::clock::Clock;

impl<C: Cluster, B: Clouds, T: Clock> Reconciler<C, B, T> {
    /// Takes from the inventory what a GET of the recorded id would show, and its round for the full look; false
    /// where a look is needed. `seen`: what it shows may not be older than what a call of ours showed before. Where none
    /// did, as after a start, it counts for an object at rest that shows the very same.
    pub(super) fn told(
        &self,
        sight: &mut Sight<B::Cloud>,
        seen: Option<&(InstanceId, u64)>,
    ) -> bool {
        let object = &sight.view.object;
        let (Some(recorded), Ok(config)) = (object.known(), &mut sight.config) else {
            return false;
        };
        let another = seen.is_some_and(|(id, _)| *id != recorded.id);
        let inventory = self
            .clouds
            .inventory(&object.key.namespace, &object.provider_ref);
        let Some(inventory) = inventory.filter(|_| !another && may_be_told(object, &sight.memory))
        else {
            return false;
        };
        let status = &sight.view.status;
        let at_rest = seen.is_none() && report::is_at_rest(object, status);
        if at_rest && inventory.is_awaited() {
            config.awaited = true;
            return true;
        }
        let owner = object.owner(&self.policy.cluster);
        let fact = inventory
            .fact(&owner, &recorded.id, sight.now)
            .filter(|fact| match seen {
                Some((_, revision)) => fact.revision >= *revision,
                None => at_rest && report::shows(status, &fact.instance),
            });
        let Some(fact) = fact else {
            return false;
        };
        let answers = Answers {
            got: Some(Ok(fact.instance.as_ref().clone())),
            found: None,
        };
        match answers.judge(object, &owner, least(object)) {
            Judged::Seen(sighting) if sighting.present().is_some() => {
                config.watched = fact.watched;
                let full_look = sight.now + config.poll * FULL_LOOK_EVERY;
                let (key, uid) = (&object.key, &object.uid);
                self.knowledge.full_look_made(key, full_look);
                self.knowledge
                    .remember(key, uid, |memory| note(memory, &sighting, sight.now));
                sight.sighting = sighting;
                self.note_presence(sight, (fact.as_of, sight.now));
                true
            }
            // Nothing but the presence of our own is taken from an inventory.
            Judged::Seen(_) | Judged::Nothing(_) => false,
        }
    }
}
