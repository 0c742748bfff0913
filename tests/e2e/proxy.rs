//! Between one operator and the API server: lets requests through, or does to some of them what networks and servers do.
//!
//! It speaks plain HTTP to the operator, so that it sees which request it is, and TLS to the API server. The operator's
//! token goes through.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use futures::stream;
use kube::config::Kubeconfig;
use serde_json::json;

use tokio::sync::watch;

use super::client::{AbortOnDrop, spawn, wait_for};
use super::house::House;

/// What becomes of a request, or of an answer that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Nothing comes any more, and nobody says so.
    Silence,
    /// The API server refuses with this code.
    Status(u16),
    /// The answer ends at once, empty and in good order.
    EndAtOnce,
    /// The API server carries it out, and the connection breaks before its answer is through.
    DropAnswer,
}

/// Which requests: those whose path and query hold every word.
#[derive(Clone, Debug)]
struct Rule {
    words: Vec<String>,
    effect: Effect,
    left: usize,
    hits: usize,
}

/// A proxy for the operators that are given its kubeconfig. It ends with its handle.
pub(crate) struct Proxy {
    /// Leads through it.
    pub(crate) kubeconfig: PathBuf,
    rules: Rules,
    streams: Arc<watch::Sender<()>>,
    _server: AbortOnDrop,
}

type Rules = Arc<Mutex<Vec<Rule>>>;

#[derive(Clone)]
struct Way {
    client: reqwest::Client,
    server: String,
    rules: Rules,
    streams: Arc<watch::Sender<()>>,
}

impl Proxy {
    /// Starts one that lets everything through.
    pub(crate) fn start(house: &House) -> Self {
        let original = Kubeconfig::read_from(&house.operator_kubeconfig).expect("a kubeconfig");
        let rules = Rules::default();
        let streams = Arc::new(watch::Sender::new(()));
        let way = Way {
            streams: Arc::clone(&streams),
            client: upstream(&original),
            server: house.plane.server.clone(),
            rules: Arc::clone(&rules),
        };
        let listener = wait_for(tokio::net::TcpListener::bind("127.0.0.1:0")).expect("a port");
        let address = listener.local_addr().expect("an address");
        let server = spawn(async move {
            let router = Router::new().fallback(pass).with_state(way);
            let _ = axum::serve(listener, router).await;
        });
        let name = format!("proxy-{}.kubeconfig", address.port());
        let kubeconfig = house.plane.dir().join(name);
        let text = std::fs::read_to_string(&house.operator_kubeconfig).expect("a kubeconfig");
        let mut value: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
        value["clusters"][0]["cluster"] = json!({ "server": format!("http://{address}") });
        std::fs::write(&kubeconfig, value.to_string()).expect("it can be written");
        Self {
            kubeconfig,
            rules,
            streams,
            _server: server,
        }
    }

    /// From now on this becomes of requests, and of answers under way, whose path and query hold every word; no word
    /// means all of them. At most so many times, as far as requests go.
    pub(crate) fn rule(&self, words: &[&str], effect: Effect, times: usize) {
        let rule = Rule {
            words: words.iter().map(|word| (*word).to_owned()).collect(),
            effect,
            left: times,
            hits: 0,
        };
        self.lock().push(rule);
    }

    /// Ends every answer that is under way, in good order: watches above all. Says whether there was one.
    pub(crate) fn end_streams(&self) -> bool {
        let open = self.streams.receiver_count() > 0;
        self.streams.send_replace(());
        open
    }

    /// Takes every rule away. What fell silent stays silent.
    pub(crate) fn clear(&self) {
        self.lock().clear();
    }

