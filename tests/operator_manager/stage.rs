//! What each test starts with, and what each ends with.

use std::path::Path;
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use mock_provider::Options;
use serde_json::{Value, json};

use crate::e2e::cloud::{Cloud, prompt};
use crate::e2e::house::{House, manifest};
use crate::e2e::operator::Operator;
use crate::e2e::{checker, terms, until, until_or};

/// Whoever takes rights away from the operators' account is alone.
pub(crate) static RIGHTS: RwLock<()> = RwLock::new(());

/// A namespace with a ProviderConfig that leads to a cloud, and the right to a Lease there.
pub(crate) struct Stage {
    pub(crate) house: &'static House,
    pub(crate) cloud: Cloud,
    pub(crate) namespace: String,
    _rights: Option<RwLockReadGuard<'static, ()>>,
}

impl Stage {
    /// With a cloud that makes VMs in a moment.
    pub(crate) fn set() -> Self {
        Self::with(
            prompt(),
            |url| json!({ "endpoint": url, "timeoutSeconds": 5 }),
        )
    }

    /// With a cloud and a ProviderConfig as wanted.
    pub(crate) fn with(options: Options, spec: impl FnOnce(&str) -> Value) -> Self {
        let rights = RIGHTS.read().unwrap_or_else(PoisonError::into_inner);
        Self {
            _rights: Some(rights),
            ..Self::build(options, spec)
        }
    }

    /// For whoever holds [`RIGHTS`].
    pub(crate) fn alone() -> Self {
        Self::build(
            prompt(),
            |url| json!({ "endpoint": url, "timeoutSeconds": 5 }),
        )
    }

    fn build(options: Options, spec: impl FnOnce(&str) -> Value) -> Self {
        let house = House::shared();
        let cloud = Cloud::start(options);
        let namespace = house.namespace();
        house.plane.apply(&lease_rights(&namespace).to_string());
        house.configure_with(&namespace, spec(&cloud.url));
        Self {
            house,
            cloud,
            namespace,
            _rights: None,
        }
    }

    /// Flags of a replica of that name, which works in this namespace alone.
    pub(crate) fn flags(&self, name: &str) -> Vec<String> {
        vec![
            format!("--pod-name={name}"),
            format!("--namespaces={}", self.namespace),
            format!("--leader-elect-namespace={}", self.namespace),
        ]
    }

    /// Starts a replica.
    pub(crate) fn start(&self, name: &str, more: &[&str], fail_point: Option<&str>) -> Operator {
        self.start_at(&self.house.operator_kubeconfig, name, more, fail_point)
    }

    /// The same; it finds the API server by this kubeconfig.
    pub(crate) fn start_at(
        &self,
        kubeconfig: &Path,
        name: &str,
        more: &[&str],
        fail_point: Option<&str>,
    ) -> Operator {
        let flags = self.flags(name);
        let flags: Vec<&str> = flags
            .iter()
            .map(String::as_str)
            .chain(more.to_vec())
            .collect();
        Operator::start_at(self.house, kubeconfig, &flags, fail_point)
    }

    /// Starts a replica and waits until it is ready.
    pub(crate) fn replica(&self, name: &str) -> Operator {
        self.start(name, &[], None).ready()
    }

    /// Starts a replica and waits until it leads.
    pub(crate) fn leader(&self, name: &str) -> Operator {
        let operator = self.replica(name);
        self.until_leads(name);
        operator
    }

    /// Who holds the Lease, with the random part; empty: nobody.
    pub(crate) fn holder(&self) -> String {
        let path = format!(
            "/apis/coordination.k8s.io/v1/namespaces/{}/leases",
            self.namespace
        );
        let lease = self.house.client.get(&path, "vmoperator-leader");
        let holder = lease.unwrap_or_default()["spec"]["holderIdentity"].clone();
        holder.as_str().unwrap_or_default().to_owned()
    }

