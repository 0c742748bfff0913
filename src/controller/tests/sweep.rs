//! The sweep for instances without an object: what is an orphan, and everything that is none.

use std::collections::HashSet;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use kube::client::Body;
use serde_json::{Value, json};

use super::cloud::Cloud;
use super::double::Time;
use crate::api::ProviderConfig;
use crate::controller::configs::{
    Checked, ConfigBook, ConfigReconciler, Connect, Connection, MadeOf, Orphans, Wakes,
};
use crate::controller::kube::KubeCluster;
use crate::domain::{ClusterId, Instance, InstanceId, InstancePhase, Moment, ObjectKey, Uid};
use crate::lifecycle::fixtures::{config, instance, policy, secs};
use crate::lifecycle::{ConfigProblem, Losses};
use crate::provider::inventory::{Inventory, InventoryOptions};
use crate::provider::time::Timers;
use crate::runtime::clock::Clock;

const GRACE: u64 = 900;

/// The API server's list of VirtualMachines, two to a page.
#[derive(Clone, Default)]
struct List {
    uids: Arc<Mutex<Vec<String>>>,
    broken: Arc<Mutex<bool>>,
    requests: Arc<Mutex<usize>>,
}

/// What the watch has shown; `None` before the first list is complete.
#[derive(Default)]
struct Known(Mutex<Option<HashSet<Uid>>>);

struct NoConnect;

struct Rig {
    cloud: Cloud,
    time: Time,
    list: List,
    known: Arc<Known>,
    inventory: Arc<Inventory>,
    configs: ConfigReconciler<NoConnect>,
    config: ProviderConfig,
}

impl List {
    fn client(&self) -> kube::Client {
        let list = self.clone();
        let service = tower::service_fn(move |request: axum::http::Request<Body>| {
            let answer = list.answer(request.uri().query().unwrap_or_default());
            async move { Ok::<_, Infallible>(answer) }
        });
        kube::Client::new(service, "default")
    }

    fn answer(&self, query: &str) -> axum::http::Response<Body> {
        *self.requests.lock().unwrap() += 1;
        let (status, body) = if *self.broken.lock().unwrap() {
            (
                500,
                json!({ "kind": "Status", "code": 500, "status": "Failure" }),
            )
        } else {
            (200, self.page(query))
        };
        let response = axum::http::Response::builder().status(status);
        response
            .body(Body::from(body.to_string().into_bytes()))
            .unwrap()
    }

    fn page(&self, query: &str) -> Value {
        let from = query
            .split('&')
            .find_map(|pair| pair.strip_prefix("continue="))
            .map_or(0, |number| number.parse().unwrap());
        let uids = self.uids.lock().unwrap();
        let items: Vec<Value> = uids
            .iter()
            .skip(from)
            .take(2)
            .map(|uid| json!({ "metadata": { "name": uid, "namespace": "team-a", "uid": uid } }))
            .collect();
        let next = (from + 2 < uids.len()).then(|| (from + 2).to_string());
        json!({
            "apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadataList",
            "metadata": { "resourceVersion": "7", "continue": next }, "items": items,
        })
    }

    fn requests(&self) -> usize {
        *self.requests.lock().unwrap()
    }
}

impl Wakes for Known {
    fn users(&self, _: &ObjectKey) -> Option<usize> {
        None
    }
    fn departed(&self, _: &ObjectKey) -> usize {
        0
    }
    fn losses(&self, _: &ObjectKey) -> Losses {
        Losses::default()
    }
    fn without_object(&self, uids: HashSet<Uid>) -> Option<HashSet<Uid>> {
        let known = self.0.lock().unwrap();
        let known = known.as_ref()?;
        Some(
            uids.into_iter()
                .filter(|uid| !known.contains(uid))
                .collect(),
        )
    }
    fn wake(&self, _: &ObjectKey) {}
    fn changed(&self, _: &ObjectKey) {}
}

impl Connect for NoConnect {
    type Cloud = Cloud;
    fn connect(&self, _: Connection<'_>) -> Result<Cloud, ConfigProblem> {
        panic!("nobody connects here")
    }
    fn forget(&self, _: &ObjectKey) {}
}

fn key() -> ObjectKey {
    ObjectKey::new("team-a", "default")
}

fn vm(id: &str, cluster: &str, uid: &str, phase: InstancePhase) -> Instance {
    let mut vm = instance(1, phase);
    vm.id = InstanceId::new(id);
    if let Some(owner) = &mut vm.owner {
        (owner.cluster, owner.uid) = (ClusterId::new(cluster), Uid::new(uid));
    }
    vm
}

