//! What an environment's operator and mock provider tell about themselves over HTTP on loopback. All of it is extra:
//! where it cannot be had, the answer is why.

use std::time::Duration;

use serde_json::Value;

use super::Environment;
use super::state::State;
use crate::hint::chain;

/// A call that takes longer has failed.
const CALL: Duration = Duration::from_secs(2);
/// Entries of the provider's log that are searched.
const DEPTH: u64 = 10_000;

/// The outlets of a running environment.
#[derive(Clone, Debug)]
pub(crate) struct Outlets {
    http: reqwest::Client,
    state: State,
}

impl Outlets {
    /// Those of an environment.
    ///
    /// # Errors
    /// Nothing of it runs; the text says so.
    pub(crate) fn of(environment: Option<&Environment>) -> Result<Self, String> {
        let environment = environment.ok_or("only environments of vmctl up tell it")?;
        let state = environment.running().map_err(|failure| failure.cause)?;
        let state = state.ok_or("only an embedded environment that runs tells it")?;
        let http = reqwest::Client::builder().timeout(CALL).no_proxy().build();
        Ok(Self {
            http: http.map_err(|error| chain(&error))?,
            state,
        })
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

    /// The latest calls to the mock provider about a VM, oldest first: by the uid of its object, or by its id.
    ///
    /// # Errors
    /// It does not answer; the text says why.
    pub(crate) async fn provider_calls(
        &self,
        uid: &str,
        id: Option<&str>,
    ) -> Result<Vec<Value>, String> {
        let log = self.provider_log().await?;
        let calls = log
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let ours = |call: &Value| call["uid"] == uid || id.is_some_and(|id| call["vmId"] == id);
        Ok(calls.filter(ours).collect())
    }

    /// The latest calls to the mock provider, oldest first, as lines of JSON.
    ///
    /// # Errors
    /// It does not answer; the text says why.
    pub(crate) async fn provider_log(&self) -> Result<String, String> {
        let mock = self
            .state
            .mock
            .as_ref()
            .ok_or("there is no mock provider")?;
        let stats = self.text(&format!("{}/stats", mock.admin)).await?;
        let stats: Value =
            serde_json::from_str(&stats).map_err(|error| format!("the mock provider: {error}"))?;
        let since = stats["lastSeq"]
            .as_u64()
            .unwrap_or_default()
            .saturating_sub(DEPTH);
        self.text(&format!("{}/log?since={since}&limit={DEPTH}", mock.admin))
            .await
    }

    fn operator(&self) -> Result<&str, String> {
        let operator = self.state.operator.as_ref();
        operator
            .map(|operator| operator.metrics.as_str())
            .ok_or_else(|| "there is no operator".to_owned())
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
