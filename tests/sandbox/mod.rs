//! vmctl with a state directory of its own; whatever a test leaves up is taken down when it ends.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;

/// How often something that cannot notify us is looked at.
const POLL: Duration = Duration::from_millis(20);
/// Looks until a wait is given up: two minutes.
const LOOKS: usize = 6_000;

/// A home for environments.
pub(crate) struct Sandbox {
    dir: tempfile::TempDir,
}

/// What vmctl answered.
#[derive(Debug)]
pub(crate) struct Answer {
    /// Its exit code; `None` when a signal ended it.
    pub(crate) code: Option<i32>,
    /// Its stdout.
    pub(crate) stdout: String,
    /// Its stderr.
    pub(crate) stderr: String,
}

impl Sandbox {
    /// An empty one.
    pub(crate) fn new() -> Self {
        Self {
            dir: tempfile::tempdir().expect("a temporary directory"),
        }
    }

    /// A call of vmctl that sees this sandbox's state.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_vmctl"));
        command
            .args(args)
            .env("XDG_STATE_HOME", self.dir.path())
            // These tests are about processes, whatever else this machine could run.
            .env("VMCTL_RUNTIME", "embedded")
            .env_remove("VMCTL_ENV");
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs vmctl.
    pub(crate) fn vmctl(&self, args: &[&str]) -> Answer {
        self.command(args)
            .output()
            .expect("vmctl can be run")
            .into()
    }

    /// Runs vmctl, which must succeed, and returns its stdout.
    ///
    /// # Panics
    /// It fails.
    pub(crate) fn succeed(&self, args: &[&str]) -> String {
        let answer = self.vmctl(args);
        assert_eq!(
            answer.code,
            Some(0),
            "vmctl {args:?}\n{}\n{}",
            answer.stdout,
            answer.stderr
        );
        answer.stdout
    }

    /// Starts vmctl and does not wait for it.
    pub(crate) fn start(&self, args: &[&str]) -> Child {
        self.command(args).spawn().expect("vmctl can be started")
    }

    /// `XDG_STATE_HOME`.
    pub(crate) fn state_home(&self) -> &Path {
        self.dir.path()
    }

    /// Directory of an environment.
    pub(crate) fn environment(&self, name: &str) -> PathBuf {
        self.dir.path().join("vmctl").join("env").join(name)
    }

    /// What an environment's supervisor says about itself; null when it says nothing.
    pub(crate) fn state(&self, name: &str) -> Value {
        let text =
            fs::read_to_string(self.environment(name).join("state.json")).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or(Value::Null)
    }

    /// Process id of one of an environment's children; `supervisor` is the supervisor.
    pub(crate) fn pid(&self, name: &str, program: &str) -> Option<u32> {
        let state = self.state(name);
        let process = if program == "supervisor" {
            state["supervisor"].clone()
        } else {
            let children = state["children"].as_array()?;
            children.iter().find(|child| child["name"] == program)?["process"].clone()
        };
        u32::try_from(process["pid"].as_u64()?).ok()
    }

    /// Every process of this sandbox, found by what it was started with.
    pub(crate) fn processes(&self) -> Vec<u32> {
        let own = self.dir.path().to_string_lossy().into_owned();
        let entries = fs::read_dir("/proc").expect("/proc can be read").flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        pids.filter(|pid| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            String::from_utf8_lossy(&environment).contains(&own) && is_running(*pid)
        })
        .collect()
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        let _ = self
            .command(&["down", "--all", "--yes", "--quiet"])
            .output();
        for pid in self.processes() {
            signal(pid, rustix::process::Signal::KILL);
        }
    }
}

impl From<Output> for Answer {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// Waits until `condition` holds.
///
/// # Panics
/// It does not within two minutes.
pub(crate) fn until(what: &str, mut condition: impl FnMut() -> bool) {
    for _look in 0..LOOKS {
        if condition() {
            return;
        }
        thread::sleep(POLL);
    }
    panic!("waited two minutes in vain until {what}");
}

/// Whether a process runs; one that has ended and was not reaped yet does not.
pub(crate) fn is_running(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ")
        .is_some_and(|(_, fields)| !fields.starts_with('Z') && !fields.starts_with('X'))
}

/// Sends a signal to a process that the test started.
pub(crate) fn signal(pid: u32, signal: rustix::process::Signal) {
    let pid = i32::try_from(pid)
        .ok()
        .and_then(rustix::process::Pid::from_raw)
        .expect("a process id");
    let _ = rustix::process::kill_process(pid, signal);
}

/// Every test binary uses a part of this module. Named here, the other parts are no dead code to any of them.
const _: fn() = || {
    let _ = (
        Sandbox::new,
        Sandbox::succeed,
        Sandbox::start,
        Sandbox::environment,
        Sandbox::state_home,
    );
    let _ = (
        Sandbox::pid,
        Sandbox::processes,
        Sandbox::state,
        until as fn(&str, fn() -> bool),
        is_running,
        signal,
    );
    let _ = |answer: &Answer| (answer.code, answer.stdout.len(), answer.stderr.len());
};
