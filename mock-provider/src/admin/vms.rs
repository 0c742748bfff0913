//! VMs of all accounts, and what may happen to them.

use std::collections::BTreeMap;

use axum::extract::{Path, State};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::json;

use super::body::{Json, Params, Problem, reply};
use super::{Answer, Shared};
use crate::wire::vm_value;
use crate::world::{Act, ActError, Inventory, Vm};

/// Most VMs in one answer.
const PAGE: usize = 1000;

pub(super) async fn list(State(cloud): Shared, Params(wanted): Params<Inventory>) -> Answer {
    let limit = wanted.limit.unwrap_or(PAGE);
    if !(1..=PAGE).contains(&limit) {
        return Err(Problem::invalid(format!(
            "limit must be 1 to {PAGE}; go on with after=<last id>"
        )));
    }
    let found = cloud.with(|inner| {
        let now = inner.now();
        inner.world.advance(now);
        inner.world.inventory(&wanted)
    });
    let shown: Vec<_> = found
        .iter()
        .map(|listed| {
            let mut vm = vm_value(&listed.vm);
            vm["account"] = json!(listed.account);
            vm["deletedAt"] = json!(listed.deleted_at);
            vm
        })
        .collect();
    Ok(reply(200, &json!({ "items": shown })))
}

/// What an act may need to know.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Details {
    message: Option<String>,
    cpu: Option<u32>,
    memory: Option<String>,
    image: Option<String>,
    created_at: Option<Timestamp>,
    tags: BTreeMap<String, String>,
}

pub(super) async fn act(
    State(cloud): Shared,
    Path((id, name)): Path<(String, String)>,
    Json(details): Json<Details>,
) -> Answer {
    let act = details.into_act(&name)?;
    let done = cloud.with(|inner| {
        let now = inner.now();
        inner.world.act(&id, act, now)
    });
    match done {
        Ok(vm) => Ok(shown(&vm)),
        Err(error @ ActError::NotFound { .. }) => Err(Problem::not_found(error.to_string())),
        Err(error @ (ActError::Deleting { .. } | ActError::NoAddress { .. })) => {
            Err(Problem::conflict(error.to_string()))
        }
    }
}

impl Details {
    fn into_act(self, name: &str) -> Result<Act, Problem> {
        Ok(match name {
            "vanish" => Act::Vanish,
            "fail" => Act::Fail {
                message: self.message.unwrap_or_else(|| "the host failed".into()),
            },
            "drift" if self.cpu.is_none() && self.memory.is_none() && self.image.is_none() => {
                return Err(Problem::invalid(
                    "drift needs at least one of cpu, memory, image",
                ));
            }
            "drift" => Act::Drift {
                cpu: self.cpu,
                memory: self.memory,
                image: self.image,
            },
            "strip-tags" => Act::StripTags,
            "tag" => Act::Tag { tags: self.tags },
            "reuse" => Act::Reuse { tags: self.tags },
            "stop" => Act::Stop,
            "run" => Act::Run,
            "created-at" => {
                let missing = || Problem::invalid("created-at needs createdAt, an RFC 3339 time");
                Act::CreatedAt(self.created_at.ok_or_else(missing)?)
            }
            _ => {
                let known = "vanish, fail, drift, strip-tags, tag, reuse, stop, run, created-at";
                return Err(Problem::not_found(format!(
                    "no act {name:?}; there are {known}"
                )));
            }
        })
    }
}

fn shown(vm: &Vm) -> axum::response::Response {
    reply(200, &vm_value(vm))
}
