//! A real control plane for tests: `vmctl control-plane` in a directory of its own, gone when the test ends.
//!
//! The programs are found as vmctl finds them; a machine that has none and can make none fails the test with vmctl's
//! own words, it does not skip.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::sync::mpsc::RecvTimeoutError;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::Value;

/// How often something that cannot notify us is looked at.
const POLL: Duration = Duration::from_millis(20);
/// Looks until a wait is given up: two minutes.
const LOOKS: usize = 6_000;
/// Longest run of kubectl; the longest wait that a test asks it for is three minutes.
const KUBECTL: Duration = Duration::from_secs(300);

/// A running control plane. Dropping it kills every process of it.
pub(crate) struct ControlPlane {
    /// The administrator's kubeconfig.
    pub(crate) kubeconfig: PathBuf,
    /// URL of the API server.
    pub(crate) server: String,
    /// kubectl.
    pub(crate) kubectl: PathBuf,
    /// Process id of etcd.
    pub(crate) etcd_pid: u32,
    /// Process id of kube-apiserver; another one after [`ControlPlane::restart_api_server`].
    pub(crate) apiserver_pid: u32,
    /// What else vmctl announced.
    pub(crate) announcement: Value,
    dir: tempfile::TempDir,
    process: Child,
    stdin: Option<ChildStdin>,
    stderr: Option<JoinHandle<String>>,
}

/// `vmctl control-plane`, once everything of it is ready.
struct Vmctl {
    announcement: Value,
    process: Child,
    stdin: Option<ChildStdin>,
    stderr: JoinHandle<String>,
}

impl Vmctl {
    fn begin(dir: &Path, options: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_vmctl"));
        command
            .arg("control-plane")
            .arg("--watch-stdin")
            .arg("--dir")
            .arg(dir.join("control-plane"));
        command
            .arg("--audit-log")
            .arg(dir.join("audit.log"))
            .args(options);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut process = command.spawn().expect("vmctl can be started");
        let stdin = process.stdin.take();
        let mut stderr = process.stderr.take().expect("stderr is piped");
        let stderr = thread::spawn(move || {
            let mut text = String::new();
            let _ = stderr.read_to_string(&mut text);
            text
        });
        let mut line = String::new();
        let stdout = process.stdout.take().expect("stdout is piped");
        BufReader::new(stdout)
            .read_line(&mut line)
            .expect("stdout can be read");
        let Ok(announcement) = serde_json::from_str::<Value>(&line) else {
            let status = process.wait().expect("vmctl can be waited for");
            let words = stderr.join().unwrap_or_default();
            panic!("the control plane did not start, vmctl {status}:\n{words}");
        };
        Self {
            announcement,
            process,
            stdin,
            stderr,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        let found = self.announcement[name].as_str();
        found.map_or_else(|| panic!("no {name}: {}", self.announcement), PathBuf::from)
    }
}

/// What kubectl answered.
#[derive(Debug)]
pub(crate) struct Answer {
    /// Whether it exited with 0.
    pub(crate) success: bool,
    /// Its stdout.
    pub(crate) stdout: String,
    /// Its stderr.
    pub(crate) stderr: String,
}

impl ControlPlane {
    /// With kube-controller-manager, where there is one, and an audit log.
    pub(crate) fn start() -> Self {
        Self::start_with(&[])
    }

    /// The same with further options of `vmctl control-plane`.
    pub(crate) fn start_with(options: &[&str]) -> Self {
        Self::launch(tempfile::tempdir().expect("a temporary directory"), options)
    }

    /// The same as [`ControlPlane::start`] in a directory of the caller's.
    pub(crate) fn start_in(dir: tempfile::TempDir) -> Self {
        Self::launch(dir, &[])
    }

    fn launch(dir: tempfile::TempDir, options: &[&str]) -> Self {
        let vmctl = Vmctl::begin(dir.path(), options);
        let path = |name: &str| vmctl.path(name);
        Self {
            kubeconfig: path("kubeconfig"),
            server: path("server").to_string_lossy().into_owned(),
            kubectl: path("kubectl"),
            etcd_pid: pid(&vmctl.announcement, "etcdPid"),
            apiserver_pid: pid(&vmctl.announcement, "apiserverPid"),
            announcement: vmctl.announcement,
            dir,
            process: vmctl.process,
            stdin: vmctl.stdin,
            stderr: Some(vmctl.stderr),
        }
    }

