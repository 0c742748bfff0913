//! The wire of one process: every call of its loop parks here as a request until the world answers it.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use jiff::Timestamp;
use serde_json::Value;

use super::client::Client;
use crate::controller::{Clouds, Cluster, ClusterError, Guard, View};
use crate::domain::{
    Capabilities, CreateBody, ErrorKind, IdempotencyKey, Instance, InstanceId, Moment, ObjectKey,
    Operation, Owner, ProviderError, Reason,
};
use crate::lifecycle::{Config, ConfigProblem};
use crate::provider::Provider;
use crate::runtime::clock::Clock;

/// What a process can ask of the world.
#[derive(Clone, Debug)]
pub(super) enum Request {
    Live(ObjectKey),
    Metadata(Guard, Value),
    Status(Guard, Value),
    Get(InstanceId),
    Find(Owner),
    Create {
        key: IdempotencyKey,
        body: CreateBody,
        start_before: Moment,
    },
    Delete(InstanceId),
    /// The breaker's neutral read.
    Capabilities,
}

/// What it can hear.
#[derive(Clone, Debug)]
pub(super) enum Answer {
    Live(Result<Option<View>, ClusterError>),
    Written(Result<View, ClusterError>),
    Instance(Result<Instance, ProviderError>),
    Found(Result<Vec<Instance>, ProviderError>),
    Deleted(Result<(), ProviderError>),
    Capable(Result<Capabilities, ProviderError>),
}

impl Request {
    /// Whether it goes to the cluster (and not to the cloud).
    pub(super) fn to_cluster(&self) -> bool {
        matches!(self, Self::Live(_) | Self::Metadata(..) | Self::Status(..))
    }

    /// Whether it changes something where it arrives.
    pub(super) fn is_write(&self) -> bool {
        !matches!(
            self,
            Self::Live(_) | Self::Get(_) | Self::Find(_) | Self::Capabilities
        )
    }

    /// The failure of a call that has no proper answer.
    pub(super) fn failure(&self, kind: ErrorKind) -> Answer {
        let error = |operation| ProviderError::without_answer(kind, operation);
        let unknown = || ClusterError::Unknown("lost on the way".to_owned());
        match self {
            Self::Live(_) => Answer::Live(Err(unknown())),
            Self::Metadata(..) | Self::Status(..) => Answer::Written(Err(unknown())),
            Self::Get(_) => Answer::Instance(Err(error(Operation::Get))),
            Self::Find(_) => Answer::Found(Err(error(Operation::List))),
            Self::Create { .. } => Answer::Instance(Err(error(Operation::Create))),
            Self::Delete(_) => Answer::Deleted(Err(error(Operation::Delete))),
            Self::Capabilities => Answer::Capable(Err(error(Operation::Capabilities))),
        }
    }

    /// Its kind in a word.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Live(_) => "read",
            Self::Metadata(..) => "metadata",
            Self::Status(..) => "status",
            Self::Get(_) => "get",
            Self::Find(_) => "find",
            Self::Create { .. } => "create",
            Self::Delete(_) => "delete",
            Self::Capabilities => "capabilities",
        }
    }

    /// A word for the trace.
    pub(super) fn word(&self) -> String {
        match self {
            Self::Live(key) => format!("GET {key}"),
            Self::Metadata(guard, patch) => {
                let intent = patch["annotations"][crate::api::CREATE_ANNOTATION].as_str();
                let fins = &patch["finalizers"];
                match intent.map(crate::domain::Intent::parse) {
                    Some(Ok(intent)) => format!(
                        "PATCH {} {}@{} intent {} gen {}",
                        guard.key, guard.uid, guard.version, intent.incarnation, intent.generation
                    ),
                    _ => format!(
                        "PATCH {} {}@{} finalizers {fins}",
                        guard.key, guard.uid, guard.version
                    ),
                }
            }
            Self::Status(guard, patch) => format!(
                "PATCH status {} {}@{} id {} op {}",
                guard.key, guard.uid, guard.version, patch["id"], patch["operation"]["attempts"]
            ),
            Self::Get(id) => format!("GET {id}"),
            Self::Find(owner) => format!("FIND {}", owner.uid),
            Self::Create { key, .. } => format!("POST {}", &key.as_str()[..6]),
            Self::Delete(id) => format!("DELETE {id}"),
            Self::Capabilities => "GET capabilities".to_owned(),
        }
    }
}

impl Answer {
    /// In words, for the trace.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Live(Ok(view)) => {
                let shown = view
                    .as_ref()
                    .map(|v| format!("{}@{}", v.object.uid, v.object.version));
                format!("{shown:?}")
            }
            Self::Written(Ok(view)) => {
                format!("written, {}@{}", view.object.uid, view.object.version)
            }
            Self::Live(Err(error)) | Self::Written(Err(error)) => error.to_string(),
            Self::Instance(Ok(i)) => format!("{}/{} {:?}", i.id, i.incarnation(), i.phase),
            Self::Found(Ok(list)) => {
                let list: Vec<String> = list
                    .iter()
                    .map(|i| format!("{}/{}", i.id, i.incarnation()))
                    .collect();
                format!("found {list:?}")
            }
            Self::Deleted(Ok(())) => "deleted".to_owned(),
            Self::Capable(Ok(_)) => "capabilities".to_owned(),
            Self::Capable(Err(error)) => error.to_string(),
            Self::Instance(Err(error)) | Self::Found(Err(error)) | Self::Deleted(Err(error)) => {
                error.to_string()
            }
        }
    }
}

