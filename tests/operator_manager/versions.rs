//! D9: an old and a new version side by side, and the Lease handed over in both directions. The programs are named by
//! `VMOPERATOR_OLD` and `VMOPERATOR_NEW`; each is this very build where its variable is missing, so that the test runs
//! everywhere and still shows that handing over costs nothing.

use std::collections::BTreeMap;
use std::ffi::OsString;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::e2e::audit;
use crate::e2e::operator::Operator;
use crate::e2e::{until, until_or};
use crate::stage::Stage;

/// VirtualMachines that nobody changes.
const VMS: usize = 5;
/// Writes that a hand-over between two versions may cost an object: another way to say the same in its status and in
/// what it owns (Secret, Service, EndpointSlice), once each.
const PER_VM: usize = 4;

fn program(variable: &str) -> OsString {
    let named = std::env::var_os(variable).filter(|path| !path.is_empty());
    named.unwrap_or_else(|| env!("CARGO_BIN_EXE_vmoperator").into())
}

fn start(stage: &Stage, name: &str, variable: &str) -> Operator {
    let flags = stage.flags(name);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let program = program(variable);
    let program = program.to_str().expect("a path in UTF-8");
    let kubeconfig = &stage.house.operator_kubeconfig;
    Operator::start_program(stage.house, program, kubeconfig, &flags, None).ready()
}

fn vm_name(number: usize) -> String {
    format!("vm-{number}")
}

/// Uid and instance of each VM that nobody changes.
fn instances(stage: &Stage) -> BTreeMap<String, (Value, Value)> {
    let all = stage.vms().into_iter();
    let kept =
        all.filter(|vm| (0..VMS).any(|number| vm["metadata"]["name"] == vm_name(number).as_str()));
    kept.map(|vm| {
        let name = vm["metadata"]["name"].as_str().expect("a name").to_owned();
        (
            name,
            (vm["metadata"]["uid"].clone(), vm["status"]["id"].clone()),
        )
    })
    .collect()
}

/// Successful writes of the operators to one VM's objects so far.
fn writes(stage: &Stage, vm: &str) -> Vec<String> {
    let all = audit::writes(stage.house, &stage.namespace).into_iter();
    let owned = |one: &str| {
        let name = one.rsplit(' ').next().unwrap_or_default();
        name == vm || name.starts_with(&format!("{vm}-"))
    };
    all.filter(|one| owned(one)).collect()
}

/// Waits until the operators have written nothing for a while: so many looks in a row.
fn at_rest(stage: &Stage) {
    let (mut last, mut same) = (0, 0);
    until_or(
        "nothing is written any more",
        || {
            let now = audit::writes(stage.house, &stage.namespace).len();
            same = if now == last { same + 1 } else { 0 };
            last = now;
            same >= 30
        },
        || format!("{:#?}", audit::writes(stage.house, &stage.namespace)),
    );
}

/// The leader is asked to stop; the other one leads, works, and is done with every VM that was there. What that cost
/// each of them is told, and bounded.
fn hand_over(stage: &Stage, from: Operator, to: &str, proof: &str, bound: usize) {
    at_rest(stage);
    let before: Vec<usize> = (0..VMS)
        .map(|number| writes(stage, &vm_name(number)).len())
        .collect();
    let (kept, creates) = (instances(stage), stage.cloud.calls("create").1);
    let mut from = from;
    from.signal(Signal::TERM);
    assert_eq!(from.wait().code(), Some(0));
    stage.until_leads(to);
    stage.create(proof);
    stage.ready(proof);
    at_rest(stage);
    assert_eq!(instances(stage), kept, "no VM is another one");
    assert_eq!(stage.cloud.calls("create").1, creates + 1);
    assert_eq!(stage.cloud.calls("delete").1, 0);
    for (number, before) in before.iter().enumerate() {
        let name = vm_name(number);
        let since = writes(stage, &name).split_off(*before);
        println!("{name}, {to} leads: {} writes {since:?}", since.len());
        assert!(since.len() <= bound, "{name}: {since:#?}");
    }
}

#[test]
fn an_old_and_a_new_version_hand_over_in_both_directions_and_touch_no_vm() {
    let stage = Stage::set();
    let same = program("VMOPERATOR_OLD") == program("VMOPERATOR_NEW");
    // The same version says everything the same way: a hand-over changes nothing at all.
    let bound = if same { 0 } else { PER_VM };
    let old = start(&stage, "old", "VMOPERATOR_OLD");
    stage.until_leads("old");
    for number in 0..VMS {
        stage.create(&vm_name(number));
    }
    for number in 0..VMS {
        stage.ready(&vm_name(number));
    }

    // Beside the leader the other version does nothing.
    at_rest(&stage);
    let before = audit::writes(stage.house, &stage.namespace);
    let new = start(&stage, "new", "VMOPERATOR_NEW");
    at_rest(&stage);
    assert_eq!(audit::writes(stage.house, &stage.namespace), before);

    hand_over(&stage, old, "new", "by-the-new", bound);
    // What the new one made and wrote, the old one understands.
    let old = start(&stage, "again", "VMOPERATOR_OLD");
    hand_over(&stage, new, "again", "by-the-old", bound);

    // And once more, in the middle of work: a deletion that one begins and the other ends.
    let new = start(&stage, "last", "VMOPERATOR_NEW");
    stage.cloud.fault(json!({
        "operation": "delete", "count": 1,
        "effect": { "kind": "delay", "milliseconds": 1500, "applied": true },
    }));
    stage.house.delete(&stage.namespace, "by-the-new");
    stage.until_calling(&old);
    let mut old = old;
    old.signal(Signal::TERM);
    assert_eq!(old.wait().code(), Some(0));
    stage.until_leads("last");
    stage.house.gone(&stage.namespace, "by-the-new");
    until("its VM is gone", || stage.cloud.ours().len() == VMS + 1);
    stage.end();
    drop(new);
}
