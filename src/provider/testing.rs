//! For tests: a server on loopback that answers what it is told, byte for byte, and remembers what it was asked.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use url::Url;

use super::guard::Guard;
use super::http::{HttpProvider, Options};
use super::time::{Time, Timers};
use crate::domain::time::Moment;
use crate::domain::{
    ClusterId, CreateBody, IdempotencyKey, Incarnation, InstanceSpec, ObjectKey, Owner, Uid,
};

/// One request as the server saw it.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) method: String,
    /// Path and query.
    pub(super) target: String,
    /// The head as it came, in lower case.
    pub(super) head: String,
    pub(super) body: String,
}

/// What the server does with the connection, in this order; then it closes it.
pub(super) enum Step {
    Bytes(Vec<u8>),
    Wait(Duration),
    /// These bytes again and again until the client leaves.
    Forever(Vec<u8>, Duration),
    /// Closes with a reset.
    Reset,
}

/// A server; it ends when dropped.
pub(super) struct Server {
    pub(super) address: SocketAddr,
    pub(super) asked: Arc<Mutex<Vec<Asked>>>,
    /// Connections, also those that asked nothing.
    pub(super) connections: Arc<AtomicUsize>,
    /// Bytes that the server got rid of.
    pub(super) sent: Arc<AtomicU64>,
    task: JoinHandle<()>,
}

impl Server {
    #[expect(
        clippy::disallowed_methods,
        reason = "a server of a test runs beside it"
    )]
    pub(super) async fn start(
        script: impl Fn(&Asked) -> Vec<Step> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let connections = Arc::new(AtomicUsize::new(0));
        let sent = Arc::new(AtomicU64::new(0));
        let script = Arc::new(script);
        let (all, count, bytes) = (asked.clone(), connections.clone(), sent.clone());
        let task = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                count.fetch_add(1, Ordering::SeqCst);
                let (all, script, bytes) = (all.clone(), script.clone(), bytes.clone());
                tokio::spawn(async move {
                    let _ = converse(stream, &all, &*script, &bytes).await;
                });
            }
        });
        Self {
            address,
            asked,
            connections,
            sent,
            task,
        }
    }

    /// Always the same answer.
    pub(super) async fn always(status: u16, headers: &str, body: &str) -> Self {
        let answer = answer(status, headers, body);
        Self::start(move |_| vec![Step::Bytes(answer.clone())]).await
    }

    pub(super) fn url(&self, path: &str) -> Url {
        Url::parse(&format!("http://{}{path}", self.address)).unwrap()
    }

    pub(super) fn provider(&self) -> HttpProvider {
        HttpProvider::new(options(self.url(""))).unwrap()
    }

    pub(super) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn converse(
    mut stream: TcpStream,
    all: &Mutex<Vec<Asked>>,
    script: &(impl Fn(&Asked) -> Vec<Step> + ?Sized),
    sent: &AtomicU64,
) -> std::io::Result<()> {
    let asked = read_request(&mut stream).await?;
    let steps = script(&asked);
    all.lock().unwrap().push(asked);
    for step in steps {
        match step {
            Step::Bytes(bytes) => {
                stream.write_all(&bytes).await?;
                sent.fetch_add(bytes.len() as u64, Ordering::SeqCst);
            }
            Step::Wait(wait) => pause(wait).await,
            Step::Forever(bytes, wait) => loop {
                stream.write_all(&bytes).await?;
                sent.fetch_add(bytes.len() as u64, Ordering::SeqCst);
                pause(wait).await;
            },
            Step::Reset => {
                stream.set_zero_linger()?;
                return Ok(());
            }
        }
    }
    stream.shutdown().await
}

#[expect(clippy::disallowed_methods, reason = "a slow server waits")]
async fn pause(wait: Duration) {
    if !wait.is_zero() {
        tokio::time::sleep(wait).await;
    }
}

async fn read_request(stream: &mut TcpStream) -> std::io::Result<Asked> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        let mut part = [0; 4096];
        match stream.read(&mut part).await? {
            0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            read => bytes.extend_from_slice(&part[..read]),
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.trim().parse::<usize>().unwrap())
    });
    let mut body = bytes.split_off(end);
    let missing = length.unwrap_or(0).saturating_sub(body.len());
    let mut rest = vec![0; missing];
    stream.read_exact(&mut rest).await?;
    body.extend_from_slice(&rest);
    let mut words = head.split_whitespace();
    Ok(Asked {
        method: words.next().unwrap_or_default().to_owned(),
        target: words.next().unwrap_or_default().to_owned(),
        head: head.to_lowercase(),
        body: String::from_utf8_lossy(&body).into_owned(),
    })
}

/// A whole HTTP answer; `headers` are lines that each end with CR LF.
pub(super) fn answer(status: u16, headers: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status} Said\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n{body}")
        .into_bytes()
}

/// Options for a server on loopback.
pub(super) fn options(endpoint: Url) -> Options {
    let _ = rustls::crypto::ring::default_provider().install_default();
    Options {
        endpoint,
        credential: None,
        timeout: Duration::from_secs(20),
        ca_bundle: None,
        server_name: None,
        guard: Guard {
            allow_http: true,
            admitted: vec!["127.0.0.0/8".parse().unwrap()],
        },
    }
}

/// For creates that may start at any time.
pub(super) const WHENEVER: Moment = Moment::from_nanos(u64::MAX);

pub(super) fn owner() -> Owner {
    Owner {
        cluster: ClusterId::new("cluster-1"),
        uid: Uid::new("uid-1"),
    }
}

/// A create of [`owner`], first incarnation.
pub(super) fn create() -> (IdempotencyKey, CreateBody) {
    let spec = InstanceSpec {
        image: "ubuntu-24.04".to_owned(),
        cpu: 2,
        memory: "2Gi".to_owned(),
    };
    let key = IdempotencyKey::derive(&owner(), Incarnation::FIRST);
    let object = ObjectKey::new("default", "vm");
    let body = CreateBody::new(&spec, &object, &owner(), Incarnation::FIRST);
    (key, body)
}

/// A VM of these owner tags as the API writes it.
pub(super) fn vm(id: &str, cluster: &str, uid: &str) -> String {
    format!(
        r#"{{"id":"{id}","name":"n","image":"i","cpu":1,"memory":"1Gi","phase":"Running","createdAt":"2026-01-01T00:00:00Z",
        "tags":{{"vmoperator/cluster":"{cluster}","vmoperator/uid":"{uid}","vmoperator/incarnation":"1"}},"revision":"1"}}"#
    )
}

/// Time that follows the timers of the test's runtime.
pub(super) fn tokio_time() -> Arc<dyn Time> {
    let start = tokio::time::Instant::now();
    Arc::new(Timers(move || Moment::from_secs(3600) + start.elapsed()))
}
