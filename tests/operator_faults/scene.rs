//! A cloud in trouble, and a neighbour whose cloud is sound, on one operator.

use std::collections::BTreeSet;

use mock_provider::Options;
use serde_json::{Value, json};

use crate::e2e::checker::Evidence;
use crate::e2e::cloud::{Cloud, prompt};
use crate::e2e::house::{House, manifest};
use crate::e2e::operator::Operator;
use crate::e2e::{is_ready, judge, until_or};

/// A namespace whose VMs live in a cloud of its own.
pub(crate) struct Tenant {
    pub(crate) house: &'static House,
    pub(crate) cloud: Cloud,
    pub(crate) namespace: String,
}

/// The cloud in trouble and the neighbour.
pub(crate) struct Scene {
    pub(crate) operator: &'static Operator,
    /// Who is in trouble.
    pub(crate) tenant: Tenant,
    neighbour: Tenant,
}

/// Running when the trouble begins; the first one is deleted during it.
pub(crate) const OLD: [&str; 2] = ["old-0", "old-1"];
/// Made during it.
pub(crate) const NEW: [&str; 3] = ["new-0", "new-1", "new-2"];

impl Tenant {
    /// One whose ProviderConfig is usable.
    pub(crate) fn new(options: Options) -> Self {
        let (house, _operator) = House::with_operator();
        let cloud = Cloud::start(options);
        let namespace = house.namespace();
        let tenant = Self {
            house,
            cloud,
            namespace,
        };
        tenant.configure(json!({}));
        house.usable(&tenant.namespace);
        tenant
    }

    /// Writes the ProviderConfig; time-outs and polls are short, so that little is waited for.
    pub(crate) fn configure(&self, more: Value) {
        let mut spec =
            json!({ "endpoint": self.cloud.url, "timeoutSeconds": 1, "pollIntervalSeconds": 5 });
        for (name, value) in more.as_object().into_iter().flatten() {
            spec[name] = value.clone();
        }
        self.house.configure_with(&self.namespace, spec);
    }

    /// Writes the API key into the Secret.
    pub(crate) fn put_key(&self, key: &str) {
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "stringData": { "apiKey": key },
            "metadata": { "name": "cloud", "namespace": self.namespace },
        });
        self.house.plane.apply(&secret.to_string());
    }

    pub(crate) fn create(&self, names: &[&str]) {
        let vms: Vec<Value> = names
            .iter()
            .map(|name| manifest(&self.namespace, name))
            .collect();
        self.house.apply_all(&vms);
    }

    pub(crate) fn ready(&self, names: &[&str]) {
        for name in names {
            self.house.ready(&self.namespace, name);
        }
    }

    pub(crate) fn delete(&self, name: &str) {
        self.house.delete(&self.namespace, name);
    }

    /// Its VirtualMachines.
    pub(crate) fn vms(&self) -> Vec<Value> {
        let mut all = self.house.vms();
        all.retain(|vm| vm["metadata"]["namespace"] == self.namespace.as_str());
        all
    }

    /// Deletes every VirtualMachine, and waits until none is left here and at the provider.
    pub(crate) fn clear(&self) {
        let all = [
            "-n",
            &self.namespace,
            "delete",
            "vm",
            "--all",
            "--wait=false",
        ];
        self.house.plane.kubectl(&all);
        until_or(
            "no VirtualMachine is left",
            || self.vms().is_empty(),
            || format!("{:#?}", self.vms()),
        );
        assert_eq!(self.cloud.ours(), Vec::<Value>::new(), "a VM was leaked");
    }
}

impl Scene {
    /// Two sound clouds with VMs in them.
    pub(crate) fn new(options: Options) -> Self {
        let (_house, operator) = House::with_operator();
        let scene = Self {
            operator,
            tenant: Tenant::new(options),
            neighbour: Tenant::new(prompt()),
        };
        scene.begin();
        scene
    }

    /// The same with API keys: `our-key` leads to the tenant's account, `other-key` to somebody else's.
    pub(crate) fn locked() -> Self {
        let (house, operator) = House::with_operator();
        let mut cloud = locked_cloud("ours=our-key\nother=other-key\n");
        let body = json!({ "image": "debian-12", "cpu": 1, "memory": "1Gi" });
        cloud.make_as("other-key", &body);
        let namespace = house.namespace();
        let tenant = Tenant {
            house,
            cloud,
            namespace,
        };
        tenant.put_key("our-key");
        tenant.configure(json!({ "secretRef": { "name": "cloud" } }));
        house.usable(&tenant.namespace);
        let scene = Self {
            operator,
            tenant,
            neighbour: Tenant::new(prompt()),
        };
        scene.begin();
        scene
    }

    fn begin(&self) {
        self.tenant.create(&OLD);
        self.neighbour.create(&OLD);
        self.tenant.ready(&OLD);
        self.neighbour.ready(&OLD);
    }

    /// Trouble as the rules say, with VMs that come and one that goes meanwhile.
    pub(crate) fn afflict(&self, rules: &[Value]) {
        for rule in rules {
            self.tenant.cloud.fault(rule.clone());
        }
        self.tenant.create(&NEW);
        self.tenant.delete(OLD[0]);
    }

