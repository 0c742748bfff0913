//! Between one operator and the API server, below TLS: bytes pass, or the handshake fails.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::client::{AbortOnDrop, spawn, wait_for};
use super::house::House;

/// What becomes of connections, also of those that are open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// They lead to the API server.
    Pass,
    /// Whoever says hello gets an answer that is no TLS, as from a load balancer without servers.
    Garbage,
    /// Whoever says hello hears nothing more than the end of the connection.
    HangUp,
}

/// A relay for the operators that are given its kubeconfig. It ends with its handle.
pub(crate) struct Relay {
    /// Leads through it.
    pub(crate) kubeconfig: PathBuf,
    mode: watch::Sender<Mode>,
    failed: Arc<AtomicUsize>,
    _server: AbortOnDrop,
}

impl Relay {
    /// Starts one that lets everything through.
    pub(crate) fn start(house: &House) -> Self {
        let listener = wait_for(TcpListener::bind("127.0.0.1:0")).expect("a port");
        let address = listener.local_addr().expect("an address");
        let server = house.plane.server.trim_start_matches("https://").to_owned();
        let (mode, modes) = watch::channel(Mode::Pass);
        let failed = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&failed);
        let serve = spawn(async move {
            let mut open = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (server, modes, count) = (server.clone(), modes.clone(), Arc::clone(&count));
                open.spawn(relay(stream, server, modes, count));
                while open.try_join_next().is_some() {}
            }
        });
        let kubeconfig = house
            .plane
            .dir()
            .join(format!("relay-{}.kubeconfig", address.port()));
        let text = std::fs::read_to_string(&house.operator_kubeconfig).expect("a kubeconfig");
        let mut value: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
        // The certificate names the loopback address, whatever the port.
        value["clusters"][0]["cluster"]["server"] = json!(format!("https://{address}"));
        std::fs::write(&kubeconfig, value.to_string()).expect("it can be written");
        Self {
            kubeconfig,
            mode,
            failed,
            _server: serve,
        }
    }

    /// From now on this becomes of connections; those that are open end.
    pub(crate) fn tell(&self, mode: Mode) {
        self.mode.send_replace(mode);
    }

    /// How many handshakes have failed so far.
    pub(crate) fn failed(&self) -> usize {
        self.failed.load(Ordering::SeqCst)
    }
}

async fn relay(
    mut stream: TcpStream,
    server: String,
    mut modes: watch::Receiver<Mode>,
    failed: Arc<AtomicUsize>,
) {
    let mode = *modes.borrow_and_update();
    if mode == Mode::Pass {
        let Ok(mut onward) = TcpStream::connect(server).await else {
            return;
        };
        tokio::select! {
            _ = copy_bidirectional(&mut stream, &mut onward) => {}
            _ = modes.changed() => {}
        }
        return;
    }
    let mut hello = [0; 16 * 1024];
    let heard = stream.read(&mut hello).await.unwrap_or_default();
    if heard == 0 {
        return;
    }
    if mode == Mode::Garbage {
        let page = "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n";
        let _ = stream.write_all(page.as_bytes()).await;
    }
    failed.fetch_add(1, Ordering::SeqCst);
}
