//! Query strings and percent-encoding.

use url::form_urlencoded;

use crate::world::{Code, ListQuery, Refusal};

/// The query of `GET /vms/changes`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Changes {
    pub(super) since: u64,
    /// How long to wait for the first change, in seconds.
    pub(super) timeout: u64,
}

/// Longest wait that may be asked for, in seconds.
const MAX_TIMEOUT: u64 = 300;

/// The text behind a percent-encoded path segment; `None` when it is not UTF-8 or not properly encoded.
pub(super) fn decode(segment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let high = char::from(rest.next()?).to_digit(16)?;
            let low = char::from(rest.next()?).to_digit(16)?;
            bytes.push(u8::try_from(high * 16 + low).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

impl ListQuery {
    pub(super) fn read(query: &str) -> Result<Self, Refusal> {
        let mut read = Self::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match &*name {
                "limit" => read.limit = Some(number("limit", &value)?),
                "continue" => read.token = (!value.is_empty()).then(|| value.into_owned()),
                "tag" => {
                    let (key, value) = value.split_once('=').ok_or_else(|| {
                        invalid(format!(
                            "tag must be key=value (percent-encoded), got {value:?}"
                        ))
                    })?;
                    read.tags.push((key.into(), value.into()));
                }
                // Unknown parameters are ignored, like unknown fields.
                _ => {}
            }
        }
        Ok(read)
    }
}

impl Changes {
    pub(super) fn read(query: &str) -> Result<Self, Refusal> {
        let (mut since, mut timeout) = (None, 30);
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match &*name {
                "since" => since = Some(number("since", &value)?),
                "timeout" => timeout = number("timeout", &value)?,
                _ => {}
            }
        }
        let since = since.ok_or_else(|| {
            invalid("since is missing: give the revision of the last list or answer")
        })?;
        if timeout > MAX_TIMEOUT {
            return Err(invalid(format!(
                "timeout must be 0 to {MAX_TIMEOUT} seconds, got {timeout}"
            )));
        }
        Ok(Self { since, timeout })
    }
}

fn number<N: std::str::FromStr>(name: &str, value: &str) -> Result<N, Refusal> {
    value
        .parse()
        .map_err(|_| invalid(format!("{name} must be a whole number, got {value:?}")))
}

fn invalid(message: impl Into<String>) -> Refusal {
    Refusal::new(Code::InvalidRequest, message)
}
