//! A cluster into which the operator is installed as the README says: definitions, then rights.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, Once, OnceLock};

use serde_json::{Value, json};

use super::audit::Journal;
use super::client::{Client, GROUP};
use super::operator::Operator;
use super::until;
use crate::support::{ControlPlane, is_running};

/// Who the operator is to the API server.
pub(crate) const OPERATOR: &str =
    "system:serviceaccount:vmoperator-system:vmoperator-controller-manager";

/// A control plane with the operator's definitions and rights, but no operator yet.
pub(crate) struct House {
    /// The control plane.
    pub(crate) plane: ControlPlane,
    /// For the operator: a token of its ServiceAccount.
    pub(crate) operator_kubeconfig: PathBuf,
    /// Reads as the administrator.
    pub(crate) client: Client,
    /// What was read of the audit log.
    pub(super) journal: Mutex<Journal>,
}

static HOUSE: OnceLock<House> = OnceLock::new();
static OPERATOR_OF_HOUSE: OnceLock<Operator> = OnceLock::new();
static NAMESPACES: AtomicUsize = AtomicUsize::new(0);

impl House {
    /// The one that all tests of a file share. It ends with the test process.
    pub(crate) fn shared() -> &'static Self {
        HOUSE.get_or_init(Self::kept)
    }

    /// The shared one, with one operator that runs as long as the tests.
    pub(crate) fn with_operator() -> (&'static Self, &'static Operator) {
        let house = Self::shared();
        let operator = OPERATOR_OF_HOUSE.get_or_init(|| Operator::start(house, &[]).ready());
        static KEPT_ALIVE: Once = Once::new();
        KEPT_ALIVE.call_once(|| operator.keep_alive());
        (house, operator)
    }

    /// One that ends with the test process at the latest, for a static of the caller's.
    pub(crate) fn kept() -> Self {
        Self::build(ControlPlane::start_in(kept_directory()))
    }

    fn build(plane: ControlPlane) -> Self {
        let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("config");
        for part in ["crd", "rbac"] {
            plane.kubectl(&["apply", "-f", &config.join(part).to_string_lossy()]);
        }
        for name in ["virtualmachines", "providerconfigs"] {
            let name = format!("crd/{name}.compute.example.com");
            plane.kubectl(&[
                "wait",
                "--for=condition=Established",
                &name,
                "--timeout=60s",
            ]);
        }
        let operator_kubeconfig = operator_kubeconfig(&plane);
        let client = Client::new(&plane.kubeconfig);
        Self {
            plane,
            operator_kubeconfig,
            client,
            journal: Mutex::default(),
        }
    }

    /// Makes a namespace of its own for a test.
    pub(crate) fn namespace(&self) -> String {
        let name = format!("test-{}", NAMESPACES.fetch_add(1, Ordering::Relaxed));
        self.plane.kubectl(&["create", "namespace", &name]);
        name
    }

    /// The VirtualMachine, if there is one.
    pub(crate) fn vm(&self, namespace: &str, name: &str) -> Option<Value> {
        let path = format!("{GROUP}/namespaces/{namespace}/virtualmachines");
        self.client.get(&path, name)
    }

    /// All VirtualMachines of the cluster.
    pub(crate) fn vms(&self) -> Vec<Value> {
        self.client.list(&format!("{GROUP}/virtualmachines"))
    }

    /// The ProviderConfig, if there is one.
    pub(crate) fn config(&self, namespace: &str, name: &str) -> Option<Value> {
        let path = format!("{GROUP}/namespaces/{namespace}/providerconfigs");
        self.client.get(&path, name)
    }

    /// Waits until the VirtualMachine is Ready; returns its id.
    pub(crate) fn ready(&self, namespace: &str, name: &str) -> String {
        let mut id = String::new();
        self.until_vm(namespace, name, "is Ready", |vm| {
            id = vm["status"]["id"].as_str().unwrap_or_default().to_owned();
            super::is_ready(vm)
        });
        id
    }

    /// Waits until the VirtualMachine is there and as wanted.
    pub(crate) fn until_vm(
        &self,
        namespace: &str,
        name: &str,
        what: &str,
        mut wanted: impl FnMut(&Value) -> bool,
    ) {
        let mut last = None;
        super::until_or(
            &format!("{namespace}/{name} {what}"),
            || {
                last = self.vm(namespace, name);
                last.as_ref().is_some_and(&mut wanted)
            },
            || format!("{:#?}", self.vm(namespace, name)),
        );
    }

    /// Waits until the VirtualMachine is gone.
    pub(crate) fn gone(&self, namespace: &str, name: &str) {
        super::until_or(
            &format!("{namespace}/{name} is gone"),
            || self.vm(namespace, name).is_none(),
            || format!("{:#?}", self.vm(namespace, name)),
        );
    }

    /// Waits until the ProviderConfig `default` is there and as wanted.
    pub(crate) fn until_config(
        &self,
        namespace: &str,
        what: &str,
        wanted: impl Fn(&Value) -> bool,
    ) {
        super::until_or(
            &format!("ProviderConfig {namespace}/default {what}"),
            || {
                self.config(namespace, "default")
                    .is_some_and(|config| wanted(&config))
            },
            || format!("{:#?}", self.config(namespace, "default")),
        );
    }

    /// Waits until the ProviderConfig `default` is Ready.
    pub(crate) fn usable(&self, namespace: &str) {
        self.until_config(namespace, "is Ready", super::is_ready);
    }

    /// Applies a ProviderConfig `default` that leads to the endpoint; long pairs of looks take 6 s there.
    pub(crate) fn configure(&self, namespace: &str, endpoint: &str) {
        self.configure_with(
            namespace,
            json!({ "endpoint": endpoint, "timeoutSeconds": 1 }),
        );
    }

    /// Applies a ProviderConfig `default` as written.
    pub(crate) fn configure_with(&self, namespace: &str, spec: Value) {
        let config = json!({
            "apiVersion": "compute.example.com/v1", "kind": "ProviderConfig",
            "metadata": { "name": "default", "namespace": namespace }, "spec": spec,
        });
        self.plane.apply(&config.to_string());
    }

    /// Applies many objects at once.
    pub(crate) fn apply_all(&self, items: &[Value]) {
        let list = json!({ "apiVersion": "v1", "kind": "List", "items": items });
        self.plane.apply(&list.to_string());
    }

    /// The uid of namespace kube-system: the operator's cluster id.
    pub(crate) fn cluster(&self) -> String {
        let system = self.client.get("/api/v1/namespaces", "kube-system");
        let uid = system.map(|system| system["metadata"]["uid"].clone());
        let uid = uid.and_then(|uid| uid.as_str().map(str::to_owned));
        uid.expect("kube-system has a uid")
    }

    /// Applies the guide's manifest under a name.
    pub(crate) fn create(&self, namespace: &str, name: &str) {
        self.plane.apply(&manifest(namespace, name).to_string());
    }

    /// Deletes without waiting.
    pub(crate) fn delete(&self, namespace: &str, name: &str) {
        self.plane
            .kubectl(&["-n", namespace, "delete", "vm", name, "--wait=false"]);
    }
}

