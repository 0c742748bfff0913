//! Both servers: each request goes to both, and what is compared after it.

use kube::api::Api;
use serde_json::{Value, json};

use super::api_server::ApiServer;
use super::requests::{NAMES, Request};
use crate::api::{self, VirtualMachine};
use crate::asked::Asked;
use crate::controller::kube::KubeCluster;
use crate::controller::{Cluster, ClusterError, Guard, View};
use crate::domain::{ClusterId, Incarnation, InstanceSpec, ObjectKey};

/// The same version at both.
#[derive(Clone)]
pub(super) struct Seen {
    pub(super) double: Guard,
    pub(super) real: Guard,
}

/// Both servers.
pub(super) struct Pair {
    pub(super) double: ApiServer,
    pub(super) cluster: ClusterId,
    pub(super) real: KubeCluster,
    pub(super) random: fastrand::Rng,
    pub(super) seen: Vec<Seen>,
    pub(super) labels: u32,
    asked: Asked,
}

/// What a request came to, in a word or with the version that it left.
pub(super) type Outcome = Result<Option<View>, &'static str>;

impl Pair {
    pub(super) fn new(asked: Asked, seed: u64) -> Self {
        let cluster = ClusterId::new("c");
        Self {
            double: ApiServer::new(cluster.clone()),
            real: KubeCluster::new(asked.client.clone(), cluster.clone()),
            cluster,
            asked,
            random: fastrand::Rng::with_seed(seed),
            seen: Vec::new(),
            labels: 0,
        }
    }

    pub(super) fn vms(&self) -> Api<VirtualMachine> {
        Api::namespaced(self.asked.client.clone(), &self.asked.namespace)
    }

    /// The version from which to watch.
    pub(super) async fn version(&self) -> String {
        let list = self.asked.get(&self.asked.list("VirtualMachine")).await;
        let list = list.expect("a list");
        list["metadata"]["resourceVersion"]
            .as_str()
            .expect("a version")
            .to_owned()
    }

    pub(super) fn key(&self, at: usize) -> ObjectKey {
        ObjectKey::new(self.asked.namespace.as_str(), NAMES[at])
    }

    /// Sends a request to both and compares what it came to, and how the objects stand afterwards.
    pub(super) async fn send(&mut self, request: &Request) -> Result<(), String> {
        let before = self.stand().await?;
        let double = self.ask_double(request);
        let real = self.ask_real(request).await;
        let (double, real) = match (double, real) {
            (Ok(double), Ok(real)) => {
                let double = double.map(|view| self.shown_double(&view));
                (
                    format!("{double:?}"),
                    format!("{:?}", real.map(|view| self.shown_real(&view))),
                )
            }
            (double, real) => (word(&double), word(&real)),
        };
        if double != real {
            return Err(format!("answers differ:\n{double}\n{real}"));
        }
        let after = self.stand().await?;
        for (before, after) in before.iter().zip(&after) {
            moved(before, after)?;
        }
        Ok(())
    }

    /// How each name stands at both, which must be the same; takes note of the versions.
    async fn stand(&mut self) -> Result<Vec<Option<(View, View)>>, String> {
        let mut all = Vec::new();
        for at in 0..NAMES.len() {
            let key = self.key(at);
            let double = self.double.live(&key);
            let real = self
                .real
                .live(&key)
                .await
                .map_err(|error| error.to_string())?;
            let (Some(double), Some(real)) = (&double, &real) else {
                if double.is_some() != real.is_some() {
                    return Err(format!("{key} is there at one only:\n{double:?}\n{real:?}"));
                }
                all.push(None);
                continue;
            };
            let seen = Seen {
                double: guard(double),
                real: guard(real),
            };
            if !self.seen.iter().any(|old| old.real == seen.real) {
                self.seen.push(seen);
            }
            let (shown, shown_real) = (self.shown_double(double), self.shown_real(real));
            if shown != shown_real {
                return Err(format!("{key} differs:\n{shown}\n{shown_real}"));
            }
            all.push(Some((double.clone(), real.clone())));
        }
        Ok(all)
    }

    /// What of a version both must agree on. Versions are compared elsewhere, and owned objects are not simulated.
    pub(super) fn shown_double(&self, view: &View) -> String {
        let object = &view.object;
        let place = (
            &object.key,
            &object.uid,
            object.generation,
            object.deleting,
            object.finalizer,
        );
        let facts = (
            &object.intent,
            &object.recorded,
            &object.tried,
            &object.spec,
        );
        let rest = (
            &object.provider_ref,
            object.paused,
            &object.force_orphan,
            &view.finalizers,
        );
        format!(
            "{place:?} {facts:?} {rest:?} {:?} {}",
            view.status, view.foreign_intent
        )
    }

    /// The same of the real one, its uids replaced by those of the double.
    pub(super) fn shown_real(&self, view: &View) -> String {
        let mut text = self.shown_double(view);
        for seen in &self.seen {
            text = text.replace(seen.real.uid.as_str(), seen.double.uid.as_str());
        }
        text
    }

