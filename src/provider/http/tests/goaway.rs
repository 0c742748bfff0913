//! HTTP/2 connections that the server takes leave of (GOAWAY), before, in, and after a request.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use url::Url;

use super::tls::{ALWAYS, certified, issuer};
use crate::domain::{ErrorKind, InstanceId, ProviderError};
use crate::provider::Provider;
use crate::provider::http::{HttpProvider, Options};
use crate::provider::testing::{WHENEVER, create, options};

/// What becomes of a request.
#[derive(Clone, Copy, Debug)]
enum Act {
    /// `404`.
    Answer,
    /// `404`, then the server takes leave and closes.
    AnswerAndLeave,
    /// The server takes leave: the request is not among those that it has seen to.
    Refuse,
    /// The server takes leave while it sees to the request, and closes without an answer.
    Abandon,
}

const DATA_ENDS: u8 = 0x1;
const SETTINGS: u8 = 0x4;
const HEADERS: u8 = 0x1;
const GO_AWAY: u8 = 0x7;
const ACKNOWLEDGED: u8 = 0x1;
const HEADERS_END: u8 = 0x4;
/// `:status 404` in HPACK's static table.
const NOT_FOUND: u8 = 0x8d;

/// A server that speaks as much HTTP/2 over TLS as it takes; its thread ends with the test's process.
struct Server {
    address: SocketAddr,
    authority: String,
    acts: Mutex<VecDeque<Act>>,
    requests: AtomicUsize,
    connections: AtomicUsize,
}

impl Server {
    fn start(acts: impl IntoIterator<Item = Act>) -> Arc<Self> {
        let issuer = issuer();
        let mut config = certified(&issuer, "127.0.0.1", rustls::ALL_VERSIONS, ALWAYS);
        config.alpn_protocols = vec![b"h2".to_vec()];
        let config = Arc::new(config);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Arc::new(Self {
            address: listener.local_addr().unwrap(),
            authority: issuer.pem(),
            acts: Mutex::new(acts.into_iter().collect()),
            requests: AtomicUsize::new(0),
            connections: AtomicUsize::new(0),
        });
        let served = Arc::clone(&server);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                served.connections.fetch_add(1, Ordering::SeqCst);
                let connection = rustls::ServerConnection::new(config.clone()).unwrap();
                let tls = rustls::StreamOwned::new(connection, stream);
                let served = Arc::clone(&served);
                std::thread::spawn(move || served.converse(tls));
            }
        });
        server
    }

    fn provider(&self) -> HttpProvider {
        let endpoint = Url::parse(&format!("https://{}", self.address)).unwrap();
        let options = Options {
            ca_bundle: Some(self.authority.clone()),
            ..options(endpoint)
        };
        HttpProvider::new(options).unwrap()
    }

    fn seen(&self) -> (usize, usize) {
        let count = |counter: &AtomicUsize| counter.load(Ordering::SeqCst);
        (count(&self.requests), count(&self.connections))
    }

    /// Ends when either side closes.
    fn converse(&self, mut tls: rustls::StreamOwned<rustls::ServerConnection, TcpStream>) {
        let mut preface = [0; 24];
        if tls.read_exact(&mut preface).is_err() {
            return;
        }
        assert!(preface.starts_with(b"PRI * HTTP/2.0"), "no HTTP/2");
        let _ = tls.write_all(&frame(SETTINGS, 0, 0, &[]));
        while let Some((kind, flags, stream)) = next(&mut tls) {
            let answers = match kind {
                SETTINGS if flags & ACKNOWLEDGED == 0 => {
                    let _ = tls.write_all(&frame(SETTINGS, ACKNOWLEDGED, 0, &[]));
                    continue;
                }
                HEADERS => {
                    self.requests.fetch_add(1, Ordering::SeqCst);
                    self.acts.lock().unwrap().pop_front()
                }
                _ => continue,
            };
            let answer = frame(HEADERS, HEADERS_END | DATA_ENDS, stream, &[NOT_FOUND]);
            let (text, stays) = match answers.expect("an act for each request") {
                Act::Answer => (answer, true),
                Act::AnswerAndLeave => ([answer, go_away(stream)].concat(), false),
                Act::Refuse => (go_away(stream - 2), false),
                Act::Abandon => (go_away(stream), false),
            };
            let _ = tls.write_all(&text);
            let _ = tls.flush();
            if !stays {
                tls.conn.send_close_notify();
                let _ = tls.flush();
                return;
            }
        }
    }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut frame = length[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// Without an error: requests up to this one were, or may have been, seen to.
fn go_away(last: u32) -> Vec<u8> {
    let payload = [last.to_be_bytes(), [0; 4]].concat();
    frame(GO_AWAY, 0, 0, &payload)
}

/// Kind, flags and stream of the next frame; what is in it is not needed.
fn next(tls: &mut impl Read) -> Option<(u8, u8, u32)> {
    let mut head = [0; 9];
    tls.read_exact(&mut head).ok()?;
    let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
    let mut payload = vec![0; usize::try_from(length).ok()?];
    tls.read_exact(&mut payload).ok()?;
    let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
    Some((head[3], head[4], stream))
}

async fn get(provider: &HttpProvider) -> ErrorKind {
    let found = provider.get(&InstanceId::new("vm-1")).await;
    found.unwrap_err().kind
}

async fn make(provider: &HttpProvider) -> ProviderError {
    let (key, body) = create();
    provider.create(&key, &body, WHENEVER).await.unwrap_err()
}

/// C22: whatever the server says it has seen to, a create goes out once; its end is for whoever looks at the object, and
/// the next call has a connection of its own.
#[tokio::test]
async fn a_create_in_a_connection_that_ends_is_in_doubt_and_sent_once() {
    for act in [Act::Abandon, Act::Refuse] {
        // The second request of its connection, so that the client takes the connection for a good one.
        let server = Server::start([Act::Answer, act, Act::Answer]);
        let provider = server.provider();
        assert_eq!(get(&provider).await, ErrorKind::NotFound);
        let error = make(&provider).await;
        assert_eq!(error.kind, ErrorKind::Unavailable, "{act:?}: {error:?}");
        assert!(error.may_have_happened(), "{act:?}: {error:?}");
        assert_eq!(server.seen(), (2, 1), "{act:?}: it was sent again");
        assert_eq!(get(&provider).await, ErrorKind::NotFound, "{act:?}");
        assert_eq!(server.seen(), (3, 2), "{act:?}");
    }
}

/// A server that is asked to stop takes leave between two requests: nobody notices.
#[tokio::test]
async fn a_connection_that_ends_between_two_requests_is_replaced_without_a_failure() {
    let server = Server::start([Act::AnswerAndLeave, Act::AnswerAndLeave, Act::Answer]);
    let provider = server.provider();
    for round in 1..=3 {
        assert_eq!(get(&provider).await, ErrorKind::NotFound, "{round}");
    }
    assert_eq!(server.seen(), (3, 3));
}