    /// Stops everything in order, lets `meanwhile` have etcd's data folder, and starts it again at the same address.
    ///
    /// # Panics
    /// It does not stop in order, or the address is taken meanwhile.
    pub(crate) fn restart_around(&mut self, meanwhile: impl FnOnce(&Path)) {
        drop(self.stdin.take());
        let status = self.process.wait().expect("vmctl can be waited for");
        assert!(status.success(), "the control plane ended with {status}");
        let words = self.stderr.take().and_then(|words| words.join().ok());
        meanwhile(&self.dir.path().join("control-plane").join("etcd"));
        let vmctl = Vmctl::begin(self.dir.path(), &[]);
        let server = vmctl.path("server");
        assert_eq!(server.to_string_lossy(), self.server, "{words:?}");
        self.etcd_pid = pid(&vmctl.announcement, "etcdPid");
        self.apiserver_pid = pid(&vmctl.announcement, "apiserverPid");
        self.announcement = vmctl.announcement;
        self.process = vmctl.process;
        self.stdin = vmctl.stdin;
        self.stderr = Some(vmctl.stderr);
    }

    /// A directory for the test's own files, removed with the control plane.
    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Process id of `vmctl control-plane` itself.
    pub(crate) fn vmctl_pid(&self) -> u32 {
        self.process.id()
    }

    /// Runs kubectl as the administrator and returns its stdout.
    ///
    /// # Panics
    /// kubectl fails.
    pub(crate) fn kubectl(&self, args: &[&str]) -> String {
        let answer = self.try_kubectl(args, "");
        assert!(answer.success, "kubectl {args:?}: {}", answer.stderr);
        answer.stdout
    }

    /// Applies a manifest and returns kubectl's stdout.
    ///
    /// # Panics
    /// It is refused.
    pub(crate) fn apply(&self, manifest: &str) -> String {
        let answer = self.try_kubectl(&["apply", "-f", "-"], manifest);
        assert!(
            answer.success,
            "kubectl apply: {}\n{manifest}",
            answer.stderr
        );
        answer.stdout
    }

    /// Runs kubectl with `input` on its stdin.
    pub(crate) fn try_kubectl(&self, args: &[&str], input: &str) -> Answer {
        let mut command = Command::new(&self.kubectl);
        command
            .arg("--kubeconfig")
            .arg(&self.kubeconfig)
            .args(args)
            .env("HOME", self.dir.path());
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut process = command.spawn().expect("kubectl can be started");
        let mut stdin = process.stdin.take().expect("stdin is piped");
        let _ = stdin.write_all(input.as_bytes());
        drop(stdin);
        let number = process.id();
        let (ended, waits) = std::sync::mpsc::channel::<()>();
        // A server that was made to stand still answers never, and kubectl waits for ever.
        let watch = thread::spawn(move || {
            let late = waits.recv_timeout(KUBECTL) == Err(RecvTimeoutError::Timeout);
            if late {
                signal(number, rustix::process::Signal::KILL);
            }
        });
        let output = process.wait_with_output();
        drop(ended);
        watch.join().expect("the watch ends");
        output.expect("kubectl can be waited for").into()
    }

    /// Every request so far, as the API server recorded it when it was answered (`audit.k8s.io/v1`). A long-running
    /// one, such as a watch, appears twice: stage `ResponseStarted`, then `ResponseComplete`.
    pub(crate) fn audit(&self) -> Vec<Value> {
        self.audit_from(&mut 0)
    }

