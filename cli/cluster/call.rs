//! Calls to the API server: each has a time limit, and each failure an exit code, an id and a fix.

mod error;

use std::time::Duration;

use futures::AsyncBufReadExt;
use futures::stream::{BoxStream, StreamExt};
use kube::api::{
    DeleteParams, GetParams, ListParams, Patch, PatchParams, PostParams, Preconditions, WatchParams,
};
use kube::core::Request;
use serde_json::Value;

use super::Cluster;
use super::kind::Kind;
use crate::hint::{Failure, chain};
pub(crate) use error::Error;

/// A call that takes longer has failed.
const CALL: Duration = Duration::from_secs(15);
/// Who owns the fields that we write.
pub(crate) const MANAGER: &str = "vmctl";
/// Objects per page of a list, as kubectl has it.
const PAGE: u32 = 500;
/// What we ask for to get columns; a server that cannot make them answers with objects.
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

/// How objects are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// As they are.
    Objects,
    /// As rows of the kind's printer columns.
    Table,
}

/// Which objects of a collection are meant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Filter {
    /// A label selector.
    pub(crate) labels: Option<String>,
    /// A field selector.
    pub(crate) fields: Option<String>,
    /// The one object of that name.
    pub(crate) name: Option<String>,
}

/// A collection at the API server.
#[derive(Clone)]
pub(crate) struct Collection {
    /// Where.
    pub(crate) cluster: Cluster,
    /// Of what.
    pub(crate) kind: Kind,
    /// In which namespace; all of them when none.
    pub(crate) namespace: Option<String>,
}

/// The lines of a watch, each an event.
pub(crate) type Lines = BoxStream<'static, std::io::Result<String>>;

impl Collection {
    /// A collection in the cluster's namespace.
    pub(crate) fn new(cluster: &Cluster, kind: Kind) -> Self {
        Self {
            cluster: cluster.clone(),
            kind,
            namespace: Some(cluster.namespace.clone()),
        }
    }

    /// A failure of a call, for the cluster that it was made to.
    pub(crate) fn failed(&self, error: Error) -> Failure {
        error.into_failure(&self.cluster)
    }

    /// One object.
    ///
    /// # Errors
    /// It is not there, or cannot be read.
    pub(crate) async fn get(&self, name: &str, form: Form) -> Result<Value, Error> {
        let what = format!("read {} {name}", self.kind.kind());
        let request = self.request().get(name, &GetParams::default());
        self.send(what, request, form).await
    }

