//! The steps inside the cluster: definitions, rights, the ProviderConfig.

use k8s_openapi::ByteString;
use kube::api::DynamicObject;
use serde_json::json;

use super::services::mock_key;
use super::{Steps, condition, wait};
use crate::env::apply::{self, Applied};
use crate::env::journal::Event;
use crate::env::manifests;
use crate::env::report::Outcome;
use crate::hint::{Exit, Failure, chain};

/// The Secret with the mock provider's key, and its name in every manifest of ours.
const SECRET: &str = "mock-provider";

impl Steps<'_> {
    /// The API server knows our kinds.
    ///
    /// # Errors
    /// It refuses them, or does not establish them in time.
    pub(crate) async fn definitions(&self) -> Result<Outcome, Failure> {
        let objects = manifests::objects(manifests::DEFINITIONS)?;
        let outcome = self.apply_all("definitions", &objects).await?;
        let client = self.client()?;
        for object in &objects {
            let name = object.metadata.name.clone().unwrap_or_default();
            wait(&format!("{name} is established"), || async {
                let present = apply::read(client, object)
                    .await
                    .map_err(apply::Error::into_failure)?;
                Ok(present
                    .filter(|present| condition(present, "Established") == Some("True".to_owned())))
            })
            .await?;
        }
        Ok(outcome)
    }

    /// The operator's namespace, account and rights are there.
    ///
    /// # Errors
    /// The API server refuses them.
    pub(crate) async fn rights(&self) -> Result<Outcome, Failure> {
        self.apply_all("rights", &manifests::objects(manifests::RIGHTS)?)
            .await
    }

    /// The mock provider is the cloud of the namespace `default`.
    ///
    /// # Errors
    /// The API server refuses the Secret or the ProviderConfig.
    pub(crate) async fn provider_config(&self) -> Result<Outcome, Failure> {
        let endpoint = self
            .environment
            .running()?
            .and_then(|state| state.mock)
            .map(|mock| mock.endpoint);
        let key = ByteString(mock_key(self.environment)?.into_bytes());
        let objects = [
            json!({ "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
                "metadata": { "name": SECRET, "namespace": "default" }, "data": { "apiKey": key } }),
            json!({ "apiVersion": "compute.example.com/v1", "kind": "ProviderConfig",
                "metadata": { "name": "default", "namespace": "default" },
                "spec": { "endpoint": endpoint, "secretRef": { "name": SECRET } } }),
        ];
        let objects: Result<Vec<DynamicObject>, _> =
            objects.into_iter().map(serde_json::from_value).collect();
        let objects =
            objects.map_err(|error| Failure::new(Exit::Failure, "VMC-MANIFEST", chain(&error)))?;
        self.apply_all("provider-config", &objects).await
    }

    pub(super) async fn apply_all(
        &self,
        step: &str,
        objects: &[DynamicObject],
    ) -> Result<Outcome, Failure> {
        let (mut created, mut changed) = (0, 0);
        let mut differing = Vec::new();
        for object in objects {
            let (applied, drift) = apply::explained(self.client()?, object)
                .await
                .map_err(apply::Error::into_failure)?;
            match applied {
                Applied::Unchanged => {}
                Applied::Created => created += 1,
                Applied::Changed => changed += 1,
            }
            for line in drift {
                self.talk.line(&format!("~ {step:<16} {line}"));
                differing.push(line);
            }
        }
        let note = format!("{} objects", objects.len());
        if created + changed == 0 {
            return Ok(Outcome::Unchanged(note));
        }
        let note = format!("{note}, {created} created, {changed} changed");
        let entry = format!("{note} {}", differing.join("; "));
        self.journal.write(step, Event::Done, entry.trim_end());
        Ok(Outcome::Done(note))
    }
}
