//! The steps of what runs as pods: mock provider and operator.

use k8s_openapi::ByteString;
use kube::ResourceExt;
use kube::api::DynamicObject;
use serde_json::json;

use super::services::mock_key;
use super::{Steps, condition, wait};
use crate::env::report::Outcome;
use crate::env::workload::{self, MOCK, MOCK_ENDPOINT, NAMESPACE, OPERATOR};
use crate::hint::{Exit, Failure, chain};
use crate::runtime::embedded::services;

impl Steps<'_> {
    /// The mock provider runs as a pod.
    ///
    /// # Errors
    /// It is refused, or does not become available in time.
    pub(crate) async fn mock_pods(&self) -> Result<Outcome, Failure> {
        services::ensure_mock_key(self.environment.dir())
            .map_err(|error| Failure::new(Exit::Environment, "VMC-FILES", chain(&error)))?;
        let key = mock_key(self.environment)?;
        let Some(image) = &self.kind.mock else {
            return Err(no_image());
        };
        let objects = workload::mock(image, &key)?;
        let outcome = self.apply_all("mock-provider", &objects).await?;
        self.rollout(MOCK).await?;
        Ok(outcome)
    }

    /// The mock provider in the cluster is the cloud of the namespace `default`.
    ///
    /// # Errors
    /// The API server refuses the Secret or the ProviderConfig.
    pub(crate) async fn pods_provider_config(&self) -> Result<Outcome, Failure> {
        let key = ByteString(mock_key(self.environment)?.into_bytes());
        let objects = [
            json!({ "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
                "metadata": { "name": MOCK, "namespace": "default" }, "data": { "apiKey": key } }),
            json!({ "apiVersion": "compute.example.com/v1", "kind": "ProviderConfig",
                "metadata": { "name": "default", "namespace": "default" },
                "spec": { "endpoint": MOCK_ENDPOINT, "secretRef": { "name": MOCK } } }),
        ];
        let objects: Result<Vec<DynamicObject>, _> =
            objects.into_iter().map(serde_json::from_value).collect();
        let objects =
            objects.map_err(|error| Failure::new(Exit::Failure, "VMC-MANIFEST", chain(&error)))?;
        self.apply_all("provider-config", &objects).await
    }

    /// The operator is rolled out, leads, can be scraped, and has found its ProviderConfig usable.
    ///
    /// # Errors
    /// It is refused, or does not get there in time.
    pub(crate) async fn operator_pods(&self) -> Result<Outcome, Failure> {
        let Some(image) = &self.kind.operator else {
            return Err(no_image());
        };
        let objects = workload::operator(Some(image), true)?;
        let outcome = self.apply_all("operator", &objects).await?;
        self.rollout(OPERATOR).await?;
        let leader = self.leads().await?;
        let note = format!("{leader} leads");
        Ok(match outcome {
            Outcome::Done(_) => Outcome::Done(note),
            Outcome::Unchanged(_) => Outcome::Unchanged(note),
        })
    }

    async fn leads(&self) -> Result<String, Failure> {
        let client = self.client()?;
        let configs = self.provider_configs()?;
        let mut lack = "the Lease";
        let looking = wait("the operator leads", async || {
            let Some(leader) = workload::leader(client).await.ok().flatten() else {
                return Ok(None);
            };
            lack = "metrics of every pod";
            let pods = workload::pods(client, OPERATOR).await.unwrap_or_default();
            for pod in &pods {
                if !self.serves_metrics(&pod.name_any()).await {
                    return Ok(None);
                }
            }
            lack = "a usable ProviderConfig";
            let config = configs.get_opt("default").await.ok().flatten();
            let ready =
                config.is_some_and(|config| condition(&config, "Ready").as_deref() == Some("True"));
            Ok(ready.then_some(leader))
        })
        .await;
        match looking {
            Ok(leader) => Ok(leader),
            Err(mut failure) => {
                failure.cause.push_str(&format!("; it lacks {lack}"));
                Err(failure.evidence(workload::evidence(client, OPERATOR).await))
            }
        }
    }

    /// Whether a pod of the operator serves metrics, asked through the API server. That hands on no credential of ours,
    /// so the answer is that we may not read them: but an answer it is.
    async fn serves_metrics(&self, pod: &str) -> bool {
        let Ok(client) = self.client() else {
            return false;
        };
        let path = format!("/api/v1/namespaces/{NAMESPACE}/pods/https:{pod}:8443/proxy/metrics");
        let Ok(request) = axum::http::Request::get(path).body(Vec::new()) else {
            return false;
        };
        match client.request_text(request).await {
            Ok(_text) => true,
            Err(kube::Error::Api(status)) => matches!(status.code, 401 | 403),
            Err(_transport) => false,
        }
    }

    async fn rollout(&self, name: &str) -> Result<(), Failure> {
        let client = self.client()?;
        let mut lack = String::new();
        let done = wait(&format!("{name} is rolled out"), async || {
            match workload::lack(client, name).await {
                Ok(None) => return Ok(Some(())),
                Ok(Some(found)) => lack = found,
                Err(error) => lack = chain(&error),
            }
            Ok(None)
        })
        .await;
        match done {
            Ok(()) => Ok(()),
            Err(mut failure) => {
                failure.cause.push_str(&format!("; it lacks {lack}"));
                Err(failure.evidence(workload::evidence(client, name).await))
            }
        }
    }
}

fn no_image() -> Failure {
    Failure::new(Exit::Environment, "VMC-IMAGE", "no image was chosen yet")
}
