//! `rest_client_requests_total`: every request to the API server, counted by its answer.

use futures::future::BoxFuture;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use std::task::{Context, Poll};
use tower::{Layer, Service};

/// A layer for the kube client. Inside the client's retry layer it counts attempts, outside it counts calls; the
/// operator's clients do not retry, so both are the same.
#[derive(Clone, Debug, Default)]
pub struct CountRequests {
    requests: Family<Request, Counter>,
}

/// client-go's labels.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Request {
    /// HTTP status, `<error>` when there was no answer.
    code: String,
    method: String,
    host: String,
}

impl CountRequests {
    /// Registers the metric; once per process.
    pub fn register(registry: &mut Registry) -> Self {
        let layer = Self::default();
        let help = "Requests to the API server by status, method and host";
        registry.register("rest_client_requests", help, layer.requests.clone());
        layer
    }
}

impl<S> Layer<S> for CountRequests {
    type Service = Counted<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Counted {
            inner,
            requests: self.requests.clone(),
        }
    }
}

/// What [`CountRequests`] makes of a service.
#[derive(Clone, Debug)]
pub struct Counted<S> {
    inner: S,
    requests: Family<Request, Counter>,
}

impl<S, In, Out> Service<axum::http::Request<In>> for Counted<S>
where
    S: Service<axum::http::Request<In>, Response = axum::http::Response<Out>>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<S::Response, S::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: axum::http::Request<In>) -> Self::Future {
        let method = request.method().to_string();
        let host = request.uri().authority().map(|authority| {
            // Without user and password, should anybody have written them there.
            let port = authority
                .port()
                .map(|port| format!(":{port}"))
                .unwrap_or_default();
            format!("{}{port}", authority.host())
        });
        let host = host.unwrap_or_default();
        let (requests, answer) = (self.requests.clone(), self.inner.call(request));
        Box::pin(async move {
            let answer = answer.await;
            let code = answer.as_ref().map_or_else(
                |_| "<error>".to_owned(),
                |ok| ok.status().as_u16().to_string(),
            );
            requests
                .get_or_create(&Request { code, method, host })
                .inc();
            answer
        })
    }
}

#[cfg(test)]
mod tests;
