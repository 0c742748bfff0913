//! The program: its first line, its errors and its end.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::client::{exchange, request, vm};

fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mock-provider"));
    for (name, _) in
        std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("MOCK_PROVIDER_"))
    {
        command.env_remove(name);
    }
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Starts it and reads its first line.
fn started(arguments: &[&str]) -> (Child, Value) {
    let mut child = program()
        .args(["--listen", "127.0.0.1:0"])
        .args(arguments)
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap())
        .read_line(&mut line)
        .unwrap();
    (child, serde_json::from_str(&line).unwrap())
}

fn addr(line: &Value, name: &str) -> SocketAddr {
    line[name]
        .as_str()
        .unwrap()
        .strip_prefix("http://")
        .unwrap()
        .parse()
        .unwrap()
}

fn signal(child: &Child, name: &str) {
    let status = Command::new("sh")
        .args(["-c", &format!("kill -{name} {}", child.id())])
        .status()
        .unwrap();
    assert!(status.success());
}

#[expect(
    clippy::disallowed_methods,
    reason = "the bound on the program's end is a promise of its own"
)]
fn end(mut child: Child, name: &str) -> Option<i32> {
    let began = Instant::now();
    signal(&child, name);
    let status = child.wait().unwrap();
    assert!(
        began.elapsed() < Duration::from_secs(10),
        "{:?}",
        began.elapsed()
    );
    status.code()
}

fn failed(arguments: &[&str]) -> String {
    let Output {
        status,
        stderr,
        stdout,
    } = program().args(arguments).output().unwrap();
    assert!(!status.success() && stdout.is_empty());
    String::from_utf8(stderr).unwrap()
}

#[test]
fn a_signal_ends_it_with_success_although_calls_hang() {
    for name in ["TERM", "INT"] {
        let (child, line) = started(&["--admin-listen", "127.0.0.1:0", "--latency", "1h"]);
        let mut open: Vec<TcpStream> = Vec::new();
        for path in ["/vms/changes?since=0&timeout=300", "/capabilities"] {
            let mut stream = TcpStream::connect(addr(&line, "url")).unwrap();
            stream.write_all(&request("GET", path, &[], None)).unwrap();
            open.push(stream);
        }
        // Both calls have been taken up: the latency holds them.
        let admin = addr(&line, "adminUrl");
        while exchange(admin, &request("GET", "/stats", &[], None)).json()["operations"]["capabilities"].is_null() {
            std::thread::yield_now();
        }
        assert_eq!(end(child, name), Some(0), "{name}");
        for mut stream in open {
            let mut rest = Vec::new();
            let _ = stream.read_to_end(&mut rest);
        }
    }
}

#[test]
fn a_killed_program_has_kept_what_it_answered() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cloud.json");
    let arguments = ["--data-file", file.to_str().unwrap()];
    let (mut child, line) = started(&arguments);
    let create = |line: &Value| {
        exchange(
            addr(line, "url"),
            &request(
                "POST",
                "/vms",
                &[("Idempotency-Key", "k")],
                Some(&vm().to_string()),
            ),
        )
    };
    assert_eq!(create(&line).status, 201);
    child.kill().unwrap();
    child.wait().unwrap();
    let (child, line) = started(&arguments);
    let again = create(&line);
    assert_eq!(
        (again.status, again.header("idempotency-replayed")),
        (200, Some("true"))
    );
    assert_eq!(end(child, "TERM"), Some(0));
}

#[test]
fn a_taken_address_and_wrong_settings_are_refused_with_advice() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let error = failed(&["--listen", &taken]);
    assert!(
        error.contains(&taken) && error.contains("--listen") && error.contains("port 0"),
        "{error}"
    );
    let error = failed(&["--listen", "127.0.0.1:0", "--admin-listen", &taken]);
    assert!(error.contains("--admin-listen"), "{error}");
    for (arguments, says) in [
        (["--provisioning-delay", "soon"], "such as 5s"),
        (["--provisioning-delay=-5s", "--basic"], "negative"),
        (["--latency-tail-share", "2"], "0 to 1"),
        (["--rate-limit", "0"], "above 0"),
        (["--page-size", "0"], "1..=1000"),
        (["--api-key", "s3cret"], "ACCOUNT=KEY"),
        (["--api-key-file", "/nowhere"], "/nowhere"),
    ] {
        let error = failed(&[arguments[0], arguments[1]]);
        assert!(error.contains(says), "{arguments:?}: {error}");
    }
}

#[test]
fn keys_come_from_a_file_too() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("keys");
    std::fs::write(&file, "# keys\n\nacme=a=b=\n").unwrap();
    let (child, line) = started(&["--api-key-file", file.to_str().unwrap()]);
    let call = |key: &str| {
        exchange(
            addr(&line, "url"),
            &request(
                "GET",
                "/capabilities",
                &[("Authorization", &format!("Bearer {key}"))],
                None,
            ),
        )
        .status
    };
    assert_eq!((call("a=b="), call("a")), (200, 401));
    assert_eq!(end(child, "TERM"), Some(0));
    std::fs::write(&file, "# none\n").unwrap();
    assert!(failed(&["--api-key-file", file.to_str().unwrap()]).contains("holds no key"));
    std::fs::write(&file, "acme\n").unwrap();
    assert!(failed(&["--api-key-file", file.to_str().unwrap()]).contains("line 1"));
}
