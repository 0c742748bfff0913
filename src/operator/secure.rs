//! Secure serving of metrics: which certificate, who may read, and what keeps both up to date.

use std::sync::Arc;
use std::time::Duration;

use super::Parts;
use super::ports::Task;
use super::publish::Publication;
use crate::runtime::clock::{Clock, wait_until};
use crate::settings::Settings;
use crate::telemetry::access::{Access, ApiServer};
use crate::telemetry::server::Gate;
use crate::telemetry::tls::{self, CertificateFiles, OwnCertificate, ServedCertificate};

/// How often certificate files are looked at.
const LOOK: Duration = Duration::from_secs(10);
/// How often it is checked that our own authority is still published, and how long a new one is before it is used.
const PUBLISH: Duration = Duration::from_mins(10);
/// The first wait after it could not be published.
const PUBLISH_AGAIN: Duration = Duration::from_secs(5);
/// Name of the Service in front of the metrics ports, as `config/manager` has it.
const SERVICE: &str = "vmoperator-controller-manager-metrics-service";

/// A certificate to serve with and where the next one comes from.
pub(super) struct Secure {
    served: ServedCertificate,
    source: Source,
}

enum Source {
    Files(CertificateFiles),
    Own { authority: String, renew: Renew },
}

/// When and how our own certificate is made anew.
struct Renew {
    after: jiff::Timestamp,
    identity: String,
    names: Vec<String>,
}

impl Secure {
    /// Reads or makes the first certificate.
    pub(super) fn prepare(settings: &Settings, clock: &dyn Clock) -> Result<Self, tls::Error> {
        if let Some(folder) = &settings.metrics_cert_path {
            let (certificate, key) = (&settings.metrics_cert_name, &settings.metrics_cert_key);
            let mut files = CertificateFiles::new(folder, certificate, key);
            let Some(pair) = files.read()? else {
                // Nothing was read before, so what is there is new.
                return Err(tls::Error::NoCertificate(folder.display().to_string()));
            };
            return Ok(Self {
                served: ServedCertificate::new(pair),
                source: Source::Files(files),
            });
        }
        let (identity, names) = (settings.pod_name.clone(), names(settings));
        let own = OwnCertificate::make(&identity, &names, clock.wall())?;
        Ok(Self {
            served: ServedCertificate::new(own.pair),
            source: Source::Own {
                authority: own.authority,
                renew: Renew {
                    after: own.renew_after,
                    identity,
                    names,
                },
            },
        })
    }

    pub(super) fn served(&self) -> ServedCertificate {
        self.served.clone()
    }

    /// Asks the API server who may read.
    pub(super) fn gate(parts: &Parts) -> Arc<dyn Gate> {
        let authority = ApiServer::new(parts.client.clone());
        Arc::new(Access::new(authority, Arc::clone(&parts.clock)))
    }

    /// Reads the files again, or publishes and renews our own certificate, for ever.
    pub(super) fn upkeep(self, parts: &Parts) -> Task {
        let (served, clock) = (self.served, Arc::clone(&parts.clock));
        match self.source {
            Source::Files(files) => Box::pin(reread(files, served, clock)),
            Source::Own { authority, renew } => {
                let namespace = &parts.settings.leader_elect_namespace;
                let publication = Publication::new(parts.client.clone(), namespace);
                Box::pin(renew.run(authority, served, publication, clock))
            }
        }
    }
}

/// What clients may call us: the Service, and this machine for a port-forward.
fn names(settings: &Settings) -> Vec<String> {
    let namespace = &settings.leader_elect_namespace;
    vec![
        format!("{SERVICE}.{namespace}.svc"),
        format!("{SERVICE}.{namespace}.svc.cluster.local"),
        "localhost".to_owned(),
        "127.0.0.1".to_owned(),
        "::1".to_owned(),
    ]
}

async fn reread(mut files: CertificateFiles, served: ServedCertificate, clock: Arc<dyn Clock>) {
    loop {
        wait_until(clock.as_ref(), clock.now() + LOOK).await;
        match files.read() {
            Ok(Some(pair)) => {
                served.exchange(pair);
                tracing::info!("the certificate of the metrics server was exchanged");
            }
            Ok(None) => drop(files.is_news(None)),
            Err(error) if files.is_news(Some(&error)) => {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(
                    error,
                    "the certificate of the metrics server stays as it is"
                );
            }
            Err(_) => {}
        }
    }
}

impl Renew {
    async fn run(
        mut self,
        mut authority: String,
        served: ServedCertificate,
        publication: Publication,
        clock: Arc<dyn Clock>,
    ) {
        let (mut next, mut wait) = (None::<OwnCertificate>, PUBLISH_AGAIN);
        loop {
            if next.is_none() && clock.wall() >= self.after {
                // A failure says that there is no randomness: tried again at the next turn, the old one is still good.
                next = OwnCertificate::make(&self.identity, &self.names, clock.wall()).ok();
            }
            let ours: Vec<&str> = next
                .iter()
                .map(|next| next.authority.as_str())
                .chain([authority.as_str()])
                .collect();
            let published = publication.ensure(&ours).await;
            wait = match &published {
                Ok(()) => PUBLISH,
                Err(error) => {
                    let error = error as &dyn std::error::Error;
                    tracing::warn!(
                        error,
                        "clients cannot check the metrics server's certificate"
                    );
                    (wait * 2).min(PUBLISH)
                }
            };
            wait_until(clock.as_ref(), clock.now() + wait).await;
            if published.is_ok()
                && let Some(new) = next.take()
            {
                served.exchange(new.pair);
                (authority, self.after) = (new.authority, new.renew_after);
                tracing::info!("the certificate of the metrics server was made anew");
            }
        }
    }
}
