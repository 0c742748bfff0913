//! How metrics are asked: plain, or by TLS with the operator's published authorities and a token.

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client};

use crate::hint::chain;

/// A scrape that takes longer has failed.
const SCRAPE: Duration = Duration::from_secs(2);
/// Largest answer that is read, in bytes.
const LARGEST: usize = 16 * 1024 * 1024;
/// Where operators publish the authorities of their certificates.
const AUTHORITIES: &str = "vmoperator-metrics-ca";

/// What is needed to ask a replica.
#[derive(Clone)]
pub(super) struct Access {
    /// For reading the authorities.
    pub(super) client: Client,
    /// Namespace of the operator.
    pub(super) namespace: String,
    /// Bearer token, for operators that ask for one.
    pub(super) token: Option<String>,
}

/// Asks one replica. What it needs for TLS is looked up at the first call, and again after a failure: an operator that
/// began anew has another authority.
pub(super) struct Caller {
    access: Access,
    http: Option<reqwest::Client>,
}

impl Caller {
    pub(super) fn new(access: Access) -> Self {
        Self { access, http: None }
    }

    /// The text at a URL.
    ///
    /// # Errors
    /// It cannot be had; why, in words.
    pub(super) async fn get(&mut self, url: &str) -> Result<String, String> {
        let http = match &self.http {
            Some(http) => http.clone(),
            None => {
                let http = self.access.client_for(url).await?;
                self.http.insert(http).clone()
            }
        };
        let text = self.fetch(&http, url).await;
        if text.is_err() {
            self.http = None;
        }
        text
    }

    async fn fetch(&self, http: &reqwest::Client, url: &str) -> Result<String, String> {
        let mut request = http.get(url);
        if let Some(token) = &self.access.token {
            request = request.bearer_auth(token);
        }
        let failed = |error: reqwest::Error| chain(&error.without_url());
        let mut answer = request.send().await.map_err(failed)?;
        match answer.status().as_u16() {
            200 => {}
            401 | 403 if self.access.token.is_none() => {
                return Err("it asks for a token: give one with --metrics-token-file".to_owned());
            }
            status => return Err(format!("it answered {status}")),
        }
        let mut bytes = Vec::new();
        while let Some(part) = answer.chunk().await.map_err(failed)? {
            bytes.extend_from_slice(&part);
            if bytes.len() > LARGEST {
                return Err("its answer is too large".to_owned());
            }
        }
        String::from_utf8(bytes).map_err(|_| "its answer is no text".to_owned())
    }
}

impl Access {
    async fn client_for(&self, url: &str) -> Result<reqwest::Client, String> {
        // Replicas are on this machine, or forwarded to it.
        let mut builder = reqwest::Client::builder().timeout(SCRAPE).no_proxy();
        if url.starts_with("https:") {
            let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), &self.namespace);
            let map = tokio::time::timeout(SCRAPE, maps.get(AUTHORITIES)).await;
            let map = map.map_err(|_| format!("reading ConfigMap {AUTHORITIES}: no answer"))?;
            let map = map.map_err(|error| chain(&error))?;
            let pem = map.data.and_then(|mut data| data.remove("ca.crt"));
            let pem = pem.ok_or_else(|| format!("ConfigMap {AUTHORITIES} has no ca.crt"))?;
            let all = reqwest::Certificate::from_pem_bundle(pem.as_bytes());
            for authority in all.map_err(|error| chain(&error))? {
                builder = builder.add_root_certificate(authority);
            }
        }
        builder.build().map_err(|error| chain(&error))
    }
}
