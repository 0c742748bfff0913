//! The cloud's time: real time, moved by steps, or standing still.

use jiff::{SignedDuration, Timestamp};

/// Real time plus what was stepped, or frozen.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Clock {
    offset: SignedDuration,
    frozen: Option<Timestamp>,
}

impl Clock {
    /// The cloud's time at the real time `real`.
    pub(crate) fn now(&self, real: Timestamp) -> Timestamp {
        self.frozen
            .unwrap_or_else(|| real.checked_add(self.offset).unwrap_or(Timestamp::MAX))
    }

    pub(crate) fn is_frozen(&self) -> bool {
        self.frozen.is_some()
    }

    /// Moves it forward, frozen or not.
    pub(crate) fn step(&mut self, by: SignedDuration) {
        match &mut self.frozen {
            Some(at) => *at = at.checked_add(by).unwrap_or(Timestamp::MAX),
            None => self.offset = self.offset.checked_add(by).unwrap_or(SignedDuration::MAX),
        }
    }

    pub(crate) fn freeze(&mut self, real: Timestamp) {
        self.frozen = Some(self.now(real));
    }

    /// Lets it run on from where it stands.
    pub(crate) fn thaw(&mut self, real: Timestamp) {
        if let Some(at) = self.frozen.take() {
            self.offset = at.duration_since(real);
        }
    }
}

/// The real time: the one place of this crate that reads it.
#[expect(
    clippy::disallowed_methods,
    reason = "the server's edge; the world gets time as a value"
)]
pub(crate) fn real() -> Timestamp {
    Timestamp::now()
}
