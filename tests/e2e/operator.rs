//! The operator as users run it: its own process, with the rights of the shipped ServiceAccount.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::Value;

use super::house::House;
use super::until;
use super::{cloud, starter};
use crate::support::signal;
use rustix::process::Signal;

/// A running `vmoperator`. Dropping it kills it; a failing test shows the end of its log.
pub(crate) struct Operator {
    process: Mutex<Child>,
    start: Start,
    log: PathBuf,
    status: Option<ExitStatus>,
}

/// How it was started, and is started again.
struct Start {
    program: String,
    kubeconfig: PathBuf,
    flags: Vec<String>,
    variables: Vec<(String, String)>,
}

impl Start {
    /// Starts it; what it says goes to the end of the log.
    fn run(&self, log: &Path) -> Child {
        let file = File::options().create(true).append(true).open(log);
        let mut command = starter::tied(&self.program);
        command
            .arg("--kubeconfig")
            .arg(&self.kubeconfig)
            .args(["--metrics-bind-address=127.0.0.1:0"])
            .args(["--health-probe-bind-address=127.0.0.1:0"])
            .args(["--allow-http", "--endpoint-allow=127.0.0.0/8"])
            .arg("--log-format=json")
            .args(&self.flags)
            .env("VMOPERATOR_LOG_LEVEL", "debug")
            .env_remove("VMOPERATOR_FAILPOINT")
            .env_remove("VMOPERATOR_WALL_CLOCK")
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(file.expect("a log file"));
        starter::start(command)
    }
}

/// Options of an operator that is the only one: it needs no Lease, so that it leads again right after a kill.
pub(crate) const ALONE: &[&str] = &["--leader-elect=false"];

impl Operator {
    /// Starts one with further flags. It may not be ready yet: see [`Operator::ready`].
    pub(crate) fn start(house: &House, flags: &[&str]) -> Self {
        Self::start_with(house, flags, None)
    }

    /// The same; it kills itself at a fail point, `name` or `name:N`.
    pub(crate) fn start_with(house: &House, flags: &[&str], fail_point: Option<&str>) -> Self {
        Self::start_at(house, &house.operator_kubeconfig, flags, fail_point)
    }

    /// The same; it finds the API server by this kubeconfig.
    pub(crate) fn start_at(
        house: &House,
        kubeconfig: &Path,
        flags: &[&str],
        fail_point: Option<&str>,
    ) -> Self {
        let ours = env!("CARGO_BIN_EXE_vmoperator");
        Self::start_program(house, ours, kubeconfig, flags, fail_point)
    }

    /// The same of another build.
    pub(crate) fn start_program(
        house: &House,
        program: &str,
        kubeconfig: &Path,
        flags: &[&str],
        fail_point: Option<&str>,
    ) -> Self {
        let variables = fail_point.map(|point| ("VMOPERATOR_FAILPOINT", point));
        Self::start_in(house, program, kubeconfig, flags, variables.as_slice())
    }

    /// One of this build whose wall clock is so many seconds ahead of everybody else's, or behind.
    pub(crate) fn start_ahead(house: &House, flags: &[&str], seconds: i64) -> Self {
        let seconds = seconds.to_string();
        let variables = [("VMOPERATOR_WALL_CLOCK", seconds.as_str())];
        let ours = env!("CARGO_BIN_EXE_vmoperator");
        Self::start_in(house, ours, &house.operator_kubeconfig, flags, &variables)
    }

