//! A cloud for one test: the mock provider inside the test process, with its request log and faults.

use std::path::PathBuf;
use std::time::Duration;

use mock_provider::{Options, Running};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::client::wait_for;

/// Longest wait for the mock provider, which is in this very process.
const LIMIT: Duration = Duration::from_secs(120);
/// Longest wait for one answer of an operator.
const PATIENCE: Duration = Duration::from_secs(15);
/// How often an operator is asked before it counts as silent.
const ATTEMPTS: usize = 8;

/// A running mock provider. Dropping it ends it.
pub(crate) struct Cloud {
    /// URL of the provider API.
    pub(crate) url: String,
    admin: String,
    options: Options,
    running: Option<(Running, oneshot::Sender<()>)>,
    /// Log of the lives before the last restart.
    past: Vec<Value>,
    /// VMs that belong to somebody else.
    strangers: Vec<Value>,
}

/// A cloud that makes VMs in a moment: what most tests want.
pub(crate) fn prompt() -> Options {
    Options {
        provisioning_delay: Duration::ZERO,
        ..Options::default()
    }
}

impl Cloud {
    /// Starts one on free ports, with a VM in it that belongs to somebody else.
    pub(crate) fn start(options: Options) -> Self {
        let loopback = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
        let mut cloud = Self {
            url: String::new(),
            admin: String::new(),
            options: Options {
                listen: loopback,
                admin_listen: Some(loopback),
                request_log: 1_000_000,
                ..options
            },
            running: None,
            past: Vec::new(),
            strangers: Vec::new(),
        };
        cloud.run();
        if cloud.options.api_key_file.is_none() {
            cloud.add_stranger();
        }
        cloud
    }

    /// Starts one that keeps its state in a file, so that [`Cloud::restart`] forgets nothing.
    pub(crate) fn start_kept(options: Options, data_file: PathBuf) -> Self {
        Self::start(Options {
            data_file: Some(data_file),
            ..options
        })
    }

    fn run(&mut self) {
        let (stop, stopped) = oneshot::channel();
        let shutdown = async move {
            let _ = stopped.await;
        };
        let running = wait_for(mock_provider::serve(self.options.clone(), shutdown));
        let running = running.expect("the mock provider starts");
        let admin = running.admin_addr.expect("an admin address");
        self.url = format!("http://{}", running.addr);
        self.admin = format!("http://{admin}");
        self.options.listen = running.addr;
        self.options.admin_listen = Some(admin);
        self.running = Some((running, stop));
    }

    fn stop(&mut self) {
        if let Some((running, stop)) = self.running.take() {
            let _ = stop.send(());
            let _ = wait_for(running.wait());
        }
    }

    /// Ends it. Its log is kept for [`Cloud::log`].
    pub(crate) fn go_away(&mut self) {
        self.past = self.log();
        self.stop();
    }

    /// Starts it again at the same address after [`Cloud::go_away`].
    pub(crate) fn come_back(&mut self) {
        self.run();
    }

    fn add_stranger(&mut self) {
        let body = json!({
            "name": "somebody-elses", "image": "debian-12", "cpu": 1, "memory": "1Gi",
            "tags": { "vmoperator/cluster": "another-cluster", "vmoperator/uid": "another-uid" },
        });
        let made = self.make(&body);
        // It is as it will stay once it runs.
        let id = made["id"].as_str().expect("an id").to_owned();
        super::until("the stranger's VM runs", || {
            self.live()
                .iter()
                .any(|vm| vm["id"] == id.as_str() && vm["phase"] == "Running")
        });
        self.strangers = self.live();
    }

    /// Makes a VM past every operator, from a body as the provider takes or shows it.
    pub(crate) fn make(&self, body: &Value) -> Value {
        call(
            reqwest::Method::POST,
            &format!("{}/vms", self.url),
            Some(body),
        )
    }

    /// The VMs that no operator may touch, as they were made.
    pub(crate) fn strangers(&self) -> &[Value] {
        &self.strangers
    }

    /// Every call of its whole life, oldest first.
    pub(crate) fn log(&self) -> Vec<Value> {
        let mut all = self.past.clone();
        if self.running.is_some() {
            let text = text(&format!("{}/log", self.admin));
            all.extend(
                text.lines()
                    .map(|line| serde_json::from_str::<Value>(line).expect("JSON")),
            );
        }
        all
    }

    /// How many calls of one operation, and how many of them changed something.
    pub(crate) fn calls(&self, operation: &str) -> (usize, usize) {
        let log = self.log();
        let of = |call: &&Value| call["operation"] == operation;
        let applied = log.iter().filter(of).filter(|call| call["applied"] == true);
        (log.iter().filter(of).count(), applied.count())
    }

