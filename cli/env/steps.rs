//! The steps of `up`, each a look and, only where something is missing, an act.

use std::fs;
use std::time::Duration;

use k8s_openapi::ByteString;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::DynamicObject;
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client};
use serde_json::json;

use super::apply::{Applied, apply};
use super::journal::{Event, Journal};
use super::manifests;
use super::report::Outcome;
use super::state::{Phase, Plan, State};
use super::{Environment, apply, machine};
use crate::hint::{Exit, Failure, chain};
use crate::output::Talk;
use crate::runtime::embedded::binaries::{self, Lookup};
use crate::runtime::embedded::{plane, services, supervisor};
use crate::{clock, files};

/// How often something that starts is looked at.
const POLL: Duration = Duration::from_millis(50);
/// Longest wait for one step; a control plane on a busy machine is the slowest.
const TIMEOUT: Duration = Duration::from_secs(120);
/// The Secret with the mock provider's key, and its name in every manifest of ours.
const SECRET: &str = "mock-provider";

/// What the steps share.
pub(crate) struct Steps<'a> {
    pub(crate) environment: &'a Environment,
    pub(crate) journal: Journal,
    pub(crate) lookup: &'a Lookup,
    pub(crate) talk: Talk,
    audit: bool,
    plan: Option<Plan>,
    client: Option<Client>,
}

impl<'a> Steps<'a> {
    /// The steps for one environment; nothing is done yet.
    pub(crate) fn new(
        environment: &'a Environment,
        lookup: &'a Lookup,
        audit: bool,
        talk: Talk,
    ) -> Self {
        let journal = Journal::of(environment.dir());
        Self {
            environment,
            journal,
            lookup,
            talk,
            audit,
            plan: None,
            client: None,
        }
    }

    /// The machine can do what is needed.
    ///
    /// # Errors
    /// It is another system, or its `/proc` is hidden.
    pub(crate) fn preflight(&self) -> Result<Outcome, Failure> {
        let failed = |cause: String| Failure::new(Exit::Environment, "VMC-PREFLIGHT", cause);
        if !cfg!(target_os = "linux") {
            let cause =
                "the embedded runtime needs Linux: only its kernel ends children with their parent"
                    .to_owned();
            return Err(failed(cause).fix("use a Linux machine, container or virtual machine"));
        }
        if crate::runtime::embedded::identity::Identity::own().is_none() {
            return Err(failed("/proc cannot be read".to_owned()).fix("mount /proc"));
        }
        let space = rustix::fs::statvfs(self.environment.dir()).map_err(|errno| {
            failed(format!(
                "cannot look at {}: {errno}",
                self.environment.dir().display()
            ))
        })?;
        let free = space.f_bavail.saturating_mul(space.f_frsize) / (1024 * 1024);
        if free < 256 {
            let cause = format!(
                "only {free} MiB are free at {}",
                self.environment.dir().display()
            );
            return Err(failed(cause).fix("free 256 MiB, or set XDG_STATE_HOME to a larger disk"));
        }
        Ok(Outcome::Unchanged(format!("Linux, {free} MiB free")))
    }

    /// The programs of the control plane are there. While they run nothing is searched.
    ///
    /// # Errors
    /// No place has them.
    pub(crate) async fn tools(&mut self) -> Result<Outcome, Failure> {
        let plan = self.environment.plan()?;
        if let (Some(plan), Some(_)) = (&plan, self.environment.running()?) {
            let note = format!("{} runs", plan.binaries.version);
            self.plan = Some(plan.clone());
            return Ok(Outcome::Unchanged(note));
        }
        let binaries = binaries::find(self.lookup, &self.talk).await?;
        let note = format!("control plane {}", binaries.version);
        let (mock, operator) = plan
            .as_ref()
            .map_or((false, false), |plan| (plan.mock, plan.operator));
        let audit_log = plan.and_then(|plan| plan.audit_log);
        let audit_log = audit_log.or_else(|| {
            self.audit
                .then(|| self.environment.dir().join("logs").join("audit.log"))
        });
        let plan = Plan {
            binaries,
            audit_log,
            mock,
            operator,
        };
        let new = self.environment.set_plan(&plan)?;
        self.plan = Some(plan);
        Ok(if new {
            Outcome::Done(note)
        } else {
            Outcome::Unchanged(note)
        })
    }

