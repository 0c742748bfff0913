mod fake;

use super::{
    Arrival, Broken, Event, Failure, Listener, Object, Observer, Options, Store, Wake, Watch,
    WatchStatus, Watched,
};
use crate::domain::key::ObjectKey;
use crate::domain::time::Moment;
use crate::runtime::clock::{Clock, TokioClock, wait_until};
use fake::{Answer, Line, Server, broken, object};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// Writes everything down as it is told.
#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

impl Notes {
    fn note(&self, text: String) {
        self.0.lock().unwrap().push(text);
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

fn told(object: &Object<ConfigMap>) -> String {
    let meta = object.meta();
    let version = meta.resource_version.as_deref().unwrap_or("?");
    let state = if object.sound().is_some() {
        ""
    } else {
        " broken"
    };
    format!("{}@{version}{state}", meta.name.as_deref().unwrap_or("?"))
}

/// The fingerprint is the object's data, so annotations and versions wake nobody.
impl Listener<ConfigMap> for Notes {
    fn prune(&self, object: &mut ConfigMap) {
        object.binary_data = None;
    }

    fn fingerprint(&self, object: &ConfigMap) -> u64 {
        let watched = Watched {
            labels: &["color"],
            ..Watched::default()
        };
        watched.fingerprint(&object.metadata)
    }

    fn on_event(&self, event: Event<ConfigMap>) {
        self.note(match event {
            Event::Created(new) => format!("created {}", told(&new)),
            Event::Added(new) => format!("added {}", told(&new)),
            Event::Changed { old, new } => format!("changed {} to {}", told(&old), told(&new)),
            Event::Removed(last) => format!("removed {}", told(&last)),
            Event::Listed => "listed".to_owned(),
        });
    }

    fn wake(&self, key: &ObjectKey, why: Wake) {
        self.note(format!("wake {key} {why:?}"));
    }
}

impl Observer for Notes {
    fn broken(&self, kind: &str) {
        self.note(format!("{kind} does not fit"));
    }

    fn failed(&self, _kind: &str, failure: &Failure) {
        self.note(format!("{} failed {:?}", failure.step, failure.code));
    }
}

struct Stage {
    server: Server,
    clock: Arc<TokioClock>,
    notes: Arc<Notes>,
    store: Store<ConfigMap>,
    status: Arc<WatchStatus>,
    _task: tokio::task::JoinSet<()>,
}

impl Stage {
    /// Starts a watch on a server that gives these answers, in this order, and then hangs.
    fn start(answers: Vec<Answer>) -> Self {
        let server = Server::new(answers);
        let (clock, notes) = (Arc::new(TokioClock::new()), Arc::new(Notes::default()));
        let random = fastrand::Rng::with_seed(5);
        let watch = Watch::new(
            server.api(),
            Options::default(),
            notes.clone(),
            clock.clone(),
            random,
            notes.clone(),
        );
        let (store, status) = (watch.store(), watch.status());
        let mut task = tokio::task::JoinSet::new();
        task.spawn(watch.run());
        Self {
            server,
            clock,
            notes,
            store,
            status,
            _task: task,
        }
    }

    fn now(&self) -> Moment {
        self.clock.now()
    }

    /// Lets `time` pass; what was told meanwhile.
    async fn after(&self, time: Duration) -> Vec<String> {
        wait_until(self.clock.as_ref(), self.now() + time).await;
        self.notes.take()
    }

    fn versions(&self) -> Vec<String> {
        let mut versions: Vec<String> = self.store.all().iter().map(told).collect();
        versions.sort();
        versions
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_list_wakes_every_object_in_the_slow_way_and_then_is_complete() {
    let stage = Stage::start(vec![
        Answer::page(vec![object("a", 1)], 10, Some("more")),
        Answer::page(vec![object("b", 2)], 10, None),
    ]);
    assert!(!stage.store.is_listed());
    assert!(stage.store.listed().await);
    let told = stage.after(SECOND).await;
    assert_eq!(
        told,
        [
            "added a@1",
            "wake default/a Listed",
            "added b@2",
            "wake default/b Listed",
            "listed"
        ]
    );
    let requests = stage.server.requests();
    assert_eq!(requests.len(), 3);
    assert!(
        requests[0].contains("limit=500") && !requests[0].contains("continue"),
        "{requests:?}"
    );
    assert!(requests[1].contains("continue=more"), "{requests:?}");
    assert!(
        requests[2].contains("watch=true") && requests[2].contains("resourceVersion=10"),
        "{requests:?}"
    );
    assert!(
        requests[2].contains("allowWatchBookmarks=true"),
        "{requests:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn every_version_is_told_and_only_changes_that_matter_wake() {
    let stage = Stage::start(vec![
        Answer::page(vec![object("a", 1)], 1, None),
        Answer::watch(vec![
            Line::event("MODIFIED", object("a", 2)),
            Line::event("MODIFIED", fake::labelled("a", 3, "red")),
            Line::event("ADDED", object("b", 4)),
            Line::event("DELETED", object("a", 5)),
            Line::event("DELETED", object("stranger", 6)),
        ]),
    ]);
    let told = stage.after(SECOND).await;
    let expected = [
        "changed a@1 to a@2",
        "changed a@2 to a@3",
        "wake default/a Changed",
        "created b@4",
        "wake default/b Changed",
        "removed a@5",
        "wake default/a Changed",
    ];
    assert_eq!(told[3..], expected);
    assert_eq!(stage.versions(), ["b@4"]);
}

#[tokio::test(start_paused = true)]
async fn objects_are_pruned_before_they_are_stored() {
    let mut heavy = object("a", 1);
    heavy["metadata"]["managedFields"] = serde_json::json!([{"manager": "kubectl"}]);
    heavy["metadata"]["annotations"] = serde_json::json!({"kubectl.kubernetes.io/last-applied-configuration": "{}", "kept": "yes"});
    heavy["binaryData"] = serde_json::json!({"blob": "AAAA"});
    let stage = Stage::start(vec![Answer::page(vec![heavy], 1, None)]);
    assert!(stage.store.listed().await);
    let stored = stage.store.get(&ObjectKey::new("default", "a")).unwrap();
    let stored = stored.sound().unwrap();
    assert_eq!(
        (&stored.metadata.managed_fields, &stored.binary_data),
        (&None, &None)
    );
    assert_eq!(stored.annotations().keys().collect::<Vec<_>>(), ["kept"]);
}

#[tokio::test(start_paused = true)]
async fn an_object_that_does_not_fit_stops_nothing_and_can_still_be_handled() {
    let stage = Stage::start(vec![
        Answer::page(
            vec![object("a", 1), broken("bad", 2), object("z", 3)],
            3,
            None,
        ),
        Answer::watch(vec![
            Line::After(1),
            Line::event("MODIFIED", broken("bad", 4)),
            Line::event("MODIFIED", object("bad", 5)),
            Line::event("MODIFIED", broken("a", 6)),
            Line::event("DELETED", broken("a", 7)),
        ]),
    ]);
    assert!(stage.store.listed().await);
    let Some(Object::Broken(bad)) = stage.store.get(&ObjectKey::new("default", "bad")) else {
        panic!()
    };
    let Broken {
        metadata,
        spec,
        status,
        error,
    } = bad.as_ref();
    assert_eq!(spec.as_ref().unwrap()["size"], "small");
    assert_eq!(
        (metadata.uid.as_deref(), metadata.generation),
        (Some("uid-bad"), Some(1))
    );
    assert_eq!(
        metadata.finalizers.as_deref(),
        Some(&["example.com/keep".to_owned()][..])
    );
    assert_eq!(status.as_ref().unwrap()["id"], "vm-7");
    assert!(error.contains("invalid type"), "{error}");
    let told = stage.after(2 * SECOND).await;
    let expected = [
        "added a@1",
        "wake default/a Listed",
        "ConfigMap does not fit",
        "added bad@2 broken",
        "wake default/bad Listed",
        "added z@3",
        "wake default/z Listed",
        "listed",
        "ConfigMap does not fit",
        "changed bad@2 broken to bad@4 broken",
        "changed bad@4 broken to bad@5",
        "wake default/bad Changed",
        "ConfigMap does not fit",
        "changed a@1 to a@6 broken",
        "wake default/a Changed",
        "ConfigMap does not fit",
        "removed a@7 broken",
        "wake default/a Changed",
    ];
    assert_eq!(told, expected);
}

#[test]
fn even_metadata_that_does_not_fit_leaves_a_name() {
    let value = serde_json::json!({"metadata": {"name": "a", "namespace": "n", "uid": "u", "resourceVersion": "1",
        "labels": {"broken": 7}}, "data": {"x": "y"}});
    let Arrival::<ConfigMap>::Broken(broken) = serde_json::from_value(value).unwrap() else {
        panic!()
    };
    let meta = &broken.metadata;
    assert_eq!(
        (meta.name.as_deref(), meta.namespace.as_deref()),
        (Some("a"), Some("n"))
    );
    assert_eq!(
        (meta.uid.as_deref(), meta.resource_version.as_deref()),
        (Some("u"), Some("1"))
    );
}

#[tokio::test(start_paused = true)]
async fn an_expired_version_lists_again_and_finds_what_changed_in_the_gap() {
    for gone in [Answer::watch(vec![Line::error(410)]), Answer::Refuse(410)] {
        let mut reborn = object("reborn", 21);
        reborn["metadata"]["uid"] = "another".into();
        let stage = Stage::start(vec![
            Answer::page(
                vec![object("gone", 1), object("reborn", 2), object("same", 3)],
                3,
                None,
            ),
            gone,
            Answer::page(vec![object("new", 20), reborn, object("same", 3)], 30, None),
        ]);
        let told = stage.after(2 * SECOND).await;
        let at = told
            .iter()
            .position(|line| line.ends_with("failed Some(410)"))
            .unwrap();
        let expected = [
            "added new@20",
            "wake default/new Changed",
            "removed reborn@2",
            "added reborn@21",
            "wake default/reborn Changed",
            "removed gone@1",
            "wake default/gone Changed",
            "listed",
        ];
        assert_eq!(told[at + 1..], expected);
        assert_eq!(stage.status.lists(), 2);
        assert!(
            stage
                .server
                .requests()
                .last()
                .unwrap()
                .contains("resourceVersion=30")
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_ends_is_resumed_from_the_last_version_or_bookmark() {
    let stage = Stage::start(vec![
        Answer::page(vec![object("a", 1)], 1, None),
        Answer::watch(vec![Line::event("MODIFIED", object("a", 7)), Line::End]),
        Answer::watch(vec![Line::bookmark(9), Line::After(50), Line::End]),
    ]);
    stage.after(60 * SECOND).await;
    let from: Vec<String> = stage.server.requests()[1..]
        .iter()
        .map(|request| fake::version_of(request))
        .collect();
    assert_eq!(from, ["1", "7", "9"]);
    assert_eq!(stage.status.lists(), 1);
}

#[tokio::test(start_paused = true)]
async fn while_lists_fail_the_pause_grows() {
    let stage = Stage::start((0..1000).map(|_| Answer::Refuse(503)).collect());
    let told = stage.after(600 * SECOND).await;
    assert!(
        (20..=32).contains(&told.len()),
        "{} lists in ten minutes",
        told.len()
    );
    assert_eq!(told[0], "list failed Some(503)");
    assert_eq!(stage.status.failure().unwrap().code, Some(503));
    assert!(
        stage.now().since(stage.status.last_beat()) <= 31 * SECOND,
        "failing is turning"
    );
    assert!(stage.now().since(stage.status.last_heard()) >= 599 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_list_that_works_does_not_reset_the_pause_of_a_watch_that_does_not() {
    let mut answers = Vec::new();
    for _ in 0..200 {
        answers.push(Answer::page(vec![object("a", 1)], 1, None));
        answers.extend((0..12).map(|_| Answer::Refuse(403)));
    }
    let stage = Stage::start(answers);
    let told = stage.after(600 * SECOND).await;
    let refused = told
        .iter()
        .filter(|line| *line == "watch failed Some(403)")
        .count();
    assert!(
        (20..=32).contains(&refused),
        "{refused} watches in ten minutes"
    );
    assert_eq!(
        stage.status.lists(),
        1 + refused as u64 / 12,
        "twelve refusals list again"
    );
}

#[tokio::test(start_paused = true)]
async fn a_proxy_that_ends_every_watch_at_once_is_not_asked_in_a_tight_loop() {
    let mut answers = vec![Answer::page(vec![], 1, None)];
    answers.extend((0..1000).map(|_| Answer::watch(vec![Line::End])));
    let stage = Stage::start(answers);
    stage.after(600 * SECOND).await;
    let requests = stage.server.requests().len();
    assert!(
        (20..=33).contains(&requests),
        "{requests} requests in ten minutes"
    );
}

#[tokio::test(start_paused = true)]
async fn the_pause_is_short_again_after_the_first_event() {
    let mut answers = vec![Answer::page(vec![], 1, None)];
    answers.extend((0..10).map(|_| Answer::Refuse(500)));
    answers.push(Answer::watch(vec![
        Line::event("ADDED", object("a", 2)),
        Line::error(500),
    ]));
    answers.push(Answer::watch(vec![Line::event("ADDED", object("b", 3))]));
    let stage = Stage::start(answers);
    while stage.store.is_empty() {
        stage.after(SECOND / 10).await;
    }
    stage.after(SECOND).await;
    assert_eq!(stage.store.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_dead_connection_is_noticed_within_a_minute_even_after_events() {
    let stage = Stage::start(vec![
        Answer::page(vec![], 1, None),
        Answer::watch(vec![
            Line::After(40),
            Line::event("ADDED", object("a", 2)),
            Line::Hang,
        ]),
        Answer::watch(vec![Line::event("ADDED", object("b", 3))]),
    ]);
    stage.after(62 * SECOND).await;
    assert_eq!(stage.versions(), ["a@2", "b@3"]);
}

#[tokio::test(start_paused = true)]
async fn a_quiet_kind_does_not_look_dead() {
    let mut answers = vec![Answer::page(vec![], 1, None)];
    answers.extend((0..100).map(|_| Answer::watch(vec![Line::After(50), Line::End])));
    let stage = Stage::start(answers);
    for _ in 0..60 {
        stage.after(60 * SECOND).await;
        assert!(stage.now().since(stage.status.last_beat()) <= 60 * SECOND);
        assert!(stage.now().since(stage.status.last_heard()) <= 60 * SECOND);
    }
    assert_eq!(stage.status.failure(), None);
}

#[tokio::test(start_paused = true)]
async fn an_api_server_that_does_not_answer_a_list_is_asked_again() {
    let stage = Stage::start(vec![
        Answer::Hang,
        Answer::page(vec![object("a", 1)], 1, None),
    ]);
    let told = stage.after(32 * SECOND).await;
    assert_eq!(told[0], "list failed None");
    assert!(stage.store.is_listed());
}

#[tokio::test(start_paused = true)]
async fn a_line_that_is_no_event_breaks_one_watch_and_not_the_loop() {
    let stage = Stage::start(vec![
        Answer::page(vec![], 1, None),
        Answer::watch(vec![Line::Raw("<html>"), Line::Hang]),
        Answer::watch(vec![Line::event("ADDED", object("a", 2))]),
    ]);
    stage.after(3 * SECOND).await;
    assert_eq!(stage.versions(), ["a@2"]);
}

#[tokio::test(start_paused = true)]
async fn a_list_that_fails_half_way_removes_nothing() {
    let stage = Stage::start(vec![
        Answer::page(vec![object("a", 1), object("b", 2)], 2, None),
        Answer::Refuse(410),
        Answer::page(vec![object("b", 2)], 9, Some("more")),
        Answer::Refuse(410),
        Answer::page(vec![object("a", 1)], 9, Some("more")),
        Answer::page(vec![object("b", 2)], 9, None),
    ]);
    let told = stage.after(20 * SECOND).await;
    assert!(
        !told.iter().any(|line| line.starts_with("removed")),
        "{told:?}"
    );
    assert_eq!(stage.status.lists(), 2);
}

#[test]
fn the_fingerprint_covers_what_is_named_and_nothing_else() {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
    let watched = Watched {
        finalizer: "ours",
        annotation_prefix: "example.com/",
        labels: &["color"],
    };
    let base = ObjectMeta {
        uid: Some("u".to_owned()),
        generation: Some(1),
        ..ObjectMeta::default()
    };
    let print = |edit: &dyn Fn(&mut ObjectMeta)| {
        let mut meta = base.clone();
        edit(&mut meta);
        watched.fingerprint(&meta)
    };
    let same = print(&|_| {});
    let text = |text: &str| text.to_owned();
    assert_eq!(print(&|meta| meta.resource_version = Some(text("9"))), same);
    assert_eq!(
        print(&|meta| meta.finalizers = Some(vec![text("theirs")])),
        same
    );
    assert_eq!(
        print(&|meta| meta.annotations = Some([(text("other"), text("x"))].into())),
        same
    );
    assert_eq!(
        print(&|meta| meta.labels = Some([(text("size"), text("x"))].into())),
        same
    );
    let different = [
        print(&|meta| meta.uid = Some(text("v"))),
        print(&|meta| meta.generation = Some(2)),
        print(&|meta| meta.finalizers = Some(vec![text("theirs"), text("ours")])),
        print(&|meta| meta.annotations = Some([(text("example.com/x"), text("x"))].into())),
        print(&|meta| meta.labels = Some([(text("color"), text("red"))].into())),
    ];
    assert!(
        different.iter().all(|print| *print != same),
        "{different:?}"
    );
}
