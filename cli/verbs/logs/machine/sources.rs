//! Where it is told: logs of the operator's replicas, the provider's log, events.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use k8s_openapi::api::core::v1::Pod;
use kube::api::{ListParams, LogParams};
use kube::{Api, ResourceExt};
use serde_json::Value;

use super::entry::Entry;
use crate::cluster::Cluster;
use crate::cluster::call::{Collection, Filter, Form, limited};
use crate::cluster::follow::items;
use crate::cluster::kind::Kind;
use crate::env::outlets::Outlets;
use crate::env::workload::NAMESPACE;
use crate::hint::Failure;
use crate::verbs::logs::line::Subject;
use crate::verbs::logs::tail::Tail;

/// Lines of one replica that are searched at first.
const DEPTH: usize = 20_000;
/// What pods wrote in so many seconds is asked for again at each look: more than lies between two of them.
const RECENT: i64 = 15;

/// Where something about one VirtualMachine may be told.
pub(super) struct Sources {
    machines: Collection,
    events: Collection,
    name: String,
    subject: Subject,
    outlets: Result<Outlets, String>,
    /// Logs of replicas that are processes of this machine, by their names; none where they are pods.
    files: Option<(PathBuf, BTreeMap<String, Tail>)>,
    /// Whether the logs of pods were read once.
    begun: bool,
    /// The object as it is now, if it is there.
    object: Option<Value>,
    /// Every uid that an object of this name had, as far as anybody tells.
    uids: BTreeSet<String>,
    /// Every id of an instance of it.
    ids: BTreeSet<String>,
}

impl Sources {
    /// Opens them; nothing is read yet but the object.
    ///
    /// # Errors
    /// The API server does not answer.
    pub(super) async fn open(cluster: &Cluster, name: &str) -> Result<Self, Failure> {
        let files = match &cluster.environment {
            Some(environment) if environment.kind()?.is_none() => {
                Some((environment.dir().join("logs"), BTreeMap::new()))
            }
            Some(_) | None => None,
        };
        let mut sources = Self {
            machines: Collection::new(cluster, Kind::VirtualMachine),
            events: Collection::new(cluster, Kind::Event),
            name: name.to_owned(),
            subject: Subject::of(&cluster.namespace, name),
            outlets: Outlets::of(cluster.environment.as_ref()).await,
            files,
            begun: false,
            object: None,
            uids: BTreeSet::new(),
            ids: BTreeSet::new(),
        };
        match sources.machines.get(name, Form::Objects).await {
            Ok(object) => sources.object = Some(object),
            Err(error) if error.is_absent(Kind::VirtualMachine) => {}
            Err(error) => return Err(sources.machines.failed(error)),
        }
        Ok(sources)
    }

    /// Whether the object is there.
    pub(super) fn exists(&self) -> bool {
        self.object.is_some()
    }

    /// Everything that is told, or news of it, in the order of its sources; and why some of it cannot be had.
    pub(super) async fn look(&mut self) -> (Vec<Entry>, Vec<String>) {
        let (mut entries, mut lacks) = (Vec::new(), Vec::new());
        match self.lines().await {
            Ok(mut lines) => entries.append(&mut lines),
            Err(why) => lacks.push(format!("the operator's lines are not known: {why}")),
        }
        match self.told_events().await {
            Ok(mut events) => entries.append(&mut events),
            Err(why) => lacks.push(format!("events are not known: {why}")),
        }
        // Last: by then it is known under which uids and ids the provider was called.
        match self.calls().await {
            Ok(mut calls) => entries.append(&mut calls),
            Err(why) => lacks.push(format!("provider calls are not known: {why}")),
        }
        (entries, lacks)
    }

    async fn lines(&mut self) -> Result<Vec<Entry>, String> {
        let lines = match &mut self.files {
            Some((folder, tails)) => of_files(folder, tails),
            None => {
                let lines = of_pods(&self.machines.cluster, self.begun).await?;
                self.begun = true;
                lines
            }
        };
        let mut entries = Vec::new();
        for (replica, line) in lines {
            if !self.subject.is_in(&line) {
                continue;
            }
            if let Ok(Value::String(id)) =
                serde_json::from_str::<Value>(&line).map(|mut line| line["id"].take())
            {
                self.ids.insert(id);
            }
            entries.extend(Entry::of_replica(&replica, &line));
        }
        Ok(entries)
    }

