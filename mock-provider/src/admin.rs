//! The admin interface: what tests and demos may do to the cloud. `API.md` describes it.

mod body;
mod faults;
mod settings;
mod vms;

use std::fmt::Write as _;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::response::Response;
use axum::routing::{delete, get, post};
use jiff::SignedDuration;
use serde::Deserialize;
use serde_json::json;

use crate::clock;
use crate::keyring::Secret;
use crate::server::{Cloud, Inner};
use crate::world::Text;
use body::{Json, Params, Problem, lines, reply};

pub(super) type Shared = State<Arc<Cloud>>;
type Answer = Result<Response, Problem>;

pub(crate) fn router(cloud: Arc<Cloud>) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route(
            "/faults",
            get(faults::list).post(faults::add).delete(faults::clear),
        )
        .route("/faults/{id}", delete(faults::remove))
        .route("/vms", get(vms::list))
        .route("/vms/{id}/{act}", post(vms::act))
        .route("/idempotency-keys", delete(forget_keys))
        .route("/log", get(log))
        .route("/stats", get(stats))
        .route("/time", get(time).post(set_time))
        .route("/api-keys", get(api_keys).post(add_api_key))
        .route("/api-keys/{fingerprint}", delete(revoke_api_key))
        .route("/settings", get(settings::show).patch(settings::change))
        .fallback(|| async { Problem::not_found("no such admin endpoint; API.md lists them") })
        .with_state(cloud)
}

#[derive(Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct LogQuery {
    since: u64,
    limit: usize,
}

impl Default for LogQuery {
    fn default() -> Self {
        Self {
            since: 0,
            limit: usize::MAX,
        }
    }
}

async fn log(State(cloud): Shared, Params(query): Params<LogQuery>) -> Answer {
    let LogQuery { since, limit } = query;
    let text = cloud.with(|inner| {
        let mut text = String::new();
        for entry in inner.journal.since(since, limit) {
            // Plain fields: nothing in an entry that JSON cannot say; writing to a String does not fail.
            let _ = writeln!(text, "{}", serde_json::to_string(entry).unwrap_or_default());
        }
        text
    });
    Ok(lines(text))
}

async fn stats(State(cloud): Shared) -> Answer {
    let body = cloud.with(|inner| {
        let accounts: serde_json::Map<_, _> = inner
            .world
            .census()
            .map(|(name, live, deleted, keys)| {
                let counts = json!({ "live": live, "deleted": deleted, "idempotencyKeys": keys, "revision": inner.world.revision(name).to_string() });
                (name.to_string(), counts)
            })
            .collect();
        json!({ "operations": inner.journal.counts(), "lastSeq": inner.journal.last(), "accounts": accounts })
    });
    Ok(reply(200, &body))
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct KeysQuery {
    account: Option<String>,
    key: Option<String>,
}

async fn forget_keys(State(cloud): Shared, Params(query): Params<KeysQuery>) -> Answer {
    let KeysQuery { account, key } = query;
    let forgotten = cloud.with(|inner| inner.world.forget_keys(account.as_deref(), key.as_deref()));
    Ok(reply(200, &json!({ "forgotten": forgotten })))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct TimeBody {
    frozen: Option<bool>,
    step_milliseconds: Option<u64>,
}

fn show_time(inner: &Inner) -> serde_json::Value {
    json!({ "now": inner.now().to_string(), "frozen": inner.clock.is_frozen() })
}

async fn time(State(cloud): Shared) -> Answer {
    Ok(reply(200, &cloud.with(|inner| show_time(inner))))
}

async fn set_time(State(cloud): Shared, Json(body): Json<TimeBody>) -> Answer {
    let step = i64::try_from(body.step_milliseconds.unwrap_or(0))
        .map_err(|_| Problem::invalid("stepMilliseconds is too large"))?;
    let shown = cloud.with(|inner| {
        match body.frozen {
            Some(true) => inner.clock.freeze(clock::real()),
            Some(false) => inner.clock.thaw(clock::real()),
            None => {}
        }
        inner.clock.step(SignedDuration::from_millis(step));
        let now = inner.now();
        inner.world.advance(now);
        show_time(inner)
    });
    cloud.clock_changed();
    Ok(reply(200, &shown))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ApiKeyBody {
    key: String,
    account: String,
}

async fn api_keys(State(cloud): Shared) -> Answer {
    let body = cloud.with(|inner| {
        let keys: Vec<_> = inner
            .keyring
            .list()
            .map(|(fingerprint, account)| json!({ "fingerprint": fingerprint, "account": account }))
            .collect();
        json!({ "required": inner.keyring.required(), "items": keys })
    });
    Ok(reply(200, &body))
}

async fn add_api_key(State(cloud): Shared, Json(body): Json<ApiKeyBody>) -> Answer {
    let wrong =
        || Problem::invalid("key and account must be visible ASCII characters without spaces");
    let secret = Secret::new(&body.key).ok_or_else(wrong)?;
    let account = Secret::new(&body.account)
        .map(|_| Text::from(body.account))
        .ok_or_else(wrong)?;
    let shown = json!({ "fingerprint": secret.fingerprint(), "account": account });
    cloud.with(|inner| inner.keyring.add(secret, account));
    Ok(reply(201, &shown))
}

async fn revoke_api_key(State(cloud): Shared, Path(fingerprint): Path<String>) -> Answer {
    match cloud.with(|inner| inner.keyring.revoke(&fingerprint)) {
        0 => Err(Problem::not_found(
            "no API key has this fingerprint; GET /api-keys lists them",
        )),
        revoked => Ok(reply(200, &json!({ "revoked": revoked }))),
    }
}