    /// The VMs that exist, strangers' too.
    pub(crate) fn live(&self) -> Vec<Value> {
        self.inventory("deleted=false&limit=1000")
    }

    /// The VMs that exist and are not a stranger's.
    pub(crate) fn ours(&self) -> Vec<Value> {
        let mut live = self.live();
        live.retain(|vm| {
            !self
                .strangers
                .iter()
                .any(|stranger| stranger["id"] == vm["id"])
        });
        live
    }

    /// Every VM that was ever made, with `deletedAt` where it is gone.
    pub(crate) fn all(&self) -> Vec<Value> {
        self.inventory("limit=1000")
    }

    fn inventory(&self, query: &str) -> Vec<Value> {
        let mut all: Vec<Value> = Vec::new();
        loop {
            let after = all.last().and_then(|vm| vm["id"].as_str()).unwrap_or("");
            let url = format!("{}/vms?{query}&after={after}", self.admin);
            let answer = call(reqwest::Method::GET, &url, None);
            let page = answer["items"].as_array().cloned().expect("items");
            let last = page.len() < 1000;
            all.extend(page);
            if last {
                return all;
            }
        }
    }

    /// Lets something happen to a VM behind the operator's back: `stop`, `start`, `fail`, `vanish` and the like.
    pub(crate) fn act(&self, id: &str, act: &str) {
        let url = format!("{}/vms/{id}/{act}", self.admin);
        call(reqwest::Method::POST, &url, None);
    }

    /// Adds a fault rule.
    pub(crate) fn fault(&self, rule: Value) {
        call(
            reqwest::Method::POST,
            &format!("{}/faults", self.admin),
            Some(&rule),
        );
    }

    /// A VM is not what was ordered any more.
    pub(crate) fn drift(&self, id: &str, what: Value) {
        let url = format!("{}/vms/{id}/drift", self.admin);
        call(reqwest::Method::POST, &url, Some(&what));
    }

    /// A VM bears these tags and no others.
    pub(crate) fn tag(&self, id: &str, tags: &Value) {
        let url = format!("{}/vms/{id}/tag", self.admin);
        call(reqwest::Method::POST, &url, Some(&json!({ "tags": tags })));
    }

    /// Moves the cloud's clock forward.
    pub(crate) fn step(&self, milliseconds: u64) {
        let step = json!({ "stepMilliseconds": milliseconds });
        call(
            reqwest::Method::POST,
            &format!("{}/time", self.admin),
            Some(&step),
        );
    }

    /// How often each fault rule hit so far.
    pub(crate) fn hits(&self) -> Vec<u64> {
        let url = format!("{}/faults", self.admin);
        let rules = call(reqwest::Method::GET, &url, None);
        let rules = rules["items"].as_array().cloned().unwrap_or_default();
        let hits = rules.iter().map(|rule| rule["hits"].as_u64());
        hits.map(Option::unwrap_or_default).collect()
    }

    /// Idempotency keys that it remembers.
    pub(crate) fn keys(&self) -> u64 {
        let stats = call(reqwest::Method::GET, &format!("{}/stats", self.admin), None);
        let accounts = stats["accounts"].as_object().into_iter().flatten();
        let keys = accounts.filter_map(|(_, account)| account["idempotencyKeys"].as_u64());
        keys.sum()
    }

    /// Revokes the API keys of an account at once; gives their fingerprints, as the log shows them.
    pub(crate) fn revoke(&self, account: &str) -> Vec<String> {
        let url = format!("{}/api-keys", self.admin);
        let keys = call(reqwest::Method::GET, &url, None);
        let keys = keys["items"].as_array().cloned().unwrap_or_default();
        let mine = keys.iter().filter(|key| key["account"] == account);
        let prints: Vec<String> = mine
            .filter_map(|key| key["fingerprint"].as_str().map(str::to_owned))
            .collect();
        for print in &prints {
            call(reqwest::Method::DELETE, &format!("{url}/{print}"), None);
        }
        prints
    }

    /// Lets an API key in.
    pub(crate) fn admit(&self, account: &str, key: &str) {
        let url = format!("{}/api-keys", self.admin);
        let body = json!({ "account": account, "key": key });
        call(reqwest::Method::POST, &url, Some(&body));
    }

    /// Makes a VM of somebody else who has this API key.
    pub(crate) fn make_as(&mut self, key: &str, body: &Value) {
        let url = format!("{}/vms", self.url);
        let made = wait_for(async {
            let request = reqwest::Client::new()
                .post(url)
                .timeout(LIMIT)
                .bearer_auth(key)
                .json(body);
            let answer = request.send().await.expect("the mock provider answers");
            answer.json::<Value>().await.expect("the answer is JSON")
        });
        self.disown(&made);
    }

