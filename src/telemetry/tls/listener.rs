//! Connections with the handshake behind them.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::serve::Listener;
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// The longest handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// Handshakes under way; beyond them connections wait unaccepted.
const HANDSHAKES: usize = 64;
/// The pause after the system refused a connection, for want of file descriptors mostly.
const PAUSE: Duration = Duration::from_secs(1);

/// Accepts TCP connections and does the handshake of each beside those of the others: one that says nothing delays
/// nobody.
pub struct TlsListener {
    tcp: TcpListener,
    acceptor: TlsAcceptor,
    handshakes: JoinSet<Option<Connection>>,
}

type Connection = (TlsStream<TcpStream>, SocketAddr);

impl TlsListener {
    /// Puts TLS over a listener.
    #[must_use]
    pub fn new(tcp: TcpListener, config: Arc<ServerConfig>) -> Self {
        Self {
            tcp,
            acceptor: TlsAcceptor::from(config),
            handshakes: JoinSet::new(),
        }
    }

    async fn arrived(&mut self, accepted: io::Result<(TcpStream, SocketAddr)>) {
        match accepted {
            Ok((stream, peer)) => {
                let acceptor = self.acceptor.clone();
                self.handshakes.spawn(async move {
                    let done = tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await;
                    match done {
                        Ok(Ok(stream)) => Some((stream, peer)),
                        Ok(Err(error)) => {
                            tracing::debug!(%peer, %error, "TLS handshake failed");
                            None
                        }
                        Err(_) => None,
                    }
                });
            }
            Err(error) if is_of_one_connection(&error) => {}
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                let never = std::future::pending::<()>();
                drop(tokio::time::timeout(PAUSE, never).await);
            }
        }
    }
}

fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
    )
}

impl Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let room = self.handshakes.len() < HANDSHAKES;
            tokio::select! {
                accepted = self.tcp.accept(), if room => self.arrived(accepted).await,
                Some(done) = self.handshakes.join_next() => {
                    if let Ok(Some(connection)) = done {
                        return connection;
                    }
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.tcp.local_addr()
    }
}
