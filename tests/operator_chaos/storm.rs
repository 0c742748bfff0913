//! The storm: operators that come and go, and what is done to them.

use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::e2e::cloud::{Cloud, prompt};
use crate::e2e::house::House;
use crate::e2e::operator::Operator;
use crate::e2e::proxy::{Effect, Proxy};
use crate::e2e::{checker, is_ready, terms, until, until_or};
use crate::fault::{self, Fault};
use crate::users::Users;

const OPERATORS: usize = 3;
/// The length of a tick.
const TICK: Duration = Duration::from_millis(400);
const LEASES: &str = "vmoperator-system";

/// One operator with its own way to the API server.
struct Replica {
    proxy: Proxy,
    operator: Option<Operator>,
    /// Ticks until it thaws or starts.
    frozen: u32,
    down: u32,
    /// Ticks until its way is free again.
    cut: u32,
    /// How often this way has hit requests before it was freed last.
    hits: usize,
}

/// Everything.
pub(crate) struct Storm {
    house: House,
    cloud: Cloud,
    replicas: Vec<Replica>,
    pub(crate) users: Users,
    random: fastrand::Rng,
    rights_back: u32,
    cloud_back: u32,
    faults: u64,
    _folder: tempfile::TempDir,
}

impl Storm {
    /// A cluster, a cloud and operators that are ready.
    pub(crate) fn gather(seed: u64) -> Self {
        let house = House::kept();
        let folder = tempfile::tempdir().expect("a directory");
        let cloud = Cloud::start_kept(prompt(), folder.path().join("cloud.json"));
        let namespace = house.namespace();
        let spec = json!({ "endpoint": cloud.url, "timeoutSeconds": 1, "pollIntervalSeconds": 5 });
        house.configure_with(&namespace, spec);
        let replicas = (0..OPERATORS).map(|_| Replica::new(&house)).collect();
        let mut storm = Self {
            house,
            cloud,
            replicas,
            users: Users::of(namespace),
            random: fastrand::Rng::with_seed(seed),
            rights_back: 0,
            cloud_back: 0,
            faults: 0,
            _folder: folder,
        };
        for number in 0..OPERATORS {
            storm.start(number);
        }
        storm.house.usable(&storm.users.namespace);
        storm
    }

    fn start(&mut self, number: usize) {
        let replica = &mut self.replicas[number];
        let name = format!("--pod-name=replica-{number}");
        let operator = Operator::start_at(&self.house, &replica.proxy.kubeconfig, &[&name], None);
        replica.operator = Some(operator);
    }

    /// One tick: something may break, something may be mended, users go on.
    pub(crate) fn blow(&mut self) {
        if self.random.u8(..5) < 3 {
            let fault = fault::draw(&mut self.random);
            println!("{fault:?}");
            self.apply(&fault);
        }
        if self.random.bool() {
            self.users.act(&self.house, &mut self.random);
        }
        thread::sleep(TICK);
        self.tick();
    }

    fn apply(&mut self, fault: &Fault) {
        match fault {
            Fault::Kill { leader } => self.kill(*leader),
            Fault::Freeze { leader, ticks } => self.freeze(*leader, *ticks),
            Fault::Cut {
                silent,
                code,
                ticks,
            } => {
                let effect = if *silent {
                    Effect::Silence
                } else {
                    Effect::Status(*code)
                };
                let replica = self
                    .random
                    .choice(&mut self.replicas)
                    .expect("there are some");
                replica.proxy.rule(&[], effect, usize::MAX);
                replica.cut = *ticks;
            }
            Fault::Deaf { times } => {
                let replica = self
                    .random
                    .choice(&mut self.replicas)
                    .expect("there are some");
                replica
                    .proxy
                    .rule(&["/virtualmachines/"], Effect::DropAnswer, *times);
                replica.cut = replica.cut.max(10);
            }
            Fault::WatchesEnd => {
                let replica = self
                    .random
                    .choice(&mut self.replicas)
                    .expect("there are some");
                self.faults += u64::from(replica.proxy.end_streams());
            }
            Fault::ApiServerRestarts => {
                self.house.plane.restart_api_server();
                self.faults += 1;
            }
            Fault::LeaseDeleted => {
                let delete = ["-n", LEASES, "delete", "lease", "--all"];
                self.faults += u64::from(self.house.plane.try_kubectl(&delete, "").success);
            }
            Fault::RightsTaken { ticks } => self.take_rights(*ticks),
            Fault::Provider(rule) => {
                if self.cloud_back == 0 {
                    self.cloud.fault(rule.clone());
                }
            }
            Fault::ProviderAway { ticks } => {
                if self.cloud_back == 0 {
                    // Its rules go with it.
                    self.faults += 1 + self.cloud.mend().iter().sum::<u64>();
                    self.cloud.go_away();
                    self.cloud_back = *ticks;
                }
            }
            Fault::Switched => self.switch(),
        }
    }

    /// The replica that leads and runs, or any that runs.
    fn victim(&mut self, leader: bool) -> Option<usize> {
        let holder = if leader { self.holder() } else { String::new() };
        let runs = |replica: &mut Replica| {
            replica.frozen == 0
                && replica
                    .operator
                    .as_mut()
                    .is_some_and(|o| o.ended().is_none())
        };
        let mut able: Vec<usize> = Vec::new();
        for number in 0..OPERATORS {
            if runs(&mut self.replicas[number]) {
                able.push(number);
            }
        }
        let leads = |number: &usize| holder.starts_with(&format!("replica-{number}"));
        able.iter()
            .copied()
            .find(leads)
            .or_else(|| self.random.choice(able))
    }

