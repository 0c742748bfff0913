//! Each call of the interface, within the limits.

use std::time::Duration;

use super::{Limited, Rate};
use crate::domain::{
    Capabilities, CreateBody, ErrorKind, IdempotencyKey, Instance, InstanceId, Moment, Operation,
    Owner, ProviderError,
};
use crate::provider::{Changes, Page, Provider, Turn};

impl<P: Provider> Provider for Limited<P> {
    async fn capabilities(&self) -> Result<Capabilities, ProviderError> {
        self.call(Operation::Capabilities, Rate::ToTake, || {
            self.inner.capabilities()
        })
        .await
    }

    async fn create(
        &self,
        key: &IdempotencyKey,
        body: &CreateBody,
        start_before: Moment,
    ) -> Result<Instance, ProviderError> {
        self.create_at(Rate::ToTake, (key, body), start_before)
            .await
    }

    /// Takes a place in the rate, and lets the place among the calls in flight go again: other calls of the same turn
    /// may come before the create.
    async fn line_up(&self) -> Result<Turn, ProviderError> {
        let admitted = self.admit(Operation::Create, Rate::ToTake).await;
        admitted.map(|_| Turn::default())
    }

    async fn create_in(
        &self,
        _: Turn,
        key: &IdempotencyKey,
        body: &CreateBody,
        start_before: Moment,
    ) -> Result<Instance, ProviderError> {
        self.create_at(Rate::Taken, (key, body), start_before).await
    }

    async fn get(&self, id: &InstanceId) -> Result<Instance, ProviderError> {
        self.call(Operation::Get, Rate::ToTake, || self.inner.get(id))
            .await
    }

    async fn find(&self, owner: &Owner) -> Result<Vec<Instance>, ProviderError> {
        self.call(Operation::List, Rate::ToTake, || self.inner.find(owner))
            .await
    }

    async fn page(&self, token: Option<&str>) -> Result<Page, ProviderError> {
        self.call(Operation::List, Rate::ToTake, || self.inner.page(token))
            .await
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
        self.call(Operation::Delete, Rate::ToTake, || self.inner.delete(id))
            .await
    }
}

impl<P: Provider> Limited<P> {
    async fn create_at(
        &self,
        rate: Rate,
        (key, body): (&IdempotencyKey, &CreateBody),
        start_before: Moment,
    ) -> Result<Instance, ProviderError> {
        self.call(Operation::Create, rate, || async {
            if self.limits.time.now() >= start_before {
                let kind = ErrorKind::TooLate;
                return Err(self.limits.refuse(kind, Operation::Create, None));
            }
            self.inner.create(key, body, start_before).await
        })
        .await
    }
}
