//! API servers that are not there as they should be.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::json;

use crate::pty::Pty;

/// A server that takes connections and never says anything.
struct BlackHole {
    port: u16,
    taken: Arc<AtomicUsize>,
}

impl BlackHole {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let taken = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&taken);
        thread::spawn(move || {
            let mut kept = Vec::new();
            while let Ok((connection, _)) = listener.accept() {
                count.fetch_add(1, Ordering::SeqCst);
                kept.push(connection);
            }
        });
        Self { port, taken }
    }
}

fn kubeconfig(path: &Path, current: &str, servers: &[(&str, u16)]) {
    let clusters: Vec<_> = servers
        .iter()
        .map(|(name, port)| json!({ "name": name, "cluster": { "server": format!("http://127.0.0.1:{port}") } }))
        .collect();
    let contexts: Vec<_> = servers
        .iter()
        .map(|(name, _)| json!({ "name": name, "context": { "cluster": name, "user": "u" } }))
        .collect();
    let file = json!({ "apiVersion": "v1", "kind": "Config", "current-context": current, "clusters": clusters,
        "contexts": contexts, "users": [{ "name": "u", "user": {} }] });
    std::fs::write(path, file.to_string()).unwrap();
}

fn vmctl(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vmctl"));
    command
        .args(args)
        .env("XDG_STATE_HOME", dir)
        .env_remove("VMCTL_ENV");
    command
}

#[test]
fn with_an_api_server_that_says_nothing_it_is_shown_told_and_quit() {
    let dir = tempfile::tempdir().unwrap();
    let (hole, file) = (BlackHole::new(), dir.path().join("config"));
    kubeconfig(&file, "a", &[("a", hole.port)]);
    let mut pty = Pty::start(
        vmctl(
            dir.path(),
            &["dash", "--kubeconfig", file.to_str().unwrap()],
        ),
        (120, 40),
    );
    for words in ["context a", "READ-ONLY", "API server lost", "--metrics-url"] {
        pty.wait_for_drawn(words);
    }
    pty.send(b"q");
    assert_eq!(pty.end(), Some(0));
}

#[test]
fn a_context_that_is_switched_elsewhere_redirects_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (first, second, file) = (
        BlackHole::new(),
        BlackHole::new(),
        dir.path().join("config"),
    );
    let servers = [("a", first.port), ("b", second.port)];
    kubeconfig(&file, "a", &servers);
    let pty = Pty::start(
        vmctl(
            dir.path(),
            &["dash", "--kubeconfig", file.to_str().unwrap()],
        ),
        (120, 40),
    );
    pty.wait_for_drawn("context a");
    kubeconfig(&file, "b", &servers);
    let before = first.taken.load(Ordering::SeqCst);
    crate::pty::until("it has tried again", || {
        first.taken.load(Ordering::SeqCst) > before + 2
    });
    assert_eq!(second.taken.load(Ordering::SeqCst), 0);
    assert!(!pty.text().contains("context b"));
}

#[test]
fn without_a_terminal_an_absent_api_server_is_a_failure_with_its_code() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("config");
    // A port that nobody listens on any more.
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    kubeconfig(&file, "a", &[("a", port)]);
    let mut command = vmctl(
        dir.path(),
        &["dash", "--kubeconfig", file.to_str().unwrap()],
    );
    let answer = command.stdin(Stdio::null()).output().unwrap();
    let talk = String::from_utf8_lossy(&answer.stderr);
    assert_eq!(answer.status.code(), Some(7), "{talk}");
    assert!(
        talk.contains("VMC-UNREACHABLE") && answer.stdout.is_empty(),
        "{talk}"
    );
}
