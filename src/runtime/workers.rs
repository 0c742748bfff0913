//! The tasks that run passes: each takes a key, gives it a span and a time limit, survives its panic and answers
//! the queue.

use super::clock::Clock;
use super::queue::WorkQueue;
use super::schedule::{Job, Outcome, Tenant};
use futures::FutureExt;
use std::hash::Hash;
use std::num::NonZeroUsize;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::task::JoinSet;
use tracing::{Instrument, Span};

/// What is to be done with a key.
pub trait Reconcile<K>: Send + Sync + 'static {
    /// The span of a pass, with the fields that every line of it shall carry (namespace, name, uid, …). `pass` is a
    /// number that no other pass of this process has.
    fn span(&self, job: &Job<K>, pass: u64) -> Span;

    /// One pass. May be dropped at any await: by its time limit, or at the end of a drain.
    fn reconcile(&self, job: &Job<K>) -> impl Future<Output = Pass> + Send;
}

/// What a pass answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pass {
    /// When to look again.
    pub outcome: Outcome,
    /// What was done, or why it failed: the text of the one log line.
    pub summary: String,
    /// Whether something was changed in the world. A pass that only looked is logged at debug level.
    pub changed: bool,
}

/// How a pass ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It answered.
    Answered(Outcome),
    /// It panicked: a failure of its key alone.
    Panicked,
    /// It was dropped at its time limit.
    TimedOut,
}

impl Ending {
    /// What the queue is told.
    pub const fn outcome(self) -> Outcome {
        match self {
            Self::Answered(outcome) => outcome,
            Self::Panicked | Self::TimedOut => Outcome::Failed { at_least: None },
        }
    }
}

/// Who wants to know of passes: metrics. Must not block.
pub trait Observer: Send + Sync + 'static {
    /// A pass began.
    fn began(&self);

    /// A pass ended after `took`.
    fn ended(&self, ending: Ending, took: Duration);
}

/// An observer that looks away.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl Observer for Unobserved {
    fn began(&self) {}

    fn ended(&self, _ending: Ending, _took: Duration) {}
}

/// How many workers, and how long a pass may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Passes at the same time.
    pub concurrency: NonZeroUsize,
    /// The longest pass. Longer than the longest call in it, or a slow answer is never seen.
    pub pass_limit: Duration,
}

/// Workers at work. Dropping them cuts every pass at its next await.
pub struct Workers<K> {
    queue: WorkQueue<K>,
    tasks: JoinSet<()>,
}

/// What came of a drain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drained {
    /// Workers that were cut in the middle of a pass because the grace was over.
    pub cut: usize,
}

impl<K> Workers<K>
where
    K: Clone + Eq + Hash + Tenant + Send + Sync + 'static,
{
    /// Starts the workers; they run until the queue is closed.
    pub fn start<R: Reconcile<K>>(
        queue: WorkQueue<K>,
        options: Options,
        reconcile: Arc<R>,
        clock: Arc<dyn Clock>,
        observer: Arc<dyn Observer>,
    ) -> Self {
        let passes = Arc::new(AtomicU64::new(0));
        let mut tasks = JoinSet::new();
        for _ in 0..options.concurrency.get() {
            let worker = Worker {
                queue: queue.clone(),
                limit: options.pass_limit,
                reconcile: Arc::clone(&reconcile),
                clock: Arc::clone(&clock),
                observer: Arc::clone(&observer),
                passes: Arc::clone(&passes),
            };
            tasks.spawn(worker.run());
        }
        Self { queue, tasks }
    }

    /// Begins no new pass, lets those under way finish for at most `grace`, then cuts them.
    ///
    /// Returns when the grace is over even if a pass blocks its thread and cannot be cut.
    pub async fn drain(mut self, grace: Duration) -> Drained {
        self.queue.close();
        let all = async { while self.tasks.join_next().await.is_some() {} };
        // A time-out needs no further answer: what is left is counted and cut below.
        drop(tokio::time::timeout(grace, all).await);
        let cut = self.tasks.len();
        self.tasks.abort_all();
        Drained { cut }
    }
}

struct Worker<K, R> {
    queue: WorkQueue<K>,
    limit: Duration,
    reconcile: Arc<R>,
    clock: Arc<dyn Clock>,
    observer: Arc<dyn Observer>,
    passes: Arc<AtomicU64>,
}

impl<K, R> Worker<K, R>
where
    K: Clone + Eq + Hash + Tenant + Send + Sync + 'static,
    R: Reconcile<K>,
{
    async fn run(self) {
        while let Some(job) = self.queue.next().await {
            let pass = self.passes.fetch_add(1, Ordering::Relaxed) + 1;
            let began = self.clock.now();
            self.observer.began();
            let ending = self.pass(&job, pass).await;
            self.observer.ended(ending, self.clock.now().since(began));
            self.queue.done(&job.key, ending.outcome());
            // A pass that found nothing to do waited for nothing; with thousands of them the thread would never come to
            // look at sockets and timers, and the lease would run out over them.
            tokio::task::yield_now().await;
        }
    }

    async fn pass(&self, job: &Job<K>, pass: u64) -> Ending {
        let began = self.clock.now();
        let span = std::panic::catch_unwind(AssertUnwindSafe(|| self.reconcile.span(job, pass)));
        let span = span.unwrap_or_else(|payload| {
            std::mem::forget(payload);
            Span::none()
        });
        // The call itself is inside the future, so that a panic before the first await is caught too.
        let run = AssertUnwindSafe(async { self.reconcile.reconcile(job).await });
        let run = run.catch_unwind().instrument(span.clone());
        let ended = tokio::time::timeout(self.limit, run).await;
        let took_ms = millis(self.clock.now().since(began));
        let failures = job.failures.saturating_add(1);
        span.in_scope(|| match ended {
            Ok(Ok(answer)) => {
                log_pass(job, &answer, took_ms);
                Ending::Answered(answer.outcome)
            }
            Ok(Err(payload)) => {
                // The payload may hold anything, a credential too: it is neither printed nor dropped, because
                // its destructor may panic again.
                std::mem::forget(payload);
                tracing::error!(
                    failures,
                    took_ms,
                    "pass panicked: this key alone waits for its back-off"
                );
                Ending::Panicked
            }
            Err(_) => {
                tracing::warn!(
                    failures,
                    took_ms,
                    "pass reached its time limit and was dropped"
                );
                Ending::TimedOut
            }
        })
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// The one log line of a pass. A key that goes on failing is logged at its 1st, 2nd, 4th, 8th … failure in a row.
fn log_pass<K>(job: &Job<K>, pass: &Pass, took_ms: u64) {
    let (waited_ms, summary) = (millis(job.waited), pass.summary.as_str());
    match pass.outcome {
        Outcome::Failed { .. } | Outcome::Terminal => {
            let failures = job.failures.saturating_add(1);
            if failures.is_power_of_two() {
                tracing::warn!(failures, took_ms, waited_ms, "{summary}");
            } else {
                tracing::debug!(failures, took_ms, waited_ms, "{summary}");
            }
        }
        Outcome::Settled | Outcome::After(_) | Outcome::Again(_) | Outcome::Resync(_) => {
            if pass.changed || job.failures > 0 {
                tracing::info!(took_ms, waited_ms, "{summary}");
            } else {
                tracing::debug!(took_ms, waited_ms, "{summary}");
            }
        }
    }
}

#[cfg(test)]
mod tests;
