//! `up` is cut off behind every step, by every signal: the next `up` goes on to a healthy environment, and `down` leaves
//! nothing.

use std::os::unix::process::ExitStatusExt;

use rustix::process::Signal;
use serde_json::Value;

use crate::sandbox::Sandbox;

/// A signal, how it is named to the fail point, and how `up` exits for it; `None` when the kernel ends it.
type Cut = (&'static str, Option<i32>);

const CUTS: [Cut; 3] = [("INT", Some(130)), ("TERM", Some(143)), ("KILL", None)];

/// Every point at which a first `up` can be cut off, as its own events name them, in order.
fn points(sandbox: &Sandbox) -> Vec<String> {
    let events = sandbox.succeed(&["up", "--env", "whole", "-o", "json"]);
    sandbox.succeed(&["down", "--env", "whole", "--verify"]);
    let events = events
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let begun = events.filter(|event| event["status"] == "started");
    let mut points: Vec<String> = begun
        .map(|event| event["step"].as_str().unwrap().to_owned())
        .collect();
    let smoke = points
        .iter()
        .position(|point| point == "smoke")
        .expect("the first up proves itself");
    points.insert(smoke, "smoke-made".to_owned());
    assert!(points.len() >= 12, "{points:?}");
    points
}

/// Runs `up` to the point, where it is cut off.
fn cut(sandbox: &Sandbox, env: &str, point: &str, (signal, code): Cut) {
    let mut up = sandbox.command(&["up", "--env", env]);
    let output = up
        .env("VMCTL_FAILPOINT", format!("{point}:{signal}"))
        .output()
        .unwrap();
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), code, "{point} {signal}: {words}");
    match code {
        None => assert_eq!(
            output.status.signal(),
            Some(Signal::KILL.as_raw()),
            "{point}: {words}"
        ),
        Some(_) => {
            for command in ["vmctl up --env ", "vmctl down --env "] {
                assert!(
                    words.contains(&format!("{command}{env}")),
                    "{point} {signal}: {words}"
                );
            }
        }
    }
}

#[test]
fn an_up_that_is_cut_off_behind_any_step_by_any_signal_goes_on_to_a_healthy_environment() {
    let sandbox = Sandbox::new();
    let points = points(&sandbox);
    for one in CUTS {
        let env = one.0.to_lowercase();
        for point in &points {
            cut(&sandbox, &env, point, one);
        }
        let last = sandbox.vmctl(&["up", "--env", &env]);
        assert_eq!(last.code, Some(0), "{}: {}", one.0, last.stderr);
        assert!(
            last.stdout.contains("is up, unchanged"),
            "nothing is done twice: {}",
            last.stderr
        );
        sandbox.succeed(&["status", "--env", &env]);
        let machines = sandbox.succeed(&["get", "vm", "-A", "-o", "name", "--env", &env]);
        assert_eq!(machines, "", "what proves the environment does not stay");
        sandbox.succeed(&["down", "--env", &env, "--verify"]);
    }
    assert_eq!(sandbox.processes(), Vec::<u32>::new());
}

#[test]
fn down_leaves_nothing_behind_whichever_step_up_was_cut_off_at() {
    let sandbox = Sandbox::new();
    let points = points(&sandbox);
    for (index, point) in points.iter().enumerate() {
        let env = format!("cut-{index}");
        cut(&sandbox, &env, point, CUTS[index % CUTS.len()]);
        let down = sandbox.succeed(&["down", "--env", &env, "--verify"]);
        assert!(down.contains("nothing is left"), "{point}: {down}");
        assert_eq!(sandbox.processes(), Vec::<u32>::new(), "{point}");
        assert!(!sandbox.environment(&env).exists(), "{point}");
    }
}
