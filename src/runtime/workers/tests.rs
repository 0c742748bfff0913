mod storm;

use super::{Drained, Ending, Observer, Options, Pass, Reconcile, Unobserved, Workers};
use crate::domain::key::ObjectKey;
use crate::runtime::clock::TokioClock;
use crate::runtime::queue::{self, WorkQueue};
use crate::runtime::schedule::{self, Job, Lane, Outcome};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tracing::Span;

const SECOND: Duration = Duration::from_secs(1);
const SECRET: &str = "canary-credential";

/// Does what the key is called; writes down what it did.
#[derive(Default)]
struct Script {
    runs: Mutex<Vec<String>>,
}

impl Script {
    fn note(&self, text: String) {
        self.runs.lock().unwrap().push(text);
    }

    fn runs_of(&self, name: &str) -> usize {
        self.runs
            .lock()
            .unwrap()
            .iter()
            .filter(|run| *run == name)
            .count()
    }
}

impl Reconcile<ObjectKey> for Script {
    fn span(&self, job: &Job<ObjectKey>, pass: u64) -> Span {
        tracing::info_span!("pass", name = %job.key.name, pass)
    }

    async fn reconcile(&self, job: &Job<ObjectKey>) -> Pass {
        let name = job.key.name.to_string();
        self.note(name.clone());
        match name.as_str() {
            "panics" => panic!("{SECRET}"),
            "hangs" => std::future::pending().await,
            "slow" => wait(20 * SECOND).await,
            _ => {}
        }
        self.note(format!("{name} done"));
        let outcome = if name == "fails" {
            Outcome::Failed { at_least: None }
        } else {
            Outcome::Settled
        };
        Pass {
            outcome,
            summary: format!("{name} was looked at"),
            changed: true,
        }
    }
}

async fn wait(time: Duration) {
    let clock = TokioClock::new();
    let until = crate::runtime::clock::Clock::now(&clock) + time;
    crate::runtime::clock::wait_until(&clock, until).await;
}

/// Blocks its thread until it is let go, as no future should.
struct Blocks {
    begun: std::sync::mpsc::Sender<()>,
    let_go: Mutex<std::sync::mpsc::Receiver<()>>,
}

impl Reconcile<ObjectKey> for Blocks {
    fn span(&self, _job: &Job<ObjectKey>, _pass: u64) -> Span {
        Span::none()
    }

    async fn reconcile(&self, _job: &Job<ObjectKey>) -> Pass {
        self.begun.send(()).unwrap();
        let _ = self.let_go.lock().unwrap().recv();
        Pass {
            outcome: Outcome::Settled,
            summary: String::new(),
            changed: false,
        }
    }
}

#[derive(Default)]
struct Notes(Mutex<Vec<Ending>>);

impl Observer for Notes {
    fn began(&self) {}

    fn ended(&self, ending: Ending, _took: Duration) {
        self.0.lock().unwrap().push(ending);
    }
}

struct Stage {
    queue: WorkQueue<ObjectKey>,
    script: Arc<Script>,
    workers: Workers<ObjectKey>,
}

fn start(concurrency: usize, observer: Arc<dyn Observer>) -> Stage {
    let clock = Arc::new(TokioClock::new());
    let options = schedule::Options {
        jitter: 0.0,
        ..schedule::Options::default()
    };
    let random = fastrand::Rng::with_seed(1);
    let queue = WorkQueue::new(options, random, clock.clone(), Arc::new(queue::Unobserved));
    let script = Arc::new(Script::default());
    let options = Options {
        concurrency: NonZeroUsize::new(concurrency).unwrap(),
        pass_limit: 60 * SECOND,
    };
    let workers = Workers::start(queue.clone(), options, script.clone(), clock, observer);
    Stage {
        queue,
        script,
        workers,
    }
}

fn add(stage: &Stage, name: &str) {
    stage.queue.add(ObjectKey::new("default", name), Lane::High);
}

#[tokio::test(start_paused = true)]
async fn a_panic_costs_its_key_a_failure_and_nobody_else_anything() {
    let notes = Arc::new(Notes::default());
    let stage = start(1, notes.clone());
    add(&stage, "panics");
    add(&stage, "fine");
    wait(SECOND / 2).await;
    assert_eq!(
        (
            stage.script.runs_of("panics"),
            stage.script.runs_of("fine done")
        ),
        (1, 1)
    );
    assert_eq!(
        *notes.0.lock().unwrap(),
        [Ending::Panicked, Ending::Answered(Outcome::Settled)]
    );
    wait(2 * SECOND).await;
    assert_eq!(
        stage.script.runs_of("panics"),
        2,
        "it comes back after its back-off"
    );
    assert_eq!(stage.workers.drain(SECOND).await, Drained { cut: 0 });
}

