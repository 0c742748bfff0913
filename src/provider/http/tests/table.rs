//! Every row of the API's table of errors, by code and by status alone.

use std::time::Duration;

use crate::domain::{ErrorKind, InstanceId, Operation, ProviderError};
use crate::provider::Provider;
use crate::provider::testing::{Server, Step, WHENEVER, create};

/// The error of a GET that is answered like this.
async fn refused(status: u16, headers: &str, body: &str) -> ProviderError {
    let server = Server::always(status, headers, body).await;
    let id = InstanceId::new("vm-1");
    server.provider().get(&id).await.unwrap_err()
}

/// Status, code (none where empty), kind.
const ROWS: &[(u16, &str, ErrorKind)] = &[
    (400, "InvalidRequest", ErrorKind::Invalid),
    (401, "Unauthenticated", ErrorKind::Unauthorized),
    (403, "Forbidden", ErrorKind::Forbidden),
    (403, "QuotaExceeded", ErrorKind::QuotaExceeded),
    (404, "NotFound", ErrorKind::NotFound),
    (409, "Conflict", ErrorKind::Conflict),
    (409, "Busy", ErrorKind::Conflict),
    (409, "IdempotencyKeyInUse", ErrorKind::KeyInUse),
    (409, "KeyOfDeletedVM", ErrorKind::KeyOfDeleted),
    (410, "ContinueExpired", ErrorKind::Expired),
    (410, "RevisionExpired", ErrorKind::Expired),
    (413, "InvalidRequest", ErrorKind::Invalid),
    (422, "InvalidImage", ErrorKind::Invalid),
    (422, "InvalidSpec", ErrorKind::Invalid),
    (422, "SoftStopUnsupported", ErrorKind::Invalid),
    (422, "IdempotencyKeyReused", ErrorKind::KeyReused),
    (429, "RateLimited", ErrorKind::RateLimited),
    (500, "Internal", ErrorKind::Unavailable),
    (502, "Unavailable", ErrorKind::Unavailable),
    (503, "Unavailable", ErrorKind::Unavailable),
    (504, "Unavailable", ErrorKind::Unavailable),
    // The code goes before the status, a code that is not known does not.
    (400, "QuotaExceeded", ErrorKind::QuotaExceeded),
    (503, "NewerThanThisClient", ErrorKind::Unavailable),
    (403, "NewerThanThisClient", ErrorKind::Forbidden),
    // No code at all.
    (400, "", ErrorKind::Invalid),
    (401, "", ErrorKind::Unauthorized),
    (403, "", ErrorKind::Forbidden),
    (404, "", ErrorKind::NotFound),
    (405, "", ErrorKind::Invalid),
    (408, "", ErrorKind::TimedOut),
    (409, "", ErrorKind::Conflict),
    (410, "", ErrorKind::Expired),
    (413, "", ErrorKind::Invalid),
    (418, "", ErrorKind::Invalid),
    (422, "", ErrorKind::Invalid),
    (429, "", ErrorKind::RateLimited),
    (500, "", ErrorKind::Unavailable),
    (501, "", ErrorKind::Unavailable),
    (502, "", ErrorKind::Unavailable),
    (503, "", ErrorKind::Unavailable),
    (504, "", ErrorKind::Unavailable),
    (599, "", ErrorKind::Unavailable),
    (299, "", ErrorKind::Malformed),
    (301, "", ErrorKind::Malformed),
    (304, "", ErrorKind::Malformed),
    (600, "", ErrorKind::Malformed),
];

#[tokio::test]
async fn the_code_decides_and_without_one_the_status() {
    for (status, code, kind) in ROWS {
        let body = if code.is_empty() {
            "<html>secret inside</html>".to_owned()
        } else {
            format!(r#"{{"code":"{code}","message":"secret inside","requestId":"r"}}"#)
        };
        let error = refused(*status, "x-request-id: req-7\r\n", &body).await;
        assert_eq!(error.kind, *kind, "{status} {code}");
        assert_eq!(error.status, Some(*status), "{status} {code}");
        assert_eq!(error.operation, Operation::Get);
        let said = (!code.is_empty()).then(|| (*code).to_owned());
        assert_eq!(error.code, said, "{status}");
        assert_eq!(error.request_id.as_deref(), Some("req-7"));
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains("secret"), "{shown}");
    }
}

