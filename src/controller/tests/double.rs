//! A cluster of one object in memory, with faults by script.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::{Value, json};

use super::owned::Owned;
use crate::api::{self, VirtualMachine};
use crate::controller::{Cluster, ClusterError, Found, Fragment, Guard, View};
use crate::domain::{ErrorKind, Moment, ObjectKey};
use crate::lifecycle::fixtures::{MADE_AT, policy};
use crate::lifecycle::{ChildKind, ChildWrite, Held, Present};
use crate::runtime::clock::{Clock, ManualClock};

/// What happens to the next write, or to the next live read.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Fault {
    /// Nothing.
    Fine,
    /// It is applied, and the answer is lost.
    AnswerLost,
    /// It does not arrive, and nobody says so.
    RequestLost,
    /// Another writer was faster.
    Overtaken,
    /// It is refused with this kind.
    Refused(ErrorKind),
}

/// The API server. Cloning shares it.
#[derive(Clone, Debug, Default)]
pub(super) struct Api(Arc<Mutex<ApiState>>, Arc<Mutex<Owned>>);

#[derive(Debug, Default)]
struct ApiState {
    object: Option<Value>,
    version: u64,
    writes: Vec<&'static str>,
    faults: VecDeque<Fault>,
    live_faults: VecDeque<Fault>,
}

/// The clock of the test.
#[derive(Clone, Debug, Default)]
pub(super) struct Time(pub(super) Arc<ManualClock>);

impl Api {
    fn lock(&self) -> MutexGuard<'_, ApiState> {
        self.0.lock().unwrap()
    }

    /// The owned objects.
    pub(super) fn owned(&self) -> MutexGuard<'_, Owned> {
        self.1.lock().unwrap()
    }

    /// A user makes the object.
    pub(super) fn create(&self, uid: &str) {
        let mut state = self.lock();
        state.version += 1;
        state.object = Some(json!({
            "apiVersion": "compute.example.com/v1", "kind": "VirtualMachine",
            "metadata": {
                "name": "web-1", "namespace": "team-a", "uid": uid, "generation": 1,
                "resourceVersion": state.version.to_string(),
            },
            "spec": { "image": "ubuntu-22.04", "cpu": 2, "memory": "4Gi" },
        }));
    }

    /// A user changes the object, if it is there; a changed spec raises the generation.
    pub(super) fn edit(&self, patch: &Value) {
        let mut state = self.lock();
        if patch.get("spec").is_some() {
            state.next_generation();
        }
        state.apply(patch);
    }

    /// A user deletes the object.
    pub(super) fn delete(&self) {
        let mut state = self.lock();
        state.next_generation();
        state.apply(&json!({ "metadata": { "deletionTimestamp": MADE_AT } }));
    }

    /// What the API server does to the next writes of the operator.
    pub(super) fn faults(&self, faults: &[Fault]) {
        self.lock().faults = faults.to_vec().into();
    }

    /// What it does to the next live reads.
    pub(super) fn live_faults(&self, faults: &[Fault]) {
        self.lock().live_faults = faults.to_vec().into();
    }

    /// The operator's writes so far.
    pub(super) fn writes(&self) -> Vec<&'static str> {
        self.lock().writes.clone()
    }

    /// The object as it is stored.
    pub(super) fn object(&self) -> Option<Value> {
        self.lock().object.clone()
    }

    /// The object as the watch shows it.
    pub(super) fn view(&self) -> Option<View> {
        self.lock().object.as_ref().map(view_of)
    }

    fn write(
        &self,
        what: &'static str,
        guard: &Guard,
        patch: &Value,
    ) -> Result<View, ClusterError> {
        let mut state = self.lock();
        let fault = state.faults.pop_front().unwrap_or(Fault::Fine);
        if fault == Fault::Overtaken {
            state.apply(&json!({ "metadata": { "labels": { "touched": "yes" } } }));
        }
        if fault == Fault::RequestLost {
            return Err(ClusterError::Unknown("no answer".to_owned()));
        }
        let Some(object) = &state.object else {
            return Err(ClusterError::Gone);
        };
        let meta = &object["metadata"];
        if meta["uid"] != guard.uid.as_str() {
            return Err(ClusterError::Gone);
        }
        if meta["resourceVersion"] != guard.version.as_str() {
            return Err(ClusterError::Conflict);
        }
        state.writes.push(what);
        let view = state.apply(patch);
        match fault {
            Fault::AnswerLost => Err(ClusterError::Unknown("no answer".to_owned())),
            Fault::Fine | Fault::RequestLost | Fault::Overtaken | Fault::Refused(_) => Ok(view),
        }
    }
}

