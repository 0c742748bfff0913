//! Answers of success that are none.

use crate::domain::{ErrorKind, InstanceId, Operation};
use crate::provider::Provider;
use crate::provider::testing::{Server, Step, WHENEVER, answer, create, owner, vm};

#[tokio::test]
async fn a_success_that_cannot_be_understood_is_malformed_for_each_call() {
    let bodies = [
        "",
        "<html><body>It works!</body></html>",
        "null",
        "[]",
        "{}",
        r#"{"id":7,"phase":"Running"}"#,
        r#"{"phase":"Running"}"#,
        r#"{"id":"vm-1","phase":"Running""#,
        r#"{"items":"none"}"#,
        r#"{"items":[{"phase":"Running"}]}"#,
        "\u{1}\u{2}",
    ];
    let (key, create) = create();
    for body in bodies {
        let server = Server::always(200, "x-request-id: r\r\n", body).await;
        let provider = server.provider();
        let id = InstanceId::new("vm-1");
        for error in [
            provider.create(&key, &create, WHENEVER).await.unwrap_err(),
            provider.get(&id).await.unwrap_err(),
            provider.capabilities().await.unwrap_err(),
        ] {
            assert_eq!(error.kind, ErrorKind::Malformed, "{body}");
            assert_eq!(error.status, Some(200), "{body}");
            assert_eq!(error.request_id.as_deref(), Some("r"), "{body}");
        }
        let listed = lists(body).await;
        assert_eq!(listed, ErrorKind::Malformed, "{body}");
    }
}

/// The kind of error of a find whose page is this.
async fn lists(body: &str) -> ErrorKind {
    let page = answer(200, "", body);
    let server = Server::start(move |asked| {
        let full = r#"{"version":"1","list":true,"tagFilter":true}"#;
        vec![Step::Bytes(match asked.target.as_str() {
            "/capabilities" => answer(200, "", full),
            _ => page.clone(),
        })]
    })
    .await;
    let error = server.provider().find(&owner()).await.unwrap_err();
    assert_eq!(error.operation, Operation::List);
    error.kind
}

#[tokio::test]
async fn another_instance_than_the_one_asked_for_is_no_answer() {
    let server = Server::always(200, "", &vm("vm-2", "c", "u")).await;
    let provider = server.provider();
    let error = provider.get(&InstanceId::new("vm-1")).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Malformed);
    let found = provider.get(&InstanceId::new("vm-2")).await.unwrap();
    assert_eq!(found.id.as_str(), "vm-2");
}

#[tokio::test]
async fn a_success_of_the_wrong_status_is_no_answer() {
    let (key, body) = create();
    let id = InstanceId::new("vm-1");
    for status in [202, 203, 204, 206] {
        let server = Server::always(status, "", &vm("vm-1", "c", "u")).await;
        let got = server.provider().get(&id).await.unwrap_err();
        assert_eq!(got.kind, ErrorKind::Malformed, "{status}");
    }
    for status in [203, 204, 205] {
        let server = Server::always(status, "", &vm("vm-1", "c", "u")).await;
        let made = server
            .provider()
            .create(&key, &body, WHENEVER)
            .await
            .unwrap_err();
        assert_eq!(made.kind, ErrorKind::Malformed, "{status}");
        assert!(made.may_have_happened());
        if status != 204 {
            let deleted = server.provider().delete(&id).await.unwrap_err();
            assert_eq!(deleted.kind, ErrorKind::Malformed, "{status}");
        }
    }
}

#[tokio::test]
async fn a_body_that_ends_too_early_is_not_taken_for_a_whole_one() {
    let whole = vm("vm-1", "c", "u");
    let cut = format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{whole}",
        whole.len() + 10
    );
    let server = Server::start(move |_| vec![Step::Bytes(cut.clone().into_bytes())]).await;
    let error = server
        .provider()
        .get(&InstanceId::new("vm-1"))
        .await
        .unwrap_err();
    assert_eq!(
        (error.kind, error.status),
        (ErrorKind::Unavailable, Some(200))
    );
}

#[tokio::test]
async fn a_compressed_answer_is_not_unpacked_and_none_is_asked_for() {
    // gzip of `{}`: were it unpacked, it would still be malformed, so what counts is what was asked for.
    let server = Server::always(200, "content-encoding: gzip\r\n", "\u{1f}\u{8b}").await;
    let error = server.provider().capabilities().await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Malformed);
    assert!(!server.asked()[0].head.contains("accept-encoding"));
}
