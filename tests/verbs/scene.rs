//! One API server for this file, a namespace for each test, and vmctl as a process that can be watched while it works.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::{self, JoinHandle};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{ControlPlane, signal, until};

static PLANE: OnceLock<ControlPlane> = OnceLock::new();
static NUMBER: AtomicUsize = AtomicUsize::new(0);

/// How kubectl and vmctl name a VirtualMachine.
pub(crate) const VM: &str = "virtualmachine.compute.example.com";

/// A namespace at an API server.
pub(crate) struct Scene<'a> {
    pub(crate) plane: &'a ControlPlane,
    pub(crate) namespace: String,
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

/// A running vmctl.
pub(crate) struct Running {
    child: Child,
    stdout: (Arc<Mutex<String>>, JoinHandle<()>),
    stderr: (Arc<Mutex<String>>, JoinHandle<()>),
}

/// The kinds of `config/crd/` at an API server.
pub(crate) fn install(plane: &ControlPlane) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/config/crd");
    plane.kubectl(&["apply", "-f", folder]);
    let names = [
        "crd/virtualmachines.compute.example.com",
        "crd/providerconfigs.compute.example.com",
    ];
    plane.kubectl(&[
        "wait",
        "--for=condition=Established",
        "--timeout=60s",
        names[0],
        names[1],
    ]);
    // Established comes a moment before the kinds answer.
    until("the kinds are served", || {
        ["vm", "pcfg"]
            .iter()
            .all(|kind| plane.try_kubectl(&["get", kind], "").success)
    });
}

impl Scene<'static> {
    /// A namespace of its own at the API server that all share.
    pub(crate) fn new() -> Self {
        let plane = PLANE.get_or_init(|| {
            let plane = ControlPlane::start_with(&["--no-controller-manager"]);
            install(&plane);
            plane
        });
        let namespace = format!("scene-{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        plane.kubectl(&["create", "namespace", &namespace]);
        Self { plane, namespace }
    }
}

