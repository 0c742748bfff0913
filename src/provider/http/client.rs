//! How the HTTP client is put together: what it trusts, what it never does, how long it waits.

use std::time::Duration;

use reqwest::{Certificate, Client, redirect};
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use url::{Host, Url};

use crate::provider::credential::CredentialError;
use crate::provider::guard::{GuardError, GuardedResolver};
use crate::provider::wire;

/// Shorter than what servers and load balancers commonly keep an idle connection for (60 s), so that a write
/// seldom meets a connection that the other side is just closing: it would be in doubt for nothing.
const POOL_IDLE: Duration = Duration::from_secs(20);
/// How often an HTTP/2 connection in use is asked whether it lives.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// Why there is no client for these options.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The endpoint is not one that this operator may talk to.
    #[error(transparent)]
    Endpoint(#[from] GuardError),
    /// The API key cannot be sent.
    #[error(transparent)]
    Credential(#[from] CredentialError),
    /// No call can succeed in no time.
    #[error("the time-out of provider calls is zero: it must be at least one second")]
    Timeout,
    /// Not PEM, or no certificate in it.
    #[error(
        "the CA bundle holds no readable certificate: it must be one or more PEM blocks `BEGIN CERTIFICATE`"
    )]
    CaBundle,
    /// Not a DNS name.
    #[error("the TLS server name `{0}` is no DNS name")]
    ServerName(String),
    /// There is nothing to check a name against.
    #[error("a TLS server name or CA bundle is given, but the endpoint is plain http")]
    TlsWithoutHttps,
    /// A mistake in how the program starts: the cryptography of TLS must be chosen first.
    #[error("no TLS cryptography provider is installed in this process")]
    NoCrypto,
    /// The HTTP client refused what was put together.
    #[error(
        "cannot build the HTTP client (where the system has no CA certificates, https needs some)"
    )]
    Client(#[source] reqwest::Error),
}

pub(super) fn client(
    resolver: GuardedResolver,
    roots: Vec<Certificate>,
    secure: bool,
    timeout: Duration,
) -> Result<Client, BuildError> {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        return Err(BuildError::NoCrypto);
    }
    // See `HttpProvider`: together they must not be longer than a call.
    let half = timeout / 2;
    let builder = Client::builder()
        .user_agent(concat!("vmoperator/", env!("CARGO_PKG_VERSION")))
        .dns_resolver(resolver)
        .no_proxy()
        .redirect(redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .connect_timeout(half)
        .timeout(timeout)
        .tcp_user_timeout(half)
        .tcp_nodelay(true)
        .pool_idle_timeout(POOL_IDLE)
        .http2_keep_alive_interval(KEEP_ALIVE)
        .http2_keep_alive_timeout(timeout);
    let builder = if secure {
        builder
            .https_only(true)
            .tls_version_min(reqwest::tls::Version::TLS_1_2)
            .tls_certs_merge(roots)
    } else {
        // Plain http needs no roots, and must work where the system has none.
        builder.tls_certs_only(roots)
    };
    builder.build().map_err(BuildError::Client)
}

pub(super) fn roots(bundle: Option<&str>) -> Result<Vec<Certificate>, BuildError> {
    let Some(bundle) = bundle else {
        return Ok(Vec::new());
    };
    let mut checked = RootCertStore::empty();
    let mut roots = Vec::new();
    for block in CertificateDer::pem_slice_iter(bundle.as_bytes()) {
        let der = block.map_err(|_| BuildError::CaBundle)?;
        let root = Certificate::from_der(&der).map_err(|_| BuildError::CaBundle)?;
        checked.add(der).map_err(|_| BuildError::CaBundle)?;
        roots.push(root);
    }
    if roots.is_empty() {
        return Err(BuildError::CaBundle);
    }
    Ok(roots)
}

/// The endpoint with the host by which the server is to be addressed. An address is refused: the client would
/// connect to it without asking the guarded resolver.
pub(super) fn renamed(mut endpoint: Url, name: &str) -> Result<Url, BuildError> {
    let error = || BuildError::ServerName(wire::clean(name, 253));
    let renamed = endpoint.set_host(Some(name));
    match (renamed, endpoint.host()) {
        (Ok(()), Some(Host::Domain(_))) => Ok(endpoint),
        (Ok(()) | Err(_), _) => Err(error()),
    }
}
