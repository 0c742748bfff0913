use serde_json::json;

use super::*;

fn machine(generation: i64, observed: i64, status: &str) -> Value {
    json!({ "metadata": { "name": "a", "generation": generation }, "status": { "phase": "Running",
        "observedGeneration": observed, "conditions": [{ "type": "Ready", "status": status, "reason": "Running",
        "message": "the instance runs", "observedGeneration": observed }] } })
}

#[test]
fn a_condition_and_a_phase_of_an_older_generation_do_not_hold() {
    let (current, old) = (machine(2, 2, "True"), machine(2, 1, "True"));
    assert!(Object(&current).holds(ConditionType::Ready).is_some());
    assert_eq!(Object(&current).phase(), Some("Running"));
    assert_eq!(Object(&old).holds(ConditionType::Ready), None);
    assert_eq!(Object(&old).phase(), None);
    assert!(
        Object(&old)
            .story()
            .contains("has not looked at the change")
    );
    assert_eq!(
        Object(&machine(1, 1, "False")).holds(ConditionType::Ready),
        None
    );
}

#[test]
fn a_condition_without_a_generation_counts_but_not_against_an_old_status() {
    let mut machine = machine(3, 3, "True");
    machine["status"]["conditions"][0]
        .as_object_mut()
        .unwrap()
        .remove("observedGeneration");
    assert!(Object(&machine).holds(ConditionType::Ready).is_some());
    machine["status"]["observedGeneration"] = json!(2);
    assert_eq!(Object(&machine).holds(ConditionType::Ready), None);
}

#[test]
fn a_story_says_why_it_is_not_further() {
    assert_eq!(
        Object(&machine(1, 1, "True")).story(),
        "Running: the instance runs"
    );
    assert!(Object(&json!({})).story().starts_with("no status yet"));
    let mut deleting = machine(1, 1, "False");
    deleting["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    deleting["metadata"]["finalizers"] = json!(["a/b", "c/d"]);
    assert_eq!(Object(&deleting).story(), "being deleted, held by a/b, c/d");
    deleting["status"]["conditions"][0]["type"] = json!("Deleting");
    assert_eq!(Object(&deleting).story(), "Running: the instance runs");
}
