//! The registry of the process, and the metrics that belong to no part of it.

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, prometheus_text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::registry::{Registry, Unit};
use std::fmt;

/// The content type of [`text`].
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A registry that holds `process_*` (on Linux) and `vmoperator_build_info` already.
pub fn registry() -> Registry {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Process));
    let build = Family::<Vec<(&str, &str)>, Gauge>::default();
    build
        .get_or_create(&vec![("version", env!("CARGO_PKG_VERSION"))])
        .set(1);
    registry.register(
        "vmoperator_build_info",
        "Always 1; the version is in the label",
        build,
    );
    registry
}

/// Every metric in Prometheus' text form.
///
/// # Errors
/// When a metric cannot be written.
pub fn text(registry: &Registry) -> Result<String, fmt::Error> {
    let mut text = String::new();
    prometheus_text::encode(&mut text, registry)?;
    Ok(text)
}

/// `process_*`, read from /proc at each scrape; what cannot be read is left out.
#[derive(Debug)]
struct Process;

/// What /proc/self tells.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Usage {
    cpu_secs: f64,
    resident_bytes: f64,
    virtual_bytes: f64,
    threads: f64,
    /// Seconds between boot and start.
    started_secs: f64,
}

impl Usage {
    /// Reads /proc/self/stat. The second field is the program's name in brackets and may hold anything, so counting
    /// begins behind the last bracket.
    fn parse(stat: &str, ticks_per_sec: f64, page_bytes: f64) -> Option<Self> {
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        // Numbered from 3 in proc(5): state is field 3.
        let field = |number: usize| fields.get(number - 3)?.parse::<f64>().ok();
        Some(Self {
            cpu_secs: (field(14)? + field(15)?) / ticks_per_sec,
            threads: field(20)?,
            started_secs: field(22)? / ticks_per_sec,
            virtual_bytes: field(23)?,
            resident_bytes: field(24)? * page_bytes,
        })
    }

    fn read() -> Option<Self> {
        let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
        let ticks = rustix::param::clock_ticks_per_second() as f64;
        Self::parse(&stat, ticks, rustix::param::page_size() as f64)
    }
}

/// When the machine booted, in seconds of the wall clock.
fn boot_time() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/stat").ok()?;
    stat.lines()
        .find_map(|line| line.strip_prefix("btime "))?
        .trim()
        .parse()
        .ok()
}

fn open_files() -> Option<f64> {
    Some(std::fs::read_dir("/proc/self/fd").ok()?.count() as f64)
}

fn most_open_files() -> Option<f64> {
    rustix::process::getrlimit(rustix::process::Resource::Nofile)
        .current
        .map(|limit| limit as f64)
}

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        let usage = Usage::read();
        if let Some(usage) = usage {
            let help = "User and system CPU time spent";
            let cpu = encoder.encode_descriptor(
                "process_cpu",
                help,
                Some(&Unit::Seconds),
                MetricType::Counter,
            )?;
            ConstCounter::new(usage.cpu_secs).encode(cpu)?;
        }
        let start = usage
            .zip(boot_time())
            .map(|(usage, boot)| boot + usage.started_secs);
        let gauges = [
            (
                "process_resident_memory_bytes",
                "Resident memory",
                usage.map(|usage| usage.resident_bytes),
            ),
            (
                "process_virtual_memory_bytes",
                "Virtual memory",
                usage.map(|usage| usage.virtual_bytes),
            ),
            (
                "process_threads",
                "Threads",
                usage.map(|usage| usage.threads),
            ),
            (
                "process_start_time_seconds",
                "Start, in seconds since 1970",
                start,
            ),
            ("process_open_fds", "Open file descriptors", open_files()),
            (
                "process_max_fds",
                "Most file descriptors that may be open",
                most_open_files(),
            ),
        ];
        for (name, help, value) in gauges {
            if let Some(value) = value {
                let metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
                ConstGauge::new(value).encode(metric)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
