use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;
use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;

fn archive(programs: &[(&str, &str)]) -> Vec<u8> {
    let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (path, content) in programs {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o755);
        tar.append_data(&mut header, path, content.as_bytes())
            .unwrap();
    }
    tar.into_inner().unwrap().finish().unwrap()
}

fn sum_of(algorithm: &'static ring::digest::Algorithm, bytes: &[u8]) -> String {
    cache::hex(ring::digest::digest(algorithm, bytes).as_ref())
}

/// A server with an archive, a controller manager and the sum that it publishes for it.
async fn serve(
    archive: Vec<u8>,
    published: Option<String>,
    tasks: &mut tokio::task::JoinSet<()>,
) -> Source {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let archive_sha512 = sum_of(&SHA512, &archive);
    let published = published.ok_or(StatusCode::NOT_FOUND);
    let router = Router::new()
        .route("/archive", get(move || async move { archive }))
        .route("/kcm", get(|| async { "controllers" }))
        .route("/kcm.sha256", get(move || async move { published }));
    tasks.spawn(async move { axum::serve(listener, router).await.unwrap() });
    Source {
        archive: format!("{base}/archive"),
        archive_sha512,
        controller_manager: format!("{base}/kcm"),
    }
}

fn install_tls() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}

const BOTH: &[(&str, &str)] = &[
    ("a/b/etcd", "etcd"),
    ("a/b/kube-apiserver", "api"),
    ("a/b/README", "words"),
];

#[tokio::test]
async fn a_download_whose_sums_agree_is_installed_and_verified() {
    install_tls();
    let mut tasks = tokio::task::JoinSet::new();
    let source = serve(
        archive(BOTH),
        Some(sum_of(&SHA256, b"controllers")),
        &mut tasks,
    )
    .await;
    let dir = tempfile::tempdir().unwrap();
    let place = fetch_all(&source, &Cache::at(dir.path()), &Talk::new(true))
        .await
        .unwrap();
    assert_eq!(cache::verified(&place).unwrap(), Some(()));
    assert_eq!(
        fs::read_to_string(place.join("kube-controller-manager")).unwrap(),
        "controllers"
    );
    assert!(!place.join("README").exists());
}

#[tokio::test]
async fn an_archive_with_another_sum_is_refused_before_anything_is_unpacked() {
    install_tls();
    let mut tasks = tokio::task::JoinSet::new();
    let mut source = serve(archive(BOTH), None, &mut tasks).await;
    source.archive_sha512 = "00".repeat(64);
    let dir = tempfile::tempdir().unwrap();
    let error = fetch_all(&source, &Cache::at(dir.path()), &Talk::new(true))
        .await
        .unwrap_err();
    assert!(matches!(error, Error::Sum { .. }), "{error}");
    assert_eq!(
        fs::read_dir(dir.path().join(".staging")).unwrap().count(),
        0
    );
    assert!(!dir.path().join(".archive").exists() && !dir.path().join(VERSION).exists());
}

#[tokio::test]
async fn without_a_matching_controller_manager_the_rest_is_installed() {
    install_tls();
    for published in [None, Some("00".repeat(32))] {
        let mut tasks = tokio::task::JoinSet::new();
        let source = serve(archive(BOTH), published, &mut tasks).await;
        let dir = tempfile::tempdir().unwrap();
        let place = fetch_all(&source, &Cache::at(dir.path()), &Talk::new(true))
            .await
            .unwrap();
        assert!(!place.join("kube-controller-manager").exists());
        assert_eq!(cache::verified(&place).unwrap(), Some(()));
    }
}

#[tokio::test]
async fn an_archive_without_a_program_is_refused() {
    install_tls();
    let mut tasks = tokio::task::JoinSet::new();
    let source = serve(archive(&[("etcd", "etcd")]), None, &mut tasks).await;
    let dir = tempfile::tempdir().unwrap();
    let error = fetch_all(&source, &Cache::at(dir.path()), &Talk::new(true))
        .await
        .unwrap_err();
    assert!(
        matches!(error, Error::Incomplete("kube-apiserver")),
        "{error}"
    );
}

#[test]
fn every_pinned_sum_is_a_sha512() {
    for (platform, sum) in ARCHIVES {
        assert!(
            sum.len() == 128 && sum.chars().all(|c| c.is_ascii_hexdigit()),
            "{platform}"
        );
    }
}
