//! Metrics of this floor, under the names and labels that controller-runtime and client-go use, so that dashboards
//! made for them work. The number of series does not depend on the number of objects.

mod leader;
mod passes;
mod queue;
mod watch;

pub use leader::LeaderMetrics;
pub use passes::PassMetrics;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
pub use queue::QueueMetrics;
use std::fmt::Error;
pub use watch::WatchMetrics;

/// Labels of one sample.
type Labels = Vec<(&'static str, String)>;

/// Writes a metric that is computed when it is asked for. `_total` is added to the name of a counter.
fn write<T>(
    encoder: &mut DescriptorEncoder,
    (name, help, kind): (&str, &str, MetricType),
    rows: &[T],
    row: impl Fn(&T) -> (Labels, f64),
) -> Result<(), Error> {
    let mut metric = encoder.encode_descriptor(name, help, None, kind)?;
    for (labels, value) in rows.iter().map(row) {
        sample(metric.encode_family(&labels)?, kind, value)?;
    }
    Ok(())
}

fn sample(encoder: MetricEncoder, kind: MetricType, value: f64) -> Result<(), Error> {
    match kind {
        MetricType::Counter => ConstCounter::new(value).encode(encoder),
        MetricType::Gauge | MetricType::Histogram | MetricType::Info | MetricType::Unknown => {
            ConstGauge::new(value).encode(encoder)
        }
    }
}

#[cfg(test)]
mod tests;
