//! A provider that never gets done.

use std::time::Duration;

use serde_json::json;

use crate::e2e::client::condition;
use crate::stage::Stage;

/// C10: provisioning for ever is said to be slow, polled gently, and a deletion meanwhile leaves nothing.
#[test]
fn a_vm_that_is_provisioning_for_ever_is_told_about_and_can_be_deleted_meanwhile() {
    let stage = Stage::set();
    let day = Duration::from_hours(24).as_millis();
    stage.cloud.set(json!({ "provisioningMilliseconds": day }));
    let deadline = "--provisioning-deadline=2s";
    let operator = stage.start("patient", &[deadline], None).ready();
    stage.until_leads("patient");
    stage.create("web");
    stage
        .house
        .until_vm(&stage.namespace, "web", "is told to be slow", |vm| {
            let shown = condition(vm, "Ready");
            shown.is_some_and(|(status, reason)| status == "False" && reason == "ProvisioningSlow")
        });
    assert_eq!(stage.cloud.ours().len(), 1);
    stage.house.delete(&stage.namespace, "web");
    stage.house.gone(&stage.namespace, "web");
    assert_eq!(stage.cloud.ours().len(), 0, "it was leaked");
    assert_eq!(stage.cloud.calls("create").1, 2, "the stranger's and ours");
    stage.end();
    drop(operator);
}