#[tokio::test(start_paused = true)]
async fn a_pass_that_hangs_is_dropped_at_its_limit_and_counts_as_a_failure() {
    let notes = Arc::new(Notes::default());
    let stage = start(1, notes.clone());
    add(&stage, "hangs");
    wait(61 * SECOND).await;
    assert_eq!(*notes.0.lock().unwrap(), [Ending::TimedOut]);
    wait(SECOND).await;
    assert_eq!(stage.script.runs_of("hangs"), 2);
}

#[tokio::test(start_paused = true)]
async fn a_drain_lets_passes_finish_and_begins_no_new_one() {
    let stage = start(1, Arc::new(Unobserved));
    add(&stage, "slow");
    wait(SECOND).await;
    add(&stage, "fine");
    assert_eq!(stage.workers.drain(25 * SECOND).await, Drained { cut: 0 });
    assert_eq!(
        (
            stage.script.runs_of("slow done"),
            stage.script.runs_of("fine")
        ),
        (1, 0)
    );
}

#[tokio::test(start_paused = true)]
async fn a_drain_cuts_what_is_not_finished_at_the_end_of_the_grace() {
    let stage = start(3, Arc::new(Unobserved));
    add(&stage, "slow");
    add(&stage, "hangs");
    wait(SECOND).await;
    let began = tokio::time::Instant::now();
    assert_eq!(stage.workers.drain(5 * SECOND).await, Drained { cut: 2 });
    assert_eq!(began.elapsed(), 5 * SECOND);
    wait(60 * SECOND).await;
    assert_eq!(stage.script.runs_of("slow done"), 0);
}

#[tokio::test(start_paused = true)]
async fn as_many_passes_run_at_once_as_there_are_workers() {
    let stage = start(3, Arc::new(Unobserved));
    for n in 0..9 {
        stage.queue.add(
            ObjectKey::new(format!("tenant-{n}").as_str(), "slow"),
            Lane::High,
        );
    }
    wait(10 * SECOND).await;
    assert_eq!(stage.queue.stats().running, 3);
    wait(51 * SECOND).await;
    assert_eq!(stage.script.runs_of("slow done"), 9);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pass_that_blocks_its_thread_for_ever_does_not_hold_up_a_drain() {
    let (begun, has_begun) = std::sync::mpsc::channel();
    let (let_go, gate) = std::sync::mpsc::channel();
    let blocks = Arc::new(Blocks {
        begun,
        let_go: Mutex::new(gate),
    });
    let clock = Arc::new(TokioClock::new());
    let random = fastrand::Rng::with_seed(1);
    let waits = schedule::Options::default();
    let queue = WorkQueue::new(waits, random, clock.clone(), Arc::new(queue::Unobserved));
    let options = Options {
        concurrency: NonZeroUsize::MIN,
        pass_limit: 60 * SECOND,
    };
    let workers = Workers::start(queue.clone(), options, blocks, clock, Arc::new(Unobserved));
    queue.add(ObjectKey::new("default", "any"), Lane::High);
    tokio::task::spawn_blocking(move || has_begun.recv_timeout(60 * SECOND).unwrap())
        .await
        .unwrap();
    assert_eq!(workers.drain(SECOND / 10).await, Drained { cut: 1 });
    // Only now, so that the runtime of this test can end.
    drop(let_go);
}

/// Passes that find everything as it should be wait for nothing, and after a restart or a change of a ProviderConfig there
/// are thousands of them: who shares their threads must get its turn, the renewal of the lease first of all.
#[tokio::test]
async fn ten_thousand_passes_that_wait_for_nothing_hold_up_nobody_else() {
    const WORKERS: usize = 4;
    const TURNS: usize = 100;
    let stage = start(WORKERS, Arc::new(Unobserved));
    for number in 0..10_000 {
        add(&stage, &number.to_string());
    }
    for _turn in 0..TURNS {
        tokio::task::yield_now().await;
    }
    let passes = stage.script.runs.lock().unwrap().len() / 2;
    // One a turn of each worker, not all of them.
    assert!((1..=WORKERS * TURNS).contains(&passes), "{passes} passes");
}
