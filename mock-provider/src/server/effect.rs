//! Answers on their way out, whole or spoilt.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::{HeaderName, HeaderValue};
use axum::http::{Response as HttpResponse, StatusCode};
use futures::stream;

use super::connection::Line;
use super::tasks::pause;
use crate::faults::Effect;
use crate::wire::Written;
use crate::world::{Answer, VmId};

/// An id that is well formed and nobody's.
const NOBODY: &str = "vm-999999999999";
/// How long the first part of a truncated body gets to leave before the connection closes.
const HEAD_START: Duration = Duration::from_millis(50);
/// A piece of a huge body.
const PIECE: usize = 64 << 10;
/// What a proxy in front of a broken cloud says.
const PAGE: &str = "<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>\n";

/// The answer that a rule puts in the real one's place, if it does.
pub(super) fn made_up(effect: &Effect, request_id: &str) -> Option<Written> {
    let Effect::Status {
        status,
        code,
        message,
        retry_after,
        location,
        ..
    } = effect
    else {
        return None;
    };
    let message = message.as_deref().unwrap_or("made up by a fault rule");
    let mut written = match code {
        Some(code) => Written::error(*status, code, message, request_id),
        None => Written {
            status: *status,
            headers: Vec::new(),
            body: String::new(),
        },
    };
    written
        .headers
        .extend(retry_after.clone().map(|value| ("retry-after", value)));
    written
        .headers
        .extend(location.clone().map(|value| ("location", value)));
    Some(written)
}

/// Makes an answer speak of another VM; of a page, its first one does.
pub(super) fn wrong_id(answer: &mut Answer) {
    let vm = match answer {
        Answer::Created(vm) | Answer::Replayed(vm) | Answer::Found(vm) | Answer::Deleting(vm) => {
            Some(vm)
        }
        Answer::Page(page) => page.items.first_mut(),
        Answer::Changes(feed) => feed.changes.first_mut().map(|change| &mut change.vm),
        Answer::Capabilities(_) | Answer::Deleted => None,
    };
    if let (Some(vm), Some(id)) = (vm, VmId::parse(NOBODY)) {
        vm.id = id;
    }
}

/// Sends an answer, or what a rule makes of it.
pub(super) fn send(
    written: Written,
    request_id: &str,
    effect: Option<&Effect>,
    line: &Line,
) -> HttpResponse<Body> {
    match effect {
        Some(Effect::DropAfter | Effect::DropBefore) => {
            line.cut();
            respond(503, Vec::new(), request_id, Body::empty())
        }
        Some(Effect::Malformed) => {
            let body = Body::from("{\"id\": \"vm-0000");
            respond(with_body(written.status), written.headers, request_id, body)
        }
        Some(Effect::Html { status }) => {
            let headers = vec![("content-type", "text/html; charset=utf-8".into())];
            respond(
                status.unwrap_or_else(|| with_body(written.status)),
                headers,
                request_id,
                Body::from(PAGE),
            )
        }
        Some(Effect::Truncated) => truncated(written, request_id, line.clone()),
        Some(Effect::Huge { bytes }) => huge(written, request_id, *bytes),
        Some(Effect::SlowDrip { milliseconds }) => {
            slow(written, request_id, Duration::from_millis(*milliseconds))
        }
        Some(Effect::Status { .. } | Effect::Delay { .. } | Effect::WrongId) | None => respond(
            written.status,
            written.headers,
            request_id,
            Body::from(written.body),
        ),
    }
}

/// Promises the whole body and closes in the middle.
fn truncated(written: Written, request_id: &str, line: Line) -> HttpResponse<Body> {
    let whole = if written.body.is_empty() {
        "{\"id\": \"vm-000000\"}".into()
    } else {
        written.body
    };
    let mut headers = written.headers;
    headers.push(("content-length", whole.len().to_string()));
    let half = Bytes::copy_from_slice(&whole.as_bytes()[..whole.len() / 2]);
    let parts = stream::unfold(Some(half), move |half| {
        let line = line.clone();
        async move {
            if let Some(half) = half {
                return Some((Ok::<_, std::io::Error>(half), None));
            }
            pause(HEAD_START).await;
            line.cut();
            Some((Err(std::io::ErrorKind::ConnectionAborted.into()), None))
        }
    });
    respond(
        with_body(written.status),
        headers,
        request_id,
        Body::from_stream(parts),
    )
}

/// The real body, then spaces up to the length asked for: right as JSON, so that only a bound can refuse it.
fn huge(written: Written, request_id: &str, bytes: u64) -> HttpResponse<Body> {
    let start = Bytes::from(if written.body.is_empty() {
        "{}".into()
    } else {
        written.body
    });
    let rest = bytes.saturating_sub(start.len() as u64);
    let spaces = Bytes::from(vec![b' '; PIECE]);
    let pieces = stream::unfold((Some(start), rest), move |(start, rest)| {
        let spaces = spaces.clone();
        async move {
            if let Some(start) = start {
                return Some((Ok::<_, std::io::Error>(start), (None, rest)));
            }
            let length = usize::try_from(rest).unwrap_or(PIECE).min(PIECE);
            (length > 0).then(|| (Ok(spaces.slice(..length)), (None, rest - length as u64)))
        }
    });
    respond(
        with_body(written.status),
        written.headers,
        request_id,
        Body::from_stream(pieces),
    )
}

fn slow(written: Written, request_id: &str, between: Duration) -> HttpResponse<Body> {
    let mut headers = written.headers;
    let body = Bytes::from(if written.body.is_empty() {
        "{}".into()
    } else {
        written.body
    });
    headers.push(("content-length", body.len().to_string()));
    let bytes = stream::unfold(body, move |mut rest| async move {
        if rest.is_empty() {
            return None;
        }
        pause(between).await;
        let byte = rest.split_to(1);
        Some((Ok::<_, std::io::Error>(byte), rest))
    });
    respond(
        with_body(written.status),
        headers,
        request_id,
        Body::from_stream(bytes),
    )
}

/// A 204 has no body to spoil.
fn with_body(status: u16) -> u16 {
    if status == 204 { 200 } else { status }
}

fn respond(
    status: u16,
    headers: Vec<(&'static str, String)>,
    request_id: &str,
    body: Body,
) -> HttpResponse<Body> {
    let mut response = HttpResponse::new(body);
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let all = headers
        .into_iter()
        .chain([("x-request-id", request_id.to_owned())]);
    for (name, value) in all {
        // Rules are checked when they are set; everything else here is our own plain text.
        if let Ok(value) = HeaderValue::from_str(&value) {
            response
                .headers_mut()
                .append(HeaderName::from_static(name), value);
        }
    }
    response
}
