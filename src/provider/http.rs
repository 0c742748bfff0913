//! The provider API over HTTP.
//!
//! One call is one request (a find: one for each page), sent once. Nothing is followed, retried, decompressed or
//! sent through a proxy, and no more of an answer is read than its bound.

mod client;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, USER_AGENT};
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode};
use url::Url;

use super::answer::{self, Head, MAX_OBJECT, MAX_PAGE};
use super::credential::Credential;
use super::guard::{Guard, GuardedResolver, Lookup, system_lookup};
use super::wire::{self, WireError};
use super::{Changes, Page, Provider};
use crate::domain::intent::tags;
use crate::domain::{
    Capabilities, CreateBody, ErrorKind, IdempotencyKey, Instance, InstanceId, Moment, Operation,
    Owner, ProviderError,
};
pub use client::BuildError;
use client::{client, renamed, roots};

/// Items asked for in a page: the API's default.
const PAGE_LIMIT: &str = "500";
/// Most pages of one list: half a million instances. A list that goes on longer is taken for one without end.
const MAX_PAGES: usize = 1000;
/// Longest continue token that is taken, in bytes.
const MAX_TOKEN: usize = 4096;
/// A find may need many pages; all of them together may take this many times the time of one call.
const FIND_CALLS: u32 = 10;
/// How much longer than asked an answer of the change feed may take.
const FEED_GRACE: Duration = Duration::from_secs(10);

/// What is needed to speak to one provider account.
pub struct Options {
    /// Where the API is; a path in it is kept.
    pub endpoint: Url,
    /// API key; `None` where the server asks for none.
    pub credential: Option<Credential>,
    /// Time of one call, from the look-up of the name to the last byte of the answer. More than zero.
    pub timeout: Duration,
    /// Certificates in PEM to trust besides the system's.
    pub ca_bundle: Option<String>,
    /// DNS name in the server's certificate where it is not the endpoint's host. The server is then addressed
    /// by this name, at the endpoint's address.
    pub server_name: Option<String>,
    /// Which endpoints are allowed.
    pub guard: Guard,
}

/// A provider behind the HTTP API.
///
/// A call takes effect within its time-out or never: half of the time is for connecting, and what is written
/// then the kernel gives up after the other half (`TCP_USER_TIMEOUT`), also when the call was dropped by then.
///
/// Cancelling: a dropped call closes its connection (HTTP/1.1) or resets its stream (HTTP/2).
pub struct HttpProvider {
    client: Client,
    base: Url,
    headers: HeaderMap,
    timeout: Duration,
    /// What the provider said last that it can do; a find needs to know.
    known: Mutex<Option<Capabilities>>,
}

impl HttpProvider {
    /// Builds the client. Nothing is sent, and no name is looked up.
    ///
    /// # Errors
    /// [`BuildError`] names the option that cannot be used.
    pub fn new(options: Options) -> Result<Self, BuildError> {
        Self::with_lookup(options, system_lookup())
    }

    /// As [`HttpProvider::new`], with host names looked up by `lookup` in place of the system.
    ///
    /// # Errors
    /// As [`HttpProvider::new`].
    pub fn with_lookup(options: Options, lookup: Lookup) -> Result<Self, BuildError> {
        options.guard.check_endpoint(&options.endpoint)?;
        if options.timeout.is_zero() {
            return Err(BuildError::Timeout);
        }
        let mut base = options.endpoint;
        let host = base.host_str().unwrap_or_default().to_owned();
        let roots = roots(options.ca_bundle.as_deref())?;
        let secure = base.scheme() == "https";
        if !secure && (!roots.is_empty() || options.server_name.is_some()) {
            return Err(BuildError::TlsWithoutHttps);
        }
        if let Some(name) = options.server_name {
            base = renamed(base, &name)?;
        }
        let resolver = GuardedResolver {
            host,
            guard: Arc::new(options.guard),
            lookup,
        };
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        if let Some(credential) = options.credential {
            headers.insert(AUTHORIZATION, credential.header()?);
        }
        Ok(Self {
            client: client(resolver, roots, secure, options.timeout)?,
            base,
            headers,
            timeout: options.timeout,
            known: Mutex::new(None),
        })
    }

    /// Calls itself so in place of `vmoperator/VERSION`: a provider's log tells then which process called.
    #[must_use]
    pub fn called(mut self, user_agent: HeaderValue) -> Self {
        self.headers.insert(USER_AGENT, user_agent);
        self
    }

