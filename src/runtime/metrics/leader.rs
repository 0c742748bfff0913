//! `leader_election_master_status`.

use super::write;
use crate::runtime::leader::LeaderStatus;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType::Gauge;
use prometheus_client::registry::Registry;
use std::fmt;
use std::sync::Arc;

/// Metrics of the election.
#[derive(Debug)]
pub struct LeaderMetrics(Arc<LeaderStatus>);

impl LeaderMetrics {
    /// Registers the metrics; once per process.
    pub fn register(registry: &mut Registry, status: Arc<LeaderStatus>) {
        registry.register_collector(Box::new(Self(status)));
    }
}

impl Collector for LeaderMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        let metric = (
            "leader_election_master_status",
            "1 while this process leads, else 0",
            Gauge,
        );
        write(
            &mut encoder,
            metric,
            std::slice::from_ref(&self.0),
            |status| {
                let leading = if status.is_leading() { 1.0 } else { 0.0 };
                (vec![("name", status.name().to_owned())], leading)
            },
        )
    }
}
