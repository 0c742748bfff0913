//! What is sent, and what is made of the answers that are as they should be.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::domain::{Capabilities, ErrorKind, InstanceId};
use crate::provider::Provider;
use crate::provider::credential::Credential;
use crate::provider::http::HttpProvider;
use crate::provider::testing::{Server, Step, WHENEVER, answer, create, options, vm};

#[tokio::test]
async fn a_create_sends_key_and_body_to_the_byte_and_takes_each_status_of_success() {
    for status in [200, 201, 202] {
        let server = Server::always(status, "", &vm("vm-1", "c", "u")).await;
        let (key, body) = create();
        let made = server
            .provider()
            .create(&key, &body, WHENEVER)
            .await
            .unwrap();
        assert_eq!(made.id.as_str(), "vm-1");
        let asked = server.asked().remove(0);
        assert_eq!(
            (asked.method.as_str(), asked.target.as_str()),
            ("POST", "/vms")
        );
        assert_eq!(asked.body, body.as_str());
        let header = format!("idempotency-key: {}\r\n", key.as_str());
        assert!(asked.head.contains(&header), "{}", asked.head);
        assert!(asked.head.contains("content-type: application/json\r\n"));
        assert!(!asked.head.contains("authorization"));
    }
}

#[tokio::test]
async fn the_path_of_the_endpoint_and_the_key_go_with_each_call() {
    let server = Server::always(200, "", &vm("vm-1", "c", "u")).await;
    for path in ["/cloud/v1", "/cloud/v1/"] {
        let mut options = options(server.url(path));
        options.credential = Some(Credential::new("K3y").unwrap());
        let provider = HttpProvider::new(options).unwrap();
        provider.get(&InstanceId::new("vm-1")).await.unwrap();
        let asked = server.asked().pop().unwrap();
        assert_eq!(asked.target, "/cloud/v1/vms/vm-1");
        assert!(asked.head.contains("authorization: bearer k3y\r\n"));
    }
}

#[tokio::test]
async fn hostile_ids_stay_one_step_of_the_path() {
    let cases = [
        ("a/../../admin", "/vms/a%2F..%2F..%2Fadmin"),
        ("../capabilities", "/vms/..%2Fcapabilities"),
        ("%2e%2e", "/vms/%252e%252e"),
        ("a?x=1#y", "/vms/a%3Fx=1%23y"),
        ("a\\b", "/vms/a%5Cb"),
        ("...", "/vms/..."),
        ("//host", "/vms/%2F%2Fhost"),
        ("a;b:c@d", "/vms/a;b:c@d"),
    ];
    for (id, target) in cases {
        let server = Server::always(204, "", "").await;
        server
            .provider()
            .delete(&InstanceId::new(id))
            .await
            .unwrap();
        assert_eq!(server.asked()[0].target, target, "{id}");
    }
}

#[tokio::test]
async fn what_cannot_be_an_id_is_not_sent() {
    let server = Server::always(204, "", "").await;
    let provider = server.provider();
    let long = "a".repeat(254);
    for id in [
        "",
        ".",
        "..",
        "a b",
        "a\r\nhost: x",
        "\u{e4}",
        "\u{0}",
        &long,
    ] {
        let id = InstanceId::new(id);
        assert_eq!(
            provider.get(&id).await.unwrap_err().kind,
            ErrorKind::Invalid
        );
        assert_eq!(
            provider.delete(&id).await.unwrap_err().kind,
            ErrorKind::Invalid
        );
    }
    assert_eq!(server.connections.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn gone_going_and_never_there_are_all_deleted() {
    let going = vm("vm-1", "c", "u");
    let id = InstanceId::new("vm-1");
    for (status, body) in [
        (204, ""),
        (202, going.as_str()),
        (200, going.as_str()),
        (404, ""),
        (404, r#"{"code":"NotFound"}"#),
    ] {
        let server = Server::always(status, "", body).await;
        assert_eq!(server.provider().delete(&id).await, Ok(()), "{status}");
        assert_eq!(server.asked()[0].method, "DELETE");
    }
    let busy = Server::always(404, "", r#"{"code":"Busy"}"#).await;
    let error = busy.provider().delete(&id).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Conflict);
}

#[tokio::test]
async fn a_provider_without_capabilities_is_a_basic_one() {
    let server = Server::always(404, "", "404 page not found").await;
    let said = server.provider().capabilities().await;
    assert_eq!(said, Ok(Capabilities::default()));
}

#[tokio::test]
async fn abilities_that_were_seen_do_not_vanish() {
    let turn = AtomicUsize::new(0);
    let server = Server::start(move |_| {
        let full = r#"{"version":"1","list":true,"idempotencyKeys":{"ttlSeconds":60}}"#;
        vec![Step::Bytes(match turn.fetch_add(1, Ordering::SeqCst) {
            1 => answer(404, "", "no such service"),
            _ => answer(200, "", full),
        })]
    })
    .await;
    let provider = server.provider();
    assert!(provider.capabilities().await.unwrap().safe_create());
    let gateway = provider.capabilities().await.unwrap_err();
    assert_eq!(gateway.kind, ErrorKind::Malformed);
    assert!(provider.capabilities().await.unwrap().safe_create());
}

#[tokio::test]
async fn a_failed_call_is_sent_once() {
    for status in [429, 500, 503] {
        let server = Server::always(status, "retry-after: 0\r\n", "").await;
        let _ = server.provider().get(&InstanceId::new("vm-1")).await;
        assert_eq!(server.asked().len(), 1, "{status}");
    }
    let server = Server::start(|_| vec![]).await;
    let _ = server.provider().get(&InstanceId::new("vm-1")).await;
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn nothing_is_followed_and_the_key_goes_nowhere_else() {
    let trap = Server::always(200, "", "{}").await;
    for status in [301, 302, 303, 307, 308] {
        let header = format!("location: {}\r\n", trap.url("/vms/vm-1"));
        let server = Server::always(status, &header, "").await;
        let mut options = options(server.url(""));
        options.credential = Some(Credential::new("K3y").unwrap());
        let provider = HttpProvider::new(options).unwrap();
        let (key, body) = create();
        let error = provider.create(&key, &body, WHENEVER).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Malformed, "{status}");
        let error = provider.get(&InstanceId::new("vm-1")).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Malformed, "{status}");
    }
    assert_eq!(trap.connections.load(Ordering::SeqCst), 0);
}
