//! The steps of `up`, each a look and, only where something is missing, an act.

mod cluster;
pub(crate) mod kind;
mod machine;
mod pods;
mod services;

use std::time::Duration;

use kube::Client;
use kube::api::DynamicObject;

use super::Environment;
use super::journal::{Event, Journal};
use super::state::Plan;
use crate::clock;
use crate::hint::{Exit, Failure};
use crate::output::Talk;
use crate::runtime::embedded::binaries::Lookup;

/// How often something that starts is looked at.
const POLL: Duration = Duration::from_millis(50);
/// Longest wait for one step; a control plane on a busy machine is the slowest.
const TIMEOUT: Duration = Duration::from_secs(120);

/// What the steps share.
pub(crate) struct Steps<'a> {
    pub(crate) environment: &'a Environment,
    pub(crate) journal: Journal,
    pub(crate) lookup: &'a Lookup,
    pub(crate) talk: Talk,
    audit: bool,
    plan: Option<Plan>,
    client: Option<Client>,
    kind: kind::Setup,
}

impl<'a> Steps<'a> {
    /// The steps for one environment; nothing is done yet.
    pub(crate) fn new(
        environment: &'a Environment,
        lookup: &'a Lookup,
        audit: bool,
        kind: &kind::Options,
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
            kind: kind::Setup::new(kind),
        }
    }

    fn client(&self) -> Result<&Client, Failure> {
        self.client
            .as_ref()
            .ok_or_else(|| Failure::new(Exit::Unreachable, "VMC-API", "there is no client yet"))
    }

    fn acting(&self, step: &str, what: &str) {
        self.journal.write(step, Event::Began, what);
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

/// Looks until there is something, or the time is over.
///
/// # Errors
/// [`Exit::NotReady`] when the time is over, or what the look itself fails with.
pub(crate) async fn wait<T>(
    what: &str,
    look: impl AsyncFnMut() -> Result<Option<T>, Failure>,
) -> Result<T, Failure> {
    wait_within(TIMEOUT, what, look).await
}

/// The same within a time of the caller's.
///
/// # Errors
/// As for [`wait`].
pub(crate) async fn wait_within<T>(
    limit: Duration,
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
        let cause = format!("waited {} s in vain until {what}", limit.as_secs());
        Failure::new(Exit::NotReady, "VMC-TIMEOUT", cause)
            .fix("run the same command again; it goes on where it is")
    };
    tokio::time::timeout(limit, looking)
        .await
        .map_err(timed_out)?
}
