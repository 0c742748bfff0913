//! Which VMs carry which tag, so that a find by tag does not look at a hundred thousand VMs.

use std::collections::{BTreeSet, HashMap};

use super::{Text, Vm};

/// VMs by tag, keyed by a hash of it: a hit is a candidate, whoever looks compares the tag itself.
#[derive(Debug, Default)]
pub(super) struct TagIndex(HashMap<u64, Bearers>);

#[derive(Debug)]
enum Bearers {
    /// The usual case of a tag that is unique to one VM.
    One(u64),
    #[expect(
        clippy::box_collection,
        reason = "hardly ever there; unboxed it would double every entry"
    )]
    Many(Box<BTreeSet<u64>>),
}

impl TagIndex {
    pub(super) fn insert(&mut self, vm: &Vm) {
        let number = vm.id.number();
        for (key, value) in vm.tags.iter() {
            self.0
                .entry(hash(key, value))
                .and_modify(|bearers| bearers.add(number))
                .or_insert(Bearers::One(number));
        }
    }

    pub(super) fn remove(&mut self, number: u64, tags: &[(Text, Text)]) {
        for (key, value) in tags {
            let place = hash(key, value);
            if self
                .0
                .get_mut(&place)
                .is_some_and(|bearers| bearers.drop(number))
            {
                self.0.remove(&place);
            }
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Candidates for VMs that carry all of `tags`, with numbers above `after`, ascending.
    pub(super) fn candidates(&self, tags: &[(String, String)], after: u64) -> Vec<u64> {
        let rarest = tags
            .iter()
            .map(|(key, value)| self.0.get(&hash(key, value)))
            .min_by_key(|found| match found {
                None => 0,
                Some(Bearers::One(_)) => 1,
                Some(Bearers::Many(all)) => all.len(),
            });
        match rarest.flatten() {
            None => Vec::new(),
            Some(Bearers::One(number)) => Vec::from_iter((*number > after).then_some(*number)),
            Some(Bearers::Many(all)) => all.range(after.saturating_add(1)..).copied().collect(),
        }
    }
}

impl Bearers {
    fn add(&mut self, number: u64) {
        match self {
            Self::One(other) if *other == number => {}
            Self::One(other) => *self = Self::Many(Box::new(BTreeSet::from([*other, number]))),
            Self::Many(all) => {
                all.insert(number);
            }
        }
    }

    /// Says whether nobody is left.
    fn drop(&mut self, number: u64) -> bool {
        match self {
            Self::One(other) => *other == number,
            Self::Many(all) => {
                all.remove(&number);
                all.is_empty()
            }
        }
    }
}

/// Whether a VM carries all of `tags`.
pub(super) fn carries(vm: &Vm, tags: &[(String, String)]) -> bool {
    tags.iter().all(|(key, value)| vm.tag(key) == Some(value))
}

/// FNV-1a over key, a separator that no UTF-8 contains, and value.
fn hash(key: &str, value: &str) -> u64 {
    let bytes = key
        .bytes()
        .chain(std::iter::once(0xff))
        .chain(value.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
