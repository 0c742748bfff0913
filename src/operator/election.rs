//! Leading: by election, or alone where the flag says so.

use std::sync::Arc;

use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use prometheus_client::registry::Registry;

use super::{Error, client};
use crate::domain::Term;
use crate::runtime::clock::Clock;
use crate::runtime::leader::{Leader, LeaderStatus, Lost, Options, Watchdog};
use crate::runtime::metrics::LeaderMetrics;
use crate::settings::Settings;
use crate::telemetry::requests::CountRequests;

/// Name of the Lease.
const LEASE: &str = "vmoperator-leader";

/// How this process comes to lead.
pub(super) enum Election {
    /// It is the only one, says the flag.
    Alone,
    /// By the Lease.
    Lease(Box<Leader>),
}

impl Election {
    /// Prepares the candidacy, with a client of its own: a busy queue of requests must not delay a renewal.
    pub(super) async fn prepare(
        settings: &Settings,
        identity: &str,
        requests: &CountRequests,
        clock: &Arc<dyn Clock>,
        registry: &mut Registry,
    ) -> Result<Self, Error> {
        if !settings.leader_elect {
            tracing::warn!("leading without an election: this must be the only process");
            return Ok(Self::Alone);
        }
        let client = client::build(settings, requests.clone()).await?;
        let api: Api<Lease> = Api::namespaced(client, &settings.leader_elect_namespace);
        let options = Options::new(LEASE, identity);
        let leader = Leader::new(api, options, Arc::clone(clock), fastrand::Rng::new());
        LeaderMetrics::register(registry, leader.status());
        Ok(Self::Lease(Box::new(leader)))
    }

    pub(super) fn term(&self) -> Term {
        match self {
            Self::Alone => Term::unlimited(),
            Self::Lease(leader) => leader.term(),
        }
    }

    pub(super) fn status(&self) -> Option<Arc<LeaderStatus>> {
        match self {
            Self::Alone => None,
            Self::Lease(leader) => Some(leader.status()),
        }
    }

    pub(super) async fn acquire(&mut self) {
        if let Self::Lease(leader) = self {
            leader.acquire().await;
        }
    }

    pub(super) async fn hold(&mut self) -> Lost {
        match self {
            Self::Alone => std::future::pending().await,
            Self::Lease(leader) => leader.hold().await,
        }
    }

    pub(super) async fn release(self) {
        if let Self::Lease(leader) = self {
            leader.release().await;
        }
    }

    /// Ends the process at the renew deadline even if every thread of the runtime is blocked.
    pub(super) fn watchdog(&self, clock: &Arc<dyn Clock>) -> std::io::Result<Option<Watchdog>> {
        let Self::Lease(leader) = self else {
            return Ok(None);
        };
        let bite = || {
            eprintln!("vmoperator: the lease ran out while the process was stuck; ending it");
            #[expect(
                clippy::disallowed_methods,
                reason = "nothing may run on past the deadline"
            )]
            std::process::exit(1);
        };
        Watchdog::start(leader.status(), Arc::clone(clock), bite).map(Some)
    }
}