    /// Makes a VM under this idempotency key past every operator, from a body as the provider takes it.
    pub(crate) fn make_under(&self, key: &str, body: &Value) -> Value {
        let url = format!("{}/vms", self.url);
        wait_for(async {
            let request = reqwest::Client::new()
                .post(url)
                .timeout(LIMIT)
                .header("idempotency-key", key)
                .json(body);
            let answer = request.send().await.expect("the mock provider answers");
            assert_eq!(answer.status().as_u16(), 201, "the key was known");
            answer.json::<Value>().await.expect("the answer is JSON")
        })
    }

    /// A VM that was just made is somebody else's: no operator may touch it.
    pub(crate) fn disown(&mut self, made: &Value) {
        let id = made["id"].as_str().expect("an id").to_owned();
        super::until("somebody else's VM runs", || {
            let live = self.live();
            let it = live.into_iter().find(|vm| vm["id"] == id.as_str());
            let it = it.filter(|vm| vm["phase"] == "Running");
            self.strangers.extend(it.clone());
            it.is_some()
        });
    }

    /// A VM goes, and its id is given again to somebody else's.
    pub(crate) fn reuse(&mut self, id: &str) {
        let url = format!("{}/vms/{id}/reuse", self.admin);
        let tags = json!({ "tags": { "vmoperator/cluster": "another-cluster", "vmoperator/uid": "another" } });
        call(reqwest::Method::POST, &url, Some(&tags));
        let live = self.live();
        self.strangers
            .extend(live.into_iter().filter(|vm| vm["id"] == id));
    }

    /// Takes every fault rule away; says how often each one hit.
    pub(crate) fn mend(&self) -> Vec<u64> {
        let url = format!("{}/faults", self.admin);
        let rules = call(reqwest::Method::GET, &url, None);
        call(reqwest::Method::DELETE, &url, None);
        let rules = rules["items"].as_array().cloned().unwrap_or_default();
        rules
            .iter()
            .filter_map(|rule| rule["hits"].as_u64())
            .collect()
    }

    /// Lets something happen to a live VM: `vanish`, `fail`, `stop`, `run` and the like.
    pub(crate) fn happen(&self, id: &str, act: &str) {
        let url = format!("{}/vms/{id}/{act}", self.admin);
        call(reqwest::Method::POST, &url, None);
    }

    /// The same to a VM that may be gone by now; says whether it was there.
    pub(crate) fn try_happen(&self, id: &str, act: &str) -> bool {
        let url = format!("{}/vms/{id}/{act}", self.admin);
        // Within the runtime, which a request with a limit needs from its beginning.
        let ask = async {
            reqwest::Client::new()
                .post(&url)
                .timeout(LIMIT)
                .send()
                .await
        };
        wait_for(ask).is_ok_and(|answer| answer.status().is_success())
    }

    /// Changes settings that may change while it runs.
    pub(crate) fn set(&self, settings: Value) {
        call(
            reqwest::Method::PATCH,
            &format!("{}/settings", self.admin),
            Some(&settings),
        );
    }
}

impl Drop for Cloud {
    fn drop(&mut self) {
        self.stop();
    }
}

fn call(method: reqwest::Method, url: &str, body: Option<&Value>) -> Value {
    wait_for(async {
        let mut request = reqwest::Client::new().request(method, url).timeout(LIMIT);
        if let Some(body) = body {
            request = request.json(body);
        }
        let answer = request.send().await.expect("the mock provider answers");
        let status = answer.status();
        let value: Value = answer.json().await.expect("the answer is JSON");
        assert!(status.is_success(), "{url}: {status} {value}");
        value
    })
}

/// A GET of plain text.
pub(crate) fn text(url: &str) -> String {
    get(url).1
}

/// Status and text of a GET. Asked again when no answer comes: one thread of a process that a test made stand still may
/// hold a connection for ever, and the next one meets another thread.
pub(crate) fn get(url: &str) -> (u16, String) {
    let client = reqwest::Client::new();
    let ask = async || {
        let answer = client.get(url).timeout(PATIENCE).send().await?;
        let status = answer.status().as_u16();
        answer.text().await.map(|text| (status, text))
    };
    let mut asked = 1;
    loop {
        match wait_for(ask()) {
            Ok(answer) => return answer,
            Err(error) if error.is_timeout() && asked < ATTEMPTS => asked += 1,
            Err(error) => panic!("{url}, asked {asked} times: {error}"),
        }
    }
}
