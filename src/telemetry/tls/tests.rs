use super::{CertificateFiles, Error, OwnCertificate, ServedCertificate, TlsListener};
use crate::telemetry::health::Checks;
use crate::telemetry::server::{health_router, serve};
use jiff::Timestamp;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsConnector;
use tokio_util::sync::CancellationToken;

fn now() -> Timestamp {
    #[expect(
        clippy::disallowed_methods,
        reason = "the client checks by the real time"
    )]
    Timestamp::now()
}

fn own(name: &str) -> OwnCertificate {
    OwnCertificate::make(name, &["localhost".to_owned()], now()).unwrap()
}

/// A client that trusts what a bundle holds.
fn connector(bundle: &str) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    for root in CertificateDer::pem_slice_iter(bundle.as_bytes()) {
        roots.add(root.unwrap()).unwrap();
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    TlsConnector::from(Arc::new(config))
}

/// A GET of `/livez` by TLS.
async fn get(address: SocketAddr, bundle: &str) -> std::io::Result<String> {
    let stream = TcpStream::connect(address).await?;
    let name = ServerName::try_from("localhost").unwrap();
    let mut stream = connector(bundle).connect(name, stream).await?;
    let request = "GET /livez HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).await?;
    let mut text = String::new();
    stream.read_to_string(&mut text).await?;
    Ok(text)
}

/// Runs `client` against a server with this certificate.
async fn with_server<F: Future<Output = ()>>(
    served: &ServedCertificate,
    client: impl FnOnce(SocketAddr) -> F,
) {
    let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = tcp.local_addr().unwrap();
    let listener = TlsListener::new(tcp, served.config().unwrap());
    let stop = CancellationToken::new();
    let router = health_router(Checks::new(), Checks::new());
    let server = serve(listener, router, stop.clone().cancelled_owned());
    let client = async {
        client(address).await;
        stop.cancel();
    };
    let (served, ()) = tokio::join!(server, client);
    served.unwrap();
}

#[tokio::test]
async fn a_client_checks_our_own_certificate_by_its_authority_and_by_no_other() {
    let (ours, others) = (own("a"), own("b"));
    let served = ServedCertificate::new(ours.pair);
    with_server(&served, async |address| {
        let bundle = format!("{}{}", others.authority, ours.authority);
        let answer = get(address, &bundle).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(get(address, &others.authority).await.is_err());
    })
    .await;
}

#[tokio::test]
async fn an_exchanged_certificate_serves_the_next_connection() {
    let (first, second) = (own("a"), own("b"));
    let served = ServedCertificate::new(first.pair);
    with_server(&served, async |address| {
        assert!(get(address, &first.authority).await.is_ok());
        served.exchange(second.pair);
        assert!(get(address, &first.authority).await.is_err());
        assert!(get(address, &second.authority).await.is_ok());
    })
    .await;
}

#[tokio::test]
async fn silent_and_foolish_clients_delay_nobody() {
    let ours = own("a");
    let served = ServedCertificate::new(ours.pair);
    with_server(&served, async |address| {
        let mut silent = Vec::new();
        for _ in 0..20 {
            silent.push(TcpStream::connect(address).await.unwrap());
        }
        let mut plain = TcpStream::connect(address).await.unwrap();
        plain.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
        assert!(get(address, &ours.authority).await.is_ok());
        drop(silent);
    })
    .await;
}

#[test]
fn our_own_certificate_is_made_anew_long_before_it_ends() {
    let at: Timestamp = "2026-02-01T12:00:00Z".parse().unwrap();
    let own = OwnCertificate::make("a", &["::1".to_owned()], at).unwrap();
    assert_eq!(own.renew_after.to_string(), "2026-10-02T12:00:00Z");
    let wrong = OwnCertificate::make("a", &["\u{e4}".to_owned()], at);
    assert!(matches!(wrong, Err(Error::Make(_))));
}

/// Writes a pair as cert-manager does.
fn write(folder: &Path, name: &str) -> (String, String) {
    let params = rcgen::CertificateParams::new(vec![name.to_owned()]).unwrap();
    let key = rcgen::KeyPair::generate().unwrap();
    let pair = (params.self_signed(&key).unwrap().pem(), key.serialize_pem());
    fs::write(folder.join("tls.crt"), &pair.0).unwrap();
    fs::write(folder.join("tls.key"), &pair.1).unwrap();
    pair
}

#[test]
fn files_are_read_when_they_changed_and_half_a_change_keeps_the_old_pair() {
    let folder = tempfile::tempdir().unwrap();
    let mut files = CertificateFiles::new(folder.path(), "tls.crt", "tls.key");
    assert!(matches!(files.read(), Err(Error::Read { .. })));
    let first = write(folder.path(), "a");
    assert!(files.read().unwrap().is_some());
    assert!(files.read().unwrap().is_none(), "nothing changed");
    let second = write(folder.path(), "b");
    fs::write(folder.path().join("tls.key"), &first.1).unwrap();
    let error = files.read().unwrap_err();
    assert!(matches!(error, Error::NotAPair(_)), "{error:?}");
    assert!(files.is_news(Some(&error)) && !files.is_news(Some(&error)));
    fs::write(folder.path().join("tls.key"), &second.1).unwrap();
    assert!(files.read().unwrap().is_some());
}

#[test]
fn what_is_no_certificate_or_no_key_is_called_so() {
    let folder = tempfile::tempdir().unwrap();
    let mut files = CertificateFiles::new(folder.path(), "tls.crt", "tls.key");
    let (certificate, _) = write(folder.path(), "a");
    fs::write(folder.path().join("tls.key"), "nothing").unwrap();
    assert!(matches!(files.read(), Err(Error::NoKey(_))));
    write(folder.path(), "a");
    for nothing in [
        "",
        "nothing",
        "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n",
    ] {
        fs::write(folder.path().join("tls.crt"), nothing).unwrap();
        let error = files.read().unwrap_err();
        assert!(matches!(error, Error::NoCertificate(_)), "{error:?}");
    }
    fs::write(folder.path().join("tls.crt"), certificate).unwrap();
    let shown = files.read().unwrap_err().to_string();
    assert!(!shown.contains("BEGIN"), "{shown}");
}
