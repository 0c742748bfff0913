//! The three endpoints alone.

use serde_json::json;

use crate::client::{options, start, vm};

#[tokio::test(flavor = "multi_thread")]
async fn a_basic_provider_has_three_endpoints_and_ignores_keys_and_tags() {
    let server = start(mock_provider::Options {
        basic: true,
        ..options()
    })
    .await;
    for path in ["/capabilities", "/vms", "/vms/changes?since=0"] {
        assert_eq!(server.call("GET", path).status, 404, "{path}");
    }
    let made = server.create("k", &vm());
    assert_eq!(made.status, 201);
    let made = made.json();
    assert!(
        made.get("tags").is_none() && made.get("revision").is_none(),
        "{made}"
    );
    // The same key: another VM.
    assert_eq!(server.create("k", &vm()).json()["id"], "vm-000002");
    assert_eq!(server.call("GET", "/vms/vm-000001").status, 200);
    assert_eq!(server.call("DELETE", "/vms/vm-000001").status, 204);
    assert_eq!(
        server.call("GET", "/vms/vm-000001").refusal(),
        (404, "NotFound".into())
    );
    // What comes as a key need not even be one.
    let odd = server.send(
        "POST",
        "/vms",
        &[("Idempotency-Key", "a b")],
        Some(&json!({ "image": "a", "cpu": 1, "memory": "1Gi" }).to_string()),
    );
    assert_eq!(odd.status, 201);
    server.stop().await;
}