    /// How many requests the rules that stand have hit.
    pub(crate) fn hits(&self) -> usize {
        self.lock().iter().map(|rule| rule.hits).sum()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Rule>> {
        self.rules.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn upstream(original: &Kubeconfig) -> reqwest::Client {
    let cluster = original.clusters[0].cluster.as_ref().expect("a cluster");
    let data = cluster.certificate_authority_data.as_ref();
    let pem = base64(data.expect("an authority"));
    let authority = reqwest::Certificate::from_pem(&pem).expect("a certificate");
    reqwest::Client::builder()
        .tls_certs_only([authority])
        .http1_only()
        .build()
        .expect("a client")
}

/// Standard base64 without line breaks.
fn base64(text: &str) -> Vec<u8> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let digits: Vec<u8> = text.bytes().filter_map(digit).collect();
    let group = |group: &[u8]| {
        let number = group
            .iter()
            .fold(0u32, |all, one| all << 6 | u32::from(*one));
        let number = number << (6 * (4 - group.len()));
        number.to_be_bytes()[1..group.len()].to_vec()
    };
    digits.chunks(4).flat_map(group).collect()
}

impl Way {
    /// What is to become of this request; counts it.
    fn asked(&self, target: &str) -> Option<Effect> {
        let mut rules = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        let rule = rules
            .iter_mut()
            .find(|rule| rule.left > 0 && rule.fits(target))?;
        rule.left -= 1;
        rule.hits += 1;
        Some(rule.effect)
    }

    fn is_silent(&self, target: &str) -> bool {
        let rules = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        let mut silent = rules.iter().filter(|rule| rule.effect == Effect::Silence);
        silent.any(|rule| rule.fits(target))
    }
}

impl Rule {
    fn fits(&self, target: &str) -> bool {
        self.words.iter().all(|word| target.contains(word.as_str()))
    }
}

async fn pass(State(way): State<Way>, request: Request) -> Response {
    let target = request
        .uri()
        .path_and_query()
        .map_or_else(String::new, ToString::to_string);
    let effect = way.asked(&target);
    match effect {
        None | Some(Effect::DropAnswer) => {}
        Some(Effect::Silence) => std::future::pending().await,
        Some(Effect::Status(code)) => return refusal(code),
        Some(Effect::EndAtOnce) => return StatusCode::OK.into_response(),
    }
    let (head, body) = request.into_parts();
    let Ok(body) = to_bytes(body, 16 << 20).await else {
        return StatusCode::BAD_GATEWAY.into_response();
    };
    let mut headers = head.headers;
    headers.remove("host");
    // What arrives compressed would have to be told so; plain is simpler.
    headers.remove("accept-encoding");
    let onward = way
        .client
        .request(head.method, format!("{}{target}", way.server))
        .headers(headers)
        .body(body);
    let Ok(answer) = onward.send().await else {
        return StatusCode::BAD_GATEWAY.into_response();
    };
    if way.is_silent(&target) {
        std::future::pending::<()>().await;
    }
    if effect == Some(Effect::DropAnswer) {
        let broken = stream::once(async { Err::<Bytes, _>(std::io::Error::other("broken")) });
        return Response::new(Body::from_stream(broken));
    }
    let mut response = Response::builder().status(answer.status());
    for (name, value) in answer.headers() {
        if !["content-length", "transfer-encoding", "connection"].contains(&name.as_str()) {
            response = response.header(name, value);
        }
    }
    response
        .body(streamed(answer, way, target))
        .expect("an answer")
}

/// What comes, as it comes, until it is to end or to fall silent.
fn streamed(answer: reqwest::Response, way: Way, target: String) -> Body {
    let mut ends = way.streams.subscribe();
    ends.mark_unchanged();
    Body::from_stream(stream::unfold(
        (answer, way, target, ends),
        |(mut answer, way, target, mut ends)| async move {
            let chunk: Result<Option<Bytes>, reqwest::Error> = tokio::select! {
                chunk = answer.chunk() => chunk,
                _ = ends.changed() => return None,
            };
            if way.is_silent(&target) {
                std::future::pending::<()>().await;
            }
            match chunk {
                Ok(Some(bytes)) => Some((Ok(bytes), (answer, way, target, ends))),
                Ok(None) => None,
                Err(error) => Some((Err(error), (answer, way, target, ends))),
            }
        },
    ))
}

/// In the API server's own form.
fn refusal(code: u16) -> Response {
    let reason = match code {
        410 => "Expired",
        429 => "TooManyRequests",
        _ => "ServiceUnavailable",
    };
    let status = json!({
        "apiVersion": "v1", "kind": "Status", "status": "Failure", "code": code,
        "reason": reason, "message": "as the test wants it",
    });
    let code = StatusCode::from_u16(code).expect("a status code");
    (code, axum::Json(status)).into_response()
}
