//! An API server with which no TLS handshake succeeds.

use serde_json::Value;

use crate::e2e::operator::Operator;
use crate::e2e::relay::{Mode, Relay};
use crate::e2e::{checker, until_or};
use crate::stage::Stage;

/// What each watch says that it fails of.
fn failures(operator: &Operator) -> Vec<Value> {
    let state = operator.state();
    let watches = state["watches"].as_array().cloned().unwrap_or_default();
    assert!(!watches.is_empty(), "{state:#}");
    watches
        .into_iter()
        .map(|watch| watch["failure"].clone())
        .collect()
}

/// B5: connections break and every handshake fails, in two ways, for longer than a lease would live. The operator tries
/// on, says that it does not hear, and goes on by itself.
#[test]
fn handshakes_that_fail_for_a_while_end_nothing_and_everything_goes_on_afterwards() {
    let stage = Stage::set();
    let relay = Relay::start(stage.house);
    let alone = ["--leader-elect=false"];
    let mut operator = stage
        .start_at(&relay.kubeconfig, "behind", &alone, None)
        .ready();
    stage.create("before");
    let before = stage.ready("before");
    for (number, mode) in [Mode::Garbage, Mode::HangUp].into_iter().enumerate() {
        relay.tell(mode);
        let since = relay.failed();
        let name = format!("during-{number}");
        stage.create(&name);
        // Each watch tries on by itself.
        until_or(
            "many handshakes have failed",
            || relay.failed() >= since + 15,
            || format!("{mode:?}: {} did", relay.failed() - since),
        );
        assert_eq!(stage.cloud.ours().len(), 1 + number, "the relay leaks");
        until_or(
            "every watch says that it hears nothing",
            || failures(&operator).iter().all(|failure| !failure.is_null()),
            || format!("{:#?}", failures(&operator)),
        );
        assert_eq!(operator.health("/livez").0, 200, "it would be restarted");
        relay.tell(Mode::Pass);
        stage.ready(&name);
    }
    until_or(
        "every watch hears again",
        || failures(&operator).iter().all(Value::is_null),
        || format!("{:#?}", failures(&operator)),
    );
    assert!(operator.ended().is_none(), "the operator ended");
    assert_eq!(stage.ready("before"), before);
    assert_eq!(
        stage.cloud.calls("create"),
        (4, 4),
        "the stranger's and ours"
    );
    checker::check(stage.house, &stage.cloud);
}
