//! Metrics by TLS, for whom the API server allows them.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::e2e::client::wait_for;
use crate::e2e::operator::Operator;
use crate::e2e::{until, until_or};
use crate::stage::Stage;

/// A ServiceAccount of this stage with a token, bound to the shipped role for readers or not.
pub(crate) fn token(stage: &Stage, name: &str, reads: bool) -> String {
    let plane = &stage.house.plane;
    plane.kubectl(&["-n", &stage.namespace, "create", "serviceaccount", name]);
    if reads {
        let account = format!("--serviceaccount={}:{name}", stage.namespace);
        let binding = format!("{}-{name}", stage.namespace);
        let role = "--clusterrole=vmoperator-metrics-reader";
        plane.kubectl(&["create", "clusterrolebinding", &binding, role, &account]);
    }
    let token = plane.kubectl(&["-n", &stage.namespace, "create", "token", name]);
    token.trim().to_owned()
}

/// The bundle that clients check by, once it is published with so many authorities.
pub(crate) fn bundle(stage: &Stage, authorities: usize) -> String {
    let path = format!("/api/v1/namespaces/{}/configmaps", stage.namespace);
    let mut text = String::new();
    until_or(
        &format!("{authorities} authorities are published"),
        || {
            let map = stage.house.client.get(&path, "vmoperator-metrics-ca");
            let data = map.unwrap_or_default()["data"]["ca.crt"].clone();
            data.as_str().unwrap_or_default().clone_into(&mut text);
            text.matches("BEGIN CERTIFICATE").count() == authorities
        },
        || {
            format!(
                "{:?}",
                stage.house.client.get(&path, "vmoperator-metrics-ca")
            )
        },
    );
    text
}

/// Status and text of a request by TLS; `None` when the certificate is not trusted.
fn ask(
    operator: &Operator,
    bundle: &str,
    (method, path): (&str, &str),
    token: Option<&str>,
    body: &str,
) -> Option<(u16, String)> {
    let port = operator.addresses()[0].rsplit_once(':')?.1.to_owned();
    let roots = reqwest::Certificate::from_pem_bundle(bundle.as_bytes()).expect("a bundle");
    let client = reqwest::Client::builder()
        .tls_certs_only(roots)
        .https_only(true)
        .build()
        .expect("a client");
    let method = method.parse().expect("a method");
    let mut request = client.request(method, format!("https://localhost:{port}{path}"));
    if let Some(token) = token {
        request = request.bearer_auth(token);
    }
    let request = request.body(body.to_owned());
    wait_for(async {
        let answer = request.send().await.ok()?;
        Some((answer.status().as_u16(), answer.text().await.ok()?))
    })
}

fn get(operator: &Operator, bundle: &str, token: Option<&str>) -> Option<(u16, String)> {
    ask(operator, bundle, ("GET", "/metrics"), token, "")
}

#[test]
fn metrics_are_for_accounts_with_the_right_and_checked_by_the_published_authority() {
    let stage = Stage::set();
    let first = stage.start("first", &["--metrics-secure"], None).ready();
    let alone = bundle(&stage, 1);
    let (reader, other) = (token(&stage, "reader", true), token(&stage, "other", false));
    until_or(
        "the reader reads",
        || get(&first, &alone, Some(&reader)).is_some_and(|(code, _)| code == 200),
        || format!("{:?}", get(&first, &alone, Some(&reader))),
    );
    let (_, text) = get(&first, &alone, Some(&reader)).expect("an answer");
    assert!(text.contains("vmoperator_build_info"), "{text}");
    let code = |token: Option<&str>| get(&first, &alone, token).expect("it is trusted").0;
    assert_eq!(code(None), 401);
    assert_eq!(code(Some("no.such.token")), 401);
    assert_eq!(code(Some(&other)), 403);
    // A second replica adds its authority; either is trusted by the bundle, and by nothing less.
    let second = stage.start("second", &["--metrics-secure"], None).ready();
    let both = bundle(&stage, 2);
    for operator in [&first, &second] {
        assert_eq!(
            get(operator, &both, Some(&reader))
                .expect("it is trusted")
                .0,
            200
        );
    }
    assert_eq!(get(&second, &alone, Some(&reader)), None);
    let plain = wait_for(reqwest::get(format!(
        "http://{}/metrics",
        first.addresses()[0]
    )));
    assert!(plain.is_err() || !plain.unwrap().status().is_success());
    // Reviews are remembered: a scraper does not cost one each time.
    let reviews = || {
        let all = crate::e2e::audit::requests(stage.house);
        all.iter()
            .filter(|one| one.resource.ends_with("reviews"))
            .count()
    };
    let before = reviews();
    for _ in 0..20 {
        assert_eq!(code(Some(&reader)), 200);
    }
    assert!(
        reviews() <= before + 2,
        "{before} before, {} now",
        reviews()
    );
}