    /// All objects of the collection that match, page by page, as one list.
    ///
    /// # Errors
    /// They cannot be read.
    pub(crate) async fn list(&self, filter: &Filter, form: Form) -> Result<Value, Error> {
        let mut what = format!("list {}s", self.kind.kind());
        if let Some(labels) = &filter.labels {
            what = format!("{what} with labels {labels:?}");
        }
        if let Some(fields) = &filter.fields {
            what = format!("{what} with fields {fields:?}");
        }
        let mut params = ListParams {
            label_selector: filter.labels.clone(),
            field_selector: filter.field(),
            limit: Some(PAGE),
            ..ListParams::default()
        };
        let mut whole: Option<Value> = None;
        loop {
            let page = self
                .send(what.clone(), self.request().list(&params), form)
                .await?;
            let token = page["metadata"]["continue"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
            whole = Some(joined(whole, page));
            if token.is_empty() {
                return Ok(whole.unwrap_or_default());
            }
            params = params.continue_token(&token);
        }
    }

    /// Creates an object; a dry run stores nothing.
    ///
    /// # Errors
    /// It is refused.
    pub(crate) async fn create(&self, object: &Value, dry_run: bool) -> Result<Value, Error> {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let what = format!("create {} {name}", self.kind.kind());
        let params = PostParams {
            dry_run,
            field_manager: Some(MANAGER.to_owned()),
        };
        let request = self
            .request()
            .create(&params, object.to_string().into_bytes());
        self.send(what, request, Form::Objects).await
    }

    /// Changes an object by a JSON merge patch.
    ///
    /// # Errors
    /// It is not there, or the change is refused.
    pub(crate) async fn merge(
        &self,
        name: &str,
        patch: &Value,
        manager: &str,
    ) -> Result<Value, Error> {
        let what = format!("change {} {name}", self.kind.kind());
        let params = PatchParams {
            field_manager: Some(manager.to_owned()),
            ..PatchParams::default()
        };
        let request = self.request().patch(name, &params, &Patch::Merge(patch));
        self.send(what, request, Form::Objects).await
    }

    /// Asks for the deletion of the object of that uid, and of no other of the same name.
    ///
    /// # Errors
    /// It is gone, another one took its place, or the deletion is refused.
    pub(crate) async fn delete(&self, name: &str, uid: &str) -> Result<Value, Error> {
        let what = format!("delete {} {name}", self.kind.kind());
        let params = DeleteParams::background().preconditions(Preconditions {
            resource_version: None,
            uid: Some(uid.to_owned()),
        });
        self.send(what, self.request().delete(name, &params), Form::Objects)
            .await
    }

    /// Begins a watch behind a resource version; the server ends it after about `seconds`.
    ///
    /// # Errors
    /// The watch is refused.
    pub(crate) async fn watch(
        &self,
        filter: &Filter,
        form: Form,
        version: &str,
        seconds: u32,
    ) -> Result<Lines, Error> {
        let what = format!("watch {}s", self.kind.kind());
        let params = WatchParams {
            label_selector: filter.labels.clone(),
            field_selector: filter.field(),
            timeout: Some(seconds),
            ..WatchParams::default()
        };
        let request = self.request().watch(&params, version);
        let mut request = prepared(&what, request, form)?;
        // From 1.37 on the server packs each event by itself, which no client library unpacks.
        if let Ok(identity) = "identity".parse() {
            request.headers_mut().insert("accept-encoding", identity);
        }
        let opened = limited(what, self.cluster.client.request_stream(request)).await?;
        Ok(opened.lines().boxed())
    }

    fn request(&self) -> Request {
        Request::new(self.kind.path(self.namespace.as_deref()))
    }

    async fn send<E: std::error::Error>(
        &self,
        what: String,
        request: Result<Sent, E>,
        form: Form,
    ) -> Result<Value, Error> {
        let request = prepared(&what, request, form)?;
        limited(what, self.cluster.client.request::<Value>(request)).await
    }
}

impl Filter {
    fn field(&self) -> Option<String> {
        let name = self.name.as_ref();
        let name = name.map(|name| format!("metadata.name={name}"));
        match (name, &self.fields) {
            (Some(name), Some(fields)) => Some(format!("{name},{fields}")),
            (name, fields) => name.or_else(|| fields.clone()),
        }
    }
}

impl Cluster {
    /// Sends a request for an object of any kind.
    ///
    /// # Errors
    /// It is refused, or the API server does not answer.
    pub(crate) async fn send<E: std::error::Error>(
        &self,
        what: String,
        request: Result<Sent, E>,
    ) -> Result<Value, Error> {
        let request = prepared(&what, request, Form::Objects)?;
        limited(what, self.client.request::<Value>(request)).await
    }
}

/// A request as the client library has it.
pub(crate) type Sent = axum::http::Request<Vec<u8>>;

fn prepared<E: std::error::Error>(
    what: &str,
    request: Result<Sent, E>,
    form: Form,
) -> Result<Sent, Error> {
    let mut request = request.map_err(|error| Error::Odd {
        what: what.to_owned(),
        why: chain(&error),
    })?;
    if form == Form::Table
        && let Ok(accept) = TABLE.parse()
    {
        request.headers_mut().insert("accept", accept);
    }
    Ok(request)
}

/// Waits for a call no longer than [`CALL`].
///
/// # Errors
/// The call fails, or the time is over.
pub(crate) async fn limited<T>(
    what: String,
    call: impl Future<Output = kube::Result<T>>,
) -> Result<T, Error> {
    match tokio::time::timeout(CALL, call).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(kube::Error::Api(status))) => Err(Error::Refused { what, status }),
        Ok(Err(source)) => Err(Error::Broken {
            what,
            source: Box::new(source),
        }),
        Err(_elapsed) => Err(Error::Silent { what }),
    }
}

/// A field moved out of an object; null where there is none.
pub(crate) fn taken(object: &mut Value, field: &str) -> Value {
    object.get_mut(field).map_or(Value::Null, Value::take)
}

/// The pages so far and one more.
fn joined(whole: Option<Value>, mut page: Value) -> Value {
    let Some(mut whole) = whole else {
        return page;
    };
    for part in ["items", "rows"] {
        if let (Some(Value::Array(all)), Value::Array(mut more)) =
            (whole.get_mut(part), taken(&mut page, part))
        {
            all.append(&mut more);
        }
    }
    if let Some(metadata) = whole.get_mut("metadata") {
        *metadata = taken(&mut page, "metadata");
    }
    whole
}

#[cfg(test)]
mod tests;
