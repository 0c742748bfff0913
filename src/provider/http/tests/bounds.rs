//! Size and time of answers.

use std::io::Read;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::domain::{ErrorKind, InstanceId};
use crate::provider::Provider;
use crate::provider::http::HttpProvider;
use crate::provider::testing::{Server, Step, WHENEVER, answer, create, options, owner};

/// What a client that stopped reading may have taken beyond its bound: buffers of both kernels.
const BUFFERS: u64 = 16 * 1024 * 1024;

fn endless(status: u16) -> Vec<Step> {
    let head = format!("HTTP/1.1 {status} Said\r\ntransfer-encoding: chunked\r\n\r\n");
    let mut chunk = b"10000\r\n".to_vec();
    chunk.extend(std::iter::repeat_n(b' ', 0x10000));
    chunk.extend_from_slice(b"\r\n");
    vec![
        Step::Bytes(head.into_bytes()),
        Step::Forever(chunk, Duration::ZERO),
    ]
}

#[tokio::test]
async fn an_endless_object_is_left_after_its_bound() {
    let server = Server::start(|_| endless(200)).await;
    let error = server
        .provider()
        .get(&InstanceId::new("vm-1"))
        .await
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::Malformed);
    let sent = server.sent.load(Ordering::SeqCst);
    assert!(sent < 1024 * 1024 + BUFFERS, "{sent}");
}

#[tokio::test]
async fn an_endless_page_is_left_after_its_bound() {
    let server = Server::start(|asked| match asked.target.as_str() {
        "/capabilities" => vec![Step::Bytes(answer(
            200,
            "",
            r#"{"version":"1","list":true}"#,
        ))],
        _ => endless(200),
    })
    .await;
    let error = server.provider().find(&owner()).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Malformed);
    let sent = server.sent.load(Ordering::SeqCst);
    assert!(sent > 16 * 1024 * 1024, "a page may be large: {sent}");
    assert!(sent < 16 * 1024 * 1024 + BUFFERS, "{sent}");
}

#[tokio::test]
async fn an_object_that_says_it_is_too_large_is_not_read_at_all() {
    let server = Server::start(|_| {
        let head = "HTTP/1.1 200 OK\r\ncontent-length: 1048577\r\n\r\n";
        vec![
            Step::Bytes(head.into()),
            Step::Wait(Duration::from_secs(600)),
        ]
    })
    .await;
    let error = server
        .provider()
        .get(&InstanceId::new("vm-1"))
        .await
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::Malformed);
}

#[tokio::test]
async fn an_endless_refusal_is_known_by_its_status() {
    let server = Server::start(|_| endless(403)).await;
    let error = server
        .provider()
        .get(&InstanceId::new("vm-1"))
        .await
        .unwrap_err();
    assert_eq!((error.kind, error.code), (ErrorKind::Forbidden, None));
}

fn hasty(server: &Server) -> HttpProvider {
    let mut options = options(server.url(""));
    options.timeout = Duration::from_millis(300);
    HttpProvider::new(options).unwrap()
}

#[tokio::test]
async fn the_time_of_a_call_covers_a_body_that_drips() {
    let server = Server::start(|_| {
        vec![
            Step::Bytes(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_vec()),
            Step::Forever(b"1\r\n \r\n".to_vec(), Duration::from_millis(20)),
        ]
    })
    .await;
    let error = hasty(&server)
        .get(&InstanceId::new("vm-1"))
        .await
        .unwrap_err();
    assert_eq!((error.kind, error.status), (ErrorKind::TimedOut, Some(200)));
}

#[tokio::test]
async fn a_server_that_says_nothing_times_out() {
    let server = Server::start(|_| vec![Step::Wait(Duration::from_secs(600))]).await;
    let provider = hasty(&server);
    let error = provider.delete(&InstanceId::new("vm-1")).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::TimedOut);
    assert!(error.may_have_happened());
}

#[tokio::test]
async fn a_refusal_whose_body_drips_is_known_by_its_status() {
    let server = Server::start(|_| {
        vec![
            Step::Bytes(b"HTTP/1.1 404 Gone\r\ntransfer-encoding: chunked\r\n\r\n".to_vec()),
            Step::Forever(b"1\r\n \r\n".to_vec(), Duration::from_millis(20)),
        ]
    })
    .await;
    let error = hasty(&server)
        .get(&InstanceId::new("vm-1"))
        .await
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound);
}

#[tokio::test]
async fn a_call_whose_time_is_over_leaves_no_connection_behind() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = url::Url::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    let watching = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut asked = Vec::new();
        // Ends when the client closes; the bound is there so that a failure is told.
        let bound = Duration::from_secs(60);
        stream.set_read_timeout(Some(bound)).unwrap();
        let closed = stream.read_to_end(&mut asked);
        (closed, String::from_utf8(asked).unwrap())
    });
    let mut options = options(url);
    options.timeout = Duration::from_millis(300);
    let provider = HttpProvider::new(options).unwrap();
    let (key, body) = create();
    let error = provider.create(&key, &body, WHENEVER).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::TimedOut);
    let watched = tokio::task::spawn_blocking(move || watching.join().unwrap());
    let (closed, asked) = watched.await.unwrap();
    closed.unwrap();
    assert!(asked.ends_with(body.as_str()), "{asked}");
}