#[tokio::test]
async fn a_code_in_an_answer_of_success_or_of_another_place_counts_for_nothing() {
    let body = r#"{"code":"NotFound","message":"m"}"#;
    assert_eq!(refused(200, "", body).await.kind, ErrorKind::Malformed);
    let moved = refused(302, "location: /vms/vm-2\r\n", body).await;
    assert_eq!(moved.kind, ErrorKind::Malformed);
}

#[tokio::test]
async fn retry_after_is_read_in_both_forms_and_clamped() {
    let date = "date: Mon, 05 Jan 2026 10:00:00 GMT\r\n";
    let rows = [
        ("retry-after: 7\r\n", Some(7)),
        ("retry-after: 0\r\n", Some(1)),
        ("retry-after: 86400\r\n", Some(600)),
        ("retry-after: 99999999999999999999999999\r\n", Some(600)),
        ("retry-after:   30  \r\n", Some(30)),
        ("retry-after: Mon, 05 Jan 2026 10:00:42 GMT\r\n", Some(42)),
        ("retry-after: Mon, 05 Jan 2026 09:00:00 GMT\r\n", Some(1)),
        ("retry-after: Mon, 05 Jan 2099 10:00:00 GMT\r\n", Some(600)),
        ("retry-after: -5\r\n", None),
        ("retry-after: soon\r\n", None),
        ("retry-after: 1.5\r\n", None),
        ("retry-after:\r\n", None),
        ("", None),
    ];
    for (header, seconds) in rows {
        let error = refused(429, &format!("{date}{header}"), "").await;
        assert_eq!(error.kind, ErrorKind::RateLimited);
        assert_eq!(
            error.retry_after,
            seconds.map(Duration::from_secs),
            "{header}"
        );
    }
    let no_clock = "retry-after: Mon, 05 Jan 2026 10:00:42 GMT\r\n";
    assert_eq!(refused(503, no_clock, "").await.retry_after, None);
}

#[tokio::test]
async fn a_hostile_request_id_is_made_harmless() {
    let id = |header: String| async move { refused(500, &header, "").await.request_id };
    assert_eq!(
        id("x-request-id: a b\u{e4}c\r\n".to_owned())
            .await
            .as_deref(),
        Some("abc")
    );
    assert_eq!(id("x-request-id: \r\n".to_owned()).await, None);
    let long = id(format!("x-request-id: {}\r\n", "a".repeat(500))).await;
    assert_eq!(long.map(|id| id.len()), Some(128));
}

#[tokio::test]
async fn what_gets_no_answer_is_in_doubt_and_says_why() {
    let (key, body) = create();
    let reset = Server::start(|_| vec![Step::Reset]).await;
    let error = reset
        .provider()
        .create(&key, &body, WHENEVER)
        .await
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unavailable);
    assert_eq!(error.code.as_deref(), Some("ConnectionReset"));
    assert!(error.may_have_happened());

    let closed = Server::start(|_| vec![]).await;
    let error = closed
        .provider()
        .create(&key, &body, WHENEVER)
        .await
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unavailable);

    let address = {
        let gone = Server::always(200, "", "").await;
        gone.url("")
    };
    let nobody = crate::provider::testing::options(address);
    let nobody = super::super::HttpProvider::new(nobody).unwrap();
    let mut error = nobody.create(&key, &body, WHENEVER).await.unwrap_err();
    for _ in 0..100 {
        // The listener's task may live a moment longer than its handle.
        if error.code.as_deref() == Some("ConnectionRefused") {
            break;
        }
        tokio::task::yield_now().await;
        error = nobody.create(&key, &body, WHENEVER).await.unwrap_err();
    }
    assert_eq!(error.kind, ErrorKind::Unavailable);
    assert_eq!(error.code.as_deref(), Some("ConnectionRefused"));

    let garbage = Server::start(|_| vec![Step::Bytes(b"SSH-2.0-server\r\n".to_vec())]).await;
    let error = garbage
        .provider()
        .create(&key, &body, WHENEVER)
        .await
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unavailable);
}
