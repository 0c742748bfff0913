//! Bodies and queries of the admin interface, with errors that say what is wrong.

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::de::DeserializeOwned;
use serde_json::json;

/// A JSON body, whatever its content type says.
pub(super) struct Json<T>(pub(super) T);

/// The parameters of the query string.
pub(super) struct Params<T>(pub(super) T);

/// Why nothing was done.
#[derive(Debug)]
pub(super) struct Problem {
    status: u16,
    code: &'static str,
    message: String,
}

impl Problem {
    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self {
            status: 400,
            code: "InvalidRequest",
            message: message.into(),
        }
    }

    pub(super) fn not_found(message: impl Into<String>) -> Self {
        Self {
            status: 404,
            code: "NotFound",
            message: message.into(),
        }
    }

    pub(super) fn conflict(message: impl Into<String>) -> Self {
        Self {
            status: 409,
            code: "Conflict",
            message: message.into(),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        reply(
            self.status,
            &json!({ "code": self.code, "message": self.message }),
        )
    }
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let bytes = Bytes::from_request(request, state)
            .await
            .map_err(|error| Problem::invalid(format!("the body could not be read: {error}")))?;
        let bytes = if bytes.is_empty() {
            Bytes::from_static(b"{}")
        } else {
            bytes
        };
        serde_json::from_slice(&bytes).map(Self).map_err(|error| {
            Problem::invalid(format!("the body is not what API.md describes: {error}"))
        })
    }
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Params<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let read = Query::from_request_parts(parts, state).await;
        read.map(|Query(query)| Self(query)).map_err(|error| {
            Problem::invalid(format!(
                "the query is not what API.md describes: {}",
                error.body_text()
            ))
        })
    }
}

pub(super) fn reply(status: u16, body: &impl serde::Serialize) -> Response {
    let text = serde_json::to_string(body).unwrap_or_default();
    typed(status, "application/json", text + "\n")
}

/// JSON lines.
pub(super) fn lines(text: String) -> Response {
    typed(200, "application/x-ndjson", text)
}

fn typed(status: u16, kind: &'static str, text: String) -> Response {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response
        .headers_mut()
        .insert("content-type", HeaderValue::from_static(kind));
    response
}
