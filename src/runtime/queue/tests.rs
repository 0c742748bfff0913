use super::{Observer, Unobserved, WorkQueue};
use crate::domain::key::ObjectKey;
use crate::runtime::clock::TokioClock;
use crate::runtime::schedule::{Lane, Options, Outcome, Whereabouts};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::task::JoinSet;

const SECOND: Duration = Duration::from_secs(1);

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("default", name)
}

fn queue_with(observer: Arc<dyn Observer>) -> WorkQueue<ObjectKey> {
    let options = Options {
        jitter: 0.0,
        ..Options::default()
    };
    WorkQueue::new(
        options,
        fastrand::Rng::with_seed(1),
        Arc::new(TokioClock::new()),
        observer,
    )
}

fn queue() -> WorkQueue<ObjectKey> {
    queue_with(Arc::new(Unobserved))
}

async fn next(queue: &WorkQueue<ObjectKey>) -> Option<String> {
    queue.next().await.map(|job| job.key.name.to_string())
}

#[tokio::test(start_paused = true)]
async fn a_waiting_worker_is_woken_by_a_key() {
    let queue = queue();
    let other = queue.clone();
    let (taken, ()) = tokio::join!(next(&queue), async {
        tokio::time::advance(SECOND).await;
        other.add(key("a"), Lane::High);
    });
    assert_eq!(taken.as_deref(), Some("a"));
}

#[tokio::test(start_paused = true)]
async fn a_timer_wakes_a_waiting_worker_when_it_fires_and_not_before() {
    let queue = queue();
    let start = tokio::time::Instant::now();
    queue.add_after(key("late"), 500 * SECOND, Lane::Low);
    let other = queue.clone();
    let (taken, ()) = tokio::join!(next(&queue), async {
        tokio::time::advance(SECOND).await;
        other.add_after(key("soon"), 3 * SECOND, Lane::Low);
    });
    assert_eq!(
        (taken.as_deref(), start.elapsed().as_secs()),
        (Some("soon"), 4)
    );
    assert_eq!(next(&queue).await.as_deref(), Some("late"));
    assert_eq!(start.elapsed().as_secs(), 500);
}

#[tokio::test(start_paused = true)]
async fn many_keys_added_at_once_keep_every_worker_busy() {
    let queue = queue();
    let mut workers = JoinSet::new();
    for _ in 0..8 {
        let queue = queue.clone();
        workers.spawn(async move { next(&queue).await });
    }
    tokio::task::yield_now().await;
    for n in 0..8 {
        queue.add(key(&n.to_string()), Lane::High);
    }
    // Nobody answers, so each worker holds one key; a lost wake-up would leave one waiting for ever.
    let taken = tokio::time::timeout(SECOND, workers.join_all())
        .await
        .unwrap();
    assert_eq!(taken.iter().flatten().count(), 8);
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_stops_waiting_takes_no_key_with_it() {
    let queue = queue();
    for _ in 0..100 {
        let waiting = tokio::time::timeout(Duration::from_millis(1), queue.next());
        assert!(waiting.await.is_err());
        queue.add(key("a"), Lane::High);
        assert_eq!(next(&queue).await.as_deref(), Some("a"));
        queue.done(&key("a"), Outcome::Settled);
    }
}

#[tokio::test(start_paused = true)]
async fn closing_ends_every_wait_and_leaves_the_keys() {
    let queue = queue();
    let other = queue.clone();
    let (one, two, ()) = tokio::join!(queue.next(), queue.next(), async { other.close() });
    assert_eq!((one, two), (None, None));
    queue.add(key("a"), Lane::High);
    assert_eq!(queue.next().await, None);
    assert_eq!(queue.stats().high, 1);
}

#[tokio::test(start_paused = true)]
async fn a_failed_key_comes_back_after_its_back_off() {
    let queue = queue();
    queue.add(key("a"), Lane::High);
    let start = tokio::time::Instant::now();
    for waited in [0, 1, 3, 7, 15] {
        assert_eq!(next(&queue).await.as_deref(), Some("a"));
        assert_eq!(start.elapsed().as_secs(), waited);
        queue.done(&key("a"), Outcome::Failed { at_least: None });
    }
    queue.cut_short(key("a"));
    assert_eq!(queue.next().await.map(|job| job.failures), Some(0));
}

#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

impl Observer for Notes {
    fn taken(&self, lane: Lane, waited: Duration) {
        self.0
            .lock()
            .unwrap()
            .push(format!("taken {lane:?} {waited:?}"));
    }

    fn done(&self, outcome: Outcome, took: Duration) {
        self.0
            .lock()
            .unwrap()
            .push(format!("done {outcome:?} {took:?}"));
    }
}

#[tokio::test(start_paused = true)]
async fn the_observer_hears_how_long_keys_waited_and_ran() {
    let notes = Arc::new(Notes::default());
    let queue = queue_with(Arc::clone(&notes) as Arc<dyn Observer>);
    queue.add(key("a"), Lane::Low);
    tokio::time::advance(2 * SECOND).await;
    assert!(queue.next().await.is_some());
    tokio::time::advance(3 * SECOND).await;
    let stats = queue.stats();
    assert_eq!(
        (stats.running, stats.longest_running, stats.unfinished),
        (1, 3 * SECOND, 3 * SECOND)
    );
    queue.done(&key("a"), Outcome::Settled);
    queue.done(&key("stranger"), Outcome::Settled);
    assert_eq!(
        *notes.0.lock().unwrap(),
        ["taken Low 2s", "done Settled 3s"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_canary_is_let_out_by_the_next_worker_that_comes_for_work() {
    let queue = queue();
    queue.add(key("a"), Lane::High);
    let job = queue.next().await.unwrap();
    queue.send_canary();
    tokio::time::advance(20 * SECOND).await;
    queue.send_canary();
    assert_eq!(queue.canary_age(), 20 * SECOND, "the one worker is busy");
    queue.done(&job.key, Outcome::Settled);
    assert!(tokio::time::timeout(SECOND, queue.next()).await.is_err());
    assert_eq!(queue.canary_age(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn the_snapshot_begins_with_what_runs_and_ends_with_what_waits_longest() {
    let queue = queue();
    queue.add_after(key("far"), 90 * SECOND, Lane::Low);
    queue.add_after(key("near"), 9 * SECOND, Lane::Low);
    queue.add(key("runs"), Lane::High);
    assert!(queue.next().await.is_some());
    queue.add(key("old"), Lane::High);
    tokio::time::advance(SECOND).await;
    queue.add(key("new"), Lane::High);
    let names: Vec<String> = queue
        .snapshot()
        .iter()
        .map(|line| line.key.name.to_string())
        .collect();
    assert_eq!(names, ["runs", "old", "new", "near", "far"]);
    assert_eq!(
        queue.snapshot()[3].whereabouts,
        Whereabouts::Delayed(8 * SECOND, false)
    );
}
