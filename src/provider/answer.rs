//! From an HTTP answer, or the lack of one, to a [`ProviderError`]; and reading bodies within bounds.

use std::error::Error;
use std::io;
use std::time::Duration;

use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use reqwest::{Response, StatusCode};
use rustls::CertificateError;

use super::guard::ResolveError;
use super::wire;
use crate::domain::{ErrorKind, Operation, ProviderError};

/// Largest single object that is read.
pub(super) const MAX_OBJECT: usize = 1024 * 1024;
/// Largest page of a list that is read.
pub(super) const MAX_PAGE: usize = 16 * 1024 * 1024;
/// Largest body of an error that is read; its code is all that is wanted.
const MAX_REFUSAL: usize = 64 * 1024;
/// Longest request id that is kept, in characters.
const MAX_REQUEST_ID: usize = 128;
/// Shortest and longest pause that is taken from `Retry-After`.
const RETRY_AFTER_BOUNDS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(600));

/// Why a body was not read to its end.
#[derive(Debug)]
pub(super) enum BodyError {
    /// Larger than allowed; what was left is not read.
    TooLarge,
    /// The connection ended or the time was over.
    Broken(reqwest::Error),
}

/// What an answer tells beside its body: kept while the body is read.
pub(super) struct Head {
    operation: Operation,
    status: StatusCode,
    request_id: Option<String>,
    retry_after: Option<Duration>,
}

impl Head {
    pub(super) fn of(response: &Response, operation: Operation) -> Self {
        Self {
            operation,
            status: response.status(),
            request_id: request_id(response.headers()),
            retry_after: retry_after(response.headers()),
        }
    }

    /// The answer cannot be understood.
    pub(super) fn malformed(self) -> ProviderError {
        self.error(ErrorKind::Malformed, None)
    }

    /// The body did not arrive.
    pub(super) fn broken(self, error: &BodyError) -> ProviderError {
        match error {
            BodyError::TooLarge => self.malformed(),
            BodyError::Broken(error) => {
                let (kind, code) = no_answer(error);
                self.error(kind, code.map(str::to_owned))
            }
        }
    }

    /// The error that a refusing answer means: by its code first, by its status where there is no known code.
    pub(super) fn refusal(self, body: &[u8]) -> ProviderError {
        if self.status.is_success()
            || self.status.is_redirection()
            || self.status.is_informational()
        {
            return self.malformed();
        }
        let code = wire::code(body);
        let by_code = code.as_deref().and_then(kind_of_code);
        let kind = by_code.unwrap_or_else(|| kind_of_status(self.status));
        self.error(kind, code)
    }

    fn error(self, kind: ErrorKind, code: Option<String>) -> ProviderError {
        ProviderError {
            kind,
            operation: self.operation,
            status: Some(self.status.as_u16()),
            code,
            request_id: self.request_id,
            retry_after: self.retry_after,
        }
    }
}