#[test]
fn a_log_level_is_changed_while_running_and_nonsense_is_refused() {
    let stage = Stage::set();
    let operator = stage.start("loud", &["--metrics-secure"], None).ready();
    let bundle = bundle(&stage, 1);
    let put = |level: &str| {
        let target = ("PUT", "/debug/log-level");
        ask(&operator, &bundle, target, None, level).expect("it is trusted")
    };
    // The harness starts operators at `debug`.
    assert_eq!(put("error"), (200, "error\n".to_owned()));
    until("the change was the last line", || {
        let lines = operator.lines();
        lines
            .last()
            .is_some_and(|line| line["message"] == "log level is to change")
    });
    let quiet = operator.lines().len();
    stage.create("quiet");
    stage.ready("quiet");
    assert_eq!(operator.lines().len(), quiet, "a line at `error`");
    let (code, text) = put("loud");
    assert_eq!(code, 400);
    assert!(text.contains("write error, warn, info"), "{text}");
    assert_eq!(put("debug").0, 200);
    stage.create("told");
    stage.ready("told");
    assert!(operator.lines().iter().any(|line| line["name"] == "told"));
    stage.end();
}

/// A pair as cert-manager writes it; returns the certificate.
fn write_pair(folder: &Path, name: &str) -> String {
    let mut params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).expect("params");
    params
        .distinguished_name
        .push(rcgen::DnType::CommonName, name);
    let key = rcgen::KeyPair::generate().expect("a key");
    let certificate = params.self_signed(&key).expect("a certificate").pem();
    fs::write(folder.join("tls.crt"), &certificate).expect("it can be written");
    fs::write(folder.join("tls.key"), key.serialize_pem()).expect("it can be written");
    certificate
}

#[test]
fn given_certificate_files_are_served_and_followed_without_a_restart() {
    let stage = Stage::set();
    let folder = tempfile::tempdir().expect("a directory");
    let path = format!("--metrics-cert-path={}", folder.path().display());
    let mut missing = stage.start("missing", &["--metrics-secure", &path], None);
    assert_eq!(
        missing.wait().code(),
        Some(1),
        "without files there is nothing to serve"
    );
    let old = write_pair(folder.path(), "old");
    let operator = stage
        .start("given", &["--metrics-secure", &path], None)
        .ready();
    let reader = token(&stage, "reader", true);
    let reads =
        |bundle: &str| get(&operator, bundle, Some(&reader)).is_some_and(|(code, _)| code == 200);
    until("the reader reads", || reads(&old));
    let new = write_pair(folder.path(), "new");
    until("the new certificate is served", || reads(&new));
    assert!(!reads(&old));
    let maps = format!("/api/v1/namespaces/{}/configmaps", stage.namespace);
    let published = stage.house.client.get(&maps, "vmoperator-metrics-ca");
    assert_eq!(
        published, None::<Value>,
        "whoever gives the files tells clients by whom to check"
    );
}
