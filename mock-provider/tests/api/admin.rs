//! The admin interface.

use serde_json::{Value, json};

use crate::client::{options, start, vm};

#[tokio::test(flavor = "multi_thread")]
async fn the_log_is_a_ring_that_is_read_from_a_place_on() {
    let server = start(mock_provider::Options {
        request_log: 3,
        ..options()
    })
    .await;
    for _ in 0..5 {
        server.call("GET", "/capabilities");
    }
    let seqs = |path: &str| -> Vec<u64> {
        let text = server.admin("GET", path, Value::Null).text();
        text.lines()
            .map(|line| {
                serde_json::from_str::<Value>(line).unwrap()["seq"]
                    .as_u64()
                    .unwrap()
            })
            .collect()
    };
    assert_eq!(seqs("/log"), [3, 4, 5]);
    assert_eq!(seqs("/log?since=4"), [5]);
    assert_eq!(seqs("/log?since=0&limit=2"), [3, 4]);
    assert_eq!(seqs("/log?since=5"), [0; 0]);
    assert_eq!(seqs("/log?since=18446744073709551615"), [0; 0]);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stats_count_calls_by_operation_and_status() {
    let server = start(options()).await;
    server.create("k", &vm());
    server.create("k", &vm());
    server.fault(json!({ "operation": "delete", "effect": { "kind": "dropAfter" } }));
    server.call("DELETE", "/vms/vm-000001");
    let stats = server.admin("GET", "/stats", Value::Null).json();
    assert_eq!(
        stats["operations"]["create"],
        json!({ "statuses": { "200": 1, "201": 1 }, "applied": 1, "dropped": 0 })
    );
    assert_eq!(
        stats["operations"]["delete"],
        json!({ "statuses": { "204": 1 }, "applied": 1, "dropped": 1 })
    );
    let account = &stats["accounts"]["default"];
    assert_eq!(
        (
            &account["live"],
            &account["deleted"],
            &account["idempotencyKeys"]
        ),
        (&json!(0), &json!(1), &json!(1))
    );
    assert_eq!(stats["lastSeq"], 3);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_act_does_what_it_says() {
    let server = start(options()).await;
    server.admin("POST", "/time", json!({ "frozen": true }));
    for key in ["a", "b"] {
        server.create(key, &vm());
    }
    let act =
        |name: &str, body: Value| server.admin("POST", &format!("/vms/vm-000001/{name}"), body);
    assert_eq!(act("run", Value::Null).json()["phase"], "Running");
    assert_eq!(act("stop", Value::Null).json()["phase"], "Stopped");
    assert_eq!(
        act("drift", json!({ "cpu": 8, "memory": "1Gi", "image": "x" })).json()["cpu"],
        8
    );
    let tags = json!({ "tags": { "b": "2", "a": "1" } });
    assert_eq!(act("tag", tags.clone()).json()["tags"], tags["tags"]);
    assert_eq!(act("strip-tags", Value::Null).json()["tags"], json!({}));
    assert_eq!(
        act("created-at", json!({ "createdAt": "2001-02-03T04:05:06Z" })).json()["createdAt"],
        "2001-02-03T04:05:06Z"
    );
    assert_eq!(
        act("fail", json!({ "message": "no host" })).json()["message"],
        "no host"
    );
    let shown = server.call("GET", "/vms/vm-000001").json();
    assert_eq!(
        (&shown["phase"], &shown["memory"], &shown["tags"]),
        (&json!("Failed"), &json!("1Gi"), &json!({}))
    );
    assert_eq!(act("vanish", Value::Null).status, 200);
    assert_eq!(server.live(), ["vm-000002"]);
    let all = server.admin("GET", "/vms", Value::Null).json();
    assert!(
        all["items"][0]["deletedAt"].is_string() && all["items"][1]["deletedAt"].is_null(),
        "{all}"
    );
    for (name, body, status) in [
        ("vanish", Value::Null, 404),
        ("dance", Value::Null, 404),
        ("drift", Value::Null, 400),
        ("created-at", json!({}), 400),
        ("fail", json!({ "colour": 1 }), 400),
    ] {
        assert_eq!(act(name, body).status, status, "{name}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn frozen_time_stands_and_steps() {
    let server = start(options()).await;
    let set = |body| server.admin("POST", "/time", body).json();
    let frozen = set(json!({ "frozen": true }));
    assert_eq!(server.admin("GET", "/time", Value::Null).json(), frozen);
    server.create("k", &vm());
    let phase = || {
        server.call("GET", "/vms/vm-000001").json()["phase"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    set(json!({ "stepMilliseconds": 19 }));
    assert_eq!(phase(), "Provisioning");
    set(json!({ "stepMilliseconds": 1 }));
    assert_eq!(phase(), "Running");
    let before: jiff::Timestamp = frozen["now"].as_str().unwrap().parse().unwrap();
    set(json!({ "stepMilliseconds": 3_600_000 }));
    let after: jiff::Timestamp = set(json!({ "frozen": false }))["now"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    // It goes on from where it stood.
    assert!(after.duration_since(before).as_secs() >= 3600);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn api_keys_come_and_go_and_the_last_one_locks_the_door() {
    let server = start(options()).await;
    assert_eq!(server.call("GET", "/capabilities").status, 200);
    let added = server.admin(
        "POST",
        "/api-keys",
        json!({ "key": "s3cret", "account": "acme" }),
    );
    assert_eq!(
        (added.status, added.json()["account"].as_str()),
        (201, Some("acme"))
    );
    let bearer = || {
        server.send(
            "GET",
            "/capabilities",
            &[("Authorization", "bearer s3cret")],
            None,
        )
    };
    assert_eq!(
        (
            server.call("GET", "/capabilities").status,
            bearer().json()["account"].as_str()
        ),
        (401, Some("acme"))
    );
    let fingerprint = added.json()["fingerprint"].as_str().unwrap().to_owned();
    let listed = server.admin("GET", "/api-keys", Value::Null);
    assert!(!listed.text().contains("s3cret"));
    assert_eq!(
        listed.json(),
        json!({ "required": true, "items": [{ "fingerprint": fingerprint, "account": "acme" }] })
    );
    assert_eq!(server.log().pop().unwrap()["apiKey"], fingerprint.as_str());
    assert_eq!(
        server
            .admin("DELETE", &format!("/api-keys/{fingerprint}"), Value::Null)
            .status,
        200
    );
    assert_eq!(
        (bearer().status, server.call("GET", "/capabilities").status),
        (401, 401)
    );
    assert_eq!(
        server
            .admin("DELETE", &format!("/api-keys/{fingerprint}"), Value::Null)
            .status,
        404
    );
    assert_eq!(
        server
            .admin("POST", "/api-keys", json!({ "key": "a b", "account": "x" }))
            .status,
        400
    );
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn idempotency_keys_can_be_forgotten() {
    let server = start(options()).await;
    server.create("k", &vm());
    let forget = |query: &str| {
        server
            .admin("DELETE", &format!("/idempotency-keys{query}"), Value::Null)
            .json()["forgotten"]
            .as_u64()
    };
    assert_eq!(forget("?account=other"), Some(0));
    assert_eq!(forget("?account=123&key=true"), Some(0));
    assert_eq!(forget("?account=default&key=k"), Some(1));
    assert_eq!(server.create("k", &vm()).status, 201);
    assert_eq!(forget(""), Some(1));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_change_while_it_runs() {
    let server = start(options()).await;
    let change = |body| server.admin("PATCH", "/settings", body);
    let body = json!({
        "provisioningMilliseconds": 3_600_000, "quota": 1, "deleteDelayMilliseconds": 3_600_000, "pageSize": 7,
        "latencyMilliseconds": 1, "rateLimit": 500, "rateBurst": 9, "listLagMilliseconds": 5,
    });
    let shown = change(body.clone()).json();
    for (name, value) in body.as_object().unwrap() {
        assert_eq!(shown[name].as_f64(), value.as_f64(), "{name}");
    }
    server.create("a", &vm());
    assert_eq!(server.create("b", &vm()).refusal().0, 403);
    assert_eq!(server.call("DELETE", "/vms/vm-000001").status, 202);
    let lifted = change(json!({ "quota": -1, "rateLimit": 0 })).json();
    assert_eq!(
        (&lifted["quota"], &lifted["rateLimit"]),
        (&json!(-1), &json!(0.0))
    );
    assert_eq!(server.create("b", &vm()).status, 201);
    for wrong in [
        json!({ "pageSize": 0 }),
        json!({ "latencyTailShare": 2 }),
        json!({ "rateLimit": -1 }),
        json!({ "nonsense": 1 }),
        json!({ "quota": "x" }),
    ] {
        assert_eq!(change(wrong.clone()).status, 400, "{wrong}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_admin_calls_get_an_answer_that_says_so() {
    let server = start(options()).await;
    let status = |effect: Value| {
        server
            .admin("POST", "/faults", json!({ "effect": effect }))
            .status
    };
    assert_eq!(status(json!({ "kind": "status", "status": 99 })), 400);
    assert_eq!(
        status(json!({ "kind": "status", "status": 503, "retryAfter": "a\nb" })),
        400
    );
    assert_eq!(status(json!({ "kind": "nonsense" })), 400);
    assert_eq!(
        status(json!({ "kind": "huge", "bytes": 2_000_000_000 })),
        400
    );
    let rule = |part: &str, value: Value| {
        let mut rule = json!({ "effect": { "kind": "dropAfter" } });
        rule[part] = value;
        server.admin("POST", "/faults", rule).status
    };
    assert_eq!(rule("probability", json!(1.5)), 400);
    assert_eq!(rule("count", json!(0)), 400);
    assert_eq!(rule("tag", json!("novalue")), 400);
    assert_eq!(rule("operation", json!("dance")), 400);
    assert_eq!(rule("colour", json!("red")), 400);
    assert_eq!(rule("count", json!(1)), 201);
    assert_eq!(server.admin("DELETE", "/faults/1", Value::Null).status, 200);
    assert_eq!(server.admin("DELETE", "/faults/1", Value::Null).status, 404);
    assert_eq!(server.admin("DELETE", "/faults/x", Value::Null).status, 404);
    for path in [
        "/nothing",
        "/vms?limit=0",
        "/vms?colour=red",
        "/log?since=x",
    ] {
        let reply = server.admin("GET", path, Value::Null);
        assert!(
            (400..=404).contains(&reply.status) && reply.json()["message"].is_string(),
            "{path} {reply:?}"
        );
    }
    assert_eq!(server.admin("GET", "/healthz", Value::Null).status, 200);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn there_is_no_admin_interface_unless_asked_for() {
    let server = start(mock_provider::Options {
        admin_listen: None,
        ..options()
    })
    .await;
    assert_eq!(server.running.admin_addr, None);
    assert_eq!(server.call("GET", "/stats").status, 404);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_that_is_given_again_is_another_vm_to_everybody() {
    let server = start(options()).await;
    server.create("mine", &vm());
    let before = server.call("GET", "/vms/vm-000001").json();
    let tags = json!({ "owner": "somebody" });
    let reused = server.admin("POST", "/vms/vm-000001/reuse", json!({ "tags": tags }));
    assert_eq!(reused.status, 200);
    let after = server.call("GET", "/vms/vm-000001").json();
    assert_eq!((&after["id"], &after["tags"]), (&before["id"], &tags));
    assert_ne!(after["createdAt"], before["createdAt"]);
    let found = server.call("GET", "/vms?tag=owner%3Dsomebody").json();
    assert_eq!(found["items"][0]["id"], "vm-000001");
    let replay = server.create("mine", &vm());
    assert_eq!(replay.json()["code"], "KeyOfDeletedVM");
    server.stop().await;
}
