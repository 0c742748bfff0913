//! What a test reads from the API server, without a process per look.

use std::future::Future;
use std::path::Path;
use std::sync::LazyLock;

use kube::api::{DeleteParams, GetParams, ListParams, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::Value;
use tokio::runtime::Runtime;

use super::until;

/// Everything asynchronous of a test binary.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    // An error says that one is installed already.
    drop(rustls::crypto::ring::default_provider().install_default());
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime")
});

/// Waits for a future from a test's thread.
pub(crate) fn wait_for<T>(future: impl Future<Output = T>) -> T {
    RUNTIME.block_on(future)
}

/// Runs a future beside the test, until its handle is dropped or aborted.
pub(crate) fn spawn(future: impl Future<Output = ()> + Send + 'static) -> AbortOnDrop {
    AbortOnDrop(RUNTIME.spawn(future))
}

/// A task that ends with its handle.
pub(crate) struct AbortOnDrop(tokio::task::JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Path of our VirtualMachines and ProviderConfigs.
pub(crate) const GROUP: &str = "/apis/compute.example.com/v1";

/// Reads as the administrator.
pub(crate) struct Client(kube::Client);

impl Client {
    pub(crate) fn new(kubeconfig: &Path) -> Self {
        let client = wait_for(async {
            let file = Kubeconfig::read_from(kubeconfig).expect("a kubeconfig");
            let options = KubeConfigOptions::default();
            let config = kube::Config::from_custom_kubeconfig(file, &options).await;
            kube::Client::try_from(config.expect("a usable kubeconfig"))
        });
        Self(client.expect("a client"))
    }

    /// One object, past every cache; `None` where there is none. A server that is away is waited for.
    pub(crate) fn get(&self, collection: &str, name: &str) -> Option<Value> {
        let mut found = None;
        until(&format!("{collection}/{name} can be read"), || {
            let request = kube::core::Request::new(collection)
                .get(name, &GetParams::default())
                .expect("a valid request");
            match wait_for(self.0.request::<Value>(request)) {
                Ok(object) => found = Some(object),
                Err(kube::Error::Api(status)) if status.code == 404 => found = None,
                Err(_) => return false,
            }
            true
        });
        found
    }

    /// The answer to a list, to the byte.
    pub(crate) fn text(&self, path: &str) -> String {
        let mut found = String::new();
        until(&format!("{path} can be read"), || {
            let request = kube::core::Request::new(path)
                .list(&ListParams::default())
                .expect("a valid request");
            match wait_for(self.0.request_text(request)) {
                Ok(text) => found = text,
                Err(_) => return false,
            }
            true
        });
        found
    }

    /// Makes an object.
    pub(crate) fn create(&self, collection: &str, object: &Value) {
        wait_for(self.created(collection, object));
    }

    /// Makes many, 32 at a time.
    pub(crate) fn create_all(&self, collection: &str, objects: &[Value]) {
        wait_for(async {
            for some in objects.chunks(32) {
                futures::future::join_all(some.iter().map(|one| self.created(collection, one)))
                    .await;
            }
        });
    }

    async fn created(&self, collection: &str, object: &Value) {
        let request = kube::core::Request::new(collection)
            .create(&PostParams::default(), object.to_string().into_bytes())
            .expect("a valid request");
        let answer = self.0.request::<Value>(request).await;
        answer.unwrap_or_else(|error| panic!("{object} was not made: {error}"));
    }

    /// Merges a patch into an object; one that is gone, or a server that is busy, is as good: the next patch follows.
    pub(crate) fn merge(&self, collection: &str, name: &str, patch: &Value) {
        let patch = Patch::Merge(patch);
        let request = kube::core::Request::new(collection)
            .patch(name, &PatchParams::default(), &patch)
            .expect("a valid request");
        drop(wait_for(self.0.request::<Value>(request)));
    }

    /// Deletes an object; one that is gone already is as good.
    pub(crate) fn delete(&self, collection: &str, name: &str) {
        let request = kube::core::Request::new(collection)
            .delete(name, &DeleteParams::default())
            .expect("a valid request");
        match wait_for(self.0.request::<Value>(request)) {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => panic!("{name} was not deleted: {error}"),
        }
    }

    /// Every object of a collection.
    pub(crate) fn list(&self, collection: &str) -> Vec<Value> {
        let mut found = Vec::new();
        until(&format!("{collection} can be listed"), || {
            let request = kube::core::Request::new(collection)
                .list(&ListParams::default())
                .expect("a valid request");
            match wait_for(self.0.request::<Value>(request)) {
                Ok(list) => found = list["items"].as_array().cloned().unwrap_or_default(),
                Err(_) => return false,
            }
            true
        });
        found
    }
}

/// `True`, `False`, `Unknown`, with the reason: a condition of an object.
pub(crate) fn condition(object: &Value, kind: &str) -> Option<(String, String)> {
    let conditions = object["status"]["conditions"].as_array()?;
    let found = conditions.iter().find(|one| one["type"] == kind)?;
    let text = |name: &str| found[name].as_str().unwrap_or_default().to_owned();
    Some((text("status"), text("reason")))
}

/// The events about an object, as `events.k8s.io/v1` has them, oldest first.
pub(crate) fn events_about(
    client: &Client,
    namespace: &str,
    (kind, name): (&str, &str),
) -> Vec<Value> {
    let path = format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events");
    let mut events = client.list(&path);
    events.retain(|event| event["regarding"]["kind"] == kind && event["regarding"]["name"] == name);
    events.sort_by_key(|event| event["metadata"]["name"].to_string());
    events
}
