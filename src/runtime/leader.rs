//! One leader at a time, by a Lease, as client-go does it, and stricter where a paid API is at stake.
//!
//! ```text
//! candidate ── acquire ──► leader ── renew every retry_period ──► …
//!    ▲ lease not free         │ no renewal for renew_deadline, or another holder seen ──► Lost: exit
//!    └────────────────────────┘ stop asked for ── work settles ── release ──► free for the next one at once
//!
//! renewal sent ──────────────────────── renew_deadline − 1 s ── renew_deadline ────────── lease_duration
//!               provider writes may start                      process exits           others may take over
//! ```
//!
//! * Every write is conditional on the resourceVersion last seen: of two candidates one gets a conflict.
//! * Whether another's lease has run out is judged by how long *we* have seen it unchanged, on our monotonic
//!   clock. Wall clocks, ours and theirs, decide nothing; the times in the Lease are for people.
//! * The term counts from the moment at which the renewal was *sent*, which is never later than the moment at which
//!   others saw it.
//!
//! The client must not retry by itself: a renewal sent again after the deadline would extend nothing and hide the
//! loss. Each call has its own time-out here.

mod calls;
mod record;
mod status;
mod words;

use super::clock::{Clock, wait_until};
use super::failpoint;
use crate::domain::term::{Term, TermHolder};
use crate::domain::time::Moment;
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use kube::api::PostParams;
pub use status::{LeaderStatus, Watchdog};
use std::sync::Arc;
use std::time::Duration;
use words::Complaint;
pub use words::{Error, Lost, Options, identity};

/// A candidate, and once [`Leader::acquire`] returned the leader.
pub struct Leader {
    api: Api<Lease>,
    options: Options,
    clock: Arc<dyn Clock>,
    random: fastrand::Rng,
    holder: TermHolder,
    status: Arc<LeaderStatus>,
    /// The Lease as last seen, and since when it looks like this.
    seen: Option<(Lease, Moment)>,
    /// When the last successful renewal was sent.
    renewed: Option<Moment>,
}

/// What one try found.
enum Try {
    Ours,
    Theirs(String),
}

impl Leader {
    /// A candidate for the Lease in the namespace of `api`. `api`'s client must not retry by itself.
    pub fn new(
        api: Api<Lease>,
        options: Options,
        clock: Arc<dyn Clock>,
        random: fastrand::Rng,
    ) -> Self {
        let holder = TermHolder::new();
        let status = Arc::new(LeaderStatus::new(&options, holder.term()));
        Self {
            api,
            options,
            clock,
            random,
            holder,
            status,
            seen: None,
            renewed: None,
        }
    }

    /// What whoever writes to a provider must ask before each write.
    pub fn term(&self) -> Term {
        self.holder.term()
    }

    /// What metrics, health and the debug page show.
    pub fn status(&self) -> Arc<LeaderStatus> {
        Arc::clone(&self.status)
    }

    /// Waits until we lead. Failed tries are logged when they begin and every minute; they never end the wait, so a
    /// follower outlives any outage of the API server. Cancel safe.
    pub async fn acquire(&mut self) {
        let mut complaint = Complaint::default();
        loop {
            let began = self.clock.now();
            match self.attempt(self.options.renew_deadline / 2).await {
                Ok(Try::Ours) => {
                    let (name, identity) = (&self.options.name, &self.options.identity);
                    tracing::info!(lease = name, identity, "leading");
                    return;
                }
                Ok(Try::Theirs(holder)) => {
                    if self.status.holder().as_deref() != Some(&holder) {
                        tracing::info!(lease = self.options.name, holder, "waiting for the lease");
                    }
                    self.status.see_holder(&holder);
                    complaint.over();
                }
                // Another candidate was faster; the next try sees who.
                Err(error) if error.code() == Some(409) => {}
                Err(error) => complaint.about(&error, began),
            }
            // Up to a fifth later, so that candidates do not come in step.
            let wait = self
                .options
                .retry_period
                .mul_f64(1.0 + 0.2 * self.random.f64());
            wait_until(self.clock.as_ref(), began + wait).await;
        }
    }

    /// Keeps the Lease until it is lost: then the process should exit at once, without a release.
    ///
    /// Cancel safe: stop it by dropping the future, once the work has settled, and call [`Leader::release`].
    pub async fn hold(&mut self) -> Lost {
        let mut last = None;
        let mut next = self.renewed.unwrap_or(Moment::START) + self.options.retry_period;
        loop {
            let deadline = self.renewed.unwrap_or(Moment::START) + self.options.renew_deadline;
            wait_until(self.clock.as_ref(), next.min(deadline)).await;
            let began = self.clock.now();
            if began >= deadline {
                return self.lose_by_deadline(last);
            }
            let limit = deadline.since(began).min(self.options.renew_deadline / 2);
            match self.attempt(limit).await {
                Ok(Try::Ours) => last = None,
                Ok(Try::Theirs(holder)) => return self.lose_to(holder),
                Err(error) => {
                    tracing::warn!(
                        lease = self.options.name,
                        error = &error as &dyn std::error::Error,
                        "renewal failed"
                    );
                    last = Some(error);
                }
            }
            next = began + self.options.retry_period;
        }
    }