    fn start_in(
        house: &House,
        program: &str,
        kubeconfig: &Path,
        flags: &[&str],
        variables: &[(&str, &str)],
    ) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let log = house.plane.dir().join(format!("operator-{number}.log"));
        let start = Start {
            program: program.to_owned(),
            kubeconfig: kubeconfig.to_owned(),
            flags: flags.iter().map(|flag| (*flag).to_owned()).collect(),
            variables: variables
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
        };
        Self {
            process: Mutex::new(start.run(&log)),
            start,
            log,
            status: None,
        }
    }

    /// What the kubelet is to a pod: starts it again where it gave up its lease, as it should when the API server does
    /// not answer in time. Whatever else ended it is told and not mended: the tests that need it fail.
    pub(crate) fn keep_alive(&'static self) {
        std::thread::spawn(move || {
            loop {
                std::thread::sleep(Duration::from_millis(500));
                let mut process = self.process.lock().expect("the process");
                let Ok(Some(status)) = process.try_wait() else {
                    continue;
                };
                let tail = self.tail();
                eprintln!("the operator of all tests ended, {status}:\n{tail}");
                if status.code() != Some(1) || !tail.contains("was not renewed within") {
                    return;
                }
                *process = self.start.run(&self.log);
            }
        });
    }

    /// Waits until `/readyz` says so, and returns it.
    pub(crate) fn ready(mut self) -> Self {
        until("the operator is ready", || {
            assert!(
                self.ended().is_none(),
                "the operator ended: {}",
                self.tail()
            );
            self.addresses().len() == 2 && self.health("/readyz").0 == 200
        });
        self
    }

    /// How it ended, if it has.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        if self.status.is_none() {
            let process = self.process.get_mut().expect("the process");
            self.status = process.try_wait().expect("the operator can be waited for");
        }
        self.status
    }

    /// Waits for its end.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        until("the operator ends", || self.ended().is_some());
        self.status.expect("it has ended")
    }

    /// kill −9; returns when it is gone.
    pub(crate) fn kill(mut self) {
        self.signal(Signal::KILL);
        self.wait();
    }

    /// Sends a signal.
    pub(crate) fn signal(&mut self, what: Signal) {
        if self.ended().is_none() {
            signal(self.pid(), what);
        }
    }

    /// Status and body of a path of the health port.
    pub(crate) fn health(&self, path: &str) -> (u16, String) {
        cloud::get(&format!("http://{}{path}", self.addresses()[1]))
    }

    /// The page of metrics.
    pub(crate) fn metrics(&self) -> String {
        cloud::text(&format!("http://{}/metrics", self.addresses()[0]))
    }

    /// `/debug/state`.
    pub(crate) fn state(&self) -> Value {
        let text = cloud::text(&format!("http://{}/debug/state", self.addresses()[0]));
        serde_json::from_str(&text).expect("the state is JSON")
    }

    /// Where it serves: metrics, then health.
    pub(crate) fn addresses(&self) -> Vec<String> {
        let lines = self.lines();
        let serving = lines.iter().filter(|line| line["message"] == "serving");
        let mut all: Vec<String> = serving
            .filter_map(|line| line["address"].as_str().map(str::to_owned))
            .collect();
        // Of its present life.
        all.split_off(all.len().saturating_sub(2))
    }

    /// Its log so far; the last line may be unfinished and is left out then.
    pub(crate) fn lines(&self) -> Vec<Value> {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        text.lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()
    }

    /// Its log so far, to the byte.
    pub(crate) fn text(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Its process id.
    pub(crate) fn pid(&self) -> u32 {
        self.process.lock().expect("the process").id()
    }

    /// What it shows to those who look for errors in it.
    pub(crate) fn debug_state(&self) -> String {
        cloud::text(&format!("http://{}/debug/state", self.addresses()[0]))
    }

    fn tail(&self) -> String {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        let late = lines.len().saturating_sub(60);
        let told = |(number, line): &(usize, &&str)| {
            *number >= late || !line.contains(r#""level":"DEBUG""#)
        };
        let shown = lines.iter().enumerate().filter(told);
        shown.map(|(_, line)| *line).collect::<Vec<_>>().join("\n")
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        if self.ended().is_none() {
            let process = self.process.get_mut().expect("the process");
            let _ = process.kill();
            let _ = process.wait();
        }
        if std::thread::panicking() {
            eprintln!("── {} ──\n{}", self.log.display(), self.tail());
        }
    }
}
