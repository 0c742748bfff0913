//! The steps below the cluster: the machine, the programs, their processes.

use std::fs;

use super::{POLL, Steps, TIMEOUT, wait};
use crate::env::leftovers;
use crate::env::report::Outcome;
use crate::env::state::{Phase, Plan, State};
use crate::hint::{Exit, Failure, chain};
use crate::runtime::embedded::{binaries, identity, plane, supervisor};
use crate::{clock, files};

impl Steps<'_> {
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
        if identity::Identity::own().is_none() {
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