/// The process's end of the wire.
#[derive(Clone, Debug, Default)]
pub(super) struct Wire(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    last: u64,
    out: Vec<(u64, Request)>,
    answers: Vec<(u64, Answer)>,
}

impl Wire {
    /// The request that the last poll parked, if any.
    pub(super) fn parked(&self) -> Option<(u64, Request)> {
        self.0.lock().unwrap().out.pop()
    }

    /// Puts an answer where the call finds it.
    pub(super) fn answer(&self, id: u64, answer: Answer) {
        self.0.lock().unwrap().answers.push((id, answer));
    }

    fn call(&self, request: Request) -> Call {
        Call {
            wire: self.clone(),
            request: Some(request),
            id: 0,
        }
    }
}

struct Call {
    wire: Wire,
    request: Option<Request>,
    id: u64,
}

impl Future for Call {
    type Output = Answer;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Answer> {
        let wire = self.wire.clone();
        let mut inner = wire.0.lock().unwrap();
        if let Some(request) = self.request.take() {
            inner.last += 1;
            self.id = inner.last;
            inner.out.push((self.id, request));
            return Poll::Pending;
        }
        match inner.answers.iter().position(|(id, _)| *id == self.id) {
            Some(at) => Poll::Ready(inner.answers.swap_remove(at).1),
            None => Poll::Pending,
        }
    }
}

impl Cluster for Wire {
    async fn live(&self, key: &ObjectKey) -> Result<Option<View>, ClusterError> {
        match self.call(Request::Live(key.clone())).await {
            Answer::Live(result) => result,
            other => panic!("wrong answer {other:?}"),
        }
    }

    async fn write_metadata(&self, guard: &Guard, metadata: Value) -> Result<View, ClusterError> {
        match self.call(Request::Metadata(guard.clone(), metadata)).await {
            Answer::Written(result) => result,
            other => panic!("wrong answer {other:?}"),
        }
    }

    async fn write_status(&self, guard: &Guard, status: Value) -> Result<View, ClusterError> {
        match self.call(Request::Status(guard.clone(), status)).await {
            Answer::Written(result) => result,
            other => panic!("wrong answer {other:?}"),
        }
    }
}

impl Provider for Wire {
    async fn capabilities(&self) -> Result<Capabilities, ProviderError> {
        match self.call(Request::Capabilities).await {
            Answer::Capable(result) => result,
            other => panic!("wrong answer {other:?}"),
        }
    }

    async fn create(
        &self,
        key: &IdempotencyKey,
        body: &CreateBody,
        start_before: Moment,
    ) -> Result<Instance, ProviderError> {
        let request = Request::Create {
            key: key.clone(),
            body: body.clone(),
            start_before,
        };
        match self.call(request).await {
            Answer::Instance(result) => result,
            other => panic!("wrong answer {other:?}"),
        }
    }

    async fn get(&self, id: &InstanceId) -> Result<Instance, ProviderError> {
        match self.call(Request::Get(id.clone())).await {
            Answer::Instance(result) => result,
            other => panic!("wrong answer {other:?}"),
        }
    }

    async fn find(&self, owner: &Owner) -> Result<Vec<Instance>, ProviderError> {
        match self.call(Request::Find(owner.clone())).await {
            Answer::Found(result) => result,
            other => panic!("wrong answer {other:?}"),
        }
    }

    async fn delete(&self, id: &InstanceId) -> Result<(), ProviderError> {
        match self.call(Request::Delete(id.clone())).await {
            Answer::Deleted(result) => result,
            other => panic!("wrong answer {other:?}"),
        }
    }
}

/// The one ProviderConfig, which can be gone for a while.
#[derive(Clone)]
pub(super) struct SimClouds {
    pub(super) client: Arc<Client>,
    pub(super) config: Arc<Mutex<Option<Config>>>,
}

impl Clouds for SimClouds {
    type Cloud = Client;

    fn resolve(&self, _: &str, name: &str) -> Result<(Config, Arc<Client>), ConfigProblem> {
        match &*self.config.lock().unwrap() {
            Some(config) => Ok((config.clone(), Arc::clone(&self.client))),
            None => Err(ConfigProblem {
                reason: Reason::ProviderConfigNotFound,
                message: format!("ProviderConfig {name} does not exist"),
                error: None,
            }),
        }
    }
}

/// The world's time; the wall clock goes with it.
#[derive(Clone, Debug, Default)]
pub(super) struct SimClock(Arc<AtomicU64>);

impl SimClock {
    pub(super) fn set(&self, now: Moment) {
        self.0.store(now.as_nanos(), Ordering::Relaxed);
    }
}

impl Clock for SimClock {
    fn now(&self) -> Moment {
        Moment::from_nanos(self.0.load(Ordering::Relaxed))
    }

    fn wall(&self) -> Timestamp {
        wall(self.now())
    }
}

/// The wall clock's time at a moment: the world begins on the first day of 2026.
pub(super) fn wall(now: Moment) -> Timestamp {
    let nanos = i128::from(now.as_nanos()) + 1_767_225_600_000_000_000;
    Timestamp::from_nanosecond(nanos).unwrap()
}
