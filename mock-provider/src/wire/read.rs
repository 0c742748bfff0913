//! Requests.

use std::collections::BTreeMap;

use axum::http::{HeaderMap, Method};
use serde::Deserialize;

use super::canonical::{digest, digest_raw};
use super::query::{Changes, decode};
use crate::world::{Call, Code, Create, ListQuery, NewVm, Operation, Refusal, Text};

/// The pieces of an HTTP request that say what it asks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parts<'a> {
    pub(crate) method: &'a Method,
    pub(crate) path: &'a str,
    pub(crate) query: &'a str,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) body: &'a [u8],
    /// A basic provider does not look at keys.
    pub(crate) basic: bool,
}

/// Which operation a method and path mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Route {
    pub(crate) operation: Operation,
    /// The VM in the path.
    pub(crate) id: Option<String>,
}

/// A request, read.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) call: Call,
    /// How long a change feed may wait, in seconds.
    pub(crate) wait: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CreateBody {
    name: Option<String>,
    image: String,
    cpu: i64,
    memory: String,
    #[serde(default)]
    tags: Option<BTreeMap<String, String>>,
    snapshot_id: Option<String>,
}

/// Finds the operation; `Other` for what this server does not have.
pub(crate) fn route(method: &Method, path: &str) -> Route {
    let segments: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let plain = |operation| Route {
        operation,
        id: None,
    };
    match (method.as_str(), segments.as_slice()) {
        ("GET", ["capabilities"]) => plain(Operation::Capabilities),
        ("POST", ["vms"]) => plain(Operation::Create),
        ("GET", ["vms"]) => plain(Operation::List),
        ("GET", ["vms", "changes"]) => plain(Operation::Changes),
        ("GET", ["vms", id]) => of_vm(Operation::Get, id),
        ("DELETE", ["vms", id]) => of_vm(Operation::Delete, id),
        _ => plain(Operation::Other),
    }
}

/// Reads a request whose route is known.
pub(crate) fn read(route: &Route, parts: Parts<'_>) -> Read {
    let mut wait = 0;
    let id = || route.id.clone().unwrap_or_default();
    let call = match route.operation {
        Operation::Capabilities => Ok(Call::Capabilities),
        Operation::Create => read_create(parts).map(Call::Create),
        Operation::Get => Ok(Call::Get { id: id() }),
        Operation::Delete => Ok(Call::Delete { id: id() }),
        Operation::List => ListQuery::read(parts.query).map(Call::List),
        Operation::Changes => Changes::read(parts.query).map(|changes| {
            wait = changes.timeout;
            Call::Changes {
                since: changes.since,
            }
        }),
        Operation::Other => {
            let message = format!("this server has no {} {}", parts.method, parts.path);
            Err(Refusal::new(Code::NotFound, message))
        }
    };
    Read {
        call: call.unwrap_or_else(|refusal| Call::Invalid(route.operation, refusal)),
        wait,
    }
}

fn of_vm(operation: Operation, id: &str) -> Route {
    // What does not decode names no VM, so it stays as it is and is not found.
    Route {
        operation,
        id: Some(decode(id).unwrap_or_else(|| id.into())),
    }
}

fn read_create(parts: Parts<'_>) -> Result<Create, Refusal> {
    let key = if parts.basic {
        None
    } else {
        read_key(parts.headers)?
    };
    let parsed: Result<serde_json::Value, _> = serde_json::from_slice(parts.body);
    let (digest, spec) = match parsed {
        Ok(value) => (digest(&value), CreateBody::deserialize(value)),
        Err(error) => (digest_raw(parts.body), Err(error)),
    };
    let spec = spec.map(NewVm::from).map_err(|error| {
        let message =
            format!("the body must be {{name?, image, cpu, memory, tags?}} in JSON: {error}");
        Refusal::new(Code::InvalidRequest, message)
    });
    Ok(Create { key, digest, spec })
}

fn read_key(headers: &HeaderMap) -> Result<Option<Text>, Refusal> {
    let mut values = headers.get_all("idempotency-key").iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    let good = |key: &&str| {
        (1..=255).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic())
    };
    match value.to_str().ok().filter(good) {
        Some(key) if values.next().is_none() => Ok(Some(Text::from(key))),
        _ => Err(Refusal::new(
            Code::InvalidRequest,
            "Idempotency-Key must be one header of 1 to 255 visible ASCII characters",
        )),
    }
}

impl From<CreateBody> for NewVm {
    fn from(body: CreateBody) -> Self {
        Self {
            name: body.name,
            image: body.image,
            cpu: body.cpu,
            memory: body.memory,
            tags: body.tags.unwrap_or_default().into_iter().collect(),
            from_snapshot: body.snapshot_id.is_some(),
        }
    }
}