    /// The URL of a path below the endpoint; each step is percent-encoded.
    fn url<'a>(&self, steps: impl IntoIterator<Item = &'a str>) -> Url {
        let mut url = self.base.clone();
        // Fails for URLs without a host alone, and those were refused when building.
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(steps);
        }
        url
    }

    /// The URL of one instance, where the id can be one. Ids come back to us through an object's status, which
    /// others can write: one that is none is not sent.
    fn instance_url(&self, id: &InstanceId, operation: Operation) -> Result<Url, ProviderError> {
        if !wire::is_id(id.as_str()) {
            return Err(ProviderError::without_answer(ErrorKind::Invalid, operation));
        }
        Ok(self.url(["vms", id.as_str()]))
    }

    fn request(&self, method: Method, url: Url) -> RequestBuilder {
        let request = self.client.request(method, url);
        request.headers(self.headers.clone()).timeout(self.timeout)
    }

    async fn send(
        &self,
        request: RequestBuilder,
        operation: Operation,
    ) -> Result<Response, ProviderError> {
        let sent = request.send().await;
        sent.map_err(|error| answer::transport(&error, operation))
    }

    /// Sends a request and reads the answer of one of the `expected` statuses with `read`.
    async fn call<T>(
        &self,
        request: RequestBuilder,
        operation: Operation,
        (expected, max): (&[StatusCode], usize),
        read: impl FnOnce(&[u8]) -> Result<T, WireError>,
    ) -> Result<T, ProviderError> {
        let mut response = self.send(request, operation).await?;
        if !expected.contains(&response.status()) {
            return Err(answer::refusal(response, operation).await);
        }
        let head = Head::of(&response, operation);
        match answer::body(&mut response, max).await {
            Ok(body) => read(&body).map_err(|_| head.malformed()),
            Err(error) => Err(head.broken(&error)),
        }
    }

    /// What the provider can do, as it was last said; asks where nothing was said yet.
    async fn known(&self) -> Result<Capabilities, ProviderError> {
        let known = self.remembered().clone();
        match known {
            Some(known) => Ok(known),
            None => self.capabilities().await,
        }
    }

    fn remembered(&self) -> std::sync::MutexGuard<'_, Option<Capabilities>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn page_of(
        &self,
        owner: Option<&Owner>,
        token: Option<&str>,
    ) -> Result<Page, ProviderError> {
        let mut url = self.url(["vms"]);
        {
            let mut query = url.query_pairs_mut();
            query.append_pair("limit", PAGE_LIMIT);
            if let Some(owner) = owner {
                let cluster = format!("{}={}", tags::CLUSTER, owner.cluster);
                query.append_pair("tag", &cluster);
                let uid = format!("{}={}", tags::UID, owner.uid);
                query.append_pair("tag", &uid);
            }
            if let Some(token) = token {
                query.append_pair("continue", token);
            }
        }
        let request = self.request(Method::GET, url);
        let expected = (&[StatusCode::OK][..], MAX_PAGE);
        let answer = self.call(request, Operation::List, expected, wire::page);
        answer.await.map_err(not_a_list)
    }

    /// All pages of a list; of the instances in them those of this owner.
    async fn pages(&self, owner: &Owner, filter: bool) -> Result<Vec<Instance>, ProviderError> {
        let endless = || ProviderError::without_answer(ErrorKind::Malformed, Operation::List);
        let mut seen = HashSet::new();
        let mut ours = Vec::new();
        let mut token: Option<String> = None;
        for _ in 0..MAX_PAGES {
            let page = self
                .page_of(filter.then_some(owner), token.as_deref())
                .await?;
            // Also where the provider was asked to filter: one that does not must not give us others' instances.
            let found = page.items.into_iter();
            ours.extend(found.filter(|instance| instance.belongs_to(owner)));
            let Some(next) = page.next else {
                return Ok(without_repeats(ours));
            };
            if next.len() > MAX_TOKEN || !seen.insert(next.clone()) {
                return Err(endless());
            }
            token = Some(next);
        }
        Err(endless())
    }
}

