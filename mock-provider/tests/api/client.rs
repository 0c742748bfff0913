//! A client that shows what is on the wire, and a server to point it at.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use mock_provider::{Options, Running, serve};
use serde_json::{Value, json};
use tokio::sync::oneshot;

/// Far beyond anything that these tests wait for.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct Server {
    pub(crate) running: Running,
    stop: oneshot::Sender<()>,
}

/// An answer as it came, or as far as it came.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    /// 0 when the connection closed before an answer.
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

pub(crate) fn options() -> Options {
    let listen = SocketAddr::from(([127, 0, 0, 1], 0));
    let provisioning_delay = Duration::from_millis(20);
    Options {
        listen,
        admin_listen: Some(listen),
        provisioning_delay,
        ..Options::default()
    }
}

pub(crate) async fn start(options: Options) -> Server {
    let (stop, stopped) = oneshot::channel();
    let running = serve(options, async { drop(stopped.await) }).await.unwrap();
    Server { running, stop }
}

impl Server {
    pub(crate) async fn stop(self) {
        drop(self.stop);
        self.running.wait().await.unwrap();
    }

    pub(crate) fn call(&self, method: &str, path: &str) -> Reply {
        self.send(method, path, &[], None)
    }

    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&str>,
    ) -> Reply {
        exchange(self.running.addr, &request(method, path, headers, body))
    }

    pub(crate) fn create(&self, key: &str, body: &Value) -> Reply {
        self.send(
            "POST",
            "/vms",
            &[("Idempotency-Key", key)],
            Some(&body.to_string()),
        )
    }

    pub(crate) fn admin(&self, method: &str, path: &str, body: Value) -> Reply {
        let body = (!body.is_null()).then(|| body.to_string());
        exchange(
            self.running.admin_addr.unwrap(),
            &request(method, path, &[], body.as_deref()),
        )
    }

    pub(crate) fn fault(&self, rule: Value) {
        let reply = self.admin("POST", "/faults", rule);
        assert_eq!(reply.status, 201, "{reply:?}");
    }

    /// The request log.
    pub(crate) fn log(&self) -> Vec<Value> {
        let reply = self.admin("GET", "/log", Value::Null);
        reply
            .text()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// Ids of all live VMs, whoever owns them.
    pub(crate) fn live(&self) -> Vec<String> {
        let items = self.admin("GET", "/vms?deleted=false", Value::Null).json()["items"].take();
        items
            .as_array()
            .unwrap()
            .iter()
            .map(|vm| vm["id"].as_str().unwrap().into())
            .collect()
    }
}

impl Reply {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// Status and error code.
    pub(crate) fn refusal(&self) -> (u16, String) {
        (
            self.status,
            self.json()["code"].as_str().unwrap_or_default().into(),
        )
    }
}

pub(crate) fn vm() -> Value {
    json!({ "image": "ubuntu-22.04", "cpu": 2, "memory": "4Gi", "tags": { "vmoperator/uid": "u-1", "vmoperator/incarnation": "i-1" } })
}

pub(crate) fn request(
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: Option<&str>,
) -> Vec<u8> {
    let mut text = format!("{method} {path} HTTP/1.1\r\nHost: mock\r\nConnection: close\r\n");
    for (name, value) in headers {
        text += &format!("{name}: {value}\r\n");
    }
    if let Some(body) = body {
        text += &format!("Content-Length: {}\r\n\r\n{body}", body.len());
    } else {
        text += "\r\n";
    }
    text.into_bytes()
}

/// Sends bytes and reads until the server closes.
pub(crate) fn exchange(addr: SocketAddr, request: &[u8]) -> Reply {
    let mut stream = TcpStream::connect(addr).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    // A server that has heard enough may close before everything is sent.
    let _ = stream.write_all(request);
    let mut bytes = Vec::new();
    match stream.read_to_end(&mut bytes) {
        Ok(_) => {}
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted
            ) => {}
        Err(error) => panic!("no end of the answer: {error}"),
    }
    parse(&bytes)
}

fn parse(bytes: &[u8]) -> Reply {
    let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else {
        assert!(
            bytes.is_empty(),
            "half a head: {:?}",
            String::from_utf8_lossy(bytes)
        );
        return Reply {
            status: 0,
            headers: Vec::new(),
            body: Vec::new(),
        };
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let mut lines = head.split("\r\n");
    let status = lines
        .next()
        .unwrap()
        .split(' ')
        .nth(1)
        .unwrap()
        .parse()
        .unwrap();
    let headers: Vec<_> = lines
        .map(|line| {
            line.split_once(": ")
                .map(|(name, value)| (name.to_lowercase(), value.into()))
                .unwrap()
        })
        .collect();
    let mut reply = Reply {
        status,
        headers,
        body: bytes[end + 4..].to_vec(),
    };
    if reply.header("transfer-encoding") == Some("chunked") {
        reply.body = unchunk(&reply.body);
    }
    reply
}

fn unchunk(mut bytes: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = bytes.windows(2).position(|window| window == b"\r\n") {
        let length =
            usize::from_str_radix(std::str::from_utf8(&bytes[..end]).unwrap(), 16).unwrap();
        let from = end + 2;
        if length == 0 || bytes.len() < from + length {
            break;
        }
        body.extend_from_slice(&bytes[from..from + length]);
        bytes = &bytes[from + length + 2..];
    }
    body
}
