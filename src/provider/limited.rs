//! How much and when this operator calls one provider configuration: rate, calls in flight, the pause that the
//! provider asks for, the breaker, and the fence of leadership before each write.
//!
//! A wait here is short. What would take longer is refused with the time to wait, so that the queue can turn
//! to the objects of other providers meanwhile.

mod calls;
mod standing;

use std::future::Future;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use governor::clock::Clock;
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Provider;
use super::breaker::{Admission, Breaker, BreakerPolicy, Era, Outcome, Pause};
use super::measured::Metrics;
use super::refusal::Refusal;
use super::time::Time;
use crate::domain::term::Term;
use crate::domain::{ErrorKind, Operation, ProviderError};
pub use standing::Standing;

/// Pause after a 429 that names no time.
const PAUSE_UNNAMED: Duration = Duration::from_secs(5);
/// The shortest time that a refused caller is told to wait.
const SHORTEST_RETRY: Duration = Duration::from_secs(1);

/// Bounds of the calls to one provider configuration.
#[derive(Clone, Copy, Debug)]
pub struct LimitOptions {
    /// Calls started per second, in the long run. A find counts once, however many pages it has.
    pub requests_per_second: NonZeroU32,
    /// Calls that may start at once after a quiet time.
    pub burst: NonZeroU32,
    /// Calls under way at once.
    pub max_in_flight: NonZeroU32,
    /// Longest wait for the bounds above; a call that would wait longer fails as `RateLimited`.
    pub max_wait: Duration,
    /// When calls are held back.
    pub breaker: BreakerPolicy,
}

/// The state that all clients of one provider configuration share; it outlives a client, so that rotated
/// credentials do not forget a pause.
pub struct Limits {
    options: LimitOptions,
    rate: RateLimiter<NotKeyed, InMemoryState, GovernorClock, NoOpMiddleware<Nanos>>,
    /// Held by the call that is next; the others stand in line behind it, first come first served.
    turn: tokio::sync::Mutex<()>,
    in_flight: Arc<Semaphore>,
    state: Mutex<State>,
    metrics: Metrics,
    time: Arc<dyn Time>,
}

/// A provider that is called within [`Limits`], and written to within a [`Term`] alone.
///
/// Cancelling: a call that is dropped while it waits takes nothing with it.
pub struct Limited<P> {
    inner: P,
    limits: Arc<Limits>,
    term: Term,
    refusal: Refusal,
    on_refusal: Box<dyn Fn() + Send + Sync>,
}

struct State {
    breaker: Breaker,
    pause: Pause,
}

struct GovernorClock(Arc<dyn Time>);

/// Whether a call has its place in the rate already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rate {
    ToTake,
    Taken,
}

/// The right to make one call, or one probe. A probe that is dropped unreported is given up.
struct Ticket<'a> {
    limits: &'a Limits,
    era: Era,
    probe: bool,
}

/// A wait under way; its time is counted also when the call is dropped.
struct Waiting<'a> {
    limits: &'a Limits,
    since: crate::domain::time::Moment,
}

impl Default for LimitOptions {
    /// The defaults of the API's `rateLimit`.
    fn default() -> Self {
        const fn number(value: u32) -> NonZeroU32 {
            match NonZeroU32::new(value) {
                Some(number) => number,
                None => NonZeroU32::MIN,
            }
        }
        Self {
            requests_per_second: const { number(50) },
            burst: const { number(100) },
            max_in_flight: const { number(16) },
            max_wait: Duration::from_secs(5),
            breaker: BreakerPolicy::default(),
        }
    }
}

