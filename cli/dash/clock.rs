//! One time for everything: the API server's, as its answers tell it, moved on by the monotonic clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Instant;

use vm_tui::Stamp;

use crate::clock;

/// Offsets that are smaller than this are the granularity of a `Date` header, in milliseconds.
const GRAIN: i64 = 1500;

/// Tells the time. Clones are one clock.
#[derive(Clone)]
pub(super) struct Clock {
    begun: Instant,
    wall: i64,
    /// Milliseconds that the server's clock is ahead of ours.
    offset: Arc<AtomicI64>,
}

impl Clock {
    /// A clock that follows this machine's until a server says otherwise.
    pub(super) fn new() -> Self {
        Self {
            begun: clock::now(),
            wall: clock::timestamp().as_millisecond(),
            offset: Arc::new(AtomicI64::new(0)),
        }
    }

    /// What time it is at the server.
    pub(super) fn now(&self) -> Stamp {
        Stamp(
            self.local()
                .saturating_add(self.offset.load(Ordering::Relaxed)),
        )
    }

    /// Takes the `Date` of an answer that came just now.
    pub(super) fn heard(&self, date: &str) {
        let Ok(date) = httpdate::parse_http_date(date) else {
            return;
        };
        let Ok(date) = jiff::Timestamp::try_from(date) else {
            return;
        };
        // Whole seconds, cut off: half a second later on the average.
        let offset = date.as_millisecond() + 500 - self.local();
        let known = self.offset.load(Ordering::Relaxed);
        if (offset - known).abs() > GRAIN {
            self.offset.store(offset, Ordering::Relaxed);
        }
    }

    fn local(&self) -> i64 {
        let since = clock::now()
            .saturating_duration_since(self.begun)
            .as_millis();
        self.wall
            .saturating_add(i64::try_from(since).unwrap_or(i64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_whose_clock_is_ahead_sets_the_time() {
        let clock = Clock::new();
        let before = clock.now();
        let ahead = std::time::UNIX_EPOCH
            + std::time::Duration::from_millis(before.0.unsigned_abs() + 3_600_000);
        clock.heard(&httpdate::fmt_http_date(ahead));
        let moved = clock.now().0 - before.0;
        assert!((3_598_000..3_700_000).contains(&moved), "{moved}");
        clock.heard("no date at all");
        assert!(clock.now().0 - before.0 >= moved);
    }
}
