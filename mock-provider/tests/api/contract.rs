//! The API as a client meets it.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;

use crate::client::{PATIENCE, exchange, options, request, start, vm};

#[tokio::test(flavor = "multi_thread")]
async fn capabilities_say_what_is_there() {
    let server = start(options()).await;
    let reply = server.call("GET", "/capabilities");
    let expected = json!({
        "version": "1", "account": "default", "list": true, "tagFilter": true, "listLagSeconds": 0, "changes": true,
        "idempotencyKeys": { "ttlSeconds": 86400 }, "power": false, "resize": [], "snapshots": false, "deleteIsAsync": false,
    });
    assert_eq!((reply.status, reply.json()), (200, expected));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_vm_is_made_seen_found_and_deleted() {
    let server = start(options()).await;
    let made = server.create("k", &vm());
    assert_eq!(made.status, 201);
    let made = made.json();
    let id = made["id"].as_str().unwrap().to_owned();
    assert_eq!(
        (made["phase"].as_str(), &made["addresses"]),
        (Some("Provisioning"), &json!([]))
    );
    assert_eq!(made["tags"], vm()["tags"]);
    assert!(made.get("name").is_none() && made.get("message").is_none());
    let since = made["revision"].as_str().unwrap();
    let news = server
        .call("GET", &format!("/vms/changes?since={since}&timeout=30"))
        .json();
    assert_eq!(news["changes"][0]["type"], "Upsert");
    assert_eq!(news["changes"][0]["vm"]["phase"], "Running");
    let shown = server.call("GET", &format!("/vms/{id}")).json();
    assert_eq!(shown, news["changes"][0]["vm"]);
    assert_eq!(
        shown["addresses"],
        json!([{ "type": "InternalIP", "address": "198.18.0.1" }])
    );
    let list = server.call("GET", "/vms?tag=vmoperator%2Fuid%3Du-1").json();
    assert_eq!(
        list,
        json!({ "items": [shown], "continue": "", "revision": news["revision"] })
    );
    assert_eq!(
        server.call("GET", "/vms?tag=vmoperator%2Fuid%3Du-2").json()["items"],
        json!([])
    );
    let gone = server.call("DELETE", &format!("/vms/{}", id.replace('-', "%2D")));
    assert_eq!((gone.status, gone.body.len()), (204, 0));
    assert_eq!(
        server.call("GET", &format!("/vms/{id}")).refusal(),
        (404, "NotFound".into())
    );
    assert_eq!(server.call("DELETE", &format!("/vms/{id}")).status, 204);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_replay_and_the_spelling_of_the_body_does_not_matter() {
    let server = start(options()).await;
    let first = server.create("k", &vm());
    assert_eq!(first.header("idempotency-replayed"), None);
    let spelled = r#" { "tags": {"vmoperator/incarnation":"i-1", "vmoperator\/uid": "u\u002d1"},
        "memory":"4Gi", "cpu": 2.0, "image":"ubuntu-22.04" } "#;
    let again = server.send("POST", "/vms", &[("idempotency-key", "k")], Some(spelled));
    assert_eq!(
        (again.status, again.header("idempotency-replayed")),
        (200, Some("true"))
    );
    assert_eq!(again.json()["id"], first.json()["id"]);
    let mut other = vm();
    other["extra"] = json!(1);
    assert_eq!(
        server.create("k", &other).refusal(),
        (422, "IdempotencyKeyReused".into())
    );
    let unreadable = server.send("POST", "/vms", &[("idempotency-key", "k")], Some("{"));
    assert_eq!(unreadable.refusal(), (422, "IdempotencyKeyReused".into()));
    server.call("DELETE", "/vms/vm-000001");
    let dead = server.create("k", &vm());
    assert_eq!(
        (dead.refusal(), dead.json()["id"].as_str()),
        ((409, "KeyOfDeletedVM".into()), Some("vm-000001"))
    );
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_in_use_while_its_answer_is_held_back_even_when_the_client_left() {
    let server = start(options()).await;
    server.fault(json!({ "operation": "create", "count": 1, "effect": { "kind": "delay", "milliseconds": 60000, "applied": true } }));
    let text = vm().to_string();
    let mut leaving = TcpStream::connect(server.running.addr).unwrap();
    leaving
        .write_all(&request(
            "POST",
            "/vms",
            &[("Idempotency-Key", "k")],
            Some(&text),
        ))
        .unwrap();
    while server.live().is_empty() {
        tokio::task::yield_now().await;
    }
    drop(leaving);
    let reply = server.create("k", &vm());
    assert_eq!(reply.refusal(), (409, "IdempotencyKeyInUse".into()));
    let after: u64 = reply.header("retry-after").unwrap().parse().unwrap();
    assert!((30..=60).contains(&after), "{after}");
    assert_eq!(server.live().len(), 1);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_requests_are_refused_with_a_body_that_says_why() {
    let server = start(options()).await;
    let with = |key: &str, value| {
        let mut body = vm();
        body[key] = value;
        server.send("POST", "/vms", &[], Some(&body.to_string()))
    };
    let invalid = |code: &str| code.to_owned();
    assert_eq!(
        with("cpu", json!(0)).refusal(),
        (422, invalid("InvalidSpec"))
    );
    assert_eq!(
        with("cpu", json!(1.5)).refusal(),
        (400, invalid("InvalidRequest"))
    );
    assert_eq!(
        with("cpu", json!("2")).refusal(),
        (400, invalid("InvalidRequest"))
    );
    assert_eq!(
        with("image", json!("")).refusal(),
        (422, invalid("InvalidImage"))
    );
    assert_eq!(
        with("memory", json!(null)).refusal(),
        (400, invalid("InvalidRequest"))
    );
    assert_eq!(
        with("tags", json!({ "a": 1 })).refusal(),
        (400, invalid("InvalidRequest"))
    );
    assert_eq!(
        with("snapshotId", json!("snap-000001")).refusal(),
        (422, invalid("InvalidSpec"))
    );
    for (method, path) in [
        ("PATCH", "/vms/vm-000001"),
        ("POST", "/vms/vm-000001/start"),
        ("GET", "/"),
        ("GET", "/snapshots"),
        ("PUT", "/vms"),
    ] {
        assert_eq!(
            server.call(method, path).refusal(),
            (404, invalid("NotFound")),
            "{method} {path}"
        );
    }
    let reply = server.call("GET", "/vms/%zz");
    assert_eq!(reply.refusal(), (404, invalid("NotFound")));
    assert_eq!(
        reply.json()["requestId"].as_str(),
        reply.header("x-request-id")
    );
    assert!(server.live().is_empty());
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_parameters_and_keys_are_refused() {
    let server = start(options()).await;
    let invalid = |code: &str| code.to_owned();
    for query in [
        "limit=0",
        "limit=1001",
        "limit=x",
        "tag=novalue",
        "continue=forged",
    ] {
        assert_eq!(
            server.call("GET", &format!("/vms?{query}")).refusal(),
            (400, invalid("InvalidRequest")),
            "{query}"
        );
    }
    for query in ["", "since=x", "since=-1", "since=0&timeout=301"] {
        assert_eq!(
            server
                .call("GET", &format!("/vms/changes?{query}"))
                .refusal()
                .0,
            400,
            "{query}"
        );
    }
    assert_eq!(
        server.call("GET", "/vms/changes?since=9").refusal(),
        (410, invalid("RevisionExpired"))
    );
    for key in ["", "a b", "ä", &"k".repeat(256)] {
        let reply = server.send(
            "POST",
            "/vms",
            &[("Idempotency-Key", key)],
            Some(&vm().to_string()),
        );
        assert_eq!(reply.refusal(), (400, invalid("InvalidRequest")), "{key:?}");
    }
    assert!(server.live().is_empty());
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_above_one_mebibyte_is_refused_announced_or_not() {
    let server = start(options()).await;
    let fits = format!("{}{}", vm(), " ".repeat((1 << 20) - vm().to_string().len()));
    assert_eq!(server.send("POST", "/vms", &[], Some(&fits)).status, 201);
    let over = fits + " ";
    assert_eq!(
        server.send("POST", "/vms", &[], Some(&over)).refusal(),
        (413, "InvalidRequest".into())
    );
    let mut chunked = b"POST /vms HTTP/1.1\r\nHost: mock\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    chunked.extend(format!("{:x}\r\n{over}\r\n0\r\n\r\n", over.len()).into_bytes());
    assert_eq!(exchange(server.running.addr, &chunked).refusal().0, 413);
    assert_eq!(server.live().len(), 1);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_opens_its_own_account_only() {
    let api_keys = ["acme=k1", "acme=k2", "other=k3"].map(Into::into).to_vec();
    let server = start(mock_provider::Options {
        api_keys,
        ..options()
    })
    .await;
    let as_key = |key: &str, method: &str, path: &str, body: Option<&str>| {
        server.send(
            method,
            path,
            &[("Authorization", &format!("Bearer {key}"))],
            body,
        )
    };
    assert_eq!(
        server.call("GET", "/capabilities").refusal(),
        (401, "Unauthenticated".into())
    );
    for bad in ["Bearer wrong", "Bearer", "Basic k1", "k1", "Bearer k1 k2"] {
        assert_eq!(
            server
                .send("GET", "/vms", &[("Authorization", bad)], None)
                .refusal()
                .0,
            401,
            "{bad}"
        );
    }
    assert_eq!(
        as_key("k1", "GET", "/capabilities", None).json()["account"],
        "acme"
    );
    assert_eq!(
        as_key("k1", "POST", "/vms", Some(&vm().to_string())).status,
        201
    );
    assert_eq!(as_key("k2", "GET", "/vms/vm-000001", None).status, 200);
    assert_eq!(as_key("k3", "GET", "/vms/vm-000001", None).status, 404);
    assert_eq!(as_key("k3", "DELETE", "/vms/vm-000001", None).status, 204);
    assert_eq!(server.live(), ["vm-000001"]);
    let (first, second) = (&server.log()[6], &server.log()[8]);
    assert_eq!(
        (first["account"].as_str(), second["account"].as_str()),
        (Some("acme"), Some("acme"))
    );
    assert_ne!(first["apiKey"], second["apiKey"]);
    assert!(
        !server
            .admin("GET", "/log", json!(null))
            .text()
            .contains("k1")
    );
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_answer_with_their_codes() {
    let options = mock_provider::Options {
        rate_limit: Some(0.001),
        rate_burst: Some(3),
        quota: Some(1),
        ..options()
    };
    let server = start(options).await;
    assert_eq!(server.create("a", &vm()).status, 201);
    assert_eq!(
        server.create("b", &vm()).refusal(),
        (403, "QuotaExceeded".into())
    );
    assert_eq!(server.call("DELETE", "/vms/vm-000001").status, 204);
    let limited = server.call("GET", "/capabilities");
    assert_eq!(limited.refusal(), (429, "RateLimited".into()));
    let wait: u64 = limited.header("retry-after").unwrap().parse().unwrap();
    assert!((900..=1000).contains(&wait), "{wait}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn delays_show_on_the_wire() {
    let options = mock_provider::Options {
        delete_delay: Duration::from_millis(50),
        list_lag: Duration::from_millis(1500),
        page_size: 1,
        ..options()
    };
    let server = start(options).await;
    let capabilities = server.call("GET", "/capabilities").json();
    assert_eq!(
        (
            &capabilities["deleteIsAsync"],
            &capabilities["listLagSeconds"]
        ),
        (&json!(true), &json!(2))
    );
    server.admin("POST", "/time", json!({ "frozen": true }));
    server.create("a", &vm());
    server.create("b", &vm());
    assert_eq!(server.call("GET", "/vms").json()["items"], json!([]));
    server.admin("POST", "/time", json!({ "stepMilliseconds": 1500 }));
    let page = server.call("GET", "/vms").json();
    let token = page["continue"].as_str().unwrap();
    assert_eq!(page["items"].as_array().unwrap().len(), 1);
    let next = server.call("GET", &format!("/vms?continue={token}")).json();
    assert_eq!(
        (next["items"][0]["id"].as_str(), next["continue"].as_str()),
        (Some("vm-000002"), Some(""))
    );
    server.admin("POST", "/time", json!({ "stepMilliseconds": 300_000 }));
    assert_eq!(
        server
            .call("GET", &format!("/vms?continue={token}"))
            .refusal(),
        (410, "ContinueExpired".into())
    );
    let going = server.call("DELETE", "/vms/vm-000001");
    assert_eq!(
        (going.status, going.json()["phase"].as_str()),
        (202, Some("Deleting"))
    );
    server.admin("POST", "/time", json!({ "stepMilliseconds": 50 }));
    assert_eq!(server.call("GET", "/vms/vm-000001").status, 404);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_poll_ends_empty_at_its_timeout_and_at_once_on_a_change() {
    let server = start(options()).await;
    let empty = server.call("GET", "/vms/changes?since=0&timeout=0").json();
    assert_eq!(empty, json!({ "changes": [], "revision": "0" }));
    assert_eq!(
        server.call("GET", "/vms/changes?since=0&timeout=1").json(),
        empty
    );
    let mut waiting = TcpStream::connect(server.running.addr).unwrap();
    waiting.set_read_timeout(Some(PATIENCE)).unwrap();
    waiting
        .write_all(&request(
            "GET",
            "/vms/changes?since=0&timeout=300",
            &[],
            None,
        ))
        .unwrap();
    server.create("a", &vm());
    let mut text = String::new();
    waiting.read_to_string(&mut text).unwrap();
    assert!(text.contains("\"type\":\"Upsert\""), "{text}");
    server.stop().await;
}