impl Limits {
    /// Limits that nothing has used yet.
    #[must_use]
    pub fn new(options: LimitOptions, metrics: Metrics, time: Arc<dyn Time>) -> Self {
        let quota = Quota::per_second(options.requests_per_second).allow_burst(options.burst);
        let places = usize::try_from(options.max_in_flight.get()).unwrap_or(usize::MAX);
        Self {
            options,
            rate: RateLimiter::direct_with_clock(quota, GovernorClock(Arc::clone(&time))),
            turn: tokio::sync::Mutex::new(()),
            in_flight: Arc::new(Semaphore::new(places.min(Semaphore::MAX_PERMITS))),
            state: Mutex::new(State {
                breaker: Breaker::new(options.breaker),
                pause: Pause::default(),
            }),
            metrics,
            time,
        }
    }

    /// Whether calls are held back after failures in a row, for conditions and debug output.
    #[must_use]
    pub fn breaker_is_open(&self) -> bool {
        self.state().breaker.is_open()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the breaker and tells the metric when it opened or closed.
    fn with_breaker<T>(&self, change: impl FnOnce(&mut Breaker) -> T) -> T {
        let mut state = self.state();
        let before = state.breaker.is_open();
        let result = change(&mut state.breaker);
        let after = state.breaker.is_open();
        if before != after {
            self.metrics.breaker_moved(after);
        }
        result
    }

    /// A place among the calls in flight, when rate and pause allow; `Err` with the time to wait where that
    /// is not soon.
    async fn pace(&self, rate: Rate) -> Result<OwnedSemaphorePermit, Duration> {
        let _counted = Waiting {
            limits: self,
            since: self.time.now(),
        };
        let in_turn = async {
            let _turn = match rate {
                Rate::ToTake => Some(self.turn.lock().await),
                Rate::Taken => None,
            };
            let place = Arc::clone(&self.in_flight).acquire_owned().await;
            let place = place.map_err(|_| SHORTEST_RETRY)?;
            loop {
                let wait = self.wait(rate);
                if wait.is_zero() {
                    return Ok(place);
                }
                if wait > self.options.max_wait {
                    return Err(wait);
                }
                self.time.sleep(wait).await;
            }
        };
        tokio::select! {
            biased;
            place = in_turn => place,
            () = self.time.sleep(self.options.max_wait) => Err(SHORTEST_RETRY),
        }
    }

    /// How long the next call has to wait now; zero takes its place in the rate.
    fn wait(&self, rate: Rate) -> Duration {
        let now = self.time.now();
        let paused = self.state().pause.left(now);
        if !paused.is_zero() || rate == Rate::Taken {
            return paused;
        }
        match self.rate.check() {
            Ok(()) => Duration::ZERO,
            // Never zero, or the wait would be taken for a turn.
            Err(not_yet) => not_yet
                .wait_time_from(Nanos::new(now.as_nanos()))
                .max(Duration::from_micros(1)),
        }
    }

    fn ticket(&self) -> Result<Ticket<'_>, Duration> {
        let now = self.time.now();
        let (era, probe) = match self.with_breaker(|breaker| breaker.admit(now)) {
            Admission::Pass(era) => (era, false),
            Admission::Probe(era) => (era, true),
            Admission::Refused(wait) => return Err(wait),
        };
        Ok(Ticket {
            limits: self,
            era,
            probe,
        })
    }

    /// Where the provider asks for a pause, every call pauses.
    fn heed<T>(&self, result: &Result<T, ProviderError>) {
        if let Err(error) = result
            && error.kind == ErrorKind::RateLimited
        {
            let wait = error.retry_after.unwrap_or(PAUSE_UNNAMED);
            self.state().pause.hold(self.time.now(), wait);
        }
    }

    /// The error of a call that is not sent.
    fn refuse(
        &self,
        kind: ErrorKind,
        operation: Operation,
        wait: Option<Duration>,
    ) -> ProviderError {
        let error = ProviderError {
            retry_after: wait.map(|wait| wait.max(SHORTEST_RETRY)),
            ..ProviderError::without_answer(kind, operation)
        };
        self.metrics.failed(&error);
        error
    }
}

impl Drop for Limits {
    fn drop(&mut self) {
        if self.breaker_is_open() {
            self.metrics.breaker_moved(false);
        }
    }
}