    /// Waits until every rule has struck.
    pub(crate) fn struck(&self) {
        let hits = || self.tenant.cloud.hits();
        until_or(
            "every fault has struck",
            || hits().iter().all(|hits| *hits > 0),
            || format!("{:?}", hits()),
        );
    }

    /// The neighbour's VMs come and go as if nothing were wrong (I8).
    pub(crate) fn neighbour_goes_on(&self) {
        self.neighbour.create(&NEW);
        self.neighbour.delete(OLD[0]);
        self.neighbour.ready(&NEW);
        self.neighbour.house.gone(&self.neighbour.namespace, OLD[0]);
    }

    /// The same while, all the time, not one new VM here gets anywhere.
    pub(crate) fn only_the_neighbour_goes_on(&self) {
        self.neighbour_goes_on();
        let ready: Vec<Value> = self.tenant.vms().into_iter().filter(is_ready).collect();
        let new: BTreeSet<_> = ready
            .iter()
            .filter_map(|vm| vm["metadata"]["name"].as_str())
            .filter(|name| NEW.contains(name))
            .collect();
        assert!(new.is_empty(), "the trouble was over too soon: {new:?}");
    }

    /// Whoever is not Ready says why (I11), and the trouble shows in the metrics.
    pub(crate) fn everyone_says_why(&self) {
        let silent = || judge::unexplained(&self.tenant.vms());
        until_or(
            "whoever is not Ready says why",
            || silent().is_empty(),
            || silent().join("\n"),
        );
        let errors = total(&self.operator.metrics(), "vmoperator_provider_errors_total");
        assert!(errors > 0.0, "no metric tells of the trouble");
    }

    /// Waits until a VM says this, in a condition of this type.
    pub(crate) fn says(&self, name: &str, condition: &str, reason: &str) {
        let tenant = &self.tenant;
        tenant.house.until_vm(
            &tenant.namespace,
            name,
            &format!("shows {condition} {reason}"),
            |vm| {
                crate::e2e::client::condition(vm, condition)
                    .is_some_and(|(_, shown)| shown == reason)
            },
        );
    }

    /// Waits until a VM says that its create is tried again, when, and why it failed; `kubectl describe` shows it.
    pub(crate) fn says_when(&self, name: &str, reason: &str) {
        let Tenant {
            house, namespace, ..
        } = &self.tenant;
        let time = |value: &Value| value.as_str()?.parse::<jiff::Timestamp>().ok();
        house.until_vm(namespace, name, "says when it is tried again", |vm| {
            let operation = &vm["status"]["operation"];
            let next = time(&operation["nextAttemptAt"]);
            operation["lastErrorReason"] == reason
                && next.is_some_and(|next| Some(next) > time(&operation["startedAt"]))
        });
        let described = house
            .plane
            .kubectl(&["-n", namespace, "describe", "vm", name]);
        for line in ["Last Error Reason:", "Next Attempt At:"] {
            assert!(
                described.contains(line),
                "{line} is missing in\n{described}"
            );
        }
    }

    /// The trouble ends, and everything gets where it was to get, by itself.
    pub(crate) fn recovers(&self) {
        let hits = self.tenant.cloud.mend();
        assert!(
            hits.iter().all(|hits| *hits > 0),
            "a fault never struck: {hits:?}"
        );
        self.tenant.ready(&NEW);
        self.tenant.ready(&OLD[1..]);
        self.tenant.house.gone(&self.tenant.namespace, OLD[0]);
    }

    /// Judges, deletes everything, and judges again.
    pub(crate) fn ends(self) {
        self.ends_counting(1);
    }

    /// The same where VMs were lost on purpose: each object may have had so many.
    pub(crate) fn ends_counting(self, most: usize) {
        let Tenant { house, cloud, .. } = &self.tenant;
        // What the last pass found is written in a moment.
        let findings = || Evidence::glance(house, cloud).settled();
        until_or(
            "all is as it must be",
            || findings().is_empty(),
            || findings().join("\n"),
        );
        judge::judge(house, cloud, most);
        self.tenant.clear();
        judge::judge(house, cloud, most);
        let neighbour = Evidence::gather(house, &self.neighbour.cloud);
        assert_eq!(neighbour.unharmed(), Vec::<String>::new());
        judge::judge(house, &self.neighbour.cloud, 1);
    }
}

/// A cloud that asks for API keys: lines of `account=key`.
pub(crate) fn locked_cloud(keys: &str) -> Cloud {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), keys).expect("it can be written");
    Cloud::start(Options {
        api_key_file: Some(file.path().to_owned()),
        ..prompt()
    })
}

/// Rules that let something happen to these operations so many times each.
pub(crate) fn rules(operations: &[&str], count: u64, effect: &Value) -> Vec<Value> {
    let rule = |operation: &&str| {
        let mut rule = json!({ "operation": operation, "effect": effect });
        // 0: without end.
        if count > 0 {
            rule["count"] = json!(count);
        }
        rule
    };
    operations.iter().map(rule).collect()
}

/// The sum over all series of a metric.
pub(crate) fn total(metrics: &str, name: &str) -> f64 {
    let series = metrics.lines().filter(|line| {
        line.strip_prefix(name)
            .is_some_and(|rest| rest.starts_with(['{', ' ']))
    });
    series
        .filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok())
        .sum()
}
