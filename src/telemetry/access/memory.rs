//! A bounded number of answers, each for a while.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};

use crate::domain::time::Moment;

/// Answers by question.
pub(super) struct Memory<K, V> {
    answers: Mutex<HashMap<K, (V, Moment)>>,
    most: usize,
}

impl<K: Clone + Eq + Hash, V: Clone> Memory<K, V> {
    pub(super) fn new(most: usize) -> Self {
        Self {
            answers: Mutex::default(),
            most,
        }
    }

    pub(super) fn get(&self, key: &K, now: Moment) -> Option<V> {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let (value, until) = answers.get(key)?;
        (now < *until).then(|| value.clone())
    }

    /// Remembers until then. Where there is no room, what ends first goes; O(number) then.
    pub(super) fn put(&self, key: K, value: V, until: Moment, now: Moment) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if answers.len() >= self.most && !answers.contains_key(&key) {
            answers.retain(|_, (_, until)| now < *until);
        }
        if answers.len() >= self.most && !answers.contains_key(&key) {
            let first = answers.iter().min_by_key(|(_, (_, until))| *until);
            if let Some(first) = first.map(|(key, _)| key.clone()) {
                answers.remove(&first);
            }
        }
        answers.insert(key, (value, until));
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.answers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .len()
    }
}
