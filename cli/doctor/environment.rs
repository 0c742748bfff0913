//! Checks of an environment: its files and processes.

use std::os::unix::fs::PermissionsExt;

use super::id::Id;
use super::{Finding, ports};
use crate::env::state::State;
use crate::env::{Environment, leftovers};
use crate::files::Lock;
use crate::runtime::embedded::identity::{Identity, is_outdated};

/// Restarts of a child that make one wonder.
const MANY: u32 = 5;

/// All checks.
pub(super) fn findings(environment: &Environment) -> Vec<Finding> {
    let name = environment.name();
    let up = format!("vmctl up --env {name}");
    if !environment.dir().is_dir() {
        return vec![
            Finding::warn(
                Id::Environment,
                format!("there is no environment {name}"),
                up,
            ),
            leftover(environment, None),
        ];
    }
    if let Ok(Some(record)) = environment.kind() {
        let note = format!(
            "{name} in kind cluster {} of {}",
            record.cluster, record.engine
        );
        let made = if record.complete {
            Finding::ok(Id::Environment, note)
        } else {
            Finding::fail(Id::Environment, format!("{note}, half-made"), up)
        };
        let port = ports::finding(environment, record.complete);
        return vec![made, lock(environment), port, kubeconfig(environment)];
    }
    let state = match environment.state() {
        Ok(state) => state,
        Err(failure) => {
            let fix = failure.fix.unwrap_or_default();
            return vec![Finding::fail(Id::Environment, failure.cause, fix)];
        }
    };
    let mut findings = vec![
        Finding::ok(
            Id::Environment,
            format!("{name} at {}", environment.dir().display()),
        ),
        lock(environment),
    ];
    let running = state.filter(|state| state.supervisor.is_alive());
    match &running {
        None => findings.push(Finding::fail(Id::Supervisor, "does not run", up)),
        Some(state) => findings.extend([supervisor(state, environment), children(state, &up)]),
    }
    findings.push(leftover(environment, running.as_ref()));
    findings.push(ports::finding(environment, running.is_some()));
    findings.push(kubeconfig(environment));
    findings
}

fn lock(environment: &Environment) -> Finding {
    let path = environment.dir().join("lock");
    match Lock::holder(&path) {
        Some(pid) => {
            let note = format!("process {pid} works on it");
            Finding::warn(Id::Lock, note, "wait until it has ended, or end it")
        }
        None => Finding::ok(Id::Lock, "nobody works on it"),
    }
}

fn supervisor(state: &State, environment: &Environment) -> Finding {
    let pid = state.supervisor.pid;
    if is_outdated(pid) {
        let fix = format!("vmctl up --env {} --recreate", environment.name());
        return Finding::warn(
            Id::Supervisor,
            format!("process {pid} runs, but from an older vmctl"),
            fix,
        );
    }
    Finding::ok(Id::Supervisor, format!("process {pid} runs"))
}

fn children(state: &State, up: &str) -> Finding {
    let dead = state
        .children
        .iter()
        .filter(|child| !child.process.as_ref().is_some_and(Identity::is_alive));
    let dead: Vec<&str> = dead.map(|child| child.name.as_str()).collect();
    if !dead.is_empty() {
        return Finding::fail(
            Id::Children,
            format!("these do not run: {}", dead.join(", ")),
            up,
        );
    }
    let restless = state.children.iter().filter(|child| child.restarts >= MANY);
    let restless: Vec<String> = restless
        .map(|child| format!("{} ({} restarts)", child.name, child.restarts))
        .collect();
    if restless.is_empty() {
        return Finding::ok(Id::Children, format!("all {} run", state.children.len()));
    }
    Finding::warn(
        Id::Children,
        format!("started again and again: {}", restless.join(", ")),
        "read their logs: vmctl diag",
    )
}

fn leftover(environment: &Environment, running: Option<&State>) -> Finding {
    let ours: Vec<u32> = running.map_or(Vec::new(), |state| {
        let children = state
            .children
            .iter()
            .filter_map(|child| child.process.as_ref());
        std::iter::once(&state.supervisor)
            .chain(children)
            .map(|process| process.pid)
            .collect()
    });
    let left = leftovers::processes(environment.dir());
    let strange: Vec<String> = left
        .iter()
        .map(|one| one.identity.pid)
        .filter(|pid| !ours.contains(pid))
        .map(|pid| pid.to_string())
        .collect();
    // A child that the supervisor is just starting is not in its state yet.
    if strange.is_empty() || running.is_some() {
        return Finding::ok(Id::Leftovers, "none");
    }
    let fix = format!("vmctl down --env {}", environment.name());
    Finding::warn(
        Id::Leftovers,
        format!("processes of an earlier run: {}", strange.join(", ")),
        fix,
    )
}

fn kubeconfig(environment: &Environment) -> Finding {
    let path = environment.kubeconfig();
    match std::fs::metadata(&path) {
        Ok(metadata) if metadata.permissions().mode() & 0o077 != 0 => {
            let note = format!("others can read {}", path.display());
            Finding::fail(
                Id::Kubeconfig,
                note,
                format!("chmod 600 {}", path.display()),
            )
        }
        Ok(_) => Finding::ok(
            Id::Kubeconfig,
            format!("{}; your own is not touched", path.display()),
        ),
        Err(_) => Finding::warn(
            Id::Kubeconfig,
            "not there yet",
            format!("vmctl up --env {}", environment.name()),
        ),
    }
}
