//! Time as this floor sees it: given from outside, so that a simulator can drive it.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use crate::domain::time::Moment;

/// A clock and its timers. The two must agree: after `sleep(wait)`, `now` has moved by `wait` at least.
pub trait Time: Send + Sync + 'static {
    /// The present, by the monotonic clock by which the leader's term is counted.
    fn now(&self) -> Moment;

    /// Ends after this time. Dropping it is how a wait is cancelled.
    fn sleep(&self, wait: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>>;
}

/// A clock as a function, with the timers of the async runtime.
pub struct Timers<F>(pub F);

impl<F: Fn() -> Moment + Send + Sync + 'static> Time for Timers<F> {
    fn now(&self) -> Moment {
        (self.0)()
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the limiter's waits end here; what it decides on comes from the clock"
    )]
    fn sleep(&self, wait: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(tokio::time::sleep(wait))
    }
}
