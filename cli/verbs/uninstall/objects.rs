//! All objects of one kind, in every namespace, on their way out.

use std::time::Duration;

use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use vmoperator::api::{FINALIZER, FORCE_ORPHAN_ANNOTATION, IN_USE_FINALIZER};

use crate::clock;
use crate::hint::{Exit, Failure, chain};
use crate::output::Talk;

/// How often what goes is looked at.
const POLL: Duration = Duration::from_millis(250);
/// A call that takes longer has failed.
const CALL: Duration = Duration::from_secs(30);

/// The objects of a kind.
pub(super) struct Objects {
    client: Client,
    resource: ApiResource,
    /// Of a kind that is not ours: only those with our finalizer.
    foreign: bool,
}

impl Objects {
    /// Every VirtualMachine.
    pub(super) fn machines(client: &Client) -> Self {
        Self::new(client, "compute.example.com", "VirtualMachine")
    }

    /// Every ProviderConfig.
    pub(super) fn configs(client: &Client) -> Self {
        Self::new(client, "compute.example.com", "ProviderConfig")
    }

    /// Secrets that ProviderConfigs needed.
    pub(super) fn secrets(client: &Client) -> Self {
        Self {
            foreign: true,
            ..Self::new(client, "", "Secret")
        }
    }

    fn new(client: &Client, group: &str, kind: &str) -> Self {
        Self {
            client: client.clone(),
            resource: ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", kind)),
            foreign: false,
        }
    }

    /// What there is; nothing where the kind is not known, or not any more.
    ///
    /// # Errors
    /// The API server refuses or does not answer.
    pub(super) async fn list(&self) -> Result<Vec<DynamicObject>, Failure> {
        let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &self.resource);
        let mut list = match self.call("list", api.list(&ListParams::default())).await? {
            Some(list) => list.items,
            None => Vec::new(),
        };
        if self.foreign {
            list.retain(|object| {
                object
                    .finalizers()
                    .iter()
                    .any(|one| one == IN_USE_FINALIZER)
            });
        }
        Ok(list)
    }

    /// Asks for the deletion of all.
    ///
    /// # Errors
    /// As [`Objects::list`].
    pub(super) async fn delete(&self) -> Result<(), Failure> {
        for object in self.list().await? {
            let (api, name) = (self.api(&object), object.name_any());
            let params = DeleteParams::background();
            self.call("delete", api.delete(&name, &params)).await?;
        }
        Ok(())
    }

    /// Tells the operator to let go of what they stand for.
    ///
    /// # Errors
    /// As [`Objects::list`].
    pub(super) async fn let_go(&self) -> Result<(), Failure> {
        let patch = json!({ "metadata": { "annotations": { FORCE_ORPHAN_ANNOTATION: "vmctl uninstall" } } });
        self.patch(|_object| patch.clone()).await
    }

    /// Takes our finalizers off, for want of an operator that would.
    ///
    /// # Errors
    /// As [`Objects::list`].
    pub(super) async fn release(&self) -> Result<(), Failure> {
        self.patch(|object| {
            let others = object.finalizers().iter();
            let others: Vec<&String> = others
                .filter(|one| *one != FINALIZER && *one != IN_USE_FINALIZER)
                .collect();
            // Guarded: a finalizer that somebody else adds meanwhile is not lost.
            json!({ "metadata": { "finalizers": others, "resourceVersion": object.resource_version() } })
        })
        .await
    }

    async fn patch(&self, patch: impl Fn(&DynamicObject) -> Value) -> Result<(), Failure> {
        for object in self.list().await? {
            let (api, name) = (self.api(&object), object.name_any());
            let params = PatchParams {
                field_manager: Some("vmctl".to_owned()),
                ..PatchParams::default()
            };
            let patch = Patch::Merge(patch(&object));
            self.call("change", api.patch(&name, &params, &patch))
                .await?;
        }
        Ok(())
    }

    /// Waits until none is left; says how many are, whenever that changes.
    ///
    /// # Errors
    /// [`Exit::NotReady`] when the time is over, and as [`Objects::list`].
    pub(super) async fn gone(&self, limit: Duration, talk: &Talk) -> Result<(), Failure> {
        let began = clock::now();
        let mut told = None;
        loop {
            let left = self.list().await?;
            if left.is_empty() {
                return Ok(());
            }
            if told != Some(left.len()) {
                talk.line(&format!(
                    "waiting for {} {}",
                    left.len(),
                    self.resource.plural
                ));
                told = Some(left.len());
            }
            if began.elapsed() > limit {
                return Err(self.late(&left));
            }
            clock::sleep(POLL).await;
        }
    }

    fn late(&self, left: &[DynamicObject]) -> Failure {
        let cause = format!(
            "{} {} are not gone in time; the operator stays",
            left.len(),
            self.resource.plural
        );
        let names = left.iter().map(|object| {
            let namespace = object.namespace().unwrap_or_default();
            format!("{namespace}/{}", object.name_any())
        });
        Failure::new(Exit::NotReady, "VMC-TIMEOUT", cause)
            .evidence(names.collect())
            .fix("see why with kubectl describe, then run the same command again")
    }

    fn api(&self, object: &DynamicObject) -> Api<DynamicObject> {
        let namespace = object.namespace().unwrap_or_default();
        Api::namespaced_with(self.client.clone(), &namespace, &self.resource)
    }

    /// The answer; `None` where there is no such thing.
    async fn call<T>(
        &self,
        verb: &str,
        call: impl Future<Output = kube::Result<T>>,
    ) -> Result<Option<T>, Failure> {
        let what = &self.resource.plural;
        match tokio::time::timeout(CALL, call).await {
            Ok(Ok(answer)) => Ok(Some(answer)),
            Ok(Err(kube::Error::Api(status))) if status.code == 404 => Ok(None),
            Ok(Err(error)) => {
                let exit = match &error {
                    kube::Error::Api(_) => Exit::Failure,
                    _transport => Exit::Unreachable,
                };
                let cause = format!("cannot {verb} {what}: {}", chain(&error));
                Err(Failure::new(exit, "VMC-API", cause))
            }
            Err(_elapsed) => {
                let cause = format!("cannot {verb} {what}: no answer");
                Err(Failure::new(Exit::Unreachable, "VMC-API", cause))
            }
        }
    }
}
