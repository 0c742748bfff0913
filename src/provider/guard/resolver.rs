//! The name resolver of the HTTP client: it hands out checked addresses alone, and those are connected to.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::{Guard, GuardError};

/// The answer of a [`Lookup`], some time.
pub type LookupFuture = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// How a host name becomes addresses; [`std::net::ToSocketAddrs`] by the system unless a test says otherwise.
pub type Lookup = Arc<dyn Fn(String) -> LookupFuture + Send + Sync>;

/// Why a name gave no address to connect to.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ResolveError {
    #[error("looking up {host} failed")]
    Lookup {
        host: String,
        #[source]
        source: io::Error,
    },
    #[error("{0} has no address")]
    Empty(String),
    #[error(transparent)]
    NotAllowed(GuardError),
}

/// Resolves the endpoint's host, whatever name is asked for, and hands out what the guard admits.
///
/// The name asked for differs from the host where the server's certificate bears another name; the client
/// then speaks to that name at the endpoint's address.
pub(crate) struct GuardedResolver {
    pub(crate) host: String,
    pub(crate) guard: Arc<Guard>,
    pub(crate) lookup: Lookup,
}

impl Resolve for GuardedResolver {
    fn resolve(&self, _asked: Name) -> Resolving {
        let host = self.host.clone();
        let guard = Arc::clone(&self.guard);
        let lookup = Arc::clone(&self.lookup);
        Box::pin(async move {
            let found = match host.trim_matches(['[', ']']).parse::<IpAddr>() {
                Ok(literal) => vec![literal],
                Err(_) => lookup(host.clone()).await.map_err(|source| {
                    let host = host.clone();
                    ResolveError::Lookup { host, source }
                })?,
            };
            let admitted = admit(&host, &guard, &found)?;
            let addresses: Addrs = Box::new(admitted.into_iter());
            Ok(addresses)
        })
    }
}

/// The admitted ones of these addresses; an error where there is none. Port 0 leaves the port to the URL.
fn admit(host: &str, guard: &Guard, found: &[IpAddr]) -> Result<Vec<SocketAddr>, ResolveError> {
    let mut refused = None;
    let mut admitted = Vec::new();
    for &address in found {
        match guard.check_address(host, address) {
            Ok(()) => admitted.push(SocketAddr::new(address, 0)),
            Err(error) => refused = Some(error),
        }
    }
    match refused {
        Some(error) if admitted.is_empty() => Err(ResolveError::NotAllowed(error)),
        None if admitted.is_empty() => Err(ResolveError::Empty(host.to_owned())),
        Some(_) | None => Ok(admitted),
    }
}

/// The system's resolver (`getaddrinfo`, with its search domains and hosts file).
pub(crate) fn system_lookup() -> Lookup {
    Arc::new(|host| {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host.as_str(), 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    })
}
