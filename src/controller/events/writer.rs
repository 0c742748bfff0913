//! The task that writes events, one after another.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::Told;
use super::metrics::{Ending, EventMetrics};
use super::series::{Book, Key, Repeat, Step};
use crate::controller::ClusterError;
use crate::domain::Moment;
use crate::runtime::clock::{Clock, wait_until};

/// Between two writes (10 ms): a burst of events leaves the API server to the loop.
const PAUSE: Duration = Duration::from_millis(10);

/// Where events are written. Each method is one bounded request, never retried.
pub trait EventApi: Send + Sync + 'static {
    /// Makes an event of this name.
    ///
    /// # Errors
    /// `Refused`, `Conflict` and `Gone` say that nothing was written.
    fn create(
        &self,
        name: &str,
        told: &Told,
    ) -> impl Future<Output = Result<(), ClusterError>> + Send;

    /// Writes into an event how often it happened.
    ///
    /// # Errors
    /// `Gone` where the event is there no more; events are kept for an hour or so.
    fn repeat(&self, repeat: &Repeat) -> impl Future<Output = Result<(), ClusterError>> + Send;
}

/// Empties the queue.
pub struct EventWriter<A> {
    api: A,
    told: mpsc::Receiver<Told>,
    book: Book,
    clock: Arc<dyn Clock>,
    metrics: EventMetrics,
    /// Between two writes.
    pause: Duration,
}

impl<A: EventApi> EventWriter<A> {
    pub(super) fn new(
        api: A,
        told: mpsc::Receiver<Told>,
        clock: Arc<dyn Clock>,
        metrics: EventMetrics,
    ) -> Self {
        Self {
            api,
            told,
            book: Book::default(),
            clock,
            metrics,
            pause: PAUSE,
        }
    }

    /// Writes events until `over` says that nothing more will be told; then it writes what is queued and what is
    /// collected, one after another, and ends. Cancelling it loses what is not written by then.
    pub async fn run(mut self, over: CancellationToken) {
        loop {
            let due = self.book.due().unwrap_or(Moment::END);
            tokio::select! {
                told = self.told.recv() => match told {
                    Some(told) => self.take(&told).await,
                    None => break,
                },
                () = wait_until(self.clock.as_ref(), due), if due < Moment::END => {}
                () = over.cancelled(), if !self.told.is_closed() => {
                    self.told.close();
                    self.pause = Duration::ZERO;
                }
            }
            self.repeat_until(self.clock.now()).await;
        }
        self.repeat_until(Moment::END).await;
    }

    /// Writes the repeats that are due by then.
    async fn repeat_until(&mut self, due: Moment) {
        while let Some((key, repeat)) = self.book.next(due) {
            self.repeat(key, &repeat).await;
        }
    }

    async fn take(&mut self, told: &Told) {
        let key = Key::of(told);
        match self.book.take(told, self.clock.now()) {
            Step::Create(name) => self.create(key, &name, told).await,
            Step::Repeat(repeat) => {
                self.metrics.count(Ending::Repeated);
                self.repeat(key, &repeat).await;
            }
            Step::Collected => self.metrics.count(Ending::Repeated),
            Step::Limited => self.metrics.count(Ending::Limited),
        }
    }

    async fn create(&mut self, key: Key, name: &str, told: &Told) {
        let result = self.api.create(name, told).await;
        self.metrics.count(match &result {
            Ok(()) => Ending::Created,
            Err(ClusterError::Unknown(_)) => Ending::Unanswered,
            Err(ClusterError::Refused(_) | ClusterError::Conflict | ClusterError::Gone) => {
                Ending::Refused
            }
        });
        self.written(key, result).await;
    }

    async fn repeat(&mut self, key: Key, repeat: &Repeat) {
        let result = self.api.repeat(repeat).await;
        self.written(key, result).await;
    }

    async fn written(&mut self, key: Key, result: Result<(), ClusterError>) {
        if let Err(error) = result {
            // Counted; a cluster that takes no events has no use for a line for each of them either.
            tracing::debug!(%error, "event not written");
            self.book.forget(&key);
        }
        wait_until(self.clock.as_ref(), self.clock.now() + self.pause).await;
    }
}
