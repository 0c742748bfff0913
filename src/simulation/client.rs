//! The client of one process: the production limiter, breaker and fence of the term, on the world's time; beneath them
//! the wire.

use std::future::Future;
use std::num::NonZeroU32;
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use super::swarm::Swarm;
use super::wire::{SimClock, Wire};
use crate::domain::{
    Capabilities, CreateBody, IdempotencyKey, Instance, InstanceId, Moment, Owner, ProviderError,
    Term,
};
use crate::provider::{BreakerPolicy, LimitOptions, Limited, Limits, Metrics, Provider, Time};
use crate::runtime::clock::Clock;

/// What a pass calls.
pub(super) type Client = Limited<Below>;

/// How processes of a world reach the cloud.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub(super) limits: LimitOptions,
    /// Planted: what failed is repeated beneath the fence.
    pub(super) repeats: bool,
}

impl Access {
    /// Narrow limits and a nervous breaker where the word `limiter` is on, else those of a default ProviderConfig.
    pub(super) fn of(swarm: &Swarm, repeats: bool) -> Self {
        let mut limits = LimitOptions::default();
        if swarm.words.limiter {
            limits.requests_per_second = NonZeroU32::MIN;
            limits.burst = NonZeroU32::MIN;
            limits.max_in_flight = NonZeroU32::MIN;
            limits.breaker = BreakerPolicy {
                failures: 2,
                ..BreakerPolicy::default()
            };
        }
        Self { limits, repeats }
    }

    /// A client whose writes are sent within this term.
    pub(super) fn client(self, wire: Wire, term: Term, timers: &Timers) -> Client {
        let below = Below {
            wire,
            repeats: self.repeats,
        };
        let limits = Limits::new(self.limits, metrics(), Arc::new(timers.clone()));
        Limited::new(below, Arc::new(limits), term)
    }
}

/// Nobody reads them, and making them is dear.
fn metrics() -> Metrics {
    static METRICS: OnceLock<Metrics> = OnceLock::new();
    METRICS.get_or_init(Metrics::new).clone()
}

/// What lies beneath the limiter.
pub(super) struct Below {
    wire: Wire,
    repeats: bool,
}

impl Below {
    /// Whether this failure is one that a client with the planted bug tries again by itself.
    fn tries_again<T>(&self, result: &Result<T, ProviderError>) -> bool {
        let failed = |error: &ProviderError| error.kind.may_have_happened();
        self.repeats && result.as_ref().is_err_and(failed)
    }
}

impl Provider for Below {
    async fn capabilities(&self) -> Result<Capabilities, ProviderError> {
        self.wire.capabilities().await
    }

    async fn create(
        &self,
        key: &IdempotencyKey,
        body: &CreateBody,
        start_before: Moment,
    ) -> Result<Instance, ProviderError> {
        let result = self.wire.create(key, body, start_before).await;
        if self.tries_again(&result) {
            return self.wire.create(key, body, start_before).await;
        }
        result
    }

    async fn get(&self, id: &InstanceId) -> Result<Instance, ProviderError> {
        self.wire.get(id).await
    }

    async fn find(&self, owner: &Owner) -> Result<Vec<Instance>, ProviderError> {
        self.wire.find(owner).await
    }

    async fn delete(&self, id: &InstanceId) -> Result<(), ProviderError> {
        let result = self.wire.delete(id).await;
        if self.tries_again(&result) {
            return self.wire.delete(id).await;
        }
        result
    }
}

/// The timers of one process, by the world's clock. The world polls whoever sleeps when the time has come.
#[derive(Clone, Debug)]
pub(super) struct Timers {
    clock: SimClock,
    set: Arc<Mutex<Vec<Moment>>>,
}

impl Timers {
    pub(super) fn new(clock: SimClock) -> Self {
        Self {
            clock,
            set: Arc::default(),
        }
    }

    /// When the next one is over.
    pub(super) fn next(&self) -> Option<Moment> {
        self.set.lock().unwrap().iter().min().copied()
    }
}

impl Time for Timers {
    fn now(&self) -> Moment {
        self.clock.now()
    }

    fn sleep(&self, wait: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(Sleep {
            timers: self.clone(),
            until: self.now() + wait,
            set: false,
        })
    }
}

/// Counts among the timers from its first poll to its end.
struct Sleep {
    timers: Timers,
    until: Moment,
    set: bool,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.timers.now() >= self.until {
            return Poll::Ready(());
        }
        if !self.set {
            self.set = true;
            self.timers.set.lock().unwrap().push(self.until);
        }
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        let mut set = self.timers.set.lock().unwrap();
        if self.set
            && let Some(at) = set.iter().position(|until| *until == self.until)
        {
            set.swap_remove(at);
        }
    }
}
