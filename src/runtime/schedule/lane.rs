//! One lane: tenants take turns, each with its own first-come-first-served line.

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
}

#[derive(Debug)]
struct Line<K> {
    place: u64,
    keys: BTreeMap<u64, K>,
}

impl<K: Tenant> Turns<K> {
    pub(super) fn new() -> Self {
        Self {
            tenants: HashMap::new(),
            order: BTreeMap::new(),
            last: 0,
            len: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends `key` to its tenant's line; `ticket` must be greater than every one before.
    pub(super) fn insert(&mut self, ticket: u64, key: K) {
        self.len += 1;
        if let Some(line) = self.tenants.get_mut(key.tenant()) {
            line.keys.insert(ticket, key);
            return;
        }
        let tenant: Box<str> = key.tenant().into();
        self.last += 1;
        self.order.insert(self.last, tenant.clone());
        self.tenants.insert(
            tenant,
            Line {
                place: self.last,
                keys: BTreeMap::from([(ticket, key)]),
            },
        );
    }

    /// Takes the key with this ticket out of `tenant`'s line.
    pub(super) fn remove(&mut self, tenant: &str, ticket: u64) {
        let Some(line) = self.tenants.get_mut(tenant) else {
            return;
        };
        if line.keys.remove(&ticket).is_none() {
            return;
        }
        self.len -= 1;
        if line.keys.is_empty() {
            self.order.remove(&line.place);
            self.tenants.remove(tenant);
        }
    }

    /// The first key of the tenant whose turn it is.
    pub(super) fn pop(&mut self) -> Option<K> {
        let (_, tenant) = self.order.pop_first()?;
        let line = self.tenants.get_mut(&tenant)?;
        let (_, key) = line.keys.pop_first()?;
        self.len -= 1;
        if line.keys.is_empty() {
            self.tenants.remove(&tenant);
        } else {
            self.last += 1;
            line.place = self.last;
            self.order.insert(self.last, tenant);
        }
        Some(key)
    }
}
