//! A loss of everything at once, and a person who confirms it.

use super::network::Flight;
use super::wire::Request;
use super::world::World;

impl World {
    pub(super) fn vanish_all(&mut self) {
        self.trace.line(7, || "all instances vanish".to_owned());
        for at in 0..self.cloud.machines.len() {
            if self.cloud.machines[at].alive && !self.cloud.machines[at].is_strange() {
                self.mass.push(self.cloud.machines[at].uid.clone());
                self.cloud.vanish(at, self.now);
            }
        }
    }

    /// Whether the id of an instance may be given to another one: when no answer that is still believed can show it,
    /// and no deletion of it is on its way. Sooner, nobody who deletes by id is safe.
    pub(super) fn may_be_given_again(&self, at: usize) -> bool {
        let machine = &self.cloud.machines[at];
        let id = &machine.instance.id;
        let mut others = self.cloud.machines.iter();
        let deletes = |flight: &Flight| matches!(&flight.request, Request::Delete(of) if of == id);
        machine.is_gone_for(self.swarm.timeout + self.swarm.lag, self.now)
            && !others.any(|m| m.alive && m.instance.id == *id)
            && !self.flights.iter().any(deletes)
    }

    /// Whether every object has its instance, and has had it for a while.
    pub(super) fn is_whole(&self) -> bool {
        let mut objects = self.api.objects.values();
        self.api.objects.len() >= 2
            && self.flights.is_empty()
            && objects.all(|o| {
                let object = &o.view.object;
                object.known().is_some() && self.cloud.live(&object.uid).count() == 1
            })
    }

    /// A person says that whatever is missing is lost.
    pub(super) fn confirm_losses(&mut self) {
        self.mass.clear();
        self.the_config.confirmed_loss = Some(u32::MAX);
        if let Some(config) = &mut *self.config.lock().unwrap() {
            config.confirmed_loss = Some(u32::MAX);
        }
        for process in self.processes.iter_mut().flatten() {
            process.wake_all();
        }
    }
}
