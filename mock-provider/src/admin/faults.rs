//! Fault rules over HTTP.

use axum::extract::{Path, State};
use serde_json::json;

use super::body::{Json, Problem, reply};
use super::{Answer, Shared};
use crate::faults::Rule;

pub(super) async fn list(State(cloud): Shared) -> Answer {
    Ok(cloud.with(|inner| reply(200, &json!({ "items": inner.faults.list() }))))
}

pub(super) async fn add(State(cloud): Shared, Json(rule): Json<Rule>) -> Answer {
    cloud.with(|inner| match inner.faults.add(rule) {
        Ok(active) => Ok(reply(201, active)),
        Err(error) => Err(Problem::invalid(error.to_string())),
    })
}

pub(super) async fn clear(State(cloud): Shared) -> Answer {
    let removed = cloud.with(|inner| inner.faults.clear(None));
    Ok(reply(200, &json!({ "removed": removed })))
}

pub(super) async fn remove(State(cloud): Shared, Path(id): Path<String>) -> Answer {
    let removed = id
        .parse()
        .map_or(0, |id| cloud.with(|inner| inner.faults.clear(Some(id))));
    match removed {
        0 => Err(Problem::not_found(
            "no fault rule has this id; GET /faults lists them",
        )),
        removed => Ok(reply(200, &json!({ "removed": removed }))),
    }
}
