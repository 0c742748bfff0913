//! The calls to the API server, each with its own time-out.

use super::{Error, Leader};
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::PostParams;
use std::time::Duration;

impl Leader {
    pub(super) async fn get(&self, limit: Duration) -> Result<Option<Lease>, Error> {
        self.call("get", limit, self.api.get_opt(&self.options.name))
            .await
    }

    pub(super) async fn update(&self, lease: &Lease, limit: Duration) -> Result<Lease, Error> {
        let params = PostParams::default();
        self.call(
            "update",
            limit,
            self.api.replace(&self.options.name, &params, lease),
        )
        .await
    }

    pub(super) async fn call<T>(
        &self,
        step: &'static str,
        limit: Duration,
        call: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, Error> {
        let name = || self.options.name.clone();
        match tokio::time::timeout(limit, call).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(source)) => Err(Error::Call {
                step,
                name: name(),
                source: Box::new(source),
            }),
            Err(_) => Err(Error::TimedOut {
                step,
                name: name(),
                limit,
            }),
        }
    }
}
