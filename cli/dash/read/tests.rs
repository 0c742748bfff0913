use serde_json::json;

use super::*;

#[test]
fn a_machine_is_read_with_what_it_has() {
    let object = json!({
        "metadata": { "uid": "u", "namespace": "n", "name": "web", "generation": 3, "labels": { "app": "web" },
            "creationTimestamp": "2026-01-01T00:00:00Z", "deletionTimestamp": "2026-01-01T01:00:00Z" },
        "spec": { "cpu": 2, "memory": "4Gi", "image": "i", "providerRef": "p" },
        "status": { "phase": "Running", "observedGeneration": 2, "addresses": [{ "address": "10.0.0.1" }],
            "conditions": [{ "type": "Ready", "status": "True", "reason": "Running", "message": "it\nruns",
                "lastTransitionTime": "2026-01-01T00:00:01Z" }],
            "operation": { "type": "Delete", "attempts": 4, "nextAttemptAt": "2026-01-01T02:00:00Z" } },
    });
    let read = machine(&object);
    assert_eq!(
        (read.cpu, read.memory.as_str(), read.address.as_str()),
        (2, "4Gi", "10.0.0.1")
    );
    assert!(read.deleting && !read.current);
    assert_eq!(read.conditions[0].message, "it runs");
    assert_eq!(read.conditions[0].since.0 - read.created.0, 1000);
    let operation = read.operation.unwrap();
    assert_eq!(
        (
            operation.attempts,
            operation.next.unwrap().0 - read.created.0
        ),
        (4, 7_200_000)
    );
    assert_eq!(read.labels["app"], "web");
}

#[test]
fn whatever_an_object_is_it_can_be_read() {
    for object in [
        json!(null),
        json!([]),
        json!("x"),
        json!({ "spec": { "cpu": -1 }, "status": { "conditions": 7 } }),
    ] {
        let _ = (
            machine(&object),
            config(&object),
            event(&object),
            lease(&object, Stamp(1)),
            state(&object, Stamp(1)),
        );
        assert!(!is_ours(&object));
    }
}

#[test]
fn of_a_large_queue_the_telling_lines_are_kept() {
    let mut queue: Vec<Value> = (0..5000)
        .map(|number| json!({ "key": format!("n/{number}"), "state": "delayed", "seconds": 3.0, "failures": 0 }))
        .collect();
    queue.push(json!({ "key": "n/failed", "state": "delayed", "seconds": 9.5, "failures": 2 }));
    queue.push(json!({ "key": "n/running", "state": "running", "seconds": 0.5, "failures": 0 }));
    let read = state(
        &json!({ "leader": { "identity": "a", "leading": true }, "queue": queue }),
        Stamp(1),
    );
    let keys: Vec<_> = read
        .lines
        .iter()
        .take(2)
        .map(|line| line.key.as_str())
        .collect();
    assert_eq!(keys, ["n/running", "n/failed"]);
    assert_eq!((read.lines.len(), read.leading), (LINES, true));
}

#[test]
fn a_line_of_the_log_tells_its_object_and_its_fields() {
    let line = r#"{"timestamp":"2026-01-01T00:00:00Z","level":"INFO","target":"t","message":"created","namespace":"n","name":"web","pass":4,"id":"vm-1"}"#;
    let read = log_line(line, "operator", Stamp(5));
    assert_eq!(
        (read.key.as_str(), read.text.as_str(), read.level.as_str()),
        ("n/web", "created  id=vm-1", "INFO")
    );
    let plain = log_line("thread 'main' \u{1b}[31mpanicked", "operator", Stamp(5));
    assert_eq!((plain.at, plain.key.as_str()), (Stamp(5), ""));
    assert!(!plain.text.contains('\u{1b}'));
}

#[test]
fn events_of_both_kinds_of_api_have_their_time() {
    let event_of = |time: Value| {
        let mut object = json!({ "metadata": { "uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z" },
            "regarding": { "apiVersion": "compute.example.com/v1", "name": "web" }, "type": "Normal", "note": "text" });
        object
            .as_object_mut()
            .unwrap()
            .extend(time.as_object().unwrap().clone());
        assert!(is_ours(&object));
        event(&object)
    };
    let new = event_of(
        json!({ "eventTime": "2026-01-01T00:00:05Z", "series": { "count": 3, "lastObservedTime": "2026-01-01T00:00:09Z" } }),
    );
    let old = event_of(
        json!({ "deprecatedLastTimestamp": "2026-01-01T00:00:07Z", "deprecatedCount": 4 }),
    );
    let bare = event_of(json!({}));
    assert_eq!((new.at.0 - bare.at.0, new.count), (9000, 3));
    assert_eq!((old.at.0 - bare.at.0, old.count), (7000, 4));
    assert_eq!(bare.count, 1);
}
