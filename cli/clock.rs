//! The only place of the CLI that reads a clock or waits for one.

use std::time::{Duration, Instant};

/// A moment on the monotonic clock, for measuring how long something took.
#[expect(
    clippy::disallowed_methods,
    reason = "the CLI's one reading of the monotonic clock"
)]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// The date and time, for logs and journals that people read.
#[expect(
    clippy::disallowed_methods,
    reason = "the CLI's one reading of the calendar"
)]
pub(crate) fn timestamp() -> jiff::Timestamp {
    jiff::Timestamp::now()
}

/// Waits; dropping the future ends the wait.
#[expect(
    clippy::disallowed_methods,
    reason = "the CLI polls processes and servers that cannot notify it"
)]
pub(crate) async fn sleep(duration: Duration) {
    tokio::time::sleep(duration).await;
}

/// Waits and holds up the thread: for moments, where nothing else could go on anyway.
pub(crate) fn block(duration: Duration) {
    std::thread::sleep(duration);
}
