mod failures;
mod fake;
mod fuzz;
mod history;

use super::{
    Arrival, Broken, Event, Failure, Listener, Object, Observer, Options, Store, Wake, Watch,
    WatchStatus, Watched,
};
use crate::domain::key::ObjectKey;
use crate::domain::time::Moment;
use crate::runtime::clock::{Clock, TokioClock, wait_until};
use fake::{Answer, Line, Server, broken, labelled, object};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use kube::core::WatchEvent;
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

    fn keeps(&self, object: &ConfigMap) -> bool {
        let labels = object.metadata.labels.as_ref();
        labels.is_none_or(|labels| labels.get("color").is_none_or(|color| color != "foreign"))
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
            Event::ListingAgain => "listing again".to_owned(),
            Event::WentBack => "went back".to_owned(),
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
async fn what_concerns_nobody_is_not_stored_until_it_does_and_no_longer() {
    let stage = Stage::start(vec![
        Answer::page(vec![labelled("a", 1, "foreign"), object("b", 2)], 2, None),
        Answer::watch(vec![
            Line::event("ADDED", labelled("c", 3, "foreign")),
            Line::event("MODIFIED", object("a", 4)),
            Line::event("MODIFIED", labelled("b", 5, "foreign")),
            Line::event("DELETED", object("never-told", 6)),
            Line::event("DELETED", labelled("c", 7, "foreign")),
            Line::Hang,
        ]),
    ]);
    let told = stage.after(SECOND).await;
    assert_eq!(
        told,
        [
            "added b@2",
            "wake default/b Listed",
            "listed",
            "added a@4",
            "wake default/a Changed",
            "removed b@5",
            "wake default/b Changed",
            "wake default/never-told Changed",
        ]
    );
    assert_eq!(stage.store.len(), 1);
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

#[test]
fn an_event_is_read_whichever_of_its_two_parts_comes_first() {
    let object = r#"{"metadata": {"name": "a", "resourceVersion": "1"}, "data": {"x": "y"}}"#;
    for event in [
        format!(r#"{{"type": "ADDED", "object": {object}}}"#),
        format!(r#"{{"object": {object}, "type": "ADDED"}}"#),
    ] {
        let read = serde_json::from_str::<WatchEvent<Arrival<ConfigMap>>>(&event);
        let Ok(WatchEvent::Added(Arrival::Sound(map))) = read else {
            panic!("{event}: {read:?}")
        };
        assert_eq!(map.data.unwrap()["x"], "y");
    }
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