    /// A supervisor runs, and its control plane with it.
    ///
    /// # Errors
    /// It does not come up; the failure has the last lines of what failed.
    pub(crate) async fn control_plane(&self) -> Result<Outcome, Failure> {
        if self
            .environment
            .running()?
            .is_some_and(|state| state.phase == Phase::Running)
        {
            return Ok(Outcome::Unchanged("runs".to_owned()));
        }
        let mut started = None;
        if self.environment.running()?.is_none() {
            self.acting("control-plane", "start the supervisor");
            self.clear()?;
            started = Some(supervisor::spawn(self.environment.dir())?);
        }
        let running = |state: &State| state.phase == Phase::Running;
        let state = wait("the control plane runs", || async {
            let state = self.environment.state()?;
            if let Some(state) = state.as_ref().filter(|state| state.phase == Phase::Failed) {
                let cause = state.message.clone().unwrap_or_default();
                let failure = Failure::new(Exit::Environment, "VMC-CONTROL-PLANE", cause);
                return Err(failure.evidence(state.evidence.clone()).fix(self.logs()));
            }
            Ok(state
                .filter(|state| state.supervisor.is_alive())
                .filter(running))
        });
        let state = tokio::select! {
            state = wait_for_death(started.as_mut()) => return Err(self.supervisor_died(state)),
            state = state => state?,
        };
        Ok(Outcome::Done(format!(
            "answers at {}",
            state.server.unwrap_or_default()
        )))
    }

    /// Nothing of an earlier run may be taken for the new one's, or still hold its data.
    fn clear(&self) -> Result<(), Failure> {
        super::leftovers::kill(self.environment.dir());
        let _ = fs::remove_file(self.environment.dir().join("state.json"));
        files::private_dir(&self.environment.dir().join("logs"))
            .map_err(|error| Failure::new(Exit::Environment, "VMC-FILES", chain(&error)))
    }

    fn supervisor_died(&self, status: String) -> Failure {
        // It may have said why right before.
        if let Ok(Some(state)) = self.environment.state()
            && let Some(message) = state.message
        {
            let failure = Failure::new(Exit::Environment, "VMC-CONTROL-PLANE", message);
            return failure.evidence(state.evidence).fix(self.logs());
        }
        let file = self
            .environment
            .dir()
            .join("logs")
            .join("supervisor.stderr");
        let words = fs::read_to_string(file).unwrap_or_default();
        let cause = format!(
            "the supervisor of environment {} ended: {status}",
            self.environment.name()
        );
        let evidence = words.lines().map(str::to_owned).collect();
        Failure::new(Exit::Environment, "VMC-SUPERVISOR", cause)
            .evidence(evidence)
            .fix(self.logs())
    }

    fn logs(&self) -> String {
        format!(
            "read the logs in {}",
            self.environment.dir().join("logs").display()
        )
    }

    /// The API server says that it is ready.
    ///
    /// # Errors
    /// It does not within the time.
    pub(crate) async fn api(&mut self) -> Result<Outcome, Failure> {
        let client = self.environment.client().await?;
        let mut lack = String::new();
        for _look in 0..(TIMEOUT.as_millis() / POLL.as_millis()) {
            match plane::not_ready(&client).await {
                None => {
                    self.client = Some(client);
                    return Ok(Outcome::Unchanged("ready".to_owned()));
                }
                Some(found) => lack = found,
            }
            clock::sleep(POLL).await;
        }
        Err(Failure::new(
            Exit::Unreachable,
            "VMC-API",
            format!("the API server is not ready, it lacks {lack}"),
        )
        .fix(self.logs()))
    }

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

