//! TLS for the metrics server: a certificate from files or made by the process itself, exchanged while it serves.
//!
//! A handshake that fails or dawdles costs its own connection alone.

mod files;
mod listener;
mod own;

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

pub use files::CertificateFiles;
pub use listener::TlsListener;
pub use own::OwnCertificate;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use thiserror::Error;

/// Why there is no certificate to serve with.
#[derive(Debug, Error)]
pub enum Error {
    /// A file cannot be read.
    #[error("cannot read {path}")]
    Read {
        /// The file.
        path: String,
        /// What the system says.
        #[source]
        source: std::io::Error,
    },
    /// The certificates are none.
    #[error("{0} holds no certificate in PEM form")]
    NoCertificate(String),
    /// The key is none.
    #[error("{0} holds no private key in PEM form that can be used")]
    NoKey(String),
    /// Both are fine, but not a pair.
    #[error("the private key does not belong to the first certificate of {0}")]
    NotAPair(String),
    /// A certificate cannot be made.
    #[error("cannot make a certificate")]
    Make(#[source] rcgen::Error),
    /// The TLS library refuses to serve.
    #[error("cannot serve TLS")]
    Config(#[source] rustls::Error),
}

/// The certificate that new connections are given. Cheap to clone; every clone is the same place.
#[derive(Clone)]
pub struct ServedCertificate(Arc<RwLock<Arc<CertifiedKey>>>);

impl ServedCertificate {
    /// Serves with this one until [`ServedCertificate::exchange`].
    #[must_use]
    pub fn new(certificate: Pair) -> Self {
        Self(Arc::new(RwLock::new(certificate.0)))
    }

    /// Serves new connections with another one; those that are open keep what they have.
    pub fn exchange(&self, certificate: Pair) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = certificate.0;
    }

    /// What a server needs: TLS 1.2 and 1.3, HTTP/1.1.
    ///
    /// # Errors
    /// The TLS library has no usable version, which a build like ours always has.
    pub fn config(&self) -> Result<Arc<ServerConfig>, Error> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(Error::Config)?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(self.clone()));
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}

impl ResolvesServerCert for ServedCertificate {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let now = self.0.read().unwrap_or_else(PoisonError::into_inner);
        Some(Arc::clone(&now))
    }
}

impl fmt::Debug for ServedCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServedCertificate")
    }
}

/// A chain of certificates and the private key of its first one. Never shown.
pub struct Pair(Arc<CertifiedKey>);

impl Pair {
    /// Reads both from PEM; `whose` names them in errors.
    fn read(whose: (&str, &str), certificates: &[u8], key: &[u8]) -> Result<Self, Error> {
        let no_certificate = || Error::NoCertificate(whose.0.to_owned());
        let no_key = || Error::NoKey(whose.1.to_owned());
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificates).collect();
        let chain = chain.map_err(|_| no_certificate())?;
        if chain.is_empty() {
            return Err(no_certificate());
        }
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| no_key())?;
        let key = rustls::crypto::ring::sign::any_supported_type(&key).map_err(|_| no_key())?;
        let pair = CertifiedKey::new(chain, key);
        match pair.keys_match() {
            Ok(()) => Ok(Self(Arc::new(pair))),
            Err(rustls::Error::InconsistentKeys(_)) => Err(Error::NotAPair(whose.0.to_owned())),
            Err(_) => Err(no_certificate()),
        }
    }
}

impl fmt::Debug for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pair")
    }
}

#[cfg(test)]
mod tests;