/// The guide's manifest.
pub(crate) fn manifest(namespace: &str, name: &str) -> Value {
    json!({
        "apiVersion": "compute.example.com/v1", "kind": "VirtualMachine",
        "metadata": { "name": name, "namespace": namespace },
        "spec": { "image": "ubuntu-22.04", "cpu": 2, "memory": "4Gi" },
    })
}

fn operator_kubeconfig(plane: &ControlPlane) -> PathBuf {
    let account = "vmoperator-controller-manager";
    let mut token = String::new();
    until("the ServiceAccount gets a token", || {
        let create = [
            "-n",
            "vmoperator-system",
            "create",
            "token",
            account,
            "--duration=8h",
        ];
        let answer = plane.try_kubectl(&create, "");
        answer.stdout.trim().clone_into(&mut token);
        answer.success
    });
    let authority = "jsonpath={.clusters[0].cluster.certificate-authority-data}";
    let authority = plane.kubectl(&["config", "view", "--raw", "-o", authority]);
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "operator",
        "clusters": [{ "name": "here", "cluster":
            { "server": plane.server, "certificate-authority-data": authority } }],
        "users": [{ "name": "operator", "user": { "token": token } }],
        "contexts": [{ "name": "operator", "context": { "cluster": "here", "user": "operator" } }],
    });
    let path = plane.dir().join("operator.kubeconfig");
    fs::write(&path, config.to_string()).expect("the kubeconfig can be written");
    path
}

/// A directory that outlives the test process, because nothing runs at its end; so the next run removes it.
fn kept_directory() -> tempfile::TempDir {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let pid = name
            .strip_prefix("house-")
            .and_then(|rest| rest.split('-').next()?.parse().ok());
        if pid.is_some_and(|pid: u32| !is_running(pid)) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    tempfile::Builder::new()
        .prefix(&format!("house-{}-", std::process::id()))
        .tempdir_in(folder)
        .expect("a directory")
}
