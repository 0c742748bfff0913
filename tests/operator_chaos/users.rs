//! What users do during the storm: make and delete.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::e2e::house::{House, manifest};

/// Names that are used again and again.
const NAMES: usize = 24;

/// The users of one namespace.
pub(crate) struct Users {
    pub(crate) namespace: String,
    /// Names that are there as far as the users know.
    there: BTreeSet<usize>,
    pub(crate) made: usize,
    pub(crate) deleted: usize,
}

impl Users {
    pub(crate) fn of(namespace: String) -> Self {
        Self {
            namespace,
            there: BTreeSet::new(),
            made: 0,
            deleted: 0,
        }
    }

    /// Up to three creations or one deletion. An API server that is away is tried again some other time.
    pub(crate) fn act(&mut self, house: &House, random: &mut fastrand::Rng) {
        let free: Vec<usize> = (0..NAMES)
            .filter(|name| !self.there.contains(name))
            .collect();
        if free.len() > NAMES / 3 || (random.bool() && !free.is_empty()) {
            self.make(house, &free, random);
        } else if let Some(name) = random.choice(self.there.iter().copied().collect::<Vec<_>>()) {
            let vm = format!("vm-{name}");
            let delete = [
                "-n",
                &self.namespace,
                "delete",
                "vm",
                &vm,
                "--wait=false",
                "--ignore-not-found",
            ];
            if house.plane.try_kubectl(&delete, "").success {
                self.there.remove(&name);
                self.deleted += 1;
            }
        }
    }

    fn make(&mut self, house: &House, free: &[usize], random: &mut fastrand::Rng) {
        let chosen: Vec<usize> = random.choose_multiple(free.iter().copied(), 3);
        let items: Vec<Value> = chosen
            .iter()
            .map(|name| manifest(&self.namespace, &format!("vm-{name}")))
            .collect();
        let list = json!({ "apiVersion": "v1", "kind": "List", "items": items });
        // A name whose last object is still being deleted is refused, and tried again.
        let answer = house
            .plane
            .try_kubectl(&["create", "-f", "-"], &list.to_string());
        for name in chosen {
            if answer.stdout.contains(&format!("/vm-{name} created")) {
                self.there.insert(name);
                self.made += 1;
            }
        }
    }
}