    /// The same from a byte of the log on, which becomes the byte to read from the next time.
    pub(crate) fn audit_from(&self, byte: &mut u64) -> Vec<Value> {
        let mut log =
            File::open(self.dir.path().join("audit.log")).expect("the audit log can be read");
        let mut text = String::new();
        log.seek(SeekFrom::Start(*byte))
            .and_then(|_| log.read_to_string(&mut text))
            .expect("the audit log can be read");
        // The last line may be under the server's pen.
        let complete = text.rfind('\n').map_or("", |end| &text[..=end]);
        *byte += complete.len() as u64;
        complete
            .lines()
            .map(|line| serde_json::from_str(line).expect("an audit line is JSON"))
            .collect()
    }

    /// The answered requests that may have changed something, made by `user`.
    pub(crate) fn writes_of(&self, user: &str) -> Vec<Value> {
        let is_write = |event: &Value| {
            let verb = event["verb"].as_str().unwrap_or_default();
            event["stage"] == "ResponseComplete" && !["get", "list", "watch"].contains(&verb)
        };
        self.audit()
            .into_iter()
            .filter(|event| event["user"]["username"] == user && is_write(event))
            .collect()
    }

    /// Restarts kube-apiserver: same port, same etcd. Returns when it is ready again.
    pub(crate) fn restart_api_server(&mut self) {
        signal(self.process.id(), rustix::process::Signal::USR1);
        let before = self.apiserver_pid;
        let file = self
            .dir
            .path()
            .join("control-plane")
            .join("control-plane.json");
        until("the API server is back", || {
            let text = fs::read_to_string(&file).unwrap_or_default();
            let now = serde_json::from_str(&text)
                .map(|value: Value| pid(&value, "apiserverPid"))
                .unwrap_or(before);
            self.apiserver_pid = now;
            now != before
        });
    }

    /// Waits for the end of vmctl, closing its stdin first when `close` is set; returns its exit status and words.
    pub(crate) fn wait(mut self, close: bool) -> (std::process::ExitStatus, String) {
        if close {
            drop(self.stdin.take());
        }
        let status = self.process.wait().expect("vmctl can be waited for");
        (
            status,
            self.stderr
                .take()
                .and_then(|words| words.join().ok())
                .unwrap_or_default(),
        )
    }

    /// The processes of the control plane, vmctl itself left out.
    pub(crate) fn pids(&self) -> Vec<u32> {
        let names = ["etcdPid", "apiserverPid", "controllerManagerPid"];
        names
            .iter()
            .filter_map(|name| u32::try_from(self.announcement[name].as_u64()?).ok())
            .collect()
    }
}

impl Drop for ControlPlane {
    fn drop(&mut self) {
        // The children are tied to vmctl's life. They are waited for, so that the directory can be removed.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let mut pids = self.pids();
        pids.push(self.apiserver_pid);
        for _look in 0..250 {
            if !pids.iter().any(|pid| is_running(*pid)) {
                break;
            }
            thread::sleep(POLL);
        }
    }
}

impl From<Output> for Answer {
    fn from(output: Output) -> Self {
        Self {
            success: output.status.success(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

fn pid(announcement: &Value, name: &str) -> u32 {
    let pid = announcement[name]
        .as_u64()
        .and_then(|pid| u32::try_from(pid).ok());
    pid.unwrap_or_else(|| panic!("no {name}: {announcement}"))
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
    rustix::process::kill_process(pid, signal).expect("the process takes a signal");
}

/// Every test binary uses a part of this module. Named here, the other parts are no dead code to any of them.
const _: fn() = || {
    let _ = (
        ControlPlane::start,
        ControlPlane::start_in,
        ControlPlane::dir,
        ControlPlane::vmctl_pid,
        ControlPlane::kubectl,
    );
    let _ = (
        ControlPlane::apply,
        ControlPlane::writes_of,
        ControlPlane::restart_api_server,
        ControlPlane::wait,
    );
    let _ = (
        ControlPlane::pids,
        until as fn(&str, fn() -> bool),
        is_running,
        signal,
    );
    let _ = |plane: &mut ControlPlane| plane.restart_around(|_| {});
    let _ = |plane: &ControlPlane, answer: &Answer| {
        (
            plane.server.len(),
            plane.etcd_pid,
            plane.announcement.is_null(),
            answer.stdout.len(),
        )
    };
};
