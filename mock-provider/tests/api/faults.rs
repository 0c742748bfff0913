//! Each fault effect as a client meets it, and what became of the call.

use std::io::Write as _;
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::client::{Reply, Server, options, request, start, vm};

/// One create under a rule: its answer, what the log says, and how many VMs there are.
async fn create_under(effect: Value) -> (Reply, Value, usize) {
    let server = start(options()).await;
    server.fault(json!({ "operation": "create", "count": 1, "effect": effect }));
    let reply = server.create("k", &vm());
    let entry = server.log().pop().unwrap();
    let live = server.live().len();
    // The rule is spent: the same call again is answered as it should be, and one VM is all there ever is.
    let again = server.create("k", &vm());
    assert_eq!(again.status, if live == 1 { 200 } else { 201 }, "{again:?}");
    assert_eq!(server.live(), ["vm-000001"]);
    assert_eq!(entry["fault"], 1);
    server.stop().await;
    (reply, entry, live)
}

fn marks(entry: &Value) -> (u64, bool, bool) {
    (
        entry["status"].as_u64().unwrap(),
        entry["applied"] == true,
        entry["dropped"] == true,
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_status_stands_in_for_the_real_answer() {
    let effect =
        json!({ "kind": "status", "status": 503, "code": "Unavailable", "retryAfter": "soon" });
    let (reply, entry, live) = create_under(effect).await;
    assert_eq!(
        (reply.refusal(), reply.header("retry-after"), live),
        ((503, "Unavailable".into()), Some("soon"), 0)
    );
    assert_eq!(
        (marks(&entry), entry["code"].as_str()),
        ((503, false, false), Some("Unavailable"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_status_may_hide_that_the_call_was_carried_out() {
    let (reply, entry, live) =
        create_under(json!({ "kind": "status", "status": 500, "applied": true })).await;
    assert_eq!((reply.status, reply.body.len(), live), (500, 0, 1));
    assert_eq!(marks(&entry), (500, true, false));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_names_its_place() {
    let (reply, _, live) =
        create_under(json!({ "kind": "status", "status": 307, "location": "http://elsewhere/" }))
            .await;
    assert_eq!(
        (reply.status, reply.header("location"), live),
        (307, Some("http://elsewhere/"), 0)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn dropped_after_applying_there_is_a_vm_and_no_answer() {
    let (reply, entry, live) = create_under(json!({ "kind": "dropAfter" })).await;
    assert_eq!(
        (reply.status, live, marks(&entry)),
        (0, 1, (201, true, true))
    );
    assert_eq!(
        (&entry["vmId"], &entry["uid"], &entry["incarnation"]),
        (&json!("vm-000001"), &json!("u-1"), &json!("i-1"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn dropped_before_applying_there_is_neither() {
    let (reply, entry, live) = create_under(json!({ "kind": "dropBefore" })).await;
    assert_eq!(
        (reply.status, live, marks(&entry)),
        (0, 0, (0, false, true))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_json_comes_whole() {
    let (reply, entry, live) = create_under(json!({ "kind": "malformed" })).await;
    assert_eq!(
        (reply.status, live, marks(&entry)),
        (201, 1, (201, true, false))
    );
    assert_eq!(
        reply.header("content-length"),
        Some(reply.body.len().to_string().as_str())
    );
    assert!(serde_json::from_slice::<Value>(&reply.body).is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_truncated_body_promises_more_than_comes() {
    let (reply, entry, live) = create_under(json!({ "kind": "truncated" })).await;
    let promised: usize = reply.header("content-length").unwrap().parse().unwrap();
    assert_eq!(
        (reply.status, reply.body.len(), live),
        (201, promised / 2, 1)
    );
    assert_eq!(marks(&entry), (201, true, true));
}

#[tokio::test(flavor = "multi_thread")]
async fn html_comes_with_the_real_status_or_another() {
    let (reply, _, live) = create_under(json!({ "kind": "html" })).await;
    assert_eq!(
        (reply.status, reply.header("content-type"), live),
        (201, Some("text/html; charset=utf-8"), 1)
    );
    assert!(reply.text().starts_with("<!DOCTYPE html>"));
    let (reply, ..) = create_under(json!({ "kind": "html", "status": 502 })).await;
    assert_eq!(reply.status, 502);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_huge_body_is_good_json_of_the_length_asked_for() {
    let (reply, _, live) = create_under(json!({ "kind": "huge", "bytes": 3_000_001 })).await;
    assert_eq!((reply.status, reply.body.len(), live), (201, 3_000_001, 1));
    assert_eq!(reply.json()["id"], "vm-000001");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_drip_arrives_in_the_end() {
    let (reply, _, live) = create_under(json!({ "kind": "slowDrip", "milliseconds": 1 })).await;
    assert_eq!(
        (reply.status, live, reply.json()["id"].as_str()),
        (201, 1, Some("vm-000001"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_id_is_in_the_answer_alone() {
    let (reply, entry, _) = create_under(json!({ "kind": "wrongId" })).await;
    assert_eq!(
        (&reply.json()["id"], &entry["vmId"]),
        (&json!("vm-999999999999"), &json!("vm-000001"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delay_after_applying_only_delays() {
    let (reply, entry, live) =
        create_under(json!({ "kind": "delay", "milliseconds": 5, "applied": true })).await;
    assert_eq!(
        (reply.status, live, marks(&entry)),
        (201, 1, (201, true, false))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_is_late_arrives_although_its_client_left() {
    let server = start(options()).await;
    server.fault(
        json!({ "operation": "create", "effect": { "kind": "delay", "milliseconds": 300 } }),
    );
    let mut leaving = TcpStream::connect(server.running.addr).unwrap();
    leaving
        .write_all(&request("POST", "/vms", &[], Some(&vm().to_string())))
        .unwrap();
    let matched = |server: &Server| {
        server.admin("GET", "/faults", Value::Null).json()["items"][0]["hits"] == 1
    };
    while !matched(&server) {
        tokio::task::yield_now().await;
    }
    drop(leaving);
    while server.live().is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(marks(&server.log()[0]), (201, true, false));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_choose_by_operation_tag_vm_account_skip_and_count() {
    let server = start(options()).await;
    let rule = |part: Value| {
        let mut rule = json!({ "effect": { "kind": "status", "status": 418 } });
        rule.as_object_mut()
            .unwrap()
            .extend(part.as_object().unwrap().clone());
        assert_eq!(server.admin("DELETE", "/faults", Value::Null).status, 200);
        server.fault(rule);
    };
    server.create("k", &vm());
    let get = || server.call("GET", "/vms/vm-000001").status;
    let list = || server.call("GET", "/vms?tag=vmoperator/uid=u-1").status;
    for (part, expected) in [
        (json!({ "operation": "get" }), [418, 200]),
        (json!({ "operation": "list" }), [200, 418]),
        (json!({ "tag": "vmoperator/uid=u-1" }), [418, 418]),
        (json!({ "tag": "vmoperator/uid=u-2" }), [200, 200]),
        (json!({ "vmId": "vm-000001" }), [418, 200]),
        (json!({ "account": "default" }), [418, 418]),
        (json!({ "account": "other" }), [200, 200]),
        (json!({ "count": 1 }), [418, 200]),
        (json!({ "skip": 1 }), [200, 418]),
        (json!({ "probability": 0 }), [200, 200]),
    ] {
        rule(part.clone());
        assert_eq!([get(), list()], expected, "{part}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_can_lose_its_answer_too() {
    let server = start(options()).await;
    server.create("k", &vm());
    server.fault(json!({ "operation": "delete", "effect": { "kind": "malformed" } }));
    // A 204 has no body, so it becomes a 200 that has one.
    let reply = server.call("DELETE", "/vms/vm-000001");
    assert_eq!((reply.status, server.live().len()), (200, 0));
    server.stop().await;
}
