//! The simulated API server: versions, generations, finalizers, guards, and a log of every version for watches.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::api;
use crate::api::VirtualMachineStatus;
use crate::controller::{ClusterError, Guard, View};
use crate::domain::{ClusterId, Incarnation, InstanceId, InstanceSpec, ObjectKey, Uid};
use crate::lifecycle::{IntentState, Object, Recorded, Tried};

/// One object as it is stored.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    pub(super) view: Arc<View>,
    pub(super) annotation: Option<String>,
    /// None and an empty one are two versions.
    status: Value,
}

/// One entry of the log.
#[derive(Clone, Debug)]
pub(super) struct Logged {
    pub(super) kind: Kind,
    pub(super) view: Arc<View>,
}

/// Kinds of watch event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Added,
    Modified,
    Deleted,
}

/// The server.
#[derive(Debug)]
pub(super) struct ApiServer {
    cluster: ClusterId,
    pub(super) objects: BTreeMap<ObjectKey, Stored>,
    pub(super) log: Vec<Logged>,
    version: u64,
    uids: u32,
    /// Writes that were applied.
    pub(super) writes: u64,
    /// Planted: metadata patches are not guarded.
    pub(super) unguarded_metadata: bool,
    /// Planted: status patches are not guarded.
    pub(super) unguarded_status: bool,
}

impl ApiServer {
    pub(super) fn new(cluster: ClusterId) -> Self {
        Self {
            cluster,
            objects: BTreeMap::new(),
            log: Vec::new(),
            version: 0,
            uids: 0,
            writes: 0,
            unguarded_metadata: false,
            unguarded_status: false,
        }
    }

    /// Makes an object; `exported` is an annotation that comes with our finalizer in the manifest.
    pub(super) fn create(
        &mut self,
        key: ObjectKey,
        spec: InstanceSpec,
        exported: Option<String>,
    ) -> Result<(), ClusterError> {
        if self.objects.contains_key(&key) {
            return Err(ClusterError::Conflict);
        }
        self.uids += 1;
        let object = Object {
            key: key.clone(),
            uid: Uid::new(format!("u{}", self.uids)),
            version: String::new(),
            generation: 1,
            deleting: false,
            finalizer: false,
            intent: IntentState::Missing,
            recorded: None,
            given_up: None,
            tried: Tried::default(),
            spec: Some(spec),
            // The simulated world has virtual machines alone.
            owned: None,
            provider_ref: "cloud".to_owned(),
            paused: false,
            force_orphan: None,
        };
        let finalizers = match exported {
            Some(_) => vec![api::FINALIZER.to_owned()],
            None => Vec::new(),
        };
        let stored = Stored {
            view: Arc::new(View {
                object,
                finalizers,
                status: VirtualMachineStatus::default(),
                foreign_intent: false,
            }),
            annotation: exported,
            status: Value::Null,
        };
        self.put(stored, Kind::Added);
        Ok(())
    }

    /// The state that a list at a position of the log shows.
    pub(super) fn state_at(&self, position: usize) -> BTreeMap<ObjectKey, Arc<View>> {
        let mut state = BTreeMap::new();
        for entry in &self.log[..position] {
            let key = entry.view.object.key.clone();
            match entry.kind {
                Kind::Added | Kind::Modified => state.insert(key, Arc::clone(&entry.view)),
                Kind::Deleted => state.remove(&key),
            };
        }
        state
    }

    /// The object of that name, if it has this uid.
    pub(super) fn of_uid(&self, uid: &Uid) -> Option<&Stored> {
        self.objects.values().find(|o| o.view.object.uid == *uid)
    }

    pub(super) fn live(&self, key: &ObjectKey) -> Option<View> {
        self.objects.get(key).map(|stored| (*stored.view).clone())
    }

    fn guarded(&self, guard: &Guard, checked: bool) -> Result<&Stored, ClusterError> {
        let stored = self.objects.get(&guard.key).ok_or(ClusterError::Gone)?;
        let object = &stored.view.object;
        if !checked {
            Ok(stored)
        } else if object.uid != guard.uid || object.version != guard.version {
            Err(ClusterError::Conflict)
        } else {
            Ok(stored)
        }
    }

    /// Merge-patches metadata.
    pub(super) fn patch_metadata(
        &mut self,
        guard: &Guard,
        patch: &Value,
    ) -> Result<View, ClusterError> {
        let intent = patch["annotations"][api::CREATE_ANNOTATION].as_str();
        let checked = !(self.unguarded_metadata && intent.is_some());
        let mut stored = self.guarded(guard, checked)?.clone();
        let mut view = (*stored.view).clone();
        if let Some(list) = patch["finalizers"].as_array() {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let new: Vec<String> = list.iter().map(text).collect();
            let adds = new.iter().any(|f| !view.finalizers.contains(f));
            if view.object.deleting && adds {
                return Err(ClusterError::Refused(
                    "no new finalizers on a terminating object".to_owned(),
                ));
            }
            view.finalizers = new;
        }
        if let Some(text) = intent {
            stored.annotation = Some(text.to_owned());
        }
        stored.view = Arc::new(view);
        Ok(self.write(guard, stored))
    }

