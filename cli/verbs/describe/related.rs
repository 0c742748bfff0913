//! What belongs to an object and is kept elsewhere.

use kube::api::GetParams;
use kube::core::Request;
use serde_json::Value;

use crate::cluster::Cluster;
use crate::cluster::call::{Collection, Filter, Form};
use crate::cluster::follow::items;
use crate::cluster::kind::Kind;
use crate::cluster::object::Object;
use crate::env::outlets::Outlets;

/// Something, or why it could not be had.
pub(super) type Had<T> = Result<T, String>;

/// An object that a VirtualMachine owns.
#[derive(Clone, Debug)]
pub(super) struct Owned {
    pub(super) kind: &'static str,
    pub(super) name: String,
    /// Whether it is there and belongs to the VirtualMachine.
    pub(super) state: OwnedState,
}

/// How an owned object is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum OwnedState {
    /// There, and ours.
    There,
    /// There, and somebody else's.
    Foreign,
    /// Not there.
    Missing,
    /// Nobody could say.
    Unknown(String),
}

/// What belongs to an object.
pub(super) struct Related {
    /// Events about it, the latest last.
    pub(super) events: Had<Vec<Value>>,
    /// The ProviderConfig of a VirtualMachine.
    pub(super) config: Had<Value>,
    /// Objects that a VirtualMachine owns.
    pub(super) owned: Vec<Owned>,
    /// VirtualMachines that refer to a ProviderConfig.
    pub(super) machines: Had<Vec<Value>>,
    /// Calls to the provider about it, the latest last.
    pub(super) calls: Had<Vec<Value>>,
    /// Its line in the operator's queue.
    pub(super) queue: Had<Option<Value>>,
}

impl Related {
    /// Asks for everything.
    pub(super) async fn gather(cluster: &Cluster, kind: Kind, object: &Value) -> Self {
        let none = || "not asked for".to_owned();
        let mut related = Self {
            events: events(cluster, object).await,
            config: Err(none()),
            owned: Vec::new(),
            machines: Err(none()),
            calls: Err(none()),
            queue: Err(none()),
        };
        match kind {
            Kind::VirtualMachine => related.of_machine(cluster, object).await,
            Kind::ProviderConfig | Kind::Event => related.of_config(cluster, object).await,
        }
        related
    }

    async fn of_machine(&mut self, cluster: &Cluster, object: &Value) {
        let configs = Collection::new(cluster, Kind::ProviderConfig);
        let name = object["spec"]["providerRef"].as_str().unwrap_or("default");
        let config = configs.get(name, Form::Objects).await;
        self.config = config.map_err(|error| error.to_string());
        self.owned = owned(cluster, object).await;
        let (uid, key) = (Object(object).uid(), key(object));
        let outlets = Outlets::of(cluster.environment.as_ref()).await;
        let id = object["status"]["id"].as_str();
        let ours = |call: &Value| call["uid"] == uid || id.is_some_and(|id| call["vmId"] == id);
        self.calls = match &outlets {
            Ok(outlets) => outlets.provider_calls(ours).await,
            Err(why) => Err(why.clone()),
        };
        self.queue = match &outlets {
            Ok(outlets) => outlets
                .debug_state()
                .await
                .map(|state| line_of(&state, &key)),
            Err(why) => Err(why.clone()),
        };
    }

    async fn of_config(&mut self, cluster: &Cluster, object: &Value) {
        let machines = Collection::new(cluster, Kind::VirtualMachine);
        let filter = Filter {
            fields: Some(format!("spec.providerRef={}", Object(object).name())),
            ..Filter::default()
        };
        let list = machines.list(&filter, Form::Objects).await;
        let list = list.map_err(|error| error.to_string());
        self.machines = list.map(objects);
    }
}

fn key(object: &Value) -> String {
    format!("{}/{}", Object(object).namespace(), Object(object).name())
}

fn line_of(state: &Value, key: &str) -> Option<Value> {
    let queue = state["queue"].as_array()?;
    queue.iter().find(|line| line["key"] == key).cloned()
}

fn objects(list: Value) -> Vec<Value> {
    items(list, Form::Objects)
        .into_iter()
        .map(|item| item.object)
        .collect()
}

async fn events(cluster: &Cluster, object: &Value) -> Had<Vec<Value>> {
    let mut collection = Collection::new(cluster, Kind::Event);
    collection.namespace = Some(Object(object).namespace().to_owned());
    let filter = Filter {
        fields: Some(format!("involvedObject.uid={}", Object(object).uid())),
        ..Filter::default()
    };
    let list = collection.list(&filter, Form::Objects).await;
    let mut found = objects(list.map_err(|error| error.to_string())?);
    found.sort_by_key(crate::verbs::events::moment);
    Ok(found)
}

/// Only what a list of names tells is asked for: no data of a Secret.
async fn owned(cluster: &Cluster, object: &Value) -> Vec<Owned> {
    let (namespace, name) = (Object(object).namespace(), Object(object).name());
    let slices = format!("/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices");
    let core = |plural: &str| format!("/api/v1/namespaces/{namespace}/{plural}");
    let wanted = [
        ("Secret", core("secrets"), format!("{name}-connection")),
        ("Service", core("services"), name.to_owned()),
        ("EndpointSlice", slices.clone(), format!("{name}-ipv4")),
        ("EndpointSlice", slices, format!("{name}-ipv6")),
    ];
    let mut found = Vec::new();
    for (kind, path, name) in wanted {
        let request = Request::new(path).get_metadata(&name, &GetParams::default());
        let state = match cluster.send(format!("read {kind} {name}"), request).await {
            Ok(owned) if is_owner(&owned, object) => OwnedState::There,
            Ok(_) => OwnedState::Foreign,
            Err(error) if error.code() == Some(404) => OwnedState::Missing,
            Err(error) => OwnedState::Unknown(error.to_string()),
        };
        found.push(Owned { kind, name, state });
    }
    found
}

fn is_owner(owned: &Value, object: &Value) -> bool {
    let owners = owned["metadata"]["ownerReferences"].as_array();
    owners
        .into_iter()
        .flatten()
        .any(|owner| owner["uid"] == object["metadata"]["uid"])
}