    fn holder(&self) -> String {
        let path = format!("/apis/coordination.k8s.io/v1/namespaces/{LEASES}/leases");
        let lease = self
            .house
            .client
            .get(&path, "vmoperator-leader")
            .unwrap_or_default();
        lease["spec"]["holderIdentity"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    fn kill(&mut self, leader: bool) {
        let Some(number) = self.victim(leader) else {
            return;
        };
        let replica = &mut self.replicas[number];
        if let Some(operator) = replica.operator.take() {
            operator.kill();
            replica.down = self.random.u32(1..10);
            self.faults += 1;
        }
    }

    fn freeze(&mut self, leader: bool, ticks: u32) {
        let Some(number) = self.victim(leader) else {
            return;
        };
        let replica = &mut self.replicas[number];
        if let Some(operator) = &mut replica.operator {
            operator.signal(Signal::STOP);
            replica.frozen = ticks;
            self.faults += 1;
        }
    }

    fn take_rights(&mut self, ticks: u32) {
        if self.rights_back > 0 {
            return;
        }
        let role = [
            "delete",
            "clusterrolebinding",
            "vmoperator-manager-rolebinding",
        ];
        if self.house.plane.try_kubectl(&role, "").success {
            self.rights_back = ticks;
            self.faults += 1;
        }
    }

    fn switch(&mut self) {
        if self.cloud_back > 0 {
            return;
        }
        let running = |vm: &Value| vm["phase"] == "Running";
        let running: Vec<Value> = self.cloud.ours().into_iter().filter(running).collect();
        if let Some(vm) = self.random.choice(running) {
            let id = vm["id"].as_str().expect("an id");
            // It may be gone by now; then nothing happened.
            if self.cloud.try_happen(id, "stop") {
                self.cloud.try_happen(id, "run");
                self.faults += 1;
            }
        }
    }

    /// Time passes: what was taken for a while comes back.
    fn tick(&mut self) {
        if self.cloud_back > 0 {
            self.cloud_back -= 1;
            if self.cloud_back == 0 {
                self.cloud.come_back();
            }
        }
        if self.rights_back > 0 {
            self.rights_back -= 1;
            if self.rights_back == 0 {
                self.give_rights();
            }
        }
        for number in 0..OPERATORS {
            self.faults += self.replicas[number].tick();
            let replica = &mut self.replicas[number];
            // Who lost the Lease or could not start has ended: its pod starts again.
            if replica
                .operator
                .as_mut()
                .is_some_and(|o| o.ended().is_some())
            {
                replica.operator = None;
            }
            if replica.operator.is_none() && replica.down == 0 {
                self.start(number);
            }
        }
    }

    fn give_rights(&self) {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/config/rbac");
        until("the rights are back", || {
            self.house
                .plane
                .try_kubectl(&["apply", "-f", folder], "")
                .success
        });
    }

    /// How many faults met something so far; hits of the provider's present rules are counted once they are replaced.
    pub(crate) fn faults(&self) -> u64 {
        self.faults
    }

    /// Mends everything; gives how many faults met something.
    pub(crate) fn calm(&mut self) -> u64 {
        println!("calm");
        if self.cloud_back > 0 {
            self.cloud.come_back();
        }
        self.faults += self.cloud.mend().iter().sum::<u64>();
        self.give_rights();
        for number in 0..OPERATORS {
            let replica = &mut self.replicas[number];
            (replica.frozen, replica.cut, replica.down) = (replica.frozen.min(1), 1, 0);
        }
        self.tick();
        self.faults
    }

    /// Waits until every object is Ready or gone, and the provider has as many VMs as there are objects.
    pub(crate) fn until_settled(&self) {
        let on_the_way =
            |vm: &Value| vm["metadata"]["deletionTimestamp"].is_string() || !is_ready(vm);
        let restless = || {
            let mut vms = self.house.vms();
            vms.retain(on_the_way);
            vms
        };
        until_or(
            "all is settled",
            || restless().is_empty() && self.cloud.ours().len() == self.house.vms().len(),
            || format!("{:#?}\n{:#?}", restless(), self.cloud.ours()),
        );
    }

    /// Joins all that was written down; then everything is deleted, and nothing may be left.
    pub(crate) fn judge(&self) {
        checker::check(&self.house, &self.cloud);
        terms::check(&self.house, &self.cloud, LEASES);
        let all = [
            "-n",
            &self.users.namespace,
            "delete",
            "vm",
            "--all",
            "--timeout=170s",
        ];
        self.house.plane.kubectl(&all);
        assert_eq!(self.cloud.ours(), Vec::<Value>::new());
        checker::check(&self.house, &self.cloud);
    }
}

impl Replica {
    fn new(house: &House) -> Self {
        Self {
            proxy: Proxy::start(house),
            operator: None,
            frozen: 0,
            down: 0,
            cut: 0,
            hits: 0,
        }
    }

    /// Time passes; gives how many requests its way has hit since it was last free.
    fn tick(&mut self) -> u64 {
        self.down = self.down.saturating_sub(1);
        if self.frozen > 0 {
            self.frozen -= 1;
            if self.frozen == 0
                && let Some(operator) = &mut self.operator
            {
                operator.signal(Signal::CONT);
            }
        }
        if self.cut > 0 {
            self.cut -= 1;
            if self.cut == 0 {
                self.hits = self.proxy.hits();
                self.proxy.clear();
                // A way that was cut counts once, however many requests ran into it.
                return u64::from(self.hits > 0);
            }
        }
        0
    }
}
