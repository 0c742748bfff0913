//! What leaves the process: the API key in no log line, and nothing to a proxy of the environment.
#![cfg(test)]

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tracing_subscriber::fmt::MakeWriter;
use url::Url;
use vmoperator::domain::{ErrorKind, InstanceId};
use vmoperator::provider::http::Options;
use vmoperator::provider::{Credential, Guard, HttpProvider, Provider};

const CANARY: &str = "canary-7c1f5e0a";

#[derive(Clone, Default)]
struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Buffer {
    type Writer = Self;
    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// A server that refuses everything and quotes the request; gives its address and whether the key came.
fn echo() -> (String, Arc<Mutex<Vec<u8>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let copy = heard.clone();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut head = vec![0; 8192];
            let read = stream.read(&mut head).unwrap_or(0);
            copy.lock().unwrap().extend_from_slice(&head[..read]);
            let body = format!(r#"{{"code":"Unauthenticated","message":"{CANARY}"}}"#);
            let length = body.len();
            let answer = format!(
                "HTTP/1.1 401 No\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
            );
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    (address, heard)
}

fn provider(address: &str) -> HttpProvider {
    let _ = rustls::crypto::ring::default_provider().install_default();
    HttpProvider::new(Options {
        endpoint: Url::parse(&format!("http://{address}")).unwrap(),
        credential: Some(Credential::new(CANARY).unwrap()),
        timeout: Duration::from_secs(30),
        ca_bundle: None,
        server_name: None,
        guard: Guard {
            allow_http: true,
            admitted: vec!["127.0.0.1".parse().unwrap()],
        },
    })
    .unwrap()
}

/// The address for [`a_call_to_the_named_server`].
const NAMED: &str = "PROVIDER_TEST_SERVER";

#[test]
fn a_proxy_of_the_environment_gets_nothing() {
    let (server, asked) = echo();
    let (proxy, trapped) = echo();
    let proxy = format!("http://{proxy}");
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "a_call_to_the_named_server", "--ignored"]);
    for name in ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"] {
        child.env(name, &proxy);
    }
    for name in ["no_proxy", "NO_PROXY", "REQUEST_METHOD"] {
        child.env_remove(name);
    }
    let done = child.env(NAMED, &server).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    assert!(!asked.lock().unwrap().is_empty());
    assert!(trapped.lock().unwrap().is_empty());
}

#[tokio::test]
#[ignore = "a part of a_proxy_of_the_environment_gets_nothing, which runs it in another process"]
async fn a_call_to_the_named_server() {
    let address = std::env::var(NAMED).unwrap();
    let answer = provider(&address).get(&InstanceId::new("vm-1")).await;
    assert_eq!(answer.unwrap_err().kind, ErrorKind::Unauthorized);
}

#[tokio::test]
async fn no_log_line_or_error_shows_the_key_or_a_body() {
    let logged = Buffer::default();
    // The whole process, lines of the `log` facade too: no other test of this binary logs.
    tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(logged.clone())
        .init();
    tracing::trace!("control");
    let (address, heard) = echo();
    let provider = provider(&address);
    let error = provider.get(&InstanceId::new("vm-1")).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unauthorized);
    assert!(!format!("{error} {error:?}").contains(CANARY));
    let heard = String::from_utf8_lossy(&heard.lock().unwrap()).into_owned();
    assert!(heard.contains(CANARY), "the key was not sent: {heard}");
    let logged = String::from_utf8_lossy(&logged.0.lock().unwrap()).into_owned();
    assert!(logged.contains("control"));
    assert!(
        logged.lines().count() > 1,
        "nothing of the client was logged: {logged}"
    );
    assert!(!logged.contains(CANARY), "{logged}");
}
