//! What an environment's operator and mock provider tell about themselves over HTTP on loopback. All of it is extra:
//! where it cannot be had, the answer is why.

use std::time::Duration;

use serde_json::Value;

use super::Environment;
use super::forward::Forward;
use super::workload::MOCK;
use crate::hint::chain;

/// A call that takes longer has failed.
const CALL: Duration = Duration::from_secs(2);
/// Entries of the provider's log that are searched.
const DEPTH: u64 = 10_000;
/// Where the mock provider's admin interface listens inside its pod.
const ADMIN_PORT: u16 = 8081;

/// The outlets of a running environment.
#[derive(Debug)]
pub(crate) struct Outlets {
    http: reqwest::Client,
    /// URL of the mock provider's admin interface.
    admin: Result<String, String>,
    /// URL of the operator's metrics.
    operator: Result<String, String>,
    /// Keeps the way into a pod open.
    _forward: Option<Forward>,
}

impl Outlets {
    /// Those of an environment.
    ///
    /// # Errors
    /// Nothing of it runs; the text says so.
    pub(crate) async fn of(environment: Option<&Environment>) -> Result<Self, String> {
        let environment = environment.ok_or("only environments of vmctl up tell it")?;
        let http = reqwest::Client::builder().timeout(CALL).no_proxy().build();
        let http = http.map_err(|error| chain(&error))?;
        let in_pods = environment.kind().map_err(|failure| failure.cause)?;
        if in_pods.is_some() {
            return Ok(Self::in_pods(environment, http).await);
        }
        let state = environment.running().map_err(|failure| failure.cause)?;
        let state = state.ok_or("nothing of the environment runs")?;
        let mock = state.mock.map(|mock| mock.admin);
        let operator = state.operator.map(|operator| operator.metrics);
        Ok(Self {
            http,
            admin: mock.ok_or_else(|| "there is no mock provider".to_owned()),
            operator: operator.ok_or_else(|| "there is no operator".to_owned()),
            _forward: None,
        })
    }

    async fn in_pods(environment: &Environment, http: reqwest::Client) -> Self {
        let target = format!("deployment/{MOCK}");
        let (admin, forward) = match Forward::open(environment, &target, ADMIN_PORT).await {
            Ok(forward) => (Ok(forward.address.clone()), Some(forward)),
            Err(why) => (Err(why), None),
        };
        let why = "in a cluster the operator's metrics ask for a token (docs/operations.md)";
        Self {
            http,
            admin,
            operator: Err(why.to_owned()),
            _forward: forward,
        }
    }

    /// The operator's metrics, as text.
    ///
    /// # Errors
    /// It does not answer; the text says why.
    pub(crate) async fn metrics(&self) -> Result<String, String> {
        self.text(self.operator()?).await
    }

    /// The operator's queue, leader and inventories.
    ///
    /// # Errors
    /// It does not answer; the text says why.
    pub(crate) async fn debug_state(&self) -> Result<Value, String> {
        let url = self.operator()?.replace("/metrics", "/debug/state");
        let text = self.text(&url).await?;
        serde_json::from_str(&text).map_err(|error| format!("{url}: {error}"))
    }

    /// The latest calls to the mock provider about a VM, oldest first.
    ///
    /// # Errors
    /// It does not answer; the text says why.
    pub(crate) async fn provider_calls(
        &self,
        about: impl Fn(&Value) -> bool,
    ) -> Result<Vec<Value>, String> {
        let log = self.provider_log().await?;
        let calls = log
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        Ok(calls.filter(about).collect())
    }

    /// The latest calls to the mock provider, oldest first, as lines of JSON.
    ///
    /// # Errors
    /// It does not answer; the text says why.
    pub(crate) async fn provider_log(&self) -> Result<String, String> {
        let admin = self.admin.as_ref().map_err(String::clone)?;
        let stats = self.text(&format!("{admin}/stats")).await?;
        let stats: Value =
            serde_json::from_str(&stats).map_err(|error| format!("the mock provider: {error}"))?;
        let since = stats["lastSeq"]
            .as_u64()
            .unwrap_or_default()
            .saturating_sub(DEPTH);
        self.text(&format!("{admin}/log?since={since}&limit={DEPTH}"))
            .await
    }

    fn operator(&self) -> Result<&str, String> {
        self.operator.as_deref().map_err(String::clone)
    }

    async fn text(&self, url: &str) -> Result<String, String> {
        let answer = self
            .http
            .get(url)
            .send()
            .await
            .and_then(reqwest::Response::error_for_status);
        let answer = answer.map_err(|error| chain(&error))?;
        answer.text().await.map_err(|error| chain(&error))
    }
}
