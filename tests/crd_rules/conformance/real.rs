//! The requests as the real server gets them: the guarded ones from the operator's own client.

use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use serde_json::json;

use super::pair::{Outcome, Pair, class};
use super::requests::{NAMES, Request};
use crate::api::{self, VirtualMachine};
use crate::controller::Cluster;

impl Pair {
    pub(super) async fn ask_real(&mut self, request: &Request) -> Outcome {
        let cluster = self.real.clone();
        match request {
            Request::Create(at, cpu, exported) => {
                let vm = self.manifest(*at, *cpu, *exported);
                plain(self.vms().create(&PostParams::default(), &vm).await)
            }
            Request::Delete(at) => {
                let name = NAMES[*at];
                plain(self.vms().delete(name, &DeleteParams::default()).await)
            }
            Request::DeleteGuarded(seen) => {
                let guard = &self.seen[*seen].real;
                let only = Preconditions {
                    uid: Some(guard.uid.as_str().to_owned()),
                    resource_version: Some(guard.version.clone()),
                };
                let params = DeleteParams::default().preconditions(only);
                plain(self.vms().delete(&guard.key.name, &params).await)
            }
            Request::Intend(seen, _) | Request::Finalizers(seen, _) => {
                let guard = self.seen[*seen].real.clone();
                let now = cluster
                    .live(&guard.key)
                    .await
                    .map_err(|error| class(&error))?;
                let metadata = self.metadata(now.as_ref(), request);
                let written = cluster.write_metadata(&guard, metadata).await;
                written.map(Some).map_err(|error| class(&error))
            }
            Request::Status(seen, status) => {
                let guard = self.seen[*seen].real.clone();
                let written = cluster.write_status(&guard, status.clone()).await;
                written.map(Some).map_err(|error| class(&error))
            }
            Request::WipeStatus(at)
            | Request::Edit(at, _)
            | Request::StripFinalizer(at)
            | Request::StripIntent(at)
            | Request::Relabel(at) => self.user_at_real(*at, request).await,
        }
    }

    async fn user_at_real(&mut self, at: usize, request: &Request) -> Outcome {
        let (vms, name, params) = (self.vms(), NAMES[at], PatchParams::default());
        let Some(view) = self
            .real
            .live(&self.key(at))
            .await
            .map_err(|error| class(&error))?
        else {
            return Err("gone");
        };
        self.labels += 1;
        let patch = match request {
            Request::WipeStatus(_) => {
                let patch = Patch::Merge(json!({ "status": null }));
                return plain(vms.patch_status(name, &params, &patch).await);
            }
            Request::Edit(_, cpu) if view.object.recorded.is_none() => {
                json!({ "spec": { "cpu": cpu } })
            }
            Request::StripFinalizer(_) => {
                let kept: Vec<&String> = view
                    .finalizers
                    .iter()
                    .filter(|f| *f != api::FINALIZER)
                    .collect();
                json!({ "metadata": { "finalizers": kept } })
            }
            Request::StripIntent(_) => {
                json!({ "metadata": { "annotations": { api::CREATE_ANNOTATION: null } } })
            }
            Request::Relabel(_) => {
                json!({ "metadata": { "labels": { "drawn": self.labels.to_string() } } })
            }
            _ => return Ok(None),
        };
        plain(vms.patch(name, &params, &Patch::Merge(patch)).await)
    }

    fn manifest(&self, at: usize, cpu: u32, exported: bool) -> VirtualMachine {
        let mut body = json!({
            "apiVersion": "compute.example.com/v1", "kind": "VirtualMachine",
            "metadata": { "name": NAMES[at] },
            "spec": { "image": "good", "cpu": cpu, "memory": "1Gi", "providerRef": "cloud" },
        });
        if exported {
            body["metadata"]["finalizers"] = json!([api::FINALIZER]);
            body["metadata"]["annotations"] = json!({ api::CREATE_ANNOTATION: Self::exported() });
        }
        serde_json::from_value(body).expect("a manifest")
    }
}

fn plain<T>(result: Result<T, kube::Error>) -> Outcome {
    match result {
        Ok(_) => Ok(None),
        Err(kube::Error::Api(status)) => Err(match status.code {
            404 => "gone",
            409 => "conflict",
            400..=499 => "refused",
            _ => "no answer",
        }),
        Err(error) => panic!("{error}"),
    }
}
