//! TLS with a CA of one's own.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use url::Url;

use crate::domain::{ErrorKind, InstanceId, ProviderError};
use crate::provider::Provider;
use crate::provider::http::HttpProvider;
use crate::provider::testing::{answer, options, vm};

/// A server whose certificate bears `name`; gives its address and the CA in PEM. Its thread ends with the
/// test's process.
fn secure_server(
    name: &str,
    versions: &[&'static rustls::SupportedProtocolVersion],
) -> (SocketAddr, String) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new([name.to_owned()]).unwrap();
    let leaf = params.signed_by(&key, &ca).unwrap();
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = rustls::ServerConfig::builder_with_protocol_versions(versions)
        .with_no_client_auth()
        .with_single_cert(vec![leaf.der().clone()], key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let connection = rustls::ServerConnection::new(config.clone()).unwrap();
            let mut tls = rustls::StreamOwned::new(connection, stream);
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && matches!(tls.read(&mut byte), Ok(1)) {
                head.push(byte[0]);
            }
            let _ = tls.write_all(&answer(200, "", &vm("vm-1", "c", "u")));
            let _ = tls.flush();
        }
    });
    (address, ca.pem())
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

#[tokio::test]
async fn the_name_in_the_certificate_must_be_the_host_or_the_given_one() {
    let (address, ca) = secure_server("cloud.internal", &[&rustls::version::TLS12]);
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
