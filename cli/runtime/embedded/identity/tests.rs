use std::process::{Command, Stdio};

use super::*;

fn sleeper() -> std::process::Child {
    Command::new("sleep")
        .arg("60")
        .stdin(Stdio::null())
        .spawn()
        .unwrap()
}

fn settle(child: &std::process::Child) -> Identity {
    // Between fork and exec the executable is still the test's.
    for _ in 0..10_000 {
        let program = executable(child.id()).unwrap();
        if program.ends_with("sleep") || program != executable(std::process::id()).unwrap() {
            return Identity::expecting(child.id(), &program).unwrap();
        }
        std::thread::yield_now();
    }
    panic!("the child never became its program");
}

#[test]
fn a_running_process_is_recognised_and_can_be_signalled() {
    let mut child = sleeper();
    let identity = settle(&child);
    assert!(identity.is_alive());
    assert!(identity.signal(Signal::KILL));
    child.wait().unwrap();
    assert!(!identity.is_alive());
    assert!(!identity.signal(Signal::KILL));
}

#[test]
fn a_stranger_with_the_same_pid_is_left_alone() {
    let mut child = sleeper();
    let identity = settle(&child);
    let strangers = [
        Identity {
            start_ticks: identity.start_ticks + 1,
            ..identity.clone()
        },
        Identity {
            executable: PathBuf::from("/usr/bin/etcd"),
            ..identity.clone()
        },
        Identity {
            boot_id: "another start of the machine".to_owned(),
            ..identity.clone()
        },
    ];
    for stranger in strangers {
        assert!(!stranger.signal(Signal::KILL), "{stranger:?} was signalled");
    }
    assert!(
        child.try_wait().unwrap().is_none(),
        "the stranger must still run"
    );
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_zombie_counts_as_gone() {
    let mut child = sleeper();
    let identity = settle(&child);
    child.kill().unwrap();
    for _ in 0..1_000_000 {
        if !identity.is_alive() {
            break;
        }
        std::thread::yield_now();
    }
    assert!(!identity.is_alive(), "not reaped yet, but dead");
    child.wait().unwrap();
}
