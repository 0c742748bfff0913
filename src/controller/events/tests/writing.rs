//! Queue and writer under paused time, against an API server in memory.

use std::sync::Mutex;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::*;
use crate::controller::ClusterError;
use crate::controller::events::series::Repeat;
use crate::runtime::clock::TokioClock;

/// What it was asked, and what it answers.
#[derive(Clone, Default)]
struct Api {
    asked: Arc<Mutex<Vec<String>>>,
    answer: Arc<Mutex<Option<ClusterError>>>,
    silent: Arc<Mutex<bool>>,
}

impl Api {
    async fn call(&self, what: String) -> Result<(), ClusterError> {
        self.asked.lock().unwrap().push(what);
        if *self.silent.lock().unwrap() {
            std::future::pending::<()>().await;
        }
        self.answer.lock().unwrap().clone().map_or(Ok(()), Err)
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl EventApi for Api {
    async fn create(&self, _: &str, told: &Told) -> Result<(), ClusterError> {
        self.call(format!("create {}", told.event.reason)).await
    }

    async fn repeat(&self, repeat: &Repeat) -> Result<(), ClusterError> {
        self.call(format!("count {}", repeat.count)).await
    }
}

struct Rig {
    api: Api,
    queue: EventQueue,
    metrics: EventMetrics,
    over: CancellationToken,
    writing: tokio::task::JoinHandle<()>,
}

impl Rig {
    /// A queue with room for `room`, emptied by a running task.
    fn start(room: usize) -> Self {
        let (api, metrics) = (Api::default(), EventMetrics::default());
        let clock = Arc::new(TokioClock::new());
        let (queue, writer) = EventQueue::with_room(api.clone(), clock, metrics.clone(), room);
        let over = CancellationToken::new();
        #[expect(
            clippy::disallowed_methods,
            reason = "the operator's part is the test's"
        )]
        let writing = tokio::spawn(writer.run(over.clone()));
        Self {
            api,
            queue,
            metrics,
            over,
            writing,
        }
    }

    fn tell(&self, name: &str, reason: Reason) {
        let event = Event::new(reason, Deed::Observe, "as it is");
        self.queue.tell(about(name), event);
    }

    fn count(&self, ending: Ending) -> u64 {
        self.metrics.of(ending)
    }
}