    /// The mock provider answers an authenticated call.
    ///
    /// # Errors
    /// It does not within the time.
    pub(crate) async fn mock_provider(&mut self) -> Result<Outcome, Failure> {
        let changed = self.want("mock-provider", |plan| plan.mock = true)?;
        let http = http_client()?;
        let mut restarted = false;
        let endpoint = wait("the mock provider answers", || {
            let (environment, http) = (self.environment, &http);
            // One that cannot stay up is given other ports when the supervisor is told to look again.
            let state = environment.running();
            if let Ok(Some(state)) = &state
                && state
                    .children
                    .iter()
                    .any(|child| child.name == "mock-provider" && child.process.is_none())
                && !std::mem::replace(&mut restarted, true)
            {
                state.supervisor.signal(rustix::process::Signal::HUP);
            }
            async move {
                let Some(mock) = state?.and_then(|state| state.mock) else {
                    return Ok(None);
                };
                let key = mock_key(environment)?;
                let answer = http
                    .get(format!("{}/capabilities", mock.endpoint))
                    .bearer_auth(key)
                    .send()
                    .await;
                Ok(answer
                    .ok()
                    .filter(|answer| answer.status().is_success())
                    .map(|_| mock.endpoint))
            }
        })
        .await
        .map_err(|failure| failure.evidence(self.tail("mock-provider")))?;
        let note = format!("answers at {endpoint}");
        Ok(if changed {
            Outcome::Done(note)
        } else {
            Outcome::Unchanged(note)
        })
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

    /// The operator runs, leads, can be scraped, and has found its ProviderConfig usable.
    ///
    /// # Errors
    /// It does not within the time.
    pub(crate) async fn operator(&mut self) -> Result<Outcome, Failure> {
        let changed = self.want("operator", |plan| plan.operator = true)?;
        let http = http_client()?;
        let answers = async |url: String| {
            http.get(url)
                .send()
                .await
                .is_ok_and(|answer| answer.status().is_success())
        };
        let leases: Api<Lease> = Api::namespaced(self.client()?.clone(), "vmoperator-system");
        let configs = self.provider_configs()?;
        let mut lack = "a process";
        let looking = wait("the operator leads", async || {
            let Some(operator) = self.environment.running()?.and_then(|state| state.operator)
            else {
                return Ok(None);
            };
            lack = "readiness";
            if !answers(format!("{}/readyz", operator.health)).await
                || !answers(operator.metrics.clone()).await
            {
                return Ok(None);
            }
            lack = "the Lease";
            let lease = leases.get_opt("vmoperator-leader").await.ok().flatten();
            let Some(holder) = lease
                .and_then(|lease| lease.spec?.holder_identity)
                .filter(|holder| !holder.is_empty())
            else {
                return Ok(None);
            };
            lack = "a usable ProviderConfig";
            let config = configs.get_opt("default").await.ok().flatten();
            let ready =
                config.is_some_and(|config| condition(&config, "Ready").as_deref() == Some("True"));
            Ok(ready.then_some(holder))
        })
        .await;
        let holder = looking.map_err(|mut failure| {
            failure.cause.push_str(&format!("; it lacks {lack}"));
            failure.evidence(self.tail("operator"))
        })?;
        let note = format!("{holder} leads");
        Ok(if changed {
            Outcome::Done(note)
        } else {
            Outcome::Unchanged(note)
        })
    }

    /// A VirtualMachine would be accepted right now.
    ///
    /// # Errors
    /// It would not.
    pub(crate) async fn admission(&self) -> Result<Outcome, Failure> {
        machine::could_be_created(self.client()?).await?;
        Ok(Outcome::Unchanged(
            "a VirtualMachine would be accepted".to_owned(),
        ))
    }

    /// A VirtualMachine is made and removed.
    ///
    /// # Errors
    /// It does not become ready, or does not go.
    pub(crate) async fn smoke(&self) -> Result<Outcome, Failure> {
        self.acting("smoke", "make and remove a VirtualMachine");
        machine::comes_and_goes(self.client()?)
            .await
            .map_err(|failure| failure.evidence(self.tail("operator")))?;
        self.journal.write("smoke", Event::Done, "");
        Ok(Outcome::Done(
            "a VirtualMachine was made and removed".to_owned(),
        ))
    }

    fn provider_configs(&self) -> Result<Api<DynamicObject>, Failure> {
        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(
            "compute.example.com",
            "v1",
            "ProviderConfig",
        ));
        Ok(Api::namespaced_with(
            self.client()?.clone(),
            "default",
            &kind,
        ))
    }

    /// A kubeconfig for people is there.
    ///
    /// # Errors
    /// It cannot be used.
    pub(crate) async fn kubeconfig(&self) -> Result<Outcome, Failure> {
        self.environment.config().await?;
        Ok(Outcome::Unchanged(
            self.environment.kubeconfig().display().to_string(),
        ))
    }

