//! One lane: tenants take turns, each with its own first-come-first-served line, and a second one for what is hurried.

use super::Tenant;
use std::collections::{BTreeMap, HashMap};

/// Ready keys of one lane. Tickets give the order inside a tenant and make removal from the middle O(log n).
#[derive(Debug)]
pub(super) struct Turns<K> {
    tenants: HashMap<Box<str>, Line<K>>,
    /// Who is next: the tenant with the smallest number. One that had its turn goes to the end.
    order: BTreeMap<u64, Box<str>>,
    last: u64,
    len: usize,
    unhurried_every: u32,
}

/// The keys of one tenant.
#[derive(Debug)]
struct Line<K> {
    place: u64,
    keys: BTreeMap<u64, K>,
    hurried: BTreeMap<u64, K>,
    /// Turns that hurried keys had since another one of this tenant last had one.
    hurried_turns: u32,
}

impl<K> Line<K> {
    fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.hurried.is_empty()
    }

    fn insert(&mut self, ticket: u64, key: K, hurried: bool) {
        let keys = if hurried {
            &mut self.hurried
        } else {
            &mut self.keys
        };
        keys.insert(ticket, key);
    }

    /// Hurried keys first, but for each so many-th turn where both kinds wait.
    fn pop(&mut self, unhurried_every: u32) -> Option<K> {
        let others = !self.keys.is_empty();
        let owed = others && self.hurried_turns + 1 >= unhurried_every.max(2);
        if self.hurried.is_empty() || owed {
            self.hurried_turns = 0;
            return self.keys.pop_first().map(|(_, key)| key);
        }
        self.hurried_turns = if others { self.hurried_turns + 1 } else { 0 };
        self.hurried.pop_first().map(|(_, key)| key)
    }
}

impl<K: Tenant> Turns<K> {
    /// An empty lane. While a tenant has hurried keys and others, each so many-th of its turns is one of the others'.
    pub(super) fn new(unhurried_every: u32) -> Self {
        Self {
            tenants: HashMap::new(),
            order: BTreeMap::new(),
            last: 0,
            len: 0,
            unhurried_every,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends `key` to its tenant's line; `ticket` must be greater than every one before.
    pub(super) fn insert(&mut self, ticket: u64, key: K, hurried: bool) {
        self.len += 1;
        if let Some(line) = self.tenants.get_mut(key.tenant()) {
            line.insert(ticket, key, hurried);
            return;
        }
        let tenant: Box<str> = key.tenant().into();
        self.last += 1;
        self.order.insert(self.last, tenant.clone());
        let mut line = Line {
            place: self.last,
            keys: BTreeMap::new(),
            hurried: BTreeMap::new(),
            hurried_turns: 0,
        };
        line.insert(ticket, key, hurried);
        self.tenants.insert(tenant, line);
    }

    /// Takes the key with this ticket out of `tenant`'s line.
    pub(super) fn remove(&mut self, tenant: &str, ticket: u64) {
        let Some(line) = self.tenants.get_mut(tenant) else {
            return;
        };
        let found = line.keys.remove(&ticket);
        if found.or_else(|| line.hurried.remove(&ticket)).is_none() {
            return;
        }
        self.len -= 1;
        if line.is_empty() {
            self.order.remove(&line.place);
            self.tenants.remove(tenant);
        }
    }

    /// Makes the key with this ticket a hurried one, with another ticket; its tenant keeps its place.
    pub(super) fn move_up(&mut self, tenant: &str, old: u64, fresh: u64) {
        let line = self.tenants.get_mut(tenant);
        if let Some(line) = line
            && let Some(key) = line.keys.remove(&old)
        {
            line.hurried.insert(fresh, key);
        }
    }

    /// The next key of the tenant whose turn it is.
    pub(super) fn pop(&mut self) -> Option<K> {
        let (_, tenant) = self.order.pop_first()?;
        let line = self.tenants.get_mut(&tenant)?;
        let key = line.pop(self.unhurried_every)?;
        self.len -= 1;
        if line.is_empty() {
            self.tenants.remove(&tenant);
        } else {
            self.last += 1;
            line.place = self.last;
            self.order.insert(self.last, tenant);
        }
        Some(key)
    }

    /// Whose hurried keys had how many turns, for whoever compares states.
    #[cfg(test)]
    pub(super) fn hurried_turns(&self) -> BTreeMap<&str, u32> {
        let lines = self.tenants.iter();
        lines
            .map(|(tenant, line)| (tenant.as_ref(), line.hurried_turns))
            .collect()
    }
}