    async fn told_events(&mut self) -> Result<Vec<Entry>, String> {
        let fields = format!(
            "involvedObject.kind={},involvedObject.name={}",
            Kind::VirtualMachine.kind(),
            self.name
        );
        let filter = Filter {
            fields: Some(fields),
            ..Filter::default()
        };
        let list = self.events.list(&filter, Form::Objects).await;
        let list = list.map_err(|error| error.to_string())?;
        let found = items(list, Form::Objects)
            .into_iter()
            .map(|item| item.object);
        let mut entries = Vec::new();
        for event in found {
            if let Some(uid) = event["involvedObject"]["uid"].as_str() {
                self.uids.insert(uid.to_owned());
            }
            entries.push(Entry::of_event(event));
        }
        Ok(entries)
    }

    async fn calls(&mut self) -> Result<Vec<Entry>, String> {
        if let Some(object) = &self.object {
            let words = [&object["metadata"]["uid"], &object["status"]["id"]];
            let [uid, id] = words.map(|word| word.as_str().map(str::to_owned));
            self.uids.extend(uid);
            self.ids.extend(id);
        }
        let outlets = self.outlets.as_ref().map_err(String::clone)?;
        let is = |known: &BTreeSet<String>, word: &Value| {
            word.as_str().is_some_and(|word| known.contains(word))
        };
        let about = |call: &Value| is(&self.uids, &call["uid"]) || is(&self.ids, &call["vmId"]);
        let calls = outlets.provider_calls(about).await?;
        Ok(calls.into_iter().map(Entry::of_call).collect())
    }
}

/// Lines of the replicas that are or were processes: the environment's own, and those of `vmctl run`.
fn of_files(folder: &Path, tails: &mut BTreeMap<String, Tail>) -> Vec<(String, String)> {
    let names = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = names.filter_map(|entry| {
        let name = entry.file_name().to_str()?.strip_suffix(".log")?.to_owned();
        (name == "operator" || name.starts_with("run-")).then_some(name)
    });
    let mut lines = Vec::new();
    for name in names {
        let new = match tails.get_mut(&name) {
            Some(tail) => tail.news(),
            None => {
                let mut tail = Tail::of(folder.join(format!("{name}.log")));
                let last = tail.last(DEPTH);
                tails.insert(name.clone(), tail);
                last
            }
        };
        lines.extend(new.into_iter().map(|line| (name.clone(), line)));
    }
    lines
}

/// Lines of the replicas that are pods, their earlier lives included.
async fn of_pods(cluster: &Cluster, begun: bool) -> Result<Vec<(String, String)>, String> {
    let api: Api<Pod> = Api::namespaced(cluster.client.clone(), NAMESPACE);
    let filter = ListParams::default().labels("app.kubernetes.io/name=vmoperator");
    let pods = limited("list pods".to_owned(), api.list(&filter)).await;
    let pods = pods.map_err(|error| error.to_string())?.items;
    if pods.is_empty() {
        return Err(format!("there is no pod of the operator in {NAMESPACE}"));
    }
    let mut lines = Vec::new();
    for pod in pods {
        let name = pod.name_any();
        let params = LogParams {
            since_seconds: begun.then_some(RECENT),
            tail_lines: i64::try_from(DEPTH).ok(),
            ..LogParams::default()
        };
        let earlier = LogParams {
            previous: true,
            ..params.clone()
        };
        for params in [earlier, params] {
            // There need not be an earlier life, and a pod that is just being made has no log.
            let text = limited("read a log".to_owned(), api.logs(&name, &params)).await;
            let text = text.unwrap_or_default();
            lines.extend(text.lines().map(|line| (name.clone(), line.to_owned())));
        }
    }
    Ok(lines)
}