impl Scene<'_> {
    /// A call of vmctl for this namespace; it may change what it likes.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.bare(args);
        command.arg("--kubeconfig").arg(&self.plane.kubeconfig);
        command.args(["--context", "vmctl", "-n", &self.namespace]);
        if ["create", "delete", "apply", "edit"].contains(&args[0]) {
            command.arg("--yes");
        }
        command
    }

    /// Where its environments would be; those of other scenes are none of its business.
    pub(crate) fn home(&self) -> PathBuf {
        self.plane.dir().join("homes").join(&self.namespace)
    }

    /// A call of vmctl with nothing added.
    pub(crate) fn bare(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_vmctl"));
        command
            .args(args)
            .env("XDG_STATE_HOME", self.home())
            .env("VMCTL_RUNTIME", "embedded")
            .env("TMPDIR", self.plane.dir())
            .env_remove("VMCTL_ENV");
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs vmctl to its end.
    pub(crate) fn vmctl(&self, args: &[&str]) -> Answer {
        run(&mut self.command(args))
    }

    /// Starts vmctl.
    pub(crate) fn start(&self, args: &[&str]) -> Running {
        begun(&mut self.command(args))
    }

    /// `vmctl create vm NAME` with a usual spec and further options.
    pub(crate) fn create<'b>(&self, name: &'b str, options: &[&'b str]) -> Vec<&'b str> {
        let usual = [
            "create",
            "vm",
            name,
            "--image=ubuntu-22.04",
            "--cpu=2",
            "--memory=4Gi",
        ];
        [&usual[..], options].concat()
    }

    /// Makes a VirtualMachine, with finalizers where some are given.
    pub(crate) fn machine(&self, name: &str, finalizers: &[&str]) {
        self.plane
            .apply(&self.manifest(name, finalizers).to_string());
    }

    /// A manifest.
    pub(crate) fn manifest(&self, name: &str, finalizers: &[&str]) -> Value {
        json!({ "apiVersion": "compute.example.com/v1", "kind": "VirtualMachine",
            "metadata": { "name": name, "namespace": self.namespace, "labels": { "name": name }, "finalizers": finalizers },
            "spec": { "image": "ubuntu-22.04", "cpu": 2, "memory": "4Gi" } })
    }

    /// kubectl for this namespace.
    pub(crate) fn kubectl(&self, args: &[&str]) -> String {
        self.plane
            .kubectl(&[&["-n", &self.namespace], args].concat())
    }

    /// Whether the object is there.
    pub(crate) fn exists(&self, name: &str) -> bool {
        self.plane
            .try_kubectl(&["-n", &self.namespace, "get", "vm", name], "")
            .success
    }

    /// Writes the status as the operator would, once the object is there.
    pub(crate) fn status(&self, name: &str, status: &Value) {
        until("the object is there", || self.exists(name));
        let patch = json!({ "status": status }).to_string();
        self.kubectl(&[
            "patch",
            "vm",
            name,
            "--subresource=status",
            "--type=merge",
            "-p",
            &patch,
        ]);
    }

    /// Takes the finalizers away.
    pub(crate) fn release(&self, name: &str) {
        let patch = r#"{"metadata":{"finalizers":null}}"#;
        self.kubectl(&["patch", "vm", name, "--type=merge", "-p", patch]);
    }
}

/// A status with one condition more than none.
pub(crate) fn status(
    phase: &str,
    generation: i64,
    conditions: &[(&str, &str, &str, &str)],
) -> Value {
    let conditions: Vec<Value> = conditions
        .iter()
        .map(|(kind, status, reason, message)| {
            json!({ "type": kind, "status": status, "reason": reason, "message": message,
                "observedGeneration": generation, "lastTransitionTime": "2026-01-01T00:00:00Z" })
        })
        .collect();
    json!({ "phase": phase, "observedGeneration": generation, "conditions": conditions })
}

/// A status of a VM that runs.
pub(crate) fn running(generation: i64) -> Value {
    let mut status = status(
        "Running",
        generation,
        &[(
            "Ready",
            "True",
            "Running",
            "the instance runs as the spec says",
        )],
    );
    status["id"] = json!("vm-7");
    status["incarnation"] = json!(1);
    status["addresses"] = json!([{ "type": "InternalIP", "address": "10.0.0.7" }]);
    status
}

/// Starts a call of vmctl.
pub(crate) fn begun(command: &mut Command) -> Running {
    let mut child = command.spawn().expect("vmctl can be started");
    let stdout = collected(child.stdout.take().expect("stdout is piped"));
    let stderr = collected(child.stderr.take().expect("stderr is piped"));
    Running {
        child,
        stdout,
        stderr,
    }
}

/// Runs a call of vmctl to its end.
pub(crate) fn run(command: &mut Command) -> Answer {
    let output = command.output().expect("vmctl can be run");
    Answer {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

impl Answer {
    /// Holds that it ended so, with that id and those words; every failure says what to do.
    pub(crate) fn failed(&self, code: i32, id: &str, words: &[&str]) {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert!(
            self.stderr.contains(&format!("[{id}]")),
            "{id} is missing: {self:?}"
        );
        assert!(self.stderr.contains("what to do: "), "{self:?}");
        for word in words {
            assert!(self.stderr.contains(word), "{word:?} is missing: {self:?}");
        }
        self.is_plain();
    }

    /// Holds that it succeeded with that on stdout.
    pub(crate) fn succeeded(&self, stdout: &str) {
        assert_eq!(
            (self.code, self.stdout.as_str()),
            (Some(0), stdout),
            "{self:?}"
        );
        self.is_plain();
    }

    /// Holds that off a terminal nothing but text and line ends is written.
    pub(crate) fn is_plain(&self) {
        let text = self.stdout.clone() + &self.stderr;
        assert!(
            !text.chars().any(|c| c.is_control() && c != '\n'),
            "{text:?}"
        );
        assert!(!text.contains("panicked"), "{text}");
    }
}

impl Running {
    /// Waits until stderr has these words.
    pub(crate) fn says(&self, words: &str) {
        until(
            &format!("stderr has {words:?}: {}", self.stderr.0.lock().unwrap()),
            || self.stderr.0.lock().unwrap().contains(words),
        );
    }

    /// Waits until stdout has these words.
    pub(crate) fn prints(&self, words: &str) {
        until(&format!("stdout has {words:?}"), || {
            self.stdout.0.lock().unwrap().contains(words)
        });
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, which: Signal) {
        signal(self.child.id(), which);
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) -> Answer {
        let status = self.child.wait().expect("vmctl can be waited for");
        let text = |(text, thread): (Arc<Mutex<String>>, JoinHandle<()>)| {
            thread.join().expect("the reader ends");
            text.lock().unwrap().clone()
        };
        Answer {
            code: status.code(),
            stdout: text(self.stdout),
            stderr: text(self.stderr),
        }
    }
}

fn collected(stream: impl Read + Send + 'static) -> (Arc<Mutex<String>>, JoinHandle<()>) {
    let text = Arc::new(Mutex::new(String::new()));
    let into = Arc::clone(&text);
    let thread = thread::spawn(move || {
        let mut stream = BufReader::new(stream);
        let mut line = String::new();
        while stream.read_line(&mut line).is_ok_and(|read| read > 0) {
            into.lock().unwrap().push_str(&line);
            line.clear();
        }
    });
    (text, thread)
}
