//! One call from its first byte to its answer.

mod carry;
mod plan;
mod poll;

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{ConnectInfo, State};
use axum::http::request::Parts as Head;
use axum::http::{Request as HttpRequest, Response as HttpResponse};

use super::cloud::Cloud;
use super::connection::Line;
use super::effect;
use super::tasks::pause;
use crate::faults::Effect;
use crate::wire::{MAX_BODY, write_refusal};
use crate::world::{Code, Refusal};
use carry::Done;
use plan::Plan;

/// How long a request's body may take to arrive.
const BODY_TIME: Duration = Duration::from_secs(30);

/// Answers every request to the API.
pub(super) async fn answer(
    State(cloud): State<Arc<Cloud>>,
    ConnectInfo(line): ConnectInfo<Line>,
    request: HttpRequest<Body>,
) -> HttpResponse<Body> {
    let (head, body) = request.into_parts();
    let body = collect(&head, body).await;
    let plan = cloud.with(|inner| Plan::new(inner, &head, body));
    let mut done = match plan.effect() {
        Some(Effect::Delay {
            milliseconds,
            applied: false,
        }) => {
            let wait = Duration::from_millis(*milliseconds);
            late(&cloud, plan, wait).await
        }
        Some(_) | None => cloud.with(|inner| plan.carry_out(inner)),
    };
    if let Some(poll) = done.poll.take() {
        done.written = poll.wait(&cloud, &done.request_id).await;
    }
    if done.promises && !cloud.kept().await {
        let message = "the data file could not be written; the change is in memory only";
        done.written = write_refusal(&Refusal::new(Code::Internal, message), &done.request_id);
    }
    if !done.delay.is_zero() {
        pause(done.delay).await;
    }
    effect::send(done.written, &done.request_id, done.effect.as_ref(), &line)
}

async fn collect(head: &Head, body: Body) -> Result<Bytes, Refusal> {
    let too_large = || {
        Refusal::new(
            Code::TooLarge,
            format!("a body may have at most {MAX_BODY} bytes"),
        )
    };
    let length = head
        .headers
        .get("content-length")
        .and_then(|length| length.to_str().ok());
    let length: Option<u64> = length.and_then(|length| length.parse().ok());
    if length.is_some_and(|length| length > MAX_BODY as u64) {
        return Err(too_large());
    }
    match tokio::time::timeout(BODY_TIME, to_bytes(body, MAX_BODY)).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(_)) => Err(too_large()),
        Err(_) => {
            let message = "the body did not arrive within 30 seconds";
            Err(Refusal::new(Code::InvalidRequest, message))
        }
    }
}

/// Carries a call out after a while, also when its client is gone by then: a request that was under way.
async fn late(cloud: &Arc<Cloud>, plan: Plan, wait: Duration) -> Done {
    let (shared, request_id) = (cloud.clone(), plan.request_id.clone());
    let work = async move {
        tokio::select! {
            () = shared.stop.cancelled() => {}
            () = pause(wait) => {}
        }
        shared.with(|inner| plan.carry_out(inner))
    };
    #[expect(
        clippy::disallowed_methods,
        reason = "outlives the client's patience, not the server"
    )]
    let task = tokio::spawn(work);
    task.await.unwrap_or_else(|error| {
        let refusal = Refusal::new(Code::Internal, format!("the call broke off: {error}"));
        Done::new(write_refusal(&refusal, &request_id), request_id)
    })
}