/// Reads a body of at most `max` bytes. One that says or turns out to be larger is left unread.
pub(super) async fn body(response: &mut Response, max: usize) -> Result<Vec<u8>, BodyError> {
    let said = response.content_length().unwrap_or(0);
    if usize::try_from(said).map_or(true, |said| said > max) {
        return Err(BodyError::TooLarge);
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(BodyError::Broken)? {
        if body.len() + chunk.len() > max {
            return Err(BodyError::TooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// Reads a refusing answer. Where its body cannot be read, its status speaks alone.
pub(super) async fn refusal(mut response: Response, operation: Operation) -> ProviderError {
    let head = Head::of(&response, operation);
    let body = body(&mut response, MAX_REFUSAL).await.unwrap_or_default();
    head.refusal(&body)
}

/// The error of a call that got no answer.
pub(super) fn transport(error: &reqwest::Error, operation: Operation) -> ProviderError {
    let (kind, code) = no_answer(error);
    ProviderError {
        code: code.map(str::to_owned),
        ..ProviderError::without_answer(kind, operation)
    }
}

/// The kind of a failure below HTTP, and a word of ours for people in place of a provider's code.
fn no_answer(error: &reqwest::Error) -> (ErrorKind, Option<&'static str>) {
    let mut next: Option<&(dyn Error + 'static)> = Some(error);
    let mut word = None;
    while let Some(error) = next {
        match error.downcast_ref::<ResolveError>() {
            Some(ResolveError::NotAllowed(_)) => return (ErrorKind::EndpointNotAllowed, None),
            Some(ResolveError::Lookup { .. } | ResolveError::Empty(_)) => {
                word = Some("NameNotResolved");
            }
            None => word = word.or_else(|| cause(error)),
        }
        next = error.source();
    }
    if error.is_timeout() {
        return (ErrorKind::TimedOut, word);
    }
    (ErrorKind::Unavailable, word)
}

fn cause(error: &(dyn Error + 'static)) -> Option<&'static str> {
    if let Some(tls) = error.downcast_ref::<rustls::Error>() {
        return Some(match tls {
            rustls::Error::InvalidCertificate(
                CertificateError::Expired | CertificateError::ExpiredContext { .. },
            ) => "CertificateExpired",
            rustls::Error::InvalidCertificate(
                CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. },
            ) => "CertificateNotYetValid",
            rustls::Error::InvalidCertificate(_) => "CertificateNotTrusted",
            _ => "TlsFailed",
        });
    }
    let io = error.downcast_ref::<io::Error>()?;
    // An I/O error that wraps another does not name it as its source.
    let inner = io.get_ref().and_then(|inner| cause(inner));
    inner.or(match io.kind() {
        io::ErrorKind::ConnectionRefused => Some("ConnectionRefused"),
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => Some("ConnectionReset"),
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
            Some("HostUnreachable")
        }
        _ => None,
    })
}

fn kind_of_code(code: &str) -> Option<ErrorKind> {
    Some(match code {
        "InvalidRequest" | "InvalidImage" | "InvalidSpec" | "SoftStopUnsupported" => {
            ErrorKind::Invalid
        }
        "Unauthenticated" => ErrorKind::Unauthorized,
        "Forbidden" => ErrorKind::Forbidden,
        "QuotaExceeded" => ErrorKind::QuotaExceeded,
        "NotFound" => ErrorKind::NotFound,
        "Conflict" | "Busy" => ErrorKind::Conflict,
        "IdempotencyKeyInUse" => ErrorKind::KeyInUse,
        "KeyOfDeletedVM" => ErrorKind::KeyOfDeleted,
        "IdempotencyKeyReused" => ErrorKind::KeyReused,
        "ContinueExpired" | "RevisionExpired" => ErrorKind::Expired,
        "RateLimited" => ErrorKind::RateLimited,
        "Internal" | "Unavailable" => ErrorKind::Unavailable,
        _ => return None,
    })
}

fn kind_of_status(status: StatusCode) -> ErrorKind {
    match status.as_u16() {
        401 => ErrorKind::Unauthorized,
        403 => ErrorKind::Forbidden,
        404 => ErrorKind::NotFound,
        // The server gave up waiting for a request that may have arrived in part.
        408 => ErrorKind::TimedOut,
        409 => ErrorKind::Conflict,
        410 => ErrorKind::Expired,
        429 => ErrorKind::RateLimited,
        400..=499 => ErrorKind::Invalid,
        500..=599 => ErrorKind::Unavailable,
        _ => ErrorKind::Malformed,
    }
}

/// The request id, as far as it is visible ASCII.
fn request_id(headers: &HeaderMap) -> Option<String> {
    let raw = headers.get("x-request-id")?.as_bytes();
    let visible = raw.iter().filter(|byte| byte.is_ascii_graphic());
    let id: String = visible
        .take(MAX_REQUEST_ID)
        .map(|byte| char::from(*byte))
        .collect();
    (!id.is_empty()).then_some(id)
}

/// `Retry-After` in either form, clamped; `None` where it is neither.
///
/// A date is taken relative to the answer's own `Date`, so that the two clocks need not agree.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let wait = if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // Digits that do not fit are just very many seconds.
        Duration::from_secs(text.parse().unwrap_or(u64::MAX))
    } else {
        let until = httpdate::parse_http_date(text).ok()?;
        let now = headers.get(DATE)?.to_str().ok()?;
        let now = httpdate::parse_http_date(now).ok()?;
        until.duration_since(now).unwrap_or_default()
    };
    Some(wait.clamp(RETRY_AFTER_BOUNDS.0, RETRY_AFTER_BOUNDS.1))
}

#[cfg(test)]
mod tests;