    pub(crate) fn until_leads(&self, name: &str) {
        until_or(
            &format!("{name} leads"),
            || self.holder().starts_with(&format!("{name}_")),
            || self.holder(),
        );
    }

    pub(crate) fn create(&self, name: &str) {
        self.house.create(&self.namespace, name);
    }

    /// Applies so many VirtualMachines at once: `NAME-0`, `NAME-1` and so on.
    pub(crate) fn create_many(&self, name: &str, count: usize) {
        let item = |number| {
            let mut vm = manifest(&self.namespace, &format!("{name}-{number}"));
            // What they own is not this test's subject, and costs more than they do.
            vm["spec"]["connectionSecret"] = json!({ "enabled": false });
            vm["spec"]["service"] = json!({ "enabled": false });
            vm
        };
        let items: Vec<Value> = (0..count).map(item).collect();
        let list = json!({ "apiVersion": "v1", "kind": "List", "items": items });
        let create = ["create", "-f", "-"];
        let answer = self.house.plane.try_kubectl(&create, &list.to_string());
        assert!(answer.success, "{answer:?}");
    }

    pub(crate) fn ready(&self, name: &str) -> String {
        self.house.ready(&self.namespace, name)
    }

    /// The VirtualMachines of this stage.
    pub(crate) fn vms(&self) -> Vec<Value> {
        let path = format!(
            "/apis/compute.example.com/v1/namespaces/{}/virtualmachines",
            self.namespace
        );
        self.house.client.list(&path)
    }

    /// Waits until there are so many, and all are Ready.
    pub(crate) fn all_ready(&self, count: usize) {
        let ready = || {
            let vms = self.vms();
            let ready = vms.iter().filter(|vm| crate::e2e::is_ready(vm)).count();
            (vms.len(), ready)
        };
        until_or(
            &format!("{count} VMs are Ready"),
            || ready() == (count, count),
            || format!("there are, and are Ready: {:?}", ready()),
        );
    }

    /// Deletes all of them without waiting.
    pub(crate) fn delete_all(&self) {
        let all = [
            "-n",
            &self.namespace,
            "delete",
            "vm",
            "--all",
            "--wait=false",
        ];
        self.house.plane.kubectl(&all);
    }

    /// Waits until a call to the provider is under way; the poll of the change feed does not count.
    pub(crate) fn until_calling(&self, operator: &Operator) {
        until("a call to the provider is under way", || {
            operator.state()["breakers"][0]["inFlight"]
                .as_u64()
                .is_some_and(|calls| calls > 0)
        });
    }

    /// Ends a test: cluster, cloud and Lease agree, with an operator's help to the end.
    pub(crate) fn end(&self) {
        checker::check(self.house, &self.cloud);
        self.delete_all();
        until_or(
            "every VM is gone",
            || self.vms().is_empty(),
            || format!("{:#?}", self.vms()),
        );
        assert_eq!(self.cloud.ours(), Vec::<Value>::new());
        checker::check(self.house, &self.cloud);
        terms::check(self.house, &self.cloud, &self.namespace);
    }
}

/// What `config/rbac` grants in the operator's own namespace, granted here.
fn lease_rights(namespace: &str) -> Value {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("config/rbac");
    let mut items = Vec::new();
    for file in ["leader-election-role.yaml", "metrics-auth-role.yaml"] {
        let text = std::fs::read_to_string(folder.join(file)).expect("the roles can be read");
        let documents = text.split("\n---\n");
        let objects = documents.map(|one| serde_saphyr::from_str::<Value>(one).expect("YAML"));
        items.extend(objects.filter(|one| one["metadata"]["namespace"].is_string()));
    }
    for item in &mut items {
        item["metadata"]["namespace"] = json!(namespace);
    }
    assert_eq!(items.len(), 4, "two Roles and their bindings");
    json!({ "apiVersion": "v1", "kind": "List", "items": items })
}
