use super::CountRequests;
use crate::telemetry::metrics::text;
use axum::http::{Request, Response};
use prometheus_client::registry::Registry;
use std::io;
use tower::{Layer, Service, ServiceExt, service_fn};

async fn answer(status: Option<u16>) -> io::Result<Response<()>> {
    match status {
        Some(status) => Ok(Response::builder().status(status).body(()).unwrap()),
        None => Err(io::Error::other("no route")),
    }
}

#[tokio::test]
async fn every_request_is_counted_by_its_answer_method_and_host() {
    let mut registry = Registry::default();
    let layer = CountRequests::register(&mut registry);
    for (method, status) in [
        ("GET", Some(200)),
        ("GET", Some(200)),
        ("PATCH", Some(409)),
        ("POST", None),
    ] {
        let mut service = layer.layer(service_fn(move |_: Request<()>| answer(status)));
        let uri = "https://user:password@api.example:6443/api/v1/pods?limit=1";
        let request = Request::builder().method(method).uri(uri).body(()).unwrap();
        let _ = service.ready().await.unwrap().call(request).await;
    }
    let text = text(&registry).unwrap();
    for line in [
        r#"rest_client_requests_total{code="200",method="GET",host="api.example:6443"} 2"#,
        r#"rest_client_requests_total{code="409",method="PATCH",host="api.example:6443"} 1"#,
        r#"rest_client_requests_total{code="<error>",method="POST",host="api.example:6443"} 1"#,
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    assert!(!text.contains("password"));
}