    /// Gives the Lease back, so that the next leader need not wait. To be called when no write of ours is under way
    /// any more. Ends the term first. Tries for five seconds at most; without success the Lease runs out by itself.
    pub async fn release(mut self) {
        self.end_term();
        let limit = Duration::from_secs(5);
        let give_back = async {
            for _ in 0..3 {
                // Read first: a renewal that was dropped on its way may have arrived.
                let lease = self.get(limit).await?;
                let held = lease
                    .as_ref()
                    .and_then(|lease| lease.spec.as_ref()?.holder_identity.as_deref());
                let Some(mut lease) = lease
                    .clone()
                    .filter(|_| held == Some(&self.options.identity))
                else {
                    return Ok(());
                };
                lease.spec = Some(record::released(lease.spec.take(), self.clock.wall()));
                failpoint::reach("release");
                match self.update(&lease, limit).await {
                    Err(error) if error.code() == Some(409) => {}
                    other => return other.map(|_| ()),
                }
            }
            Ok(())
        };
        match tokio::time::timeout(limit, give_back).await {
            Ok(Ok(())) => {
                failpoint::reach("released");
                tracing::info!(lease = self.options.name, "lease released");
            }
            Ok(Err(error)) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "lease not released; it runs out by itself"
                );
            }
            Err(_) => tracing::warn!(
                lease = self.options.name,
                "lease not released in time; it runs out by itself"
            ),
        }
    }

    /// One try to get or keep the Lease; every call in it ends within `limit`.
    async fn attempt(&mut self, limit: Duration) -> Result<Try, Error> {
        self.status.beat(self.clock.now());
        failpoint::reach("election");
        // Fast path: what we hold is written under the version last seen, without a read.
        if self.renewed.is_some()
            && let Some((lease, _)) = self.seen.clone()
        {
            match self.write(lease, limit).await {
                Err(error) if matches!(error.code(), Some(404 | 409)) => {}
                other => return other,
            }
        }
        let Some(lease) = self.get(limit).await? else {
            return self.create(limit).await;
        };
        self.observe(&lease);
        match record::holder(&lease) {
            // A leader that finds another's name never takes the Lease back: it has been replaced.
            Some(holder)
                if holder != self.options.identity
                    && (self.renewed.is_some() || !self.has_run_out()) =>
            {
                Ok(Try::Theirs(holder.to_owned()))
            }
            Some(_) | None => self.write(lease, limit).await,
        }
    }

    async fn write(&mut self, mut lease: Lease, limit: Duration) -> Result<Try, Error> {
        lease.spec = Some(record::held(
            lease.spec.take(),
            &self.options,
            self.clock.wall(),
        ));
        let sent = self.clock.now();
        let answer = self.update(&lease, limit).await?;
        self.renewed(answer, sent);
        Ok(Try::Ours)
    }

    async fn create(&mut self, limit: Duration) -> Result<Try, Error> {
        let mut lease = Lease {
            spec: Some(record::held(None, &self.options, self.clock.wall())),
            ..Lease::default()
        };
        lease.metadata.name = Some(self.options.name.clone());
        let sent = self.clock.now();
        let params = PostParams::default();
        let answer = self
            .call("create", limit, self.api.create(&params, &lease))
            .await?;
        self.renewed(answer, sent);
        Ok(Try::Ours)
    }

    fn renewed(&mut self, lease: Lease, sent: Moment) {
        self.renewed = Some(sent);
        self.holder.extend(
            sent + self
                .options
                .renew_deadline
                .saturating_sub(self.options.write_margin),
        );
        self.status.renewed(sent, record::transitions(&lease));
        self.seen = Some((lease, self.clock.now()));
    }

    /// Remembers the Lease; the time is kept while nothing but its version changes.
    fn observe(&mut self, lease: &Lease) {
        let since = match &self.seen {
            Some((seen, since))
                if seen.spec == lease.spec && seen.metadata.uid == lease.metadata.uid =>
            {
                *since
            }
            Some(_) | None => self.clock.now(),
        };
        self.seen = Some((lease.clone(), since));
    }

    /// Whether the Lease has been seen unchanged for as long as its holder asked for, and not less than ours.
    fn has_run_out(&self) -> bool {
        self.seen.as_ref().is_some_and(|(lease, since)| {
            let asked = record::duration(lease).max(self.options.lease_duration);
            self.clock.now().since(*since) >= asked
        })
    }

    fn end_term(&mut self) {
        self.holder.end();
        self.renewed = None;
        self.status.ended();
    }

    fn lose_by_deadline(&mut self, last: Option<Error>) -> Lost {
        self.end_term();
        Lost::Deadline {
            name: self.options.name.clone(),
            deadline: self.options.renew_deadline,
            last,
        }
    }

    fn lose_to(&mut self, holder: String) -> Lost {
        self.end_term();
        self.status.see_holder(&holder);
        Lost::Taken {
            name: self.options.name.clone(),
            holder,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