#[expect(clippy::disallowed_methods, reason = "time is paused")]
async fn after(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn what_repeats_is_one_event_with_a_count() {
    let rig = Rig::start(100);
    for _ in 0..50 {
        rig.tell("web-1", Reason::Stopped);
    }
    after(2).await;
    assert_eq!(rig.api.asked(), ["create Stopped", "count 2"]);
    after(120).await;
    assert_eq!(rig.api.asked(), ["create Stopped", "count 2", "count 50"]);
    assert_eq!(
        (rig.count(Ending::Created), rig.count(Ending::Repeated)),
        (1, 49)
    );
    after(3_600).await;
    assert_eq!(rig.api.asked().len(), 3, "nothing is written at rest");
}

#[tokio::test(start_paused = true)]
async fn a_silent_api_server_holds_up_nobody_and_the_rest_is_dropped_and_counted() {
    let rig = Rig::start(3);
    *rig.api.silent.lock().unwrap() = true;
    rig.tell("web-0", Reason::Created);
    after(1).await;
    assert_eq!(rig.api.asked().len(), 1, "under way for ever");
    // Telling is no future: it cannot wait.
    for number in 1..=10 {
        rig.tell(&format!("web-{number}"), Reason::Created);
    }
    assert_eq!(rig.count(Ending::Full), 7);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_counted_and_the_next_of_its_kind_is_tried_anew() {
    let rig = Rig::start(100);
    let refused = ClusterError::Refused("the namespace is being terminated".to_owned());
    *rig.api.answer.lock().unwrap() = Some(refused);
    rig.tell("web-1", Reason::Deleted);
    after(1).await;
    *rig.api.answer.lock().unwrap() = Some(ClusterError::Unknown("no answer".to_owned()));
    rig.tell("web-1", Reason::Deleted);
    after(1).await;
    *rig.api.answer.lock().unwrap() = None;
    rig.tell("web-1", Reason::Deleted);
    after(1).await;
    assert_eq!(rig.api.asked(), ["create Deleted"; 3]);
    let counts = [Ending::Refused, Ending::Unanswered, Ending::Created];
    assert_eq!(counts.map(|ending| rig.count(ending)), [1, 1, 1]);
}

#[tokio::test(start_paused = true)]
async fn an_event_that_is_kept_no_more_is_made_anew() {
    let rig = Rig::start(100);
    rig.tell("web-1", Reason::Stopped);
    after(1).await;
    *rig.api.answer.lock().unwrap() = Some(ClusterError::Gone);
    rig.tell("web-1", Reason::Stopped);
    after(1).await;
    *rig.api.answer.lock().unwrap() = None;
    rig.tell("web-1", Reason::Stopped);
    after(1).await;
    assert_eq!(
        rig.api.asked(),
        ["create Stopped", "count 2", "create Stopped"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_storm_of_one_object_is_limited() {
    let rig = Rig::start(1_000);
    for number in 0..100 {
        let event = Event::new(Reason::Stopped, Deed::Observe, &format!("{number}"));
        rig.queue.tell(about("web-1"), event);
    }
    after(5).await;
    assert_eq!(
        (rig.count(Ending::Created), rig.count(Ending::Limited)),
        (20, 80)
    );
}

#[tokio::test(start_paused = true)]
async fn who_stops_writes_what_is_queued_and_what_is_collected_and_then_ends() {
    let rig = Rig::start(1_000);
    for number in 0..300 {
        rig.tell(&format!("web-{number}"), Reason::Created);
    }
    for _ in 0..5 {
        rig.tell("web-0", Reason::Stopped);
    }
    rig.over.cancel();
    rig.writing.await.unwrap();
    let asked = rig.api.asked();
    let made = asked.iter().filter(|one| one.starts_with("create"));
    assert_eq!(made.count(), 301);
    assert_eq!(asked.last().map(String::as_str), Some("count 5"));
}

#[tokio::test(start_paused = true)]
async fn what_is_told_after_the_end_is_counted_as_dropped() {
    let rig = Rig::start(10);
    rig.over.cancel();
    rig.writing.await.unwrap();
    let event = Event::new(Reason::Created, Deed::Create, "late");
    rig.queue.tell(about("web-1"), event);
    assert_eq!(rig.metrics.of(Ending::Full), 1);
    assert!(rig.api.asked().is_empty());
}

#[test]
fn an_event_has_every_field_that_the_api_server_asks_for() {
    let reporter = Reporter::new(&"p".repeat(300));
    let told = told("web-1", Reason::InstanceFailed, "as it is", 0);
    let event = serde_json::to_value(reporter.event("web-1.01", &told)).unwrap();
    assert_eq!(event["apiVersion"], "events.k8s.io/v1");
    let regarding = &event["regarding"];
    assert_eq!(regarding["kind"], "VirtualMachine");
    assert_eq!(regarding["apiVersion"], "compute.example.com/v1");
    assert_eq!(regarding["name"], "web-1");
    assert_eq!(regarding["namespace"], "team-a");
    assert_eq!(regarding["uid"], "uid-of-web-1");
    assert_eq!(event["metadata"]["namespace"], "team-a");
    assert_eq!(event["type"], "Warning");
    assert_eq!(event["reason"], "InstanceFailed");
    assert_eq!(event["action"], "Observe");
    assert_eq!(
        event["reportingController"],
        "compute.example.com/vmoperator"
    );
    assert_eq!(event["reportingInstance"].as_str().unwrap().len(), 128);
    assert_eq!(event["eventTime"], "2023-11-14T22:13:20.000000Z");
}