impl Rig {
    /// A provider with these instances; the watch has shown the object `watched`, a live list the one `listed` too.
    fn with(instances: Vec<Instance>) -> Self {
        let (cloud, time, list) = (Cloud::default(), Time::default(), List::default());
        cloud.lock().instances = instances;
        *list.uids.lock().unwrap() = ["other-1", "other-2", "other-3", "watched", "listed"]
            .map(ToOwned::to_owned)
            .to_vec();
        let known = HashSet::from(["other-1", "watched"].map(Uid::new));
        let known = Arc::new(Known(Mutex::new(Some(known))));
        let options = InventoryOptions {
            cluster: policy().cluster,
            capabilities: config().capabilities,
            poll: secs(30),
            timeout: secs(15),
        };
        let inventory = Arc::new(Inventory::new(options).unwrap());
        let stored: ProviderConfig = serde_json::from_value(json!({
            "apiVersion": "compute.example.com/v1", "kind": "ProviderConfig",
            "metadata": { "name": "default", "namespace": "team-a", "uid": "c" },
            "spec": { "endpoint": "https://cloud.example.com" },
        }))
        .unwrap();
        let book = Arc::new(ConfigBook::default());
        book.arrived(stored.clone());
        let checked = Checked {
            config: config(),
            cloud: Arc::new(cloud.clone()),
            made_of: MadeOf {
                uid: "c".to_owned(),
                generation: 1,
                secret: None,
            },
            inventory: Some(Arc::clone(&inventory)),
        };
        book.settle(&key(), Some("c"), Ok(checked));
        let configs = ConfigReconciler {
            cluster: KubeCluster::new(list.client(), policy().cluster),
            connect: NoConnect,
            book,
            wakes: Arc::clone(&known) as Arc<dyn Wakes>,
            clock: Arc::new(time.clone()),
            orphans: Arc::new(Orphans::default()),
            events: Arc::new(()),
        };
        Self {
            cloud,
            time,
            list,
            known,
            inventory,
            configs,
            config: stored,
        }
    }

    /// The provider is listed as it is now.
    fn list(&self) {
        let now: Moment = self.time.0.now() + config().capabilities.list_lag;
        let time = Timers(move || now);
        let mut following = Box::pin(
            self.inventory
                .follow(&self.cloud, &time, |_: HashSet<_>| {}),
        );
        assert!(futures::FutureExt::now_or_never(&mut following).is_none());
    }

    /// A round so much later, with a fresh list.
    async fn round_after(&self, wait: u64) -> Vec<String> {
        self.time.0.advance(secs(wait));
        self.list();
        self.sweep().await
    }

    async fn sweep(&self) -> Vec<String> {
        self.configs.sweep(&key(), &self.config).await;
        let found = self.configs.orphans.of(&key());
        assert_eq!(self.configs.orphans.total(), found.len());
        found.iter().map(ToString::to_string).collect()
    }
}

/// Two orphans, and one of everything that is none.
fn all_sorts() -> Vec<Instance> {
    vec![
        vm("orphan-1", "c-1", "dead-1", InstancePhase::Running),
        vm("orphan-2", "c-1", "dead-2", InstancePhase::Stopped),
        vm("going", "c-1", "dead-3", InstancePhase::Deleting),
        vm("of-an-object", "c-1", "watched", InstancePhase::Running),
        vm("newborn", "c-1", "listed", InstancePhase::Running),
        vm("foreign", "c-2", "dead-4", InstancePhase::Running),
    ]
}

#[tokio::test]
async fn those_without_an_object_are_found_after_the_grace_and_no_others() {
    let rig = Rig::with(all_sorts());
    let none: [&str; 0] = [];
    assert_eq!(rig.round_after(60).await, none);
    assert_eq!(rig.round_after(GRACE - 1).await, none);
    assert_eq!(rig.list.requests(), 0, "nothing was asked too early");
    let found = rig.round_after(1).await;
    assert_eq!(found, ["orphan-1", "orphan-2"]);
    assert_eq!(rig.list.requests(), 3, "all pages of the live list");
    assert_eq!(rig.cloud.count("delete"), 0, "nothing is done to them");
    // Gone by somebody's hand.
    rig.cloud
        .lock()
        .instances
        .retain(|one| one.id.as_str() != "orphan-1");
    assert_eq!(rig.round_after(30).await, ["orphan-2"]);
}

#[tokio::test]
async fn the_number_in_the_status_costs_no_write_where_there_is_no_orphan() {
    let rig = Rig::with(vec![vm("x", "c-1", "watched", InstancePhase::Running)]);
    let shown = |old| rig.configs.orphans.shown(&key(), old);
    assert_eq!(shown(Some(3)), Some(3), "not looked at yet");
    rig.round_after(60).await;
    assert_eq!((shown(None), shown(Some(3))), (None, Some(0)));
}

#[tokio::test]
async fn a_live_list_that_fails_makes_no_orphan_and_the_next_round_asks_again() {
    let rig = Rig::with(all_sorts());
    *rig.list.broken.lock().unwrap() = true;
    rig.round_after(60).await;
    assert_eq!(rig.round_after(GRACE).await, [""; 0]);
    *rig.list.broken.lock().unwrap() = false;
    assert_eq!(rig.round_after(30).await.len(), 2);
}

#[tokio::test]
async fn nothing_is_suspected_before_all_objects_are_known() {
    let rig = Rig::with(all_sorts());
    let known = rig.known.0.lock().unwrap().take();
    rig.round_after(60).await;
    rig.round_after(GRACE).await;
    *rig.known.0.lock().unwrap() = known;
    assert_eq!(rig.round_after(30).await, [""; 0], "the grace begins now");
    assert_eq!(rig.round_after(GRACE).await.len(), 2);
}

#[tokio::test]
async fn a_picture_that_is_old_or_not_complete_counts_for_nothing() {
    let rig = Rig::with(all_sorts());
    rig.time.0.advance(secs(60));
    assert_eq!(rig.sweep().await, [""; 0], "never listed");
    rig.list();
    rig.sweep().await;
    // The provider is away: what was known of it grows old.
    for _ in 0..40 {
        rig.time.0.advance(secs(60));
        assert_eq!(rig.sweep().await, [""; 0]);
    }
    assert_eq!(rig.list.requests(), 0);
}
