//! How metrics are asked: plain, or by TLS with the operator's published authorities and a token.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client};

use super::token::Tokens;
use crate::hint::chain;

/// A scrape that takes longer has failed.
const SCRAPE: Duration = Duration::from_secs(2);
/// Largest answer that is read, in bytes.
const LARGEST: usize = 16 * 1024 * 1024;
/// Where operators publish the authorities of their certificates.
const AUTHORITIES: &str = "vmoperator-metrics-ca";

/// Where one replica answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// At a URL of metrics.
    Url(String),
    /// At this port of ours, which leads into its pod; by TLS or plain, as the pod has it.
    Forwarded(u16),
}

impl Place {
    /// The URLs of a page, the likelier one first.
    fn urls(&self, page: &str) -> Vec<String> {
        match self {
            Self::Url(url) => {
                let base = url.strip_suffix("/metrics").unwrap_or(url);
                // A URL that ends otherwise is metrics as somebody else serves them.
                let as_given = page == "/metrics";
                vec![if as_given {
                    url.clone()
                } else {
                    format!("{base}{page}")
                }]
            }
            // The certificate is good for this name.
            Self::Forwarded(port) => ["https", "http"]
                .map(|scheme| format!("{scheme}://localhost:{port}{page}"))
                .to_vec(),
        }
    }
}

/// Whose token is sent along.
#[derive(Clone)]
pub(super) enum Credential {
    /// Nobody's.
    Nobody,
    /// This one.
    Given(String),
    /// That of the ServiceAccount for readers, which the API server gives out; by TLS alone.
    Asked(Arc<Tokens>),
}

/// What is needed to ask a replica.
#[derive(Clone)]
pub(super) struct Access {
    /// For reading the authorities.
    pub(super) client: Client,
    /// Namespace of the operator.
    pub(super) namespace: String,
    /// For operators that ask for one.
    pub(super) credential: Credential,
}

/// Why a page cannot be had.
enum Trouble {
    /// It was refused, in words.
    Refused(String),
    /// Nothing that could be read came, in words.
    Nothing(String),
}

/// Asks one replica. What it needs for TLS is looked up at the first call, and again after a failure: an operator that
/// began anew has another authority.
pub(super) struct Caller {
    access: Access,
    http: Option<(bool, reqwest::Client)>,
}

impl Caller {
    pub(super) fn new(access: Access) -> Self {
        Self { access, http: None }
    }

    /// The text of a page: `/metrics` or `/debug/state`.
    ///
    /// # Errors
    /// It cannot be had; why, in words.
    pub(super) async fn get(&mut self, place: &Place, page: &str) -> Result<String, String> {
        let mut urls = place.urls(page);
        // What worked before works again.
        if let Some((plain, _)) = self.http
            && urls.len() > 1
        {
            urls.retain(|url| plain != is_tls(url));
        }
        let mut first = None;
        for url in urls {
            match self.try_url(&url).await {
                Ok(text) => return Ok(text),
                Err(Trouble::Refused(why)) => {
                    self.http = None;
                    return Err(why);
                }
                Err(Trouble::Nothing(why)) => {
                    self.http = None;
                    first.get_or_insert(why);
                }
            }
        }
        Err(first.unwrap_or_default())
    }

    async fn try_url(&mut self, url: &str) -> Result<String, Trouble> {
        let http = match &self.http {
            Some((_, http)) => http.clone(),
            None => {
                let http = self.access.client_for(url).await;
                let http = http.map_err(Trouble::Nothing)?;
                self.http.insert((!is_tls(url), http)).1.clone()
            }
        };
        self.fetch(&http, url).await
    }

    async fn fetch(&self, http: &reqwest::Client, url: &str) -> Result<String, Trouble> {
        let mut request = http.get(url);
        if let Some(token) = self.access.token(url).await.map_err(Trouble::Refused)? {
            request = request.bearer_auth(token);
        }
        let failed = |error: reqwest::Error| Trouble::Nothing(chain(&error.without_url()));
        let mut answer = request.send().await.map_err(failed)?;
        match answer.status().as_u16() {
            200 => {}
            status => return Err(Trouble::Refused(self.access.refused(status).await)),
        }
        let mut bytes = Vec::new();
        while let Some(part) = answer.chunk().await.map_err(failed)? {
            bytes.extend_from_slice(&part);
            if bytes.len() > LARGEST {
                return Err(Trouble::Refused("its answer is too large".to_owned()));
            }
        }
        let text = String::from_utf8(bytes);
        text.map_err(|_| Trouble::Refused("its answer is no text".to_owned()))
    }
}

impl Access {
    async fn token(&self, url: &str) -> Result<Option<String>, String> {
        match &self.credential {
            Credential::Nobody => Ok(None),
            Credential::Given(token) => Ok(Some(token.clone())),
            Credential::Asked(tokens) if is_tls(url) => tokens.get().await.map(Some),
            Credential::Asked(_) => Ok(None),
        }
    }

    /// Why a page is not shown to us, in words.
    async fn refused(&self, status: u16) -> String {
        match (&self.credential, status) {
            (Credential::Nobody, 401 | 403) => {
                "it asks for a token: give one with --metrics-token-file".to_owned()
            }
            (Credential::Asked(tokens), 401 | 403) => {
                tokens.forget().await;
                format!(
                    "it answered {status} to the token of ServiceAccount {}",
                    tokens.account()
                )
            }
            (Credential::Nobody | Credential::Given(_) | Credential::Asked(_), _) => {
                format!("it answered {status}")
            }
        }
    }

    async fn client_for(&self, url: &str) -> Result<reqwest::Client, String> {
        // Replicas are on this machine, or forwarded to it.
        let mut builder = reqwest::Client::builder().timeout(SCRAPE).no_proxy();
        if is_tls(url) {
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

fn is_tls(url: &str) -> bool {
    url.starts_with("https:")
}
