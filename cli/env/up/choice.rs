//! Where an environment gets to run, and what happens when a machine that looked fit for kind makes no cluster.

use super::{Args, Runtime};
use crate::env::Environment;
use crate::env::report::Report;
use crate::env::steps::Steps;
use crate::env::steps::kind::{self, Options};
use crate::hint::{Exit, Failure};

/// The runtime of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    pub(super) runtime: Runtime,
    /// Whether somebody asked for it, now or in the run that began the environment.
    asked: bool,
    /// Whether the environment is there already: it never moves to another runtime.
    settled: bool,
}

impl Choice {
    /// The runtime that the environment has, or that it gets: what is asked for, else what this machine can.
    ///
    /// # Errors
    /// It is of another runtime than the one that is asked for.
    pub(super) async fn make(args: &Args, environment: &Environment) -> Result<Self, Failure> {
        let record = environment.kind()?;
        let present = match (&record, environment.plan()?) {
            (Some(_record), _) => Some(Runtime::Kind),
            (None, Some(_plan)) => Some(Runtime::Embedded),
            (None, None) => None,
        };
        if let (Some(wanted), Some(present)) = (args.runtime, present)
            && wanted != present
        {
            return Err(other(environment, present, wanted));
        }
        let runtime = match (args.runtime.or(present), args.audit_log) {
            (Some(runtime), _) => runtime,
            // Only the embedded one has it.
            (None, true) => Runtime::Embedded,
            (None, false) => match kind::find(environment).await {
                Ok(_found) => Runtime::Kind,
                Err(_lacks) => Runtime::Embedded,
            },
        };
        let named = args.runtime.is_some() || args.kind.names_an_image();
        Ok(Self {
            runtime,
            asked: named || record.as_ref().is_some_and(|record| record.asked),
            settled: record.is_some_and(|record| record.complete),
        })
    }

    /// The options of kind, with what the record of the cluster has to remember.
    pub(super) fn options(self, given: &Options) -> Options {
        Options {
            asked: self.asked,
            ..given.clone()
        }
    }

    /// Whether the embedded control plane takes over where this kept kind from making a cluster: nobody asked for
    /// kind, and nothing is in it yet.
    pub(super) fn gives_way_to(self, failure: &Failure) -> bool {
        !self.asked && !self.settled && failure.exit == Exit::Environment
    }
}

fn other(environment: &Environment, present: Runtime, wanted: Runtime) -> Failure {
    let name = environment.name();
    let (present, wanted) = (present.word(), wanted.word());
    let cause = format!("environment {name} is of runtime {present}, not {wanted}");
    Failure::new(Exit::Conflict, "VMC-RUNTIME-KIND", cause).fix(format!(
        "remove it first: vmctl down --env {name}; or give the new one another name"
    ))
}

/// Leaves kind: what it left of a cluster goes first, the record last, so that a run cut off here comes back.
///
/// # Errors
/// The torso cannot be removed.
pub(super) async fn give_up(
    report: &mut Report,
    steps: &mut Steps<'_>,
    failure: &Failure,
    smoke: bool,
) -> Result<(), Failure> {
    for line in &failure.evidence {
        steps
            .talk
            .line(&format!("    {}", crate::output::clean(line)));
    }
    steps.abandon_cluster().await?;
    let why = "kind makes no cluster on this machine: the embedded control plane is taken instead; --runtime kind or \
               --node-image IMAGE insists";
    report.restart(Runtime::Embedded.steps() + usize::from(smoke), why)
}
