//! The sweep for VMs without an object, interrupted.

use std::os::unix::process::ExitStatusExt;

use serde_json::{Value, json};

use crate::e2e::cloud::prompt;
use crate::e2e::until_or;
use crate::stage::Stage;

/// A13: the operator dies as it reports an orphan. The next one reports the same, once, and touches nothing either.
#[test]
fn an_operator_killed_in_the_middle_of_a_sweep_leaves_the_report_to_the_next_one() {
    let stage = Stage::with(prompt(), |url| {
        json!({
            "endpoint": url, "timeoutSeconds": 5, "pollIntervalSeconds": 5,
            "orphans": { "minAgeSeconds": 60 },
        })
    });
    let mut first = stage.start("first", &[], Some("report-orphans")).ready();
    stage.create("web");
    stage.ready("web");
    let mut body = stage.cloud.ours()[0].clone();
    body["tags"]["vmoperator/uid"] = json!("dead");
    let orphan = stage.cloud.make(&body)["id"].clone();
    let died = first.wait();
    assert_eq!(died.signal(), Some(9), "it ended otherwise: {died}");
    let counted = || {
        let config = stage.house.config(&stage.namespace, "default");
        config.unwrap_or_default()["status"]["orphans"].clone()
    };
    assert_eq!(counted(), Value::Null, "it had reported before it died");
    let next = stage.leader("next");
    until_or(
        "the next one reports it",
        || counted() == 1,
        || format!("{}", counted()),
    );
    let events = format!(
        "/apis/events.k8s.io/v1/namespaces/{}/events",
        stage.namespace
    );
    let told = || {
        let mut events = stage.house.client.list(&events);
        events.retain(|event| event["reason"] == "OrphansFound");
        events.len()
    };
    until_or("it is told", || told() == 1, || told().to_string());
    assert_eq!(stage.cloud.calls("delete").0, 0, "something was done to it");
    stage
        .cloud
        .happen(orphan.as_str().expect("an id"), "vanish");
    stage.end();
    drop(next);
}