    /// Merge-patches the status.
    pub(super) fn patch_status(
        &mut self,
        guard: &Guard,
        patch: &Value,
    ) -> Result<View, ClusterError> {
        let mut stored = self.guarded(guard, !self.unguarded_status)?.clone();
        merge(&mut stored.status, patch);
        Ok(self.write(guard, stored))
    }

    fn write(&mut self, guard: &Guard, stored: Stored) -> View {
        self.writes += 1;
        let mut written = (*stored.view).clone();
        self.put(stored, Kind::Modified);
        if let Some(stored) = self.objects.get(&guard.key) {
            return (*stored.view).clone();
        }
        // The last finalizer went: the answer shows what was written, the event what was there before.
        written.object.version = self.version.to_string();
        written.object.finalizer = written.finalizers.iter().any(|f| f == api::FINALIZER);
        written
    }

    /// Changes an object as a user does.
    pub(super) fn edit(
        &mut self,
        key: &ObjectKey,
        change: impl FnOnce(&mut View, &mut Option<String>),
    ) {
        let Some(mut stored) = self.objects.get(key).cloned() else {
            return;
        };
        let mut view = (*stored.view).clone();
        change(&mut view, &mut stored.annotation);
        stored.view = Arc::new(view);
        self.put(stored, Kind::Modified);
    }

    /// Wipes the status, as `kubectl replace --subresource=status` does.
    pub(super) fn wipe_status(&mut self, key: &ObjectKey) {
        if let Some(mut stored) = self.objects.get(key).cloned() {
            stored.status = Value::Null;
            self.put(stored, Kind::Modified);
        }
    }

    /// A user's DELETE, with preconditions where there is a guard.
    pub(super) fn delete(
        &mut self,
        key: &ObjectKey,
        guard: Option<&Guard>,
    ) -> Result<(), ClusterError> {
        let stored = self.objects.get(key).ok_or(ClusterError::Gone)?.clone();
        if let Some(guard) = guard {
            self.guarded(guard, true)?;
        }
        if stored.view.finalizers.is_empty() {
            self.remove(stored);
        } else if !stored.view.object.deleting {
            self.edit(key, |view, _| {
                view.object.deleting = true;
                view.object.generation += 1;
            });
        }
        Ok(())
    }

    /// Removes an object at once, whatever finalizers it has: the end of a race.
    pub(super) fn remove(&mut self, mut stored: Stored) {
        self.version += 1;
        let mut view = (*stored.view).clone();
        view.object.version = self.version.to_string();
        stored.view = Arc::new(view);
        self.objects.remove(&stored.view.object.key);
        self.log.push(Logged {
            kind: Kind::Deleted,
            view: stored.view,
        });
    }

    /// Stores a version: derives what the view says, drops a write that changes nothing, and removes a
    /// terminating object without finalizers.
    fn put(&mut self, mut stored: Stored, kind: Kind) {
        let view = Arc::make_mut(&mut stored.view);
        let object = &mut view.object;
        object.finalizer = view.finalizers.iter().any(|f| f == api::FINALIZER);
        object.intent =
            IntentState::judge(stored.annotation.as_deref(), &self.cluster, &object.uid);
        view.foreign_intent = stored.annotation.is_some() && object.intent == IntentState::Missing;
        view.status = match &stored.status {
            Value::Null => VirtualMachineStatus::default(),
            status => serde_json::from_value(status.clone()).unwrap(),
        };
        object.recorded = recorded(&view.status);
        object.given_up = Recorded::given_up(view.status.id.as_deref(), view.status.incarnation);
        object.tried = Tried::of(&view.status);
        let key = object.key.clone();
        if let Some(before) = self.objects.get(&key)
            && before.view == stored.view
            && before.annotation == stored.annotation
            && before.status == stored.status
        {
            return;
        }
        if stored.view.object.deleting && stored.view.finalizers.is_empty() {
            let before = self.objects.get(&key).cloned();
            self.remove(before.unwrap_or(stored));
            return;
        }
        self.version += 1;
        Arc::make_mut(&mut stored.view).object.version = self.version.to_string();
        self.log.push(Logged {
            kind,
            view: Arc::clone(&stored.view),
        });
        self.objects.insert(key, stored);
    }

    /// A new version of which nothing that anybody here reads differs.
    pub(super) fn relabel(&mut self, key: &ObjectKey) {
        if let Some(stored) = self.objects.get_mut(key) {
            self.version += 1;
            Arc::make_mut(&mut stored.view).object.version = self.version.to_string();
            self.log.push(Logged {
                kind: Kind::Modified,
                view: Arc::clone(&stored.view),
            });
        }
    }
}

fn recorded(status: &VirtualMachineStatus) -> Option<Recorded> {
    let id = status.id.as_deref()?;
    let number = status.incarnation.and_then(|n| u32::try_from(n).ok());
    Some(Recorded {
        id: InstanceId::new(id),
        incarnation: number
            .and_then(Incarnation::new)
            .unwrap_or(Incarnation::FIRST),
        created_at: status.instance.as_ref().and_then(|i| i.created_at),
    })
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
    let Value::Object(target) = target else {
        return;
    };
    for (name, value) in patch {
        if value.is_null() {
            target.remove(name);
        } else {
            merge(target.entry(name.clone()).or_insert(Value::Null), value);
        }
    }
}
