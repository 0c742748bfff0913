//! The two small HTTP servers: health for the kubelet, metrics and state for people and Prometheus.

mod pages;

use super::tls::TlsListener;
use axum::Router;
use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
pub use pages::{Gate, Pages, health_router};
use std::io;
use std::net::SocketAddr;
use thiserror::Error;
use tokio::net::TcpListener;

/// Why a server cannot listen.
#[derive(Debug, Error)]
pub enum Error {
    /// The address is no address.
    #[error(
        "{flag}={text:?} is no address: write host:port or :port, for example :8081, or 0 to switch it off"
    )]
    Address {
        /// The flag that gave it.
        flag: &'static str,
        /// What it said.
        text: String,
    },
    /// Another program has the port.
    #[error(
        "{flag}={address}: the port is in use; stop the program that has it, or choose another port (:0 takes a free one)"
    )]
    InUse {
        /// The flag that gave the address.
        flag: &'static str,
        /// The address.
        address: SocketAddr,
    },
    /// The port needs more rights.
    #[error(
        "{flag}={address}: not allowed; ports below 1024 need rights that the operator does not have, choose a higher one"
    )]
    NotAllowed {
        /// The flag that gave the address.
        flag: &'static str,
        /// The address.
        address: SocketAddr,
    },
    /// Anything else.
    #[error("{flag}={address}: cannot listen; the address must be one of this machine")]
    Listen {
        /// The flag that gave the address.
        flag: &'static str,
        /// The address.
        address: SocketAddr,
        /// What the system says.
        #[source]
        source: io::Error,
    },
}

/// Reads an address as kubebuilder's flags write it: `:8081`, `127.0.0.1:8081`, `[::1]:8081`; `0` switches the server
/// off and gives `None`. An empty host means every address of the machine.
///
/// # Errors
/// When the text is no address.
pub fn parse_address(flag: &'static str, text: &str) -> Result<Option<SocketAddr>, Error> {
    if text == "0" {
        return Ok(None);
    }
    let full = match text.strip_prefix(':') {
        Some(port) => format!("[::]:{port}"),
        None => text.replacen("localhost:", "127.0.0.1:", 1),
    };
    full.parse().map(Some).map_err(|_| Error::Address {
        flag,
        text: text.to_owned(),
    })
}

/// Opens the port, so that a wrong one is known before anything else starts. Falls back from every IPv6 address to
/// every IPv4 address on a machine without IPv6.
///
/// # Errors
/// When the port cannot be had; the text says what to do.
pub async fn listen(flag: &'static str, address: SocketAddr) -> Result<TcpListener, Error> {
    let listener = match TcpListener::bind(address).await {
        Err(error)
            if error.raw_os_error() == Some(rustix::io::Errno::AFNOSUPPORT.raw_os_error()) =>
        {
            TcpListener::bind(SocketAddr::from(([0, 0, 0, 0], address.port()))).await
        }
        other => other,
    };
    listener.map_err(|source| match source.kind() {
        io::ErrorKind::AddrInUse => Error::InUse { flag, address },
        io::ErrorKind::PermissionDenied => Error::NotAllowed { flag, address },
        _ => Error::Listen {
            flag,
            address,
            source,
        },
    })
}

/// Serves until `stop` is done, then lets answers under way finish.
///
/// # Errors
/// When the listener fails.
pub async fn serve<L>(
    listener: L,
    router: Router,
    stop: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()>
where
    L: Listener<Addr = SocketAddr>,
    for<'a> Peer: Connected<IncomingStream<'a, L>>,
{
    let service = router.into_make_service_with_connect_info::<Peer>();
    axum::serve(listener, service)
        .with_graceful_shutdown(stop)
        .await
}

/// The other side of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer(pub SocketAddr);

impl Connected<IncomingStream<'_, TcpListener>> for Peer {
    fn connect_info(stream: IncomingStream<'_, TcpListener>) -> Self {
        Self(*stream.remote_addr())
    }
}

impl Connected<IncomingStream<'_, TlsListener>> for Peer {
    fn connect_info(stream: IncomingStream<'_, TlsListener>) -> Self {
        Self(*stream.remote_addr())
    }
}

#[cfg(test)]
mod tests;
