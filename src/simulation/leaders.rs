//! Leaders that write: the production election, limiter, breaker and fence together, on machines whose links fail. No
//! write to the provider starts outside the term of whoever sends it. A client that repeats by itself what failed is
//! found.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::domain::{
    Capabilities, CreateBody, ErrorKind, IdempotencyKey, Instance, InstanceId, Moment, Operation,
    Owner, ProviderError, Term,
};
use crate::provider::{LimitOptions, Limited, Limits, Metrics, Provider, Timers};
use crate::runtime::clock::{Clock, wait_until};
use crate::runtime::leader::tests::swarm::{End, MachineClock, Measure, Work, run};

/// Seeds of the ordinary run.
const SEEDS: u64 = 12;
/// Seeds in which a planted bug must be found.
const BUDGET: u64 = 40;

/// What was written in a run.
#[derive(Clone, Debug, Default)]
struct Book {
    starts: u32,
    outside: u32,
}

/// The provider's door, beneath the fence: writes take a while, and many fail.
struct Door {
    term: Term,
    clock: Arc<MachineClock>,
    random: Mutex<fastrand::Rng>,
    book: Arc<Mutex<Book>>,
    /// Planted: what failed is repeated here.
    repeats: bool,
}

impl Door {
    fn draw(&self, below: u64) -> u64 {
        self.random.lock().unwrap().u64(..below)
    }

    /// One write, which starts now.
    async fn write(&self) -> Result<(), ProviderError> {
        {
            let mut book = self.book.lock().unwrap();
            book.starts += 1;
            book.outside += u32::from(!self.term.allows(self.clock.now()));
        }
        let takes = Duration::from_millis(self.draw(6_000));
        wait_until(self.clock.as_ref(), self.clock.now() + takes).await;
        if self.draw(3) == 0 {
            let (kind, operation) = (ErrorKind::Unavailable, Operation::Delete);
            return Err(ProviderError::without_answer(kind, operation));
        }
        Ok(())
    }

    fn never<T>(&self, operation: Operation) -> Result<T, ProviderError> {
        Err(ProviderError::without_answer(
            ErrorKind::NotFound,
            operation,
        ))
    }
}

impl Provider for Door {
    async fn capabilities(&self) -> Result<Capabilities, ProviderError> {
        Ok(Capabilities::default())
    }

    async fn create(
        &self,
        _: &IdempotencyKey,
        _: &CreateBody,
        _: Moment,
    ) -> Result<Instance, ProviderError> {
        self.never(Operation::Create)
    }

    async fn get(&self, _: &InstanceId) -> Result<Instance, ProviderError> {
        self.never(Operation::Get)
    }

    async fn find(&self, _: &Owner) -> Result<Vec<Instance>, ProviderError> {
        self.never(Operation::List)
    }

    async fn delete(&self, _: &InstanceId) -> Result<(), ProviderError> {
        let result = self.write().await;
        if self.repeats && result.is_err() {
            return self.write().await;
        }
        result
    }
}

/// Writes one after the other, through the production client.
fn writes(book: &Arc<Mutex<Book>>, repeats: bool) -> Work {
    let book = Arc::clone(book);
    Arc::new(move |term: Term, clock: Arc<MachineClock>, seed: u64| {
        let door = Door {
            term: term.clone(),
            clock: Arc::clone(&clock),
            random: Mutex::new(fastrand::Rng::with_seed(seed)),
            book: Arc::clone(&book),
            repeats,
        };
        Box::pin(write_on(door, term, clock)) as Pin<Box<dyn Future<Output = ()> + Send>>
    })
}

async fn write_on(door: Door, term: Term, clock: Arc<MachineClock>) {
    let time = Timers({
        let clock = Arc::clone(&clock);
        move || clock.now()
    });
    let limits = Limits::new(LimitOptions::default(), Metrics::new(), Arc::new(time));
    let client = Limited::new(door, Arc::new(limits), term);
    let id = InstanceId::new("vm-1");
    loop {
        drop(client.delete(&id).await);
        wait_until(clock.as_ref(), clock.now() + Duration::from_millis(200)).await;
    }
}

/// Runs a seed; gives how it ended and what was written.
async fn write_through(seed: u64, repeats: bool) -> (End, Book) {
    fastrand::seed(seed);
    let book = Arc::default();
    let end = run(seed, Measure::Boottime, writes(&book, repeats)).await;
    let book = book.lock().unwrap().clone();
    (end, book)
}

#[tokio::test(start_paused = true)]
async fn no_write_starts_outside_the_term_of_its_leader_whatever_happens_to_the_lease() {
    let mut starts = 0;
    for seed in 0..SEEDS {
        let (end, book) = write_through(seed, false).await;
        assert_eq!(end, End::Well, "seed {seed}");
        assert_eq!(book.outside, 0, "seed {seed}: {book:?}");
        starts += book.starts;
    }
    println!("{starts} writes in {SEEDS} seeds");
    assert!(starts > 100, "{starts} writes are none");
}

#[tokio::test(start_paused = true)]
async fn a_retry_below_the_fence_is_found() {
    for seed in 0..BUDGET {
        let (_, book) = write_through(seed, true).await;
        if book.outside > 0 {
            println!("retry below the fence: {} seeds", seed + 1);
            return;
        }
    }
    panic!("not found in {BUDGET} seeds");
}
