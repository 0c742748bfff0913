//! TLS with a CA of one's own.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};
use rustls::pki_types::PrivateKeyDer;
use url::Url;

use crate::domain::{ErrorKind, InstanceId, ProviderError};
use crate::provider::Provider;
use crate::provider::http::{HttpProvider, Options};
use crate::provider::testing::{WHENEVER, answer, create, options, vm};

pub(super) type Issuer = CertifiedIssuer<'static, KeyPair>;

/// Days that a certificate is valid for: from the first to the last, as year, month and day.
pub(super) type Days = [(i32, u8, u8); 2];

/// The oldest version that is taken.
static OLDER: &[&rustls::SupportedProtocolVersion] = &[&rustls::version::TLS12];

/// At any time of a test.
pub(super) const ALWAYS: Days = [(2000, 1, 1), (4000, 1, 1)];

/// A server over TLS, whose certificate can be exchanged while it runs. Its thread ends with the test's process.
struct Secure {
    address: SocketAddr,
    issuer: Issuer,
    name: String,
    versions: &'static [&'static rustls::SupportedProtocolVersion],
    config: Mutex<Arc<rustls::ServerConfig>>,
}

impl Secure {
    fn start(
        name: &str,
        versions: &'static [&'static rustls::SupportedProtocolVersion],
        days: Days,
    ) -> Arc<Self> {
        let issuer = issuer();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Arc::new(Self {
            address: listener.local_addr().unwrap(),
            config: Mutex::new(Arc::new(certified(&issuer, name, versions, days))),
            issuer,
            name: name.to_owned(),
            versions,
        });
        let served = Arc::clone(&server);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let config = Arc::clone(&served.config.lock().unwrap());
                serve(rustls::ServerConnection::new(config).unwrap(), stream);
            }
        });
        server
    }

    /// Exchanges the certificate for one that is valid on other days.
    fn renew(&self, days: Days) {
        let config = certified(&self.issuer, &self.name, self.versions, days);
        *self.config.lock().unwrap() = Arc::new(config);
    }

    fn options(&self) -> Options {
        let endpoint = Url::parse(&format!("https://{}", self.address)).unwrap();
        Options {
            ca_bundle: Some(self.issuer.pem()),
            ..options(endpoint)
        }
    }
}

/// A CA of a test's own.
pub(super) fn issuer() -> Issuer {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// What a server needs whose certificate bears `name`.
pub(super) fn certified(
    issuer: &Issuer,
    name: &str,
    versions: &[&'static rustls::SupportedProtocolVersion],
    [first, last]: Days,
) -> rustls::ServerConfig {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new([name.to_owned()]).unwrap();
    params.not_before = date_time_ymd(first.0, first.1, first.2);
    params.not_after = date_time_ymd(last.0, last.1, last.2);
    let leaf = params.signed_by(&key, issuer).unwrap();
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    rustls::ServerConfig::builder_with_protocol_versions(versions)
        .with_no_client_auth()
        .with_single_cert(vec![leaf.der().clone()], key)
        .unwrap()
}

/// Answers one request.
fn serve(connection: rustls::ServerConnection, stream: TcpStream) {
    let mut tls = rustls::StreamOwned::new(connection, stream);
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && matches!(tls.read(&mut byte), Ok(1)) {
        head.push(byte[0]);
    }
    let _ = tls.write_all(&answer(200, "", &vm("vm-1", "c", "u")));
    let _ = tls.flush();
}

/// A server whose certificate bears `name`; gives its address and the CA in PEM.
fn secure_server(
    name: &str,
    versions: &'static [&'static rustls::SupportedProtocolVersion],
) -> (SocketAddr, String) {
    let server = Secure::start(name, versions, ALWAYS);
    (server.address, server.issuer.pem())
}

async fn get(
    endpoint: &str,
    ca: Option<&str>,
    server_name: Option<&str>,
) -> Result<String, ProviderError> {
    let mut options = options(Url::parse(endpoint).unwrap());
    options.ca_bundle = ca.map(str::to_owned);
    options.server_name = server_name.map(str::to_owned);
    let provider = HttpProvider::new(options).unwrap();
    let found = provider.get(&InstanceId::new("vm-1")).await;
    found.map(|vm| vm.id.as_str().to_owned())
}

#[tokio::test]
async fn a_server_of_the_given_ca_is_trusted_and_no_other() {
    let (address, ca) = secure_server("127.0.0.1", rustls::ALL_VERSIONS);
    let endpoint = format!("https://{address}");
    assert_eq!(get(&endpoint, Some(&ca), None).await, Ok("vm-1".to_owned()));

    let (_, other_ca) = secure_server("127.0.0.1", rustls::ALL_VERSIONS);
    for ca in [None, Some(other_ca.as_str())] {
        let error = get(&endpoint, ca, None).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Unavailable);
        assert_eq!(error.code.as_deref(), Some("CertificateNotTrusted"));
    }
}

/// C18: refused with a word that says so, nothing sent; the same client goes on once it is renewed.
#[tokio::test]
async fn a_certificate_out_of_its_time_is_refused_in_those_words_until_it_is_renewed() {
    let server = Secure::start("127.0.0.1", rustls::ALL_VERSIONS, ALWAYS);
    let provider = HttpProvider::new(server.options()).unwrap();
    let id = InstanceId::new("vm-1");
    let out_of_time: [(Days, &str); 2] = [
        ([(2020, 1, 1), (2021, 1, 1)], "CertificateExpired"),
        ([(3000, 1, 1), (3001, 1, 1)], "CertificateNotYetValid"),
    ];
    for (days, word) in out_of_time {
        server.renew(days);
        let (key, body) = create();
        let error = provider.create(&key, &body, WHENEVER).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Unavailable, "{days:?}");
        assert_eq!(error.code.as_deref(), Some(word));
        assert!(
            error.never_left(),
            "a create in doubt for nothing: {error:?}"
        );
        server.renew(ALWAYS);
        let found = provider.get(&id).await.unwrap();
        assert_eq!(found.id, id);
    }
}

#[tokio::test]
async fn the_name_in_the_certificate_must_be_the_host_or_the_given_one() {
    let (address, ca) = secure_server("cloud.internal", OLDER);
    let endpoint = format!("https://{address}");
    let error = get(&endpoint, Some(&ca), None).await.unwrap_err();
    assert_eq!(error.code.as_deref(), Some("CertificateNotTrusted"));
    let error = get(&endpoint, Some(&ca), Some("other.internal"))
        .await
        .unwrap_err();
    assert_eq!(error.code.as_deref(), Some("CertificateNotTrusted"));
    let found = get(&endpoint, Some(&ca), Some("cloud.internal")).await;
    assert_eq!(found, Ok("vm-1".to_owned()));
}

#[tokio::test]
async fn a_server_that_does_not_speak_tls_is_told_apart() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("https://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 1024]);
            let _ = stream.write_all(&answer(400, "", "plain http was expected"));
        }
    });
    let error = get(&endpoint, None, None).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unavailable);
    assert_eq!(error.code.as_deref(), Some("TlsFailed"));
}
