use super::{Error, Gate, Pages, Peer, health_router, listen, parse_address, serve};
use crate::telemetry::access::Refusal;
use crate::telemetry::health::Checks;
use crate::telemetry::log::{Format, subscriber};
use crate::telemetry::metrics::{CONTENT_TYPE, registry};
use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::{HeaderMap, Method, Request, StatusCode};
use futures::future::BoxFuture;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

/// Lets the method through that is named in the header `x-may`.
struct Named;

impl Gate for Named {
    fn check<'a>(
        &'a self,
        headers: &'a HeaderMap,
        method: &'a Method,
        path: &'a str,
    ) -> BoxFuture<'a, Result<(), Refusal>> {
        Box::pin(async move {
            match headers.get("x-may") {
                None => Err(Refusal::Unknown),
                Some(may) if may == method.as_str() => Ok(()),
                Some(_) => Err(Refusal::Forbidden(path.to_owned())),
            }
        })
    }
}

fn metrics(state: Value, gate: Option<Arc<dyn Gate>>) -> Router {
    let (kept, log) = subscriber(Format::Json, "info", std::io::sink).unwrap();
    let pages = Pages {
        registry: Arc::new(registry()),
        // The level can be changed for as long as its subscriber lives.
        state: Box::new(move || {
            let _ = &kept;
            state.clone()
        }),
        log,
        gate,
    };
    pages.router()
}

/// Status, content type and body of a GET from `peer`.
async fn get(router: Router, path: &str, peer: &str) -> (StatusCode, String, String) {
    ask(router, ("GET", path), (peer, None), "").await
}

async fn ask(
    router: Router,
    (method, path): (&str, &str),
    (peer, may): (&str, Option<&str>),
    body: &str,
) -> (StatusCode, String, String) {
    let peer: SocketAddr = peer.parse().unwrap();
    let mut request = Request::builder();
    if let Some(may) = may {
        request = request.header("x-may", may);
    }
    let request = request
        .method(method)
        .uri(path)
        .extension(ConnectInfo(Peer(peer)))
        .body(Body::from(body.to_owned()))
        .unwrap();
    let answer = router.oneshot(request).await.unwrap();
    let kind = answer
        .headers()
        .get("content-type")
        .map(|kind| kind.to_str().unwrap().to_owned());
    let status = answer.status();
    let body = axum::body::to_bytes(answer.into_body(), 1 << 20)
        .await
        .unwrap();
    (
        status,
        kind.unwrap_or_default(),
        String::from_utf8(body.to_vec()).unwrap(),
    )
}

#[tokio::test]
async fn probes_answer_by_their_checks() {
    let (live, ready) = (Checks::new(), Checks::new());
    ready.add("stores", || Err("not listed yet".to_owned()));
    let router = health_router(live, ready);
    let (status, _, body) = get(router.clone(), "/livez", "10.0.0.9:1").await;
    assert_eq!((status, body.as_str()), (StatusCode::OK, "ok\n"));
    let (status, _, body) = get(router.clone(), "/readyz", "10.0.0.9:1").await;
    assert_eq!(
        (status, body.as_str()),
        (
            StatusCode::INTERNAL_SERVER_ERROR,
            "[-]stores failed: not listed yet\n"
        )
    );
    let (status, _, _) = get(router, "/healthz", "10.0.0.9:1").await;
    assert_eq!(status, StatusCode::OK);
}

#[tokio::test]
async fn metrics_come_in_prometheus_text() {
    let router = metrics(json!({}), None);
    let (status, kind, body) = get(router, "/metrics", "10.0.0.9:1").await;
    assert_eq!((status, kind.as_str()), (StatusCode::OK, CONTENT_TYPE));
    assert!(body.contains("vmoperator_build_info"));
}

