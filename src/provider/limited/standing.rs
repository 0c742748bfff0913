//! How the limits of one provider configuration stand, for people who ask why nothing happens.

use std::time::Duration;

use super::Limits;
use crate::provider::breaker::Position;

/// Limits at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The breaker.
    pub breaker: Position,
    /// How long nothing may be sent because of the breaker; `None` while it is closed.
    pub held_back: Option<Duration>,
    /// What is left of the pause that the provider asked for; zero when there is none.
    pub paused: Duration,
    /// Calls under way.
    pub in_flight: usize,
    /// Most calls under way.
    pub max_in_flight: usize,
}

impl Limits {
    /// How they stand now.
    #[must_use]
    pub fn standing(&self) -> Standing {
        let now = self.time.now();
        let (breaker, held_back, paused) = {
            let state = self.state();
            let breaker = &state.breaker;
            (
                breaker.position(),
                breaker.refuses(now),
                state.pause.left(now),
            )
        };
        let most = usize::try_from(self.options.max_in_flight.get()).unwrap_or(usize::MAX);
        Standing {
            breaker,
            held_back,
            paused,
            in_flight: most.saturating_sub(self.in_flight.available_permits()),
            max_in_flight: most,
        }
    }
}
