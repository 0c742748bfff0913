//! Environments do not know each other.
#![cfg(test)]

mod sandbox;

use std::collections::BTreeSet;

use sandbox::Sandbox;

#[test]
fn eight_environments_come_up_at_once_and_two_commands_on_one_are_refused() {
    let sandbox = Sandbox::new();
    let names: Vec<String> = (1..=8).map(|number| format!("team-{number}")).collect();
    let ups: Vec<_> = names
        .iter()
        .map(|name| sandbox.start(&["up", "--env", name]))
        .collect();
    let mut refused = sandbox.vmctl(&["up", "--env", "team-1"]);
    // Either of the two may be first at the lock; the other one is refused.
    assert!(matches!(refused.code, Some(0 | 5)), "{}", refused.stderr);
    let mut refusals = usize::from(refused.code == Some(5));
    for (name, up) in names.iter().zip(ups) {
        let output = up.wait_with_output().unwrap();
        let words = String::from_utf8_lossy(&output.stderr);
        if output.status.code() == Some(5) {
            refusals += 1;
            refused.stderr = words.into_owned();
            continue;
        }
        assert!(output.status.success(), "{name}: {words}");
    }
    assert_eq!(refusals, 1);
    assert!(
        refused
            .stderr
            .contains("another vmctl works on environment team-1, process "),
        "{}",
        refused.stderr
    );
    let servers: BTreeSet<_> = names
        .iter()
        .map(|name| sandbox.state(name)["server"].to_string())
        .collect();
    assert_eq!(servers.len(), 8);
    sandbox.succeed(&["down", "--env", "team-1", "--verify"]);
    sandbox.succeed(&["status", "--env", "team-2"]);
    sandbox.succeed(&["down", "--all", "--yes", "--verify"]);
    assert_eq!(sandbox.processes(), Vec::<u32>::new());
}
