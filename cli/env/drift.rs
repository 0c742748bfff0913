//! What an environment that runs cannot be given in place.

use super::Environment;
use crate::output::Talk;
use crate::runtime::embedded::binaries::{self, Lookup};
use crate::runtime::embedded::identity;

/// Differences, a line each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Drift {
    lines: Vec<String>,
}

impl Drift {
    /// What differs between the environment and the options of this run.
    pub(super) async fn find(environment: &Environment, lookup: &Lookup, audit: bool) -> Self {
        let mut lines = Vec::new();
        let (plan, state) = match (environment.plan(), environment.state()) {
            (Ok(plan), Ok(state)) => (plan, state),
            (Err(failure), _) | (_, Err(failure)) => {
                return Self {
                    lines: vec![failure.cause],
                };
            }
        };
        let running = state.filter(|state| state.supervisor.is_alive());
        let (Some(plan), Some(state)) = (plan, running) else {
            return Self::default();
        };
        if lookup.assets.is_some()
            && let Ok(wanted) = binaries::find(lookup, &Talk::new(true)).await
            && wanted != plan.binaries
        {
            let (runs, wanted) = (&plan.binaries, &wanted);
            lines.push(format!(
                "programs: {} of {} run, {} of {} is wanted",
                runs.version,
                runs.etcd.display(),
                wanted.version,
                wanted.etcd.display()
            ));
        }
        if audit && plan.audit_log.is_none() {
            lines.push("audit log: not recorded, wanted".to_owned());
        }
        if identity::is_outdated(state.supervisor.pid) {
            lines.push("supervisor: of an older vmctl".to_owned());
        }
        Self { lines }
    }

    /// Whether anything differs.
    pub(super) fn is_some(&self) -> bool {
        !self.lines.is_empty()
    }

    /// The differences.
    pub(super) fn lines(&self) -> &[String] {
        &self.lines
    }

    /// Tells them, and where the environment stays as it is, what would change it.
    pub(super) fn tell(&self, talk: &Talk, stays: Option<&Environment>) {
        for line in &self.lines {
            talk.line(&format!("~ {:<16} {line}", "drift"));
        }
        if let Some(environment) = stays.filter(|_| self.is_some()) {
            let name = environment.name();
            talk.line(&format!(
                "~ {:<16} it stays as it is; to make it anew, without its data: vmctl up --env {name} --recreate",
                "drift"
            ));
        }
    }
}