    /// Changes what is wanted of the supervisor, and tells it. True when that was new.
    fn want(&mut self, step: &str, change: impl FnOnce(&mut Plan)) -> Result<bool, Failure> {
        let missing = || Failure::new(Exit::Environment, "VMC-STATE", "there is no plan.json");
        let mut plan = self.plan.clone().ok_or_else(missing)?;
        change(&mut plan);
        if !self.environment.set_plan(&plan)? {
            return Ok(false);
        }
        self.plan = Some(plan);
        self.acting(step, "start it");
        if let Some(state) = self.environment.running()? {
            state.supervisor.signal(rustix::process::Signal::HUP);
        }
        Ok(true)
    }

    async fn apply_all(&self, step: &str, objects: &[DynamicObject]) -> Result<Outcome, Failure> {
        let (mut created, mut changed) = (0, 0);
        for object in objects {
            match apply(self.client()?, object)
                .await
                .map_err(apply::Error::into_failure)?
            {
                Applied::Unchanged => {}
                Applied::Created => created += 1,
                Applied::Changed => changed += 1,
            }
        }
        let note = format!("{} objects", objects.len());
        if created + changed == 0 {
            return Ok(Outcome::Unchanged(note));
        }
        let note = format!("{note}, {created} created, {changed} changed");
        self.journal.write(step, Event::Done, &note);
        Ok(Outcome::Done(note))
    }

    fn client(&self) -> Result<&Client, Failure> {
        self.client
            .as_ref()
            .ok_or_else(|| Failure::new(Exit::Unreachable, "VMC-API", "there is no client yet"))
    }

    fn acting(&self, step: &str, what: &str) {
        self.journal.write(step, Event::Began, what);
    }

    fn tail(&self, name: &str) -> Vec<String> {
        let path = self
            .environment
            .dir()
            .join("logs")
            .join(format!("{name}.log"));
        let text = fs::read_to_string(path).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines
            .iter()
            .skip(lines.len().saturating_sub(20))
            .map(ToString::to_string)
            .collect()
    }
}

/// The status of one of an object's conditions.
pub(crate) fn condition(object: &DynamicObject, name: &str) -> Option<String> {
    let conditions = object.data.get("status")?.get("conditions")?.as_array()?;
    let found = conditions
        .iter()
        .find(|condition| condition.get("type").is_some_and(|found| found == name))?;
    found.get("status")?.as_str().map(str::to_owned)
}

/// A client for servers of our own on loopback: they answer at once or not at all.
fn http_client() -> Result<reqwest::Client, Failure> {
    let client = reqwest::Client::builder()
        .timeout(Duration::from_secs(2))
        .no_proxy()
        .build();
    client.map_err(|error| Failure::new(Exit::Failure, "VMC-HTTP", chain(&error)))
}

/// The key that the mock provider accepts.
fn mock_key(environment: &Environment) -> Result<String, Failure> {
    let failed = |cause: String| Failure::new(Exit::Environment, "VMC-STATE", cause);
    let text = files::read_optional(&services::mock_keys(environment.dir()))
        .map_err(|error| failed(chain(&error)))?;
    let key = text
        .as_deref()
        .and_then(|text| text.trim().split_once('='))
        .map(|(_account, key)| key.to_owned());
    key.ok_or_else(|| failed("the mock provider has no key".to_owned()))
}

/// Looks until there is something, or the time is over.
///
/// # Errors
/// [`Exit::NotReady`] when the time is over, or what the look itself fails with.
pub(crate) async fn wait<T>(
    what: &str,
    mut look: impl AsyncFnMut() -> Result<Option<T>, Failure>,
) -> Result<T, Failure> {
    let looking = async {
        loop {
            if let Some(found) = look().await? {
                return Ok(found);
            }
            clock::sleep(POLL).await;
        }
    };
    let timed_out = |_elapsed| {
        let cause = format!("waited {} s in vain until {what}", TIMEOUT.as_secs());
        Failure::new(Exit::NotReady, "VMC-TIMEOUT", cause)
            .fix("run the same command again; it goes on where it is")
    };
    tokio::time::timeout(TIMEOUT, looking)
        .await
        .map_err(timed_out)?
}

/// Resolves when the process that we started has ended; never when we started none.
async fn wait_for_death(child: Option<&mut std::process::Child>) -> String {
    let Some(child) = child else {
        return std::future::pending().await;
    };
    loop {
        if let Ok(Some(status)) = child.try_wait() {
            return status.to_string();
        }
        clock::sleep(POLL).await;
    }
}
