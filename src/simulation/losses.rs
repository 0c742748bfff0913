//! A loss of everything at once, and a person who confirms it.

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
