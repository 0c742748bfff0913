//! What lists tell of all objects at once, and what remains of what was known where the API server's data were restored.

use super::{DepartedEntry, Knowledge};
use crate::domain::{Moment, ObjectKey, Uid};

impl Knowledge {
    /// Before a re-list, or when versions went backwards: no own write stands in for the store without a live read,
    /// and nothing counts as just added any more, because versions may have been missed.
    pub fn doubt_overlays(&self) {
        for entry in self.lock().objects.values_mut() {
            entry.memory.missed_versions();
            if let Some(overlay) = &mut entry.overlay {
                overlay.until = Moment::START;
            }
        }
    }

    /// A list is complete, of one namespace or of all: what is not in it the watch will never tell of any more.
    pub fn listed(&self, namespace: Option<&str>) {
        for entry in self.lock().departed.values_mut() {
            entry.told |= entry.was_in(namespace);
        }
    }

    /// What is known of this name, and of this uid, is of a state that the API server has no more, and is forgotten as a
    /// restart would forget it. Nothing departs by that: nobody has deleted anything.
    pub fn forget(&self, key: &ObjectKey, uid: &Uid) {
        let mut inner = self.lock();
        inner.departed.remove(uid);
        if let Some(entry) = inner.objects.remove(key) {
            inner.users.remove(&entry.stored);
        }
    }

    /// The API server's data were restored, and its list is complete: of what a live read alone showed to be gone nobody
    /// can say any more whether somebody had deleted it. Whatever is left of it is an orphan.
    pub fn forget_untold(&self, namespace: Option<&str>) {
        let mut inner = self.lock();
        inner
            .departed
            .retain(|_, entry| entry.told || !entry.was_in(namespace));
    }
}

impl DepartedEntry {
    fn was_in(&self, namespace: Option<&str>) -> bool {
        let here = &self.departed.last.key.namespace;
        namespace.is_none_or(|namespace| namespace == here.as_ref())
    }
}
