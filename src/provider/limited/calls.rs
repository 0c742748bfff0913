//! Each call of the interface, within the limits.

use std::time::Duration;

use super::Limited;
use crate::domain::{
    Capabilities, CreateBody, ErrorKind, IdempotencyKey, Instance, InstanceId, Moment, Operation,
    Owner, ProviderError,
};
use crate::provider::{Changes, Page, Provider};

impl<P: Provider> Provider for Limited<P> {
    async fn capabilities(&self) -> Result<Capabilities, ProviderError> {
        self.call(Operation::Capabilities, || self.inner.capabilities())
            .await
    }

    async fn create(
        &self,
        key: &IdempotencyKey,
        body: &CreateBody,
        start_before: Moment,
    ) -> Result<Instance, ProviderError> {
        self.call(Operation::Create, || async {
            if self.limits.time.now() >= start_before {
                let kind = ErrorKind::TooLate;
                return Err(self.limits.refuse(kind, Operation::Create, None));
            }
            self.inner.create(key, body, start_before).await
        })
        .await
    }

    async fn get(&self, id: &InstanceId) -> Result<Instance, ProviderError> {
        self.call(Operation::Get, || self.inner.get(id)).await
    }

    async fn find(&self, owner: &Owner) -> Result<Vec<Instance>, ProviderError> {
        self.call(Operation::List, || self.inner.find(owner)).await
    }

    async fn page(&self, token: Option<&str>) -> Result<Page, ProviderError> {
        self.call(Operation::List, || self.inner.page(token)).await
    }

    /// Takes no place and no turn, which it would hold for as long as nothing happens; the breaker, which counts
    /// calls that end soon, does not count it. It is held back by the breaker and by a pause like any other.
    async fn changes(&self, since: u64, wait: Duration) -> Result<Changes, ProviderError> {
        let (limits, operation) = (&*self.limits, Operation::Changes);
        if let Some(error) = self.refused(operation) {
            return Err(error);
        }
        let now = limits.time.now();
        let refused = limits.state().breaker.refuses(now);
        if refused.is_some() {
            return Err(limits.refuse(ErrorKind::HeldBack, operation, refused));
        }
        let paused = limits.state().pause.left(now);
        if !paused.is_zero() {
            return Err(limits.refuse(ErrorKind::RateLimited, operation, Some(paused)));
        }
        let result = self.inner.changes(since, wait).await;
        self.judge(operation, &result);
        limits.heed(&result);
        result
    }

    async fn delete(&self, id: &InstanceId) -> Result<(), ProviderError> {
        self.call(Operation::Delete, || self.inner.delete(id)).await
    }
}