#[tokio::test]
async fn the_inner_state_is_for_callers_on_this_machine() {
    let router = metrics(json!({"queue": []}), None);
    for peer in ["127.0.0.1:1", "[::1]:1", "[::ffff:127.0.0.1]:1"] {
        let (status, kind, body) = get(router.clone(), "/debug/state", peer).await;
        assert_eq!(
            (status, kind.as_str(), body.as_str()),
            (StatusCode::OK, "application/json", r#"{"queue":[]}"#)
        );
    }
    for peer in ["10.0.0.9:1", "[fe80::1]:1", "[::ffff:10.0.0.9]:1"] {
        let (status, _, body) = get(router.clone(), "/debug/state", peer).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{peer}");
        assert!(body.contains("port-forward") && !body.contains("queue"));
    }
}

#[tokio::test]
async fn a_secure_server_asks_everybody_for_metrics_and_strangers_for_its_state() {
    let router = || metrics(json!({"queue": []}), Some(Arc::new(Named)));
    for peer in ["127.0.0.1:1", "10.0.0.9:1"] {
        for (may, expected) in [
            (None, StatusCode::UNAUTHORIZED),
            (Some("PUT"), StatusCode::FORBIDDEN),
            (Some("GET"), StatusCode::OK),
        ] {
            let answer = ask(router(), ("GET", "/metrics"), (peer, may), "").await;
            assert_eq!(answer.0, expected, "{peer} {may:?}");
            let answer = ask(router(), ("GET", "/debug/state"), (peer, may), "").await;
            let local = peer.starts_with("127");
            let expected = if local { StatusCode::OK } else { expected };
            assert_eq!(answer.0, expected, "{peer} {may:?}");
        }
    }
}

#[tokio::test]
async fn the_level_of_the_log_is_shown_and_set_and_nonsense_is_refused() {
    let router = metrics(json!({}), None);
    let put = ("PUT", "/debug/log-level");
    let here = ("127.0.0.1:1", None);
    let answer = ask(router.clone(), put, here, "debug,hyper=trace\n").await;
    assert_eq!(
        (answer.0, answer.2.as_str()),
        (StatusCode::OK, "debug,hyper=trace\n")
    );
    let answer = ask(router.clone(), put, here, "loud").await;
    assert_eq!(answer.0, StatusCode::BAD_REQUEST);
    assert!(answer.2.contains("write error, warn"), "{}", answer.2);
    let answer = get(router.clone(), "/debug/log-level", "127.0.0.1:1").await;
    assert_eq!(answer.2, "debug,hyper=trace\n");
    let answer = ask(router.clone(), put, ("10.0.0.9:1", None), "off").await;
    assert_eq!(answer.0, StatusCode::FORBIDDEN);
    let long = "x".repeat(5000);
    let answer = ask(router, put, here, &long).await;
    assert_eq!(answer.0, StatusCode::PAYLOAD_TOO_LARGE);
}

#[test]
fn addresses_are_read_as_kubebuilder_writes_them() {
    for (text, expected) in [
        (":8081", Some("[::]:8081")),
        ("127.0.0.1:8081", Some("127.0.0.1:8081")),
        ("localhost:0", Some("127.0.0.1:0")),
        ("[::1]:1", Some("[::1]:1")),
        ("0", None),
    ] {
        let expected = expected.map(|address| address.parse().unwrap());
        assert_eq!(
            parse_address("--health-probe-bind-address", text).unwrap(),
            expected,
            "{text}"
        );
    }
    for text in ["", "8081", ":x", ":99999", "host:1", "1.2.3.4"] {
        let error = parse_address("--health-probe-bind-address", text)
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("--health-probe-bind-address") && error.contains("write host:port"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_port_in_use_and_a_foreign_address_say_what_to_do() {
    let first = listen("--metrics-bind-address", "127.0.0.1:0".parse().unwrap())
        .await
        .unwrap();
    let error = listen("--metrics-bind-address", first.local_addr().unwrap())
        .await
        .unwrap_err();
    assert!(matches!(error, Error::InUse { .. }), "{error:?}");
    assert!(error.to_string().contains("choose another port"), "{error}");
    let error = listen("--metrics-bind-address", "192.0.2.1:0".parse().unwrap())
        .await
        .unwrap_err();
    assert!(error.to_string().contains("one of this machine"), "{error}");
}

#[tokio::test]
async fn a_server_answers_over_the_network_and_ends_when_told() {
    let listener = listen(
        "--health-probe-bind-address",
        "127.0.0.1:0".parse().unwrap(),
    )
    .await
    .unwrap();
    let url = format!("http://{}/livez", listener.local_addr().unwrap());
    let stop = CancellationToken::new();
    let router = health_router(Checks::new(), Checks::new());
    let server = serve(listener, router, stop.clone().cancelled_owned());
    let client = async {
        let response = plain_get(url.strip_prefix("http://").unwrap()).await;
        stop.cancel();
        response
    };
    let (served, response) = tokio::join!(server, client);
    served.unwrap();
    assert!(
        response.starts_with("HTTP/1.1 200 OK") && response.ends_with("ok\n"),
        "{response}"
    );
}

async fn plain_get(target: &str) -> String {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let (host, path) = target.split_once('/').unwrap();
    let mut stream = tokio::net::TcpStream::connect(host).await.unwrap();
    let request = format!("GET /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    text
}
