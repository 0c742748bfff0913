//! The steps below the cluster: the machine, the programs, their processes.

use std::fs;

use super::{POLL, Steps, TIMEOUT, wait};
use crate::doctor::id::Id;
use crate::doctor::{self, Finding, Verdict};
use crate::env::leftovers;
use crate::env::report::Outcome;
use crate::env::state::{Phase, Plan, State};
use crate::hint::{Exit, Failure, chain};
use crate::output::Talk;
use crate::runtime::embedded::{binaries, identity, plane, supervisor};
use crate::{clock, files};

impl Steps<'_> {
    /// The machine can do what is needed, and offline the programs are there.
    ///
    /// # Errors
    /// A check fails; all that failed are listed.
    pub(crate) async fn preflight(&self) -> Result<Outcome, Failure> {
        let findings = doctor::machine::findings(self.environment.dir());
        let mut failed = findings.iter().filter(|one| one.verdict == Verdict::Fail);
        if let Some(first) = failed.next() {
            let line = |one: &Finding| format!("{}: {}", one.id.as_str(), one.note);
            let failure = Failure::new(Exit::Environment, "VMC-PREFLIGHT", &first.note);
            let fix = first.fix.clone().unwrap_or_default();
            return Err(failure
                .evidence(std::iter::once(first).chain(failed).map(line).collect())
                .fix(fix));
        }
        if self.lookup.offline && self.environment.running()?.is_none() {
            self.at_hand().await?;
        }
        let note = findings
            .iter()
            .find(|one| one.id == Id::Disk)
            .map(|one| one.note.clone());
        Ok(Outcome::Unchanged(note.unwrap_or_default()))
    }

    /// Offline, what is missing is said before anything is begun.
    async fn at_hand(&self) -> Result<(), Failure> {
        match binaries::find(self.lookup, &Talk::new(true)).await {
            Ok(_) => Ok(()),
            Err(failure) if failure.id == "VMC-BINARIES" => {
                let cause = "--offline, and these are neither in the cache nor in KUBEBUILDER_ASSETS: etcd, kube-apiserver, \
                             kube-controller-manager, kubectl";
                let fix = failure.fix.clone().unwrap_or_default();
                Err(Failure::new(Exit::Environment, "VMC-OFFLINE", cause)
                    .evidence(failure.evidence)
                    .fix(fix))
            }
            Err(failure) => Err(failure),
        }
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
        let (mock, operator, proven) = plan.as_ref().map_or((false, false, false), |plan| {
            (plan.mock, plan.operator, plan.proven)
        });
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
            proven,
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
        let running = self.environment.running()?;
        if let Some(state) = running.filter(|state| state.phase == Phase::Running) {
            let note = if identity::is_outdated(state.supervisor.pid) {
                let name = self.environment.name();
                format!("runs, but from an older vmctl; to renew it: vmctl down --env {name}")
            } else {
                "runs".to_owned()
            };
            return Ok(Outcome::Unchanged(note));
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
        leftovers::kill(self.environment.dir());
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
