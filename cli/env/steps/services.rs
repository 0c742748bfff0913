//! The steps of what runs beside the cluster: mock provider and operator, and the proof that both work.

use std::fs;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use kube::api::DynamicObject;
use kube::core::{ApiResource, GroupVersionKind};

use super::{Steps, condition, wait};
use crate::env::journal::Event;
use crate::env::report::Outcome;
use crate::env::state::Plan;
use crate::env::{Environment, machine};
use crate::files;
use crate::hint::{Exit, Failure, chain};
use crate::runtime::embedded::services;

impl Steps<'_> {
    /// The mock provider answers an authenticated call.
    ///
    /// # Errors
    /// It does not within the time.
    pub(crate) async fn mock_provider(&mut self) -> Result<Outcome, Failure> {
        let changed = self.want("mock-provider", |plan| plan.mock = true)?;
        let http = http_client()?;
        let mut restarted = false;
        let endpoint = wait("the mock provider answers", || {
            let (environment, http) = (self.environment, &http);
            // One that cannot stay up is given other ports when the supervisor is told to look again.
            let state = environment.running();
            if let Ok(Some(state)) = &state
                && state
                    .children
                    .iter()
                    .any(|child| child.name == "mock-provider" && child.process.is_none())
                && !std::mem::replace(&mut restarted, true)
            {
                state.supervisor.signal(rustix::process::Signal::HUP);
            }
            async move {
                let Some(mock) = state?.and_then(|state| state.mock) else {
                    return Ok(None);
                };
                let key = mock_key(environment)?;
                let answer = http
                    .get(format!("{}/capabilities", mock.endpoint))
                    .bearer_auth(key)
                    .send()
                    .await;
                Ok(answer
                    .ok()
                    .filter(|answer| answer.status().is_success())
                    .map(|_| mock.endpoint))
            }
        })
        .await
        .map_err(|failure| failure.evidence(self.tail("mock-provider")))?;
        let note = format!("answers at {endpoint}");
        Ok(if changed {
            Outcome::Done(note)
        } else {
            Outcome::Unchanged(note)
        })
    }

    /// The operator runs, leads, can be scraped, and has found its ProviderConfig usable.
    ///
    /// # Errors
    /// It does not within the time.
    pub(crate) async fn operator(&mut self) -> Result<Outcome, Failure> {
        let changed = self.want("operator", |plan| plan.operator = true)?;
        let http = http_client()?;
        let answers = async |url: String| {
            http.get(url)
                .send()
                .await
                .is_ok_and(|answer| answer.status().is_success())
        };
        let leases: Api<Lease> = Api::namespaced(self.client()?.clone(), "vmoperator-system");
        let configs = self.provider_configs()?;
        let mut lack = "a process";
        let looking = wait("the operator leads", async || {
            let Some(operator) = self.environment.running()?.and_then(|state| state.operator)
            else {
                return Ok(None);
            };
            lack = "readiness";
            if !answers(format!("{}/readyz", operator.health)).await
                || !answers(operator.metrics.clone()).await
            {
                return Ok(None);
            }
            lack = "the Lease";
            let lease = leases.get_opt("vmoperator-leader").await.ok().flatten();
            let Some(holder) = lease
                .and_then(|lease| lease.spec?.holder_identity)
                .filter(|holder| !holder.is_empty())
            else {
                return Ok(None);
            };
            lack = "a usable ProviderConfig";
            let config = configs.get_opt("default").await.ok().flatten();
            let ready =
                config.is_some_and(|config| condition(&config, "Ready").as_deref() == Some("True"));
            Ok(ready.then_some(holder))
        })
        .await;
        let holder = looking.map_err(|mut failure| {
            failure.cause.push_str(&format!("; it lacks {lack}"));
            failure.evidence(self.tail("operator"))
        })?;
        let note = format!("{holder} leads");
        Ok(if changed {
            Outcome::Done(note)
        } else {
            Outcome::Unchanged(note)
        })
    }

    /// A VirtualMachine would be accepted right now.
    ///
    /// # Errors
    /// It would not.
    pub(crate) async fn admission(&self) -> Result<Outcome, Failure> {
        machine::could_be_created(self.client()?).await?;
        Ok(Outcome::Unchanged(
            "a VirtualMachine would be accepted".to_owned(),
        ))
    }

    /// A VirtualMachine is made and removed.
    ///
    /// # Errors
    /// It does not become ready, or does not go.
    pub(crate) async fn smoke(&mut self) -> Result<Outcome, Failure> {
        self.acting("smoke", "make and remove a VirtualMachine");
        machine::comes_and_goes(self.client()?)
            .await
            .map_err(|failure| failure.evidence(self.tail("operator")))?;
        self.journal.write("smoke", Event::Done, "");
        if let Some(plan) = &mut self.plan {
            plan.proven = true;
            self.environment.set_plan(plan)?;
        }
        Ok(Outcome::Done(
            "a VirtualMachine was made and removed".to_owned(),
        ))
    }

    pub(super) fn provider_configs(&self) -> Result<Api<DynamicObject>, Failure> {
        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(
            "compute.example.com",
            "v1",
            "ProviderConfig",
        ));
        Ok(Api::namespaced_with(
            self.client()?.clone(),
            "default",
            &kind,
        ))
    }

    /// Changes what is wanted of the supervisor, and tells it. True when that was new.
    fn want(&mut self, step: &str, change: impl FnOnce(&mut Plan)) -> Result<bool, Failure> {
        let missing = || Failure::new(Exit::Environment, "VMC-STATE", "there is no plan.json");
        let mut plan = self.plan.clone().ok_or_else(missing)?;
        change(&mut plan);
        if !self.environment.set_plan(&plan)? {
            return Ok(false);
        }
        self.plan = Some(plan);
        self.acting(step, "start it");
        if let Some(state) = self.environment.running()? {
            state.supervisor.signal(rustix::process::Signal::HUP);
        }
        Ok(true)
    }

    fn tail(&self, name: &str) -> Vec<String> {
        let path = self
            .environment
            .dir()
            .join("logs")
            .join(format!("{name}.log"));
        let text = fs::read_to_string(path).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines
            .iter()
            .skip(lines.len().saturating_sub(20))
            .map(ToString::to_string)
            .collect()
    }
}

/// A client for servers of our own on loopback: they answer at once or not at all.
fn http_client() -> Result<reqwest::Client, Failure> {
    let client = reqwest::Client::builder()
        .timeout(Duration::from_secs(2))
        .no_proxy()
        .build();
    client.map_err(|error| Failure::new(Exit::Failure, "VMC-HTTP", chain(&error)))
}

/// The key that the mock provider accepts.
pub(super) fn mock_key(environment: &Environment) -> Result<String, Failure> {
    let failed = |cause: String| Failure::new(Exit::Environment, "VMC-STATE", cause);
    let text = files::read_optional(&services::mock_keys(environment.dir()))
        .map_err(|error| failed(chain(&error)))?;
    let key = text
        .as_deref()
        .and_then(|text| text.trim().split_once('='))
        .map(|(_account, key)| key.to_owned());
    key.ok_or_else(|| failed("the mock provider has no key".to_owned()))
}