impl Provider for HttpProvider {
    async fn capabilities(&self) -> Result<Capabilities, ProviderError> {
        let operation = Operation::Capabilities;
        let request = self.request(Method::GET, self.url(["capabilities"]));
        let expected = (&[StatusCode::OK][..], MAX_OBJECT);
        let answer = self.call(request, operation, expected, wire::capabilities);
        let said = match answer.await {
            Err(error) if error.kind == ErrorKind::NotFound => {
                let before = self.remembered().clone();
                // Abilities do not vanish. A gateway that answers for a provider in trouble must not make us
                // give up keys and tags.
                if before.is_some_and(|before| before != Capabilities::default()) {
                    let kind = ErrorKind::Malformed;
                    return Err(ProviderError { kind, ..error });
                }
                Capabilities::default()
            }
            other => other?,
        };
        *self.remembered() = Some(said.clone());
        Ok(said)
    }

    async fn create(
        &self,
        key: &IdempotencyKey,
        body: &CreateBody,
        // Looked at by the limiter, which has a clock and is the last to make a call wait.
        _start_before: Moment,
    ) -> Result<Instance, ProviderError> {
        let request = self
            .request(Method::POST, self.url(["vms"]))
            .header("idempotency-key", key.as_str())
            .header(CONTENT_TYPE, "application/json")
            .body(body.as_str().to_owned());
        let made = [StatusCode::OK, StatusCode::CREATED, StatusCode::ACCEPTED];
        let expected = (&made[..], MAX_OBJECT);
        self.call(request, Operation::Create, expected, wire::instance)
            .await
    }

    async fn get(&self, id: &InstanceId) -> Result<Instance, ProviderError> {
        let request = self.request(Method::GET, self.instance_url(id, Operation::Get)?);
        let expected = (&[StatusCode::OK][..], MAX_OBJECT);
        // Another instance than the one asked for is no answer.
        let read = |body: &[u8]| {
            wire::instance(body).and_then(|found| {
                if found.id == *id {
                    Ok(found)
                } else {
                    Err(WireError::Id)
                }
            })
        };
        self.call(request, Operation::Get, expected, read).await
    }

    async fn find(&self, owner: &Owner) -> Result<Vec<Instance>, ProviderError> {
        let list = Operation::List;
        let can = self.known().await?;
        if !can.list {
            // Not NotFound: nobody may read that as a proof of absence.
            return Err(ProviderError::without_answer(ErrorKind::Malformed, list));
        }
        let all = async {
            match self.pages(owner, can.tag_filter).await {
                Err(error) if error.kind == ErrorKind::Expired => {
                    self.pages(owner, can.tag_filter).await
                }
                other => other,
            }
        };
        let bound = self.timeout.saturating_mul(FIND_CALLS);
        tokio::time::timeout(bound, all)
            .await
            .unwrap_or_else(|_| Err(ProviderError::without_answer(ErrorKind::TimedOut, list)))
    }

    async fn page(&self, token: Option<&str>) -> Result<Page, ProviderError> {
        self.page_of(None, token).await
    }

    async fn changes(&self, since: u64, wait: Duration) -> Result<Changes, ProviderError> {
        let mut url = self.url(["vms", "changes"]);
        url.query_pairs_mut()
            .append_pair("since", &since.to_string())
            .append_pair("timeout", &wait.as_secs().to_string());
        let request = self.request(Method::GET, url).timeout(wait + FEED_GRACE);
        let expected = (&[StatusCode::OK][..], MAX_PAGE);
        let answer = self.call(request, Operation::Changes, expected, wire::changes);
        answer.await.map_err(not_a_list)
    }

    async fn delete(&self, id: &InstanceId) -> Result<(), ProviderError> {
        let operation = Operation::Delete;
        let request = self.request(Method::DELETE, self.instance_url(id, operation)?);
        let response = self.send(request, operation).await?;
        match response.status() {
            // The status says all; the body of a 202 is not needed.
            StatusCode::OK | StatusCode::ACCEPTED | StatusCode::NO_CONTENT => Ok(()),
            _ => match answer::refusal(response, operation).await {
                error if error.kind == ErrorKind::NotFound => Ok(()),
                error => Err(error),
            },
        }
    }
}

/// A list that is not there is no list without items.
fn not_a_list(error: ProviderError) -> ProviderError {
    let kind = if error.kind == ErrorKind::NotFound {
        ErrorKind::Malformed
    } else {
        error.kind
    };
    ProviderError { kind, ..error }
}

/// A list is no snapshot: an instance may be met on two pages. The later sight of it counts.
fn without_repeats(mut all: Vec<Instance>) -> Vec<Instance> {
    let mut seen = HashSet::new();
    all.reverse();
    all.retain(|instance| seen.insert(instance.id.clone()));
    all.reverse();
    all
}

#[cfg(test)]
mod tests;
