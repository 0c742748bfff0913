//! An operator that runs out of memory while it lists.

use std::os::unix::process::ExitStatusExt;

use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::{Value, json};

use crate::e2e::client::GROUP;
use crate::e2e::house::manifest;
use crate::e2e::operator::Operator;
use crate::e2e::proxy::{Effect, Proxy};
use crate::e2e::{until, until_or};
use crate::stage::Stage;

/// Objects, each of a quarter of a megabyte: on one page of a list.
const LARGE: usize = 16;
/// Room that the operator has for it.
const ROOM: u64 = 2 << 20;

/// A figure of `/proc/PID/status`, in bytes.
fn memory(operator: &Operator, what: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{}/status", operator.pid()));
    let text = text.expect("the process is there");
    let line = text.lines().find(|line| line.starts_with(what));
    let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kib.expect("a number") << 10
}

/// From now on it gets no more than `room` beside what it has.
fn bound(operator: &Operator, room: u64) {
    let pid = i32::try_from(operator.pid()).ok().and_then(Pid::from_raw);
    let most = memory(operator, "VmData") + room;
    let limit = Rlimit {
        current: Some(most),
        maximum: Some(most),
    };
    prlimit(pid, Resource::Data, limit).expect("the limit can be set");
}

/// A16, shortened: four megabytes of objects and memory for two of them stand for ten thousand objects. The list
/// kills the process; the next one, with more memory, finds everything as it was.
#[test]
fn an_operator_that_runs_out_of_memory_over_a_list_leaves_everything_to_the_next_one() {
    let stage = Stage::set();
    let first = stage.leader("first");
    let path = format!("{GROUP}/namespaces/{}/virtualmachines", stage.namespace);
    let large = |number: usize| {
        let mut vm = manifest(&stage.namespace, &format!("large-{number}"));
        vm["metadata"]["annotations"] = json!({ "filler": "x".repeat(250 << 10) });
        vm["spec"]["connectionSecret"] = json!({ "enabled": false });
        vm["spec"]["service"] = json!({ "enabled": false });
        vm
    };
    let objects: Vec<Value> = (0..LARGE).map(large).collect();
    stage.house.client.create_all(&path, &objects);
    for number in 0..LARGE {
        stage.ready(&format!("large-{number}"));
    }
    first.kill();
    let proxy = Proxy::start(stage.house);
    let lists = ["/virtualmachines?", "limit="];
    proxy.rule(&lists, Effect::Status(503), usize::MAX);
    let mut poor = stage.start_at(&proxy.kubeconfig, "poor", &[], None);
    until("it has tried to list", || proxy.hits() >= 2);
    bound(&poor, ROOM);
    proxy.clear();
    let died = poor.wait();
    assert_eq!(died.signal(), Some(6), "it ended otherwise: {died}");
    until_or(
        "it says why",
        || poor.text().contains("memory allocation of"),
        || poor.text(),
    );
    let creates = stage.cloud.calls("create").1;
    let next = stage.leader("next");
    stage.create("after");
    stage.ready("after");
    assert_eq!(stage.cloud.calls("create").1, creates + 1);
    assert_eq!(stage.vms().len(), LARGE + 1);
    stage.end();
    drop(next);
}
