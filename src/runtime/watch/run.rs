//! The loop of one watch.

use super::Listener;
use super::backoff::Backoff;
use super::history::TOO_OLD;
use super::object::{Arrival, key_of};
use super::status::{Failure, Observer, WatchStatus};
use super::store::{Store, Writer};
use crate::domain::time::Moment;
use crate::runtime::clock::{Clock, wait_until};
use crate::runtime::failpoint;
use futures::{Stream, StreamExt};
use kube::api::{ListParams, WatchParams};
use kube::core::WatchEvent;
use kube::{Api, Resource};
use serde::de::DeserializeOwned;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

/// What is watched, and how patiently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// What is told of where it watches: the namespace that `api` covers, `None` for all.
    pub scope: Option<String>,
    /// Label selector, `None` for all.
    pub labels: Option<String>,
    /// Field selector, `None` for all.
    pub fields: Option<String>,
    /// How long the API server keeps one watch open, up to a tenth less. 55 s, so that a dead connection is
    /// noticed within a minute.
    pub watch_for: Duration,
    /// The time-out of one page of a list and of the start of a watch. 30 s.
    pub call_limit: Duration,
    /// Objects per page of a list. 500.
    pub page: u32,
    /// Refused starts of a watch in a row after which everything is listed again. 12.
    pub refusals: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            scope: None,
            labels: None,
            fields: None,
            watch_for: Duration::from_secs(55),
            call_limit: Duration::from_secs(30),
            page: 500,
            refusals: 12,
        }
    }
}

/// A watch that has not begun: hand out [`Watch::store`] and [`Watch::status`], then spawn [`Watch::run`].
pub struct Watch<K, L> {
    pub(super) api: Api<Arrival<K>>,
    pub(super) options: Options,
    pub(super) listener: L,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) observer: Arc<dyn Observer>,
    pub(super) writer: Writer<K>,
    pub(super) status: Arc<WatchStatus>,
    backoff: Backoff,
    refused: u32,
    /// The version last heard of. A list that is older than that is of restored data.
    pub(super) newest: Option<String>,
    /// The server may have been away since it was last heard: whether it still knows our version is to be asked.
    pub(super) unsure: bool,
    /// The list under way shows an older state than the one before it.
    pub(super) went_back: bool,
    /// Something concerned nobody: what is told to be gone may never have been stored.
    pub(super) dropped: bool,
}

/// How a watch goes on.
enum Next {
    /// Resume from the last version.
    Resume,
    /// The versions that we know are too old.
    ListAgain,
    /// Wait, then resume.
    Failed(Failure),
}

/// The grace that the API server gets to end a watch itself, before the connection counts as dead.
const IDLE_MARGIN: Duration = Duration::from_secs(5);

/// A watch that ends sooner than this without a word counts as failed: some proxies end every watch at once, and
/// resuming without a pause would be a tight loop.
const SHORTEST: Duration = Duration::from_secs(1);

