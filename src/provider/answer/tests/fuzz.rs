//! Any bytes as headers of an answer.

use std::time::Duration;

use reqwest::header::{DATE, HeaderMap, HeaderValue, RETRY_AFTER};

use crate::fuzz::fuzz;
use crate::provider::answer::{request_id, retry_after};

#[test]
fn any_retry_after_is_a_pause_within_bounds_or_none() {
    let corpus: &[&[u8]] = &[
        b"3",
        b"0",
        b"99999999999999999999999999",
        b"Wed, 21 Oct 2026 07:28:00 GMT\nWed, 21 Oct 2026 07:27:00 GMT",
        b"Fri, 31 Dec 9999 23:59:59 GMT\nThu, 01 Jan 1970 00:00:00 GMT",
        b"Thu, 01 Jan 1970 00:00:00 GMT\nFri, 31 Dec 9999 23:59:59 GMT",
        b"soon",
        b"-1",
    ];
    fuzz("retry-after", corpus, |input| {
        // Both headers: the pause and the date of the answer.
        let mut parts = input.splitn(2, |byte| *byte == b'\n');
        let mut headers = HeaderMap::new();
        for name in [RETRY_AFTER, DATE] {
            let value = parts.next().map(HeaderValue::from_bytes);
            if let Some(Ok(value)) = value {
                headers.insert("x-request-id", value.clone());
                headers.insert(name, value);
            }
        }
        if let Some(id) = request_id(&headers) {
            assert!(
                id.len() <= 128 && id.bytes().all(|byte| byte.is_ascii_graphic()),
                "{id}"
            );
        }
        match retry_after(&headers) {
            Some(pause) => {
                assert!(pause >= Duration::from_secs(1) && pause <= Duration::from_secs(600));
                "a pause"
            }
            None => "none",
        }
    });
}