impl ApiState {
    fn next_generation(&mut self) {
        if let Some(object) = &mut self.object {
            let next = object["metadata"]["generation"].as_i64().unwrap() + 1;
            object["metadata"]["generation"] = next.into();
        }
    }

    /// Applies a merge patch; what is being deleted and has no finalizer left goes.
    fn apply(&mut self, patch: &Value) -> View {
        self.version += 1;
        let object = self.object.as_mut().unwrap();
        merge(object, patch);
        object["metadata"]["resourceVersion"] = self.version.to_string().into();
        let view = view_of(object);
        if view.object.deleting && view.finalizers.is_empty() {
            self.object = None;
        }
        view
    }
}

/// RFC 7386.
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (key, value) in patch {
        if value.is_null() {
            target.as_object_mut().unwrap().remove(key);
        } else {
            merge(&mut target[key], value);
        }
    }
}

fn view_of(object: &Value) -> View {
    let cluster = policy().cluster;
    if let Ok(vm) = serde_json::from_value::<VirtualMachine>(object.clone()) {
        return View::of(&vm, &cluster);
    }
    let text = |path: &str| {
        object
            .pointer(path)
            .and_then(Value::as_str)
            .map(ToOwned::to_owned)
    };
    let fragment = Fragment {
        metadata: serde_json::from_value(object["metadata"].clone()).unwrap(),
        provider_ref: text("/spec/providerRef"),
        id: text("/status/id"),
        incarnation: object
            .pointer("/status/incarnation")
            .and_then(Value::as_u64),
        status: object
            .get("status")
            .and_then(|status| serde_json::from_value(status.clone()).ok()),
    };
    View::of_fragment(&fragment, &cluster)
}

impl Cluster for Api {
    async fn live(&self, _: &ObjectKey) -> Result<Option<View>, ClusterError> {
        let fault = self.lock().live_faults.pop_front().unwrap_or(Fault::Fine);
        if fault == Fault::Fine {
            Ok(self.view())
        } else {
            Err(ClusterError::Unknown("no answer".to_owned()))
        }
    }

    async fn write_metadata(&self, guard: &Guard, metadata: Value) -> Result<View, ClusterError> {
        self.write("metadata", guard, &json!({ "metadata": metadata }))
    }

    async fn write_status(&self, guard: &Guard, status: Value) -> Result<View, ClusterError> {
        self.write("status", guard, &json!({ "status": status }))
    }

    async fn write_child(
        &self,
        owner: &Guard,
        write: &ChildWrite,
    ) -> Result<Present, ClusterError> {
        self.owned().write(owner, write)
    }

    async fn delete_child(
        &self,
        _: &ObjectKey,
        kind: ChildKind,
        held: &Held,
    ) -> Result<(), ClusterError> {
        self.owned().delete(kind, held)
    }

    async fn live_child(
        &self,
        _: &ObjectKey,
        kind: ChildKind,
    ) -> Result<Option<Found>, ClusterError> {
        Ok(self.owned().live(kind))
    }
}

impl Clock for Time {
    fn now(&self) -> Moment {
        self.0.now()
    }

    fn wall(&self) -> jiff::Timestamp {
        self.0.wall()
    }
}

/// The name of the one object.
pub(super) fn key() -> ObjectKey {
    ObjectKey::new("team-a", "web-1")
}

/// Whether our finalizer is on the stored object.
pub(super) fn has_finalizer(object: &Value) -> bool {
    object["metadata"]["finalizers"]
        .as_array()
        .is_some_and(|all| all.iter().any(|one| one == api::FINALIZER))
}