impl<K, L> Watch<K, L>
where
    K: Resource + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    K::DynamicType: Default,
    L: Listener<K>,
{
    /// A watch on what `api` covers.
    pub fn new(
        api: Api<Arrival<K>>,
        options: Options,
        listener: L,
        clock: Arc<dyn Clock>,
        random: fastrand::Rng,
        observer: Arc<dyn Observer>,
    ) -> Self {
        let kind = K::kind(&K::DynamicType::default()).into_owned();
        let status = Arc::new(WatchStatus::new(kind, options.scope.clone(), clock.now()));
        let (writer, backoff) = (Writer::new(), Backoff::new(random));
        Self {
            api,
            options,
            listener,
            clock,
            observer,
            writer,
            status,
            backoff,
            refused: 0,
            newest: None,
            unsure: false,
            went_back: false,
            dropped: false,
        }
    }

    /// Where to read the objects.
    pub fn store(&self) -> Store<K> {
        self.writer.store()
    }

    /// How the watch is doing.
    pub fn status(&self) -> Arc<WatchStatus> {
        Arc::clone(&self.status)
    }

    /// Watches for ever. Stop it by dropping the future.
    pub async fn run(mut self) {
        let mut version = None;
        loop {
            self.status.beat(self.clock.now());
            failpoint::reach("watch");
            let next = match &version {
                None => match self.list().await {
                    Ok(listed) => {
                        version = Some(listed);
                        Next::Resume
                    }
                    Err(failure) => Next::Failed(failure),
                },
                Some(from) => {
                    let mut at = from.clone();
                    let next = match self.is_known(from).await {
                        Ok(true) => self.watch(&mut at).await,
                        Ok(false) => self.list_again("watch", "the version is of the future"),
                        Err(failure) => Next::Failed(failure),
                    };
                    version = Some(at);
                    next
                }
            };
            if version.is_some() {
                self.newest.clone_from(&version);
            }
            match next {
                Next::Resume => {}
                Next::ListAgain => {
                    version = None;
                    self.pause().await;
                }
                Next::Failed(failure) => {
                    self.unsure = true;
                    if failure.step == "watch" {
                        self.refused += 1;
                    }
                    if self.refused >= self.options.refusals {
                        self.refused = 0;
                        version = None;
                    }
                    self.report(&failure);
                    self.pause().await;
                }
            }
        }
    }

    async fn pause(&mut self) {
        let until = self.clock.now() + self.backoff.next();
        wait_until(self.clock.as_ref(), until).await;
    }

    /// The one log line and metric of a failure. The same failure again is logged at debug level.
    fn report(&self, failure: &Failure) {
        let kind = self.status.kind();
        let Failure {
            step,
            code,
            message,
        } = failure;
        if self.status.fail(failure) {
            tracing::warn!(kind, step, code, error = message, "watch failed; trying on");
        } else {
            tracing::debug!(kind, step, code, error = message, "watch failed again");
        }
        self.observer.failed(kind, failure);
    }

    /// Lists everything and brings the store up to it; the version to watch from.
    async fn list(&mut self) -> Result<String, Failure> {
        let mut params = ListParams {
            label_selector: self.options.labels.clone(),
            field_selector: self.options.fields.clone(),
            limit: Some(self.options.page),
            ..ListParams::default()
        };
        self.writer.begin_list();
        if self.writer.store().is_listed() {
            self.listener.on_event(super::Event::ListingAgain);
        }
        loop {
            let page = tokio::time::timeout(self.options.call_limit, self.api.list(&params)).await;
            let page = page
                .map_err(|_| no_answer("list"))?
                .map_err(|error| failure("list", &error))?;
            self.status.hear(self.clock.now());
            self.compare(page.metadata.resource_version.as_deref());
            for arrival in page.items {
                let key = key_of(arrival.meta());
                self.apply(key.clone(), arrival, false);
                self.writer.saw(key);
            }
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => params.continue_token = Some(token),
                None => {
                    let version = page
                        .metadata
                        .resource_version
                        .filter(|version| !version.is_empty());
                    let version = version.ok_or_else(|| Failure {
                        step: "list",
                        code: None,
                        message: "the list has no resourceVersion to watch from".to_owned(),
                    })?;
                    self.end_list();
                    return Ok(version);
                }
            }
        }
    }

    /// One watch call, from its start to its end; keeps `version` at what has been seen.
    async fn watch(&mut self, version: &mut String) -> Next {
        let watch_for = self.backoff.jittered(self.options.watch_for);
        let params = WatchParams {
            label_selector: self.options.labels.clone(),
            field_selector: self.options.fields.clone(),
            timeout: Some(u32::try_from(watch_for.as_secs()).unwrap_or(55).max(1)),
            bookmarks: true,
            ..WatchParams::default()
        };
        let api = self.api.clone();
        let began = self.clock.now();
        let stream = match tokio::time::timeout(
            self.options.call_limit,
            api.watch(&params, version),
        )
        .await
        {
            Err(_) => return Next::Failed(no_answer("watch")),
            Ok(Err(kube::Error::Api(status))) if status.code == 410 => {
                return self.list_again("watch", TOO_OLD);
            }
            Ok(Err(error)) => return Next::Failed(failure("watch", &error)),
            Ok(Ok(stream)) => stream,
        };
        self.refused = 0;
        let mut heard = false;
        let next = self
            .follow(
                Box::pin(stream),
                began + watch_for + IDLE_MARGIN,
                version,
                &mut heard,
            )
            .await;
        let lasted = self.clock.now().since(began);
        match next {
            Next::Resume if !heard && lasted < SHORTEST => Next::Failed(Failure {
                step: "stream",
                code: None,
                message: "the watch ended at once without an event".to_owned(),
            }),
            Next::Resume => {
                // A server that ends a watch before its time may be about to go.
                self.unsure |= lasted + SHORTEST < watch_for;
                self.backoff.reset();
                self.status.hear(self.clock.now());
                Next::Resume
            }
            Next::ListAgain | Next::Failed(_) => next,
        }
    }

    /// Handles events until the stream ends, which the API server should do before `until`; `heard` tells whether
    /// there was any.
    async fn follow(
        &mut self,
        mut stream: impl Stream<Item = kube::Result<WatchEvent<Arrival<K>>>> + Unpin,
        until: Moment,
        version: &mut String,
        heard: &mut bool,
    ) -> Next {
        loop {
            let Ok(item) = tokio::time::timeout(until.since(self.clock.now()), stream.next()).await
            else {
                return Next::Failed(no_answer("stream"));
            };
            let event = match item {
                None => return Next::Resume,
                Some(Err(kube::Error::Api(status))) if status.code == 410 => {
                    return self.list_again("stream", TOO_OLD);
                }
                Some(Err(error)) => return Next::Failed(failure("stream", &error)),
                Some(Ok(WatchEvent::Error(status))) if status.code == 410 => {
                    return self.list_again("stream", TOO_OLD);
                }
                Some(Ok(WatchEvent::Error(status))) => {
                    return Next::Failed(failure("stream", &kube::Error::Api(status)));
                }
                Some(Ok(event)) => event,
            };
            *heard = true;
            self.backoff.reset();
            self.status.hear(self.clock.now());
            let seen = match event {
                WatchEvent::Added(arrival) => {
                    let seen = arrival.meta().resource_version.clone();
                    self.apply(key_of(arrival.meta()), arrival, true);
                    seen
                }
                WatchEvent::Modified(arrival) => {
                    let seen = arrival.meta().resource_version.clone();
                    self.apply(key_of(arrival.meta()), arrival, false);
                    seen
                }
                WatchEvent::Deleted(arrival) => {
                    let seen = arrival.meta().resource_version.clone();
                    self.remove(arrival);
                    seen
                }
                WatchEvent::Bookmark(bookmark) => Some(bookmark.metadata.resource_version),
                WatchEvent::Error(_) => None,
            };
            match seen.filter(|seen| !seen.is_empty()) {
                Some(seen) => *version = seen,
                None => return Next::ListAgain,
            }
        }
    }

    fn list_again(&self, step: &'static str, why: &'static str) -> Next {
        // Regular life, not a failure of its own: counted, but no warning.
        let message = format!("{why}; listing again");
        tracing::info!(kind = self.status.kind(), step, "{message}");
        self.observer.failed(
            self.status.kind(),
            &Failure {
                step,
                code: Some(410),
                message,
            },
        );
        Next::ListAgain
    }
}

pub(super) fn failure(step: &'static str, error: &kube::Error) -> Failure {
    let code = match error {
        kube::Error::Api(status) => Some(status.code),
        _ => None,
    };
    Failure {
        step,
        code,
        message: error.to_string(),
    }
}

pub(super) fn no_answer(step: &'static str) -> Failure {
    Failure {
        step,
        code: None,
        message: "no answer in time".to_owned(),
    }
}