    fn spec(cpu: u32) -> InstanceSpec {
        InstanceSpec {
            image: "good".to_owned(),
            cpu,
            memory: "1Gi".to_owned(),
        }
    }

    fn intent(&self, view: &View, incarnation: u32) -> String {
        let incarnation = Incarnation::new(incarnation).expect("from 1");
        let intent = view.object.fresh_intent(&self.cluster, incarnation, None);
        intent.expect("a spec").to_annotation()
    }

    pub(super) fn exported() -> String {
        r#"{"v":1,"cluster":"c","uid":"another","incarnation":2,"spec":{}}"#.to_owned()
    }

    /// An object's intent is made from how the object stands; what no longer stands gets one of somebody else's.
    pub(super) fn metadata(&self, now: Option<&View>, request: &Request) -> Value {
        match request {
            Request::Intend(_, incarnation) => {
                let intent =
                    now.map_or_else(Self::exported, |view| self.intent(view, *incarnation));
                json!({ "finalizers": [api::FINALIZER], "annotations": { api::CREATE_ANNOTATION: intent } })
            }
            Request::Finalizers(_, list) => json!({ "finalizers": list }),
            other => unreachable!("{other:?} writes no metadata under a guard"),
        }
    }

    fn ask_double(&mut self, request: &Request) -> Outcome {
        match request {
            Request::Create(at, cpu, exported) => {
                let exported = exported.then(Self::exported);
                let made = self
                    .double
                    .create(self.key(*at), Self::spec(*cpu), exported);
                made.map(|()| None).map_err(|error| class(&error))
            }
            Request::Delete(at) => {
                let key = self.key(*at);
                self.double
                    .delete(&key, None)
                    .map(|()| None)
                    .map_err(|error| class(&error))
            }
            Request::DeleteGuarded(seen) => {
                let guard = self.seen[*seen].double.clone();
                let deleted = self.double.delete(&guard.key, Some(&guard));
                deleted.map(|()| None).map_err(|error| class(&error))
            }
            Request::Intend(seen, _) | Request::Finalizers(seen, _) => {
                let guard = self.seen[*seen].double.clone();
                let now = self.double.live(&guard.key);
                let metadata = self.metadata(now.as_ref(), request);
                let written = self.double.patch_metadata(&guard, &metadata);
                written.map(Some).map_err(|error| class(&error))
            }
            Request::Status(seen, status) => {
                let guard = self.seen[*seen].double.clone();
                let written = self.double.patch_status(&guard, status);
                written.map(Some).map_err(|error| class(&error))
            }
            Request::WipeStatus(at)
            | Request::Edit(at, _)
            | Request::StripFinalizer(at)
            | Request::StripIntent(at)
            | Request::Relabel(at) => self.user_at_double(*at, request),
        }
    }

    fn user_at_double(&mut self, at: usize, request: &Request) -> Outcome {
        let key = self.key(at);
        let Some(view) = self.double.live(&key) else {
            return Err("gone");
        };
        match request {
            Request::WipeStatus(_) => self.double.wipe_status(&key),
            Request::Edit(_, cpu) if view.object.recorded.is_none() => {
                let spec = Self::spec(*cpu);
                self.double.edit(&key, |view, _| {
                    if view.object.spec.as_ref() != Some(&spec) {
                        view.object.spec = Some(spec);
                        view.object.generation += 1;
                    }
                });
            }
            Request::StripFinalizer(_) => {
                self.double.edit(&key, |view, _| {
                    view.finalizers.retain(|f| f != api::FINALIZER)
                });
            }
            Request::StripIntent(_) => self.double.edit(&key, |_, annotation| *annotation = None),
            Request::Relabel(_) => self.double.relabel(&key),
            _ => {}
        }
        Ok(None)
    }
}

fn guard(view: &View) -> Guard {
    let object = &view.object;
    Guard {
        key: object.key.clone(),
        uid: object.uid.clone(),
        version: object.version.clone(),
    }
}

pub(super) fn class(error: &ClusterError) -> &'static str {
    match error {
        ClusterError::Conflict => "conflict",
        ClusterError::Gone => "gone",
        ClusterError::Refused(_) => "refused",
        ClusterError::Unknown(_) => "no answer",
    }
}

fn word(outcome: &Outcome) -> String {
    match outcome {
        Ok(_) => "done".to_owned(),
        Err(word) => (*word).to_owned(),
    }
}

/// A version moves at one exactly where it moves at the other, and only forward.
fn moved(before: &Option<(View, View)>, after: &Option<(View, View)>) -> Result<(), String> {
    let (Some((double, real)), Some((double_now, real_now))) = (before, after) else {
        return Ok(());
    };
    let number = |view: &View| {
        view.object
            .version
            .parse::<u64>()
            .map_err(|error| error.to_string())
    };
    let (old, new) = (number(real)?, number(real_now)?);
    let doubles = (number(double)?, number(double_now)?);
    if (doubles.0 == doubles.1) != (old == new) || new < old || doubles.1 < doubles.0 {
        return Err(format!(
            "versions move differently: {doubles:?} and {:?}",
            (old, new)
        ));
    }
    Ok(())
}
