//! Owned objects in memory: made, written over and deleted by the rules of the API server, without what they hold.

use std::collections::{BTreeMap, VecDeque};

use crate::controller::children::OwnerName;
use crate::controller::{ClusterError, Found, Guard};
use crate::domain::Uid;
use crate::lifecycle::{ChildKind, ChildWrite, Held, Present};

use super::double::key;

/// The owned objects of the one VirtualMachine, and strangers under their names.
#[derive(Debug, Default)]
pub(super) struct Owned {
    objects: BTreeMap<ChildKind, Found>,
    version: u64,
    /// Every write that was carried out.
    pub(super) writes: Vec<String>,
    /// Live reads.
    pub(super) reads: usize,
    /// What the next writes are answered with, without being carried out.
    pub(super) faults: VecDeque<ClusterError>,
}

impl Owned {
    fn held(&mut self, uid: Option<Uid>) -> Held {
        self.version += 1;
        let version = self.version.to_string();
        Held {
            uid: uid.unwrap_or_else(|| Uid::new(format!("child-{version}"))),
            version,
        }
    }

    /// Somebody else makes an object of that name.
    pub(super) fn stranger(&mut self, kind: ChildKind) {
        let held = self.held(None);
        let present = Present {
            held,
            mark: String::new(),
            intact: false,
            ports: 0,
            going: false,
        };
        let owner = None;
        self.objects.insert(kind, Found { owner, present });
    }

    /// Somebody removes it.
    pub(super) fn remove(&mut self, kind: ChildKind) {
        self.objects.remove(&kind).unwrap();
    }

    /// Somebody edits a field of ours.
    pub(super) fn edit(&mut self, kind: ChildKind) {
        let uid = self.objects[&kind].present.held.uid.clone();
        let held = self.held(Some(uid));
        let present = &mut self.objects.get_mut(&kind).unwrap().present;
        present.held = held;
        present.intact = false;
    }

    /// What the watches show: ours alone.
    pub(super) fn shown(&self) -> BTreeMap<ChildKind, (Uid, Present)> {
        let ours = self.objects.iter().filter_map(|(kind, found)| {
            let owner = found.owner.as_ref()?;
            Some((*kind, (owner.uid.clone(), found.present.clone())))
        });
        ours.collect()
    }

    pub(super) fn live(&mut self, kind: ChildKind) -> Option<Found> {
        self.reads += 1;
        self.objects.get(&kind).cloned()
    }

    pub(super) fn write(
        &mut self,
        owner: &Guard,
        write: &ChildWrite,
    ) -> Result<Present, ClusterError> {
        if let Some(fault) = self.faults.pop_front() {
            return Err(fault);
        }
        let uid = match (&write.over, self.objects.get(&write.kind)) {
            (None, Some(_)) => return Err(ClusterError::Conflict),
            (None, None) => None,
            (Some(_), None) => return Err(ClusterError::Gone),
            (Some(held), Some(found)) if found.present.held != *held => {
                return Err(ClusterError::Conflict);
            }
            (Some(held), Some(_)) => Some(held.uid.clone()),
        };
        let verb = if uid.is_some() { "patch" } else { "create" };
        self.writes
            .push(format!("{verb} {}", write.kind.name("web-1")));
        let present = Present {
            held: self.held(uid),
            mark: write.content.mark(),
            intact: true,
            ports: write.content.service_ports(),
            going: false,
        };
        let found = Found {
            owner: Some(OwnerName {
                key: key(),
                uid: owner.uid.clone(),
            }),
            present: present.clone(),
        };
        self.objects.insert(write.kind, found);
        Ok(present)
    }

    pub(super) fn delete(&mut self, kind: ChildKind, held: &Held) -> Result<(), ClusterError> {
        match self.objects.get(&kind) {
            None => Err(ClusterError::Gone),
            Some(found) if found.present.held != *held => Err(ClusterError::Conflict),
            Some(_) => {
                self.objects.remove(&kind);
                self.writes.push(format!("delete {}", kind.name("web-1")));
                Ok(())
            }
        }
    }
}
