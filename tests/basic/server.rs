//! The provider in Python, as a process of its own.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Mutex;

use serde_json::Value;

use crate::e2e::cloud;

/// A running provider. Dropping it ends it.
pub(crate) struct Basic {
    pub(crate) url: String,
    process: Child,
    orders: Mutex<(ChildStdin, BufReader<ChildStdout>)>,
}

impl Basic {
    /// Starts one; `None`, and a line that says so, where there is no Python.
    pub(crate) fn start() -> Option<Self> {
        let found = Command::new("python3").arg("--version").output();
        if !found.is_ok_and(|answer| answer.status.success()) {
            // Past the capture of a passing test, so that it is seen in each run.
            let line = b"SKIPPED: there is no python3 here, so no basic provider can be run\n";
            std::io::stderr().write_all(line).expect("stderr");
            return None;
        }
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/basic/provider.py");
        // It ends by itself when this process does: its orders end then.
        let mut process = Command::new("python3")
            .arg(script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3 starts");
        let stdin = process.stdin.take().expect("stdin");
        let mut stdout = BufReader::new(process.stdout.take().expect("stdout"));
        let mut port = String::new();
        stdout.read_line(&mut port).expect("it prints its port");
        Some(Self {
            url: format!("http://127.0.0.1:{}", port.trim()),
            process,
            orders: Mutex::new((stdin, stdout)),
        })
    }

    /// Gives an order, and returns once it is in force.
    pub(crate) fn order(&self, order: &str) {
        let mut orders = self.orders.lock().expect("the lock");
        let (stdin, stdout) = &mut *orders;
        writeln!(stdin, "{order}").expect("it takes orders");
        stdin.flush().expect("it takes orders");
        let mut done = String::new();
        stdout.read_line(&mut done).expect("it answers");
        assert_eq!(done.trim(), "done", "{order}");
    }

    fn log(&self) -> Value {
        let text = cloud::text(&format!("{}/log", self.url));
        serde_json::from_str(&text).expect("JSON")
    }

    /// Every call so far.
    pub(crate) fn calls(&self) -> Vec<String> {
        let log = self.log();
        let calls = log["calls"].as_array().expect("calls");
        let word = |call: &Value| call.as_str().expect("a word").to_owned();
        calls.iter().map(word).collect()
    }

    /// How many creates were sent.
    pub(crate) fn posts(&self) -> usize {
        let calls = self.calls();
        calls.iter().filter(|call| *call == "POST /vms").count()
    }

    /// The VMs that exist.
    pub(crate) fn vms(&self) -> Vec<Value> {
        self.log()["vms"].as_array().expect("VMs").clone()
    }
}

impl Drop for Basic {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
