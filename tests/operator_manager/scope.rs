//! `--namespaces`: what is elsewhere is neither seen nor touched.

use serde_json::Value;

use crate::e2e::house::OPERATOR;
use crate::e2e::{audit, until};
use crate::stage::Stage;

#[test]
fn an_operator_for_some_namespaces_works_there_and_asks_for_nothing_elsewhere() {
    let (here, there) = (Stage::set(), Stage::set());
    let more = here.house.namespace();
    here.house.configure(&more, &here.cloud.url);
    let both = format!("--namespaces={more}");
    let operator = here.start("here", &[&both], None).ready();
    here.until_leads("here");
    there.create("elsewhere");
    here.create("web");
    here.house.create(&more, "web");
    here.ready("web");
    here.house.ready(&more, "web");
    let watches = operator.state()["watches"].as_array().cloned().unwrap();
    let of = |kind: &str| -> Vec<Value> {
        let some = watches.iter().filter(|watch| watch["kind"] == kind);
        some.map(|watch| watch["namespace"].clone()).collect()
    };
    let mut wanted = [here.namespace.as_str(), more.as_str()];
    wanted.sort_unstable();
    assert_eq!(of("VirtualMachine"), wanted);
    let metrics = operator.metrics();
    let ages = metrics.lines().filter(|line| {
        line.starts_with(r#"vmoperator_watch_last_event_age_seconds{kind="VirtualM"#)
    });
    assert_eq!(ages.count(), 1, "one series, however many namespaces");
    let vm = there
        .house
        .vm(&there.namespace, "elsewhere")
        .expect("it is there");
    assert!(
        vm["metadata"]["finalizers"].is_null() && vm["status"].is_null(),
        "{vm:#}"
    );
    assert_eq!(there.cloud.ours(), Vec::<Value>::new());
    let asked = audit::requests(here.house)
        .into_iter()
        .filter(|request| request.user == OPERATOR && request.namespace == there.namespace);
    assert_eq!(
        asked.map(|request| request.to_string()).collect::<Vec<_>>(),
        [""; 0]
    );
    here.house.delete(&more, "web");
    here.house.gone(&more, "web");
    here.end();
    drop(operator);
    // One that looks there finds what was made before.
    let operator = there.leader("there");
    there.ready("elsewhere");
    until("it is one VM", || there.cloud.ours().len() == 1);
    there.end();
    drop(operator);
}
