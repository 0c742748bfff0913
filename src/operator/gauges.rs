//! Metrics that are counted at each scrape from what the operator knows.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use super::configs::Configs;
use super::inventories::Inventories;
use super::machines::Machines;
use crate::api::Phase;

/// Every phase: a series each, whether or not a VM is in it, so that their number never changes.
const PHASES: [Phase; 11] = [
    Phase::Pending,
    Phase::Provisioning,
    Phase::Starting,
    Phase::Running,
    Phase::Stopping,
    Phase::Stopped,
    Phase::Resizing,
    Phase::Deleting,
    Phase::Failed,
    Phase::Lost,
    Phase::Unknown,
];

struct Phases(Machines);

struct InventoryAges(Inventories);

struct Orphans(Machines, Configs);

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Source {
    source: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Label {
    phase: String,
}

/// Registers the metrics; once per process.
pub(super) fn register(
    registry: &mut Registry,
    machines: &Machines,
    configs: &Configs,
    inventories: &Inventories,
) {
    registry.register_collector(Box::new(Phases(machines.clone())));
    registry.register_collector(Box::new(Orphans(machines.clone(), configs.clone())));
    registry.register_collector(Box::new(InventoryAges(inventories.clone())));
}

impl fmt::Debug for Phases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Phases")
    }
}

impl Collector for Phases {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let counts: std::collections::HashMap<_, _> = self.0.phases().collect();
        let mut metric = encoder.encode_descriptor(
            "vmoperator_virtual_machines",
            "VirtualMachines by phase",
            None,
            MetricType::Gauge,
        )?;
        for phase in PHASES {
            // Without a status yet, nothing was asked of the provider: pending.
            let mut count = counts.get(&Some(phase)).copied().unwrap_or_default();
            if phase == Phase::Pending {
                count += counts.get(&None).copied().unwrap_or_default();
            }
            let label = Label {
                phase: format!("{phase:?}"),
            };
            let gauge = ConstGauge::new(i64::try_from(count).unwrap_or(i64::MAX));
            gauge.encode(metric.encode_family(&label)?)?;
        }
        Ok(())
    }
}

impl fmt::Debug for InventoryAges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InventoryAges")
    }
}

impl Collector for InventoryAges {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let ages = self.0.ages();
        let mut metric = encoder.encode_descriptor(
            "vmoperator_inventory_age_seconds",
            "Age of what is known of providers' instances: the oldest of the inventories that follow a change feed, and of those that list",
            None,
            MetricType::Gauge,
        )?;
        for (source, age) in [("feed", ages.feed), ("list", ages.list)] {
            let gauge = ConstGauge::new(age.as_secs_f64());
            gauge.encode(metric.encode_family(&Source { source })?)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Orphans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Orphans")
    }
}

impl Collector for Orphans {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let Self(machines, configs) = self;
        let found = ConstGauge::new(i64::try_from(configs.orphans()).unwrap_or(i64::MAX));
        found.encode(encoder.encode_descriptor(
            "vmoperator_orphans",
            "Instances at providers that bear this cluster's tags and belong to no VirtualMachine",
            None,
            MetricType::Gauge,
        )?)?;
        let let_go = ConstCounter::new(machines.orphaned());
        let_go.encode(encoder.encode_descriptor(
            "vmoperator_orphaned",
            "VirtualMachines that went though an instance may be left: as their users asked, or in doubt at a provider that cannot be asked",
            None,
            MetricType::Counter,
        )?)
    }
}
