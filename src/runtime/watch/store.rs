//! The copy of all objects of one kind.

use super::object::Object;
use crate::domain::key::ObjectKey;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock};
use tokio::sync::watch;

/// Reads the objects of one kind. Cheap to clone; what it says may be older than what the API server holds.
#[derive(Debug)]
pub struct Store<K> {
    objects: Arc<RwLock<HashMap<ObjectKey, Object<K>>>>,
    listed: watch::Receiver<bool>,
}

impl<K> Clone for Store<K> {
    fn clone(&self) -> Self {
        Self {
            objects: Arc::clone(&self.objects),
            listed: self.listed.clone(),
        }
    }
}

impl<K> Store<K> {
    /// The object under this key.
    pub fn get(&self, key: &ObjectKey) -> Option<Object<K>> {
        self.objects
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(key)
            .cloned()
    }

    /// Every object, in no order.
    pub fn all(&self) -> Vec<Object<K>> {
        self.objects
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .values()
            .cloned()
            .collect()
    }

    /// Number of objects.
    pub fn len(&self) -> usize {
        self.objects
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether a list has been complete once. Before that, absence here means nothing.
    pub fn is_listed(&self) -> bool {
        *self.listed.borrow()
    }

    /// Waits for the first complete list. Returns `false` if the watch was dropped before. Cancel safe.
    pub async fn listed(&self) -> bool {
        self.listed.clone().wait_for(|listed| *listed).await.is_ok()
    }
}

/// The one side that writes.
#[derive(Debug)]
pub(super) struct Writer<K> {
    store: Store<K>,
    listed: watch::Sender<bool>,
    /// Keys seen in the list under way.
    seen: HashSet<ObjectKey>,
}

impl<K> Writer<K> {
    pub(super) fn new() -> Self {
        let (sender, receiver) = watch::channel(false);
        let store = Store {
            objects: Arc::default(),
            listed: receiver,
        };
        Self {
            store,
            listed: sender,
            seen: HashSet::new(),
        }
    }

    pub(super) fn store(&self) -> Store<K> {
        self.store.clone()
    }

    pub(super) fn begin_list(&mut self) {
        self.seen = HashSet::new();
    }

    /// A list shows this one. What is not stored needs no note.
    pub(super) fn saw(&mut self, key: ObjectKey) {
        let objects = self
            .store
            .objects
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        if objects.contains_key(&key) {
            drop(objects);
            self.seen.insert(key);
        }
    }

    /// Ends a list: what it did not hold is removed and returned.
    pub(super) fn end_list(&mut self) -> Vec<(ObjectKey, Object<K>)> {
        let seen = std::mem::take(&mut self.seen);
        let mut objects = self
            .store
            .objects
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        let mut gone: Vec<_> = objects.extract_if(|key, _| !seen.contains(key)).collect();
        gone.sort_by(|(a, _), (b, _)| a.cmp(b));
        gone
    }

    /// Told after the events of the list, so that whoever waits for it finds them handled.
    pub(super) fn mark_listed(&self) -> bool {
        !self.listed.send_replace(true)
    }

    pub(super) fn insert(&mut self, key: ObjectKey, object: Object<K>) -> Option<Object<K>> {
        self.store
            .objects
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(key, object)
    }

    pub(super) fn remove(&mut self, key: &ObjectKey) -> Option<Object<K>> {
        self.store
            .objects
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(key)
    }
}
