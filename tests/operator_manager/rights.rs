//! Rights that are missing, taken away and given back.

use std::sync::PoisonError;

use serde_json::Value;

use crate::e2e::{until, until_or};
use crate::stage::{RIGHTS, Stage};

const BINDING: &str = "vmoperator-manager-rolebinding";

/// Takes the operator's rights away while it lives. Gives them back also when a test fails.
struct Without<'a> {
    stage: &'a Stage,
    binding: String,
}

impl<'a> Without<'a> {
    fn rights(stage: &'a Stage) -> Self {
        let plane = &stage.house.plane;
        let text = plane.kubectl(&["get", "clusterrolebinding", BINDING, "-o", "json"]);
        let mut binding: Value = serde_json::from_str(&text).expect("JSON");
        binding["metadata"] = serde_json::json!({ "name": BINDING });
        plane.kubectl(&["delete", "clusterrolebinding", BINDING]);
        Self {
            stage,
            binding: binding.to_string(),
        }
    }
}

impl Drop for Without<'_> {
    fn drop(&mut self) {
        self.stage.house.plane.apply(&self.binding);
    }
}

fn denied(operator: &crate::e2e::operator::Operator, kind: &str) -> bool {
    operator.metrics().lines().any(|line| {
        line.starts_with(&format!(
            r#"vmoperator_watch_failures_total{{kind="{kind}""#
        )) && line.contains(r#"code="403""#)
    })
}

/// B13: the whole role is taken away and given back, from one that starts without it and from one that leads.
#[test]
fn rights_that_are_taken_away_are_named_and_given_back_they_are_used_without_a_restart() {
    let _alone = RIGHTS.write().unwrap_or_else(PoisonError::into_inner);
    let stage = Stage::alone();
    let mut leader = stage.leader("leader");
    stage.house.usable(&stage.namespace);
    let without = Without::rights(&stage);
    // The server goes by what it knew for a moment.
    let can = [
        "auth",
        "can-i",
        "list",
        "virtualmachines.compute.example.com",
        "-n",
        &stage.namespace,
        "--as",
        crate::e2e::house::OPERATOR,
    ];
    until("the right is gone", || {
        !stage.house.plane.try_kubectl(&can, "").success
    });
    let mut starting = stage.start("starting", &["--cluster-id=any"], None);
    until_or(
        "the one that starts says what it lacks",
        || starting.addresses().len() == 2 && denied(&starting, "VirtualMachine"),
        || starting.metrics(),
    );
    let (code, report) = starting.health("/readyz");
    assert_eq!(code, 500);
    assert!(report.contains("list refused with 403"), "{report}");
    assert_eq!(starting.health("/livez").0, 200);
    stage.create("web");
    until("the leader is refused", || {
        let refused = |line: &Value| {
            line["namespace"] == stage.namespace.as_str() && line.to_string().contains("forbidden")
        };
        leader.lines().iter().any(refused)
    });
    assert_eq!(
        stage.cloud.ours(),
        Vec::<Value>::new(),
        "made without an intent"
    );
    drop(without);
    stage.ready("web");
    until("the one that starts is ready", || {
        starting.health("/readyz").0 == 200
    });
    assert!(leader.ended().is_none() && starting.ended().is_none());
    stage.end();
}
