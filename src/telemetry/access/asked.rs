//! Questions whose answers are remembered. Of those who ask the same thing at a time one does ask, and the others share
//! what it hears: an answer, or that there is none.

use std::collections::hash_map::RandomState;
use std::future::Future;
use std::hash::{BuildHasher, Hash};
use std::time::Duration;

use tokio::sync::Mutex;

use super::NoAnswer;
use super::memory::Memory;
use crate::domain::time::Moment;
use crate::runtime::clock::Clock;

/// Whoever asks holds a place, which it shares with other questions now and then.
const PLACES: usize = 16;

/// Answers by question, and places for those who ask.
pub(super) struct Asked<K, V> {
    answers: Memory<K, V>,
    places: [Mutex<Option<Silence<K>>>; PLACES],
    hasher: RandomState,
}

/// The last question of a place had no answer.
struct Silence<K> {
    key: K,
    /// When that was known.
    at: Moment,
    why: NoAnswer,
}

impl<K: Clone + Eq + Hash, V: Clone> Asked<K, V> {
    /// Remembers so many answers at most.
    pub(super) fn new(most: usize) -> Self {
        Self {
            answers: Memory::new(most),
            places: std::array::from_fn(|_| Mutex::new(None)),
            hasher: RandomState::new(),
        }
    }

    /// The remembered answer, or that of `question`, remembered for `life` of it. Silence is shared by those who waited
    /// for it, and not remembered.
    ///
    /// Cancelling: whoever waits is next to ask.
    pub(super) async fn ask(
        &self,
        key: K,
        clock: &dyn Clock,
        life: impl FnOnce(&V) -> Duration,
        question: impl Future<Output = Result<V, NoAnswer>>,
    ) -> Result<V, NoAnswer> {
        let came = clock.now();
        if let Some(known) = self.answers.get(&key, came) {
            return Ok(known);
        }
        let mut place = self.place(&key).lock().await;
        if let Some(known) = self.answers.get(&key, clock.now()) {
            return Ok(known);
        }
        if let Some(silence) = &*place
            && silence.key == key
            && silence.at > came
        {
            return Err(silence.why.clone());
        }
        let result = question.await;
        let now = clock.now();
        match &result {
            Ok(answer) => {
                *place = None;
                let until = now + life(answer);
                self.answers.put(key, answer.clone(), until, now);
            }
            Err(why) => {
                let why = why.clone();
                *place = Some(Silence { key, at: now, why });
            }
        }
        result
    }

    fn place(&self, key: &K) -> &Mutex<Option<Silence<K>>> {
        let places = self.places.len() as u64;
        let at = usize::try_from(self.hasher.hash_one(key) % places).unwrap_or_default();
        &self.places[at]
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.answers.len()
    }
}