impl<P: Provider> Limited<P> {
    /// Puts `inner` under `limits`; writes are sent only while `term` allows.
    pub fn new(inner: P, limits: Arc<Limits>, term: Term) -> Self {
        Self {
            inner,
            limits,
            term,
            refusal: Refusal::default(),
            on_refusal: Box::new(|| {}),
        }
    }

    /// Whom to tell when the provider refuses the credentials in the middle of work: nothing more is sent with them
    /// until [`Provider::capabilities`] was answered.
    #[must_use]
    pub fn on_refusal(self, tell: impl Fn() + Send + Sync + 'static) -> Self {
        Self {
            on_refusal: Box::new(tell),
            ..self
        }
    }

    /// The error of a call that need not be sent, because the credentials were refused.
    fn refused(&self, operation: Operation) -> Option<ProviderError> {
        let error = self.refusal.of(operation)?;
        self.limits.metrics.failed(&error);
        Some(error)
    }

    fn judge<T>(&self, operation: Operation, result: &Result<T, ProviderError>) {
        if self.refusal.note(operation, result, self.limits.time.now()) {
            (self.on_refusal)();
        }
    }

    async fn call<T, F>(
        &self,
        operation: Operation,
        rate: Rate,
        run: impl FnOnce() -> F,
    ) -> Result<T, ProviderError>
    where
        F: Future<Output = Result<T, ProviderError>>,
    {
        let (_place, ticket) = self.admit(operation, rate).await?;
        let result = run().await;
        self.judge(operation, &result);
        ticket.report(&result);
        result
    }

    /// Everything that may hold a call back, or make it wait, before it is sent.
    async fn admit(
        &self,
        operation: Operation,
        rate: Rate,
    ) -> Result<(OwnedSemaphorePermit, Ticket<'_>), ProviderError> {
        let limits = &*self.limits;
        let held_back = |wait| limits.refuse(ErrorKind::HeldBack, operation, Some(wait));
        if let Some(error) = self.refused(operation) {
            return Err(error);
        }
        let refused = limits.state().breaker.refuses(limits.time.now());
        if let Some(wait) = refused {
            return Err(held_back(wait));
        }
        let place = limits.pace(rate).await;
        let place =
            place.map_err(|wait| limits.refuse(ErrorKind::RateLimited, operation, Some(wait)))?;
        let mut ticket = limits.ticket().map_err(held_back)?;
        if ticket.probe && operation != Operation::Capabilities {
            // Nobody's object is the one that tries whether the provider is back.
            let probe = self.inner.capabilities().await;
            self.judge(Operation::Capabilities, &probe);
            ticket.report(&probe);
            ticket = limits.ticket().map_err(held_back)?;
        }
        if operation.is_write() && !self.term.allows(limits.time.now()) {
            return Err(limits.refuse(ErrorKind::NotLeading, operation, None));
        }
        // While this one waited for its turn, another may have been refused.
        match self.refused(operation) {
            Some(error) => Err(error),
            None => Ok((place, ticket)),
        }
    }
}

impl Ticket<'_> {
    /// Ends the call: what it says of the provider counts for all calls of the configuration.
    fn report<T>(self, result: &Result<T, ProviderError>) {
        let now = self.limits.time.now();
        self.limits.heed(result);
        let outcome = Outcome::of(result);
        let fraction = fastrand::f64();
        self.limits
            .with_breaker(|breaker| breaker.report(self.era, outcome, now, fraction));
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        // After a report the era is over, and nothing is given up.
        if self.probe {
            let now = self.limits.time.now();
            self.limits
                .with_breaker(|breaker| breaker.abandon(self.era, now));
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let waited = self.limits.time.now().since(self.since);
        self.limits.metrics.throttled(waited);
    }
}

impl Clock for GovernorClock {
    type Instant = Nanos;

    fn now(&self) -> Nanos {
        Nanos::new(self.0.now().as_nanos())
    }
}

#[cfg(test)]
mod tests;
