//! Flags and environment of `vmoperator`, parsed once. Names are kubebuilder's where it has one.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Parser, ValueEnum};

use crate::domain::Network;
use crate::provider::guard::{Admission, Guard};
use crate::telemetry::log::Format;

/// The in-cluster controller for VirtualMachines.
#[derive(Clone, Debug, Parser)]
#[command(name = "vmoperator", version, about, max_term_width = 100)]
pub struct Settings {
    /// Kubeconfig to use; without it KUBECONFIG, ~/.kube/config or the pod's ServiceAccount.
    #[arg(long, env = "VMOPERATOR_KUBECONFIG", value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,

    /// Take part in the election of a leader. Without it the process leads at once, and must be the only one.
    #[arg(
        long,
        env = "VMOPERATOR_LEADER_ELECT",
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_value_t = true,
        default_missing_value = "true",
        action = ArgAction::Set
    )]
    pub leader_elect: bool,

    /// Namespace of the Lease.
    #[arg(
        long,
        env = "VMOPERATOR_LEADER_ELECT_NAMESPACE",
        value_name = "NAMESPACE",
        default_value = "vmoperator-system"
    )]
    pub leader_elect_namespace: String,

    /// Name of this process in the Lease; a random part is added.
    #[arg(
        long,
        env = "POD_NAME",
        value_name = "NAME",
        default_value = "vmoperator"
    )]
    pub pod_name: String,

    /// Identity of this cluster at providers. Default: the uid of the namespace kube-system. Must never change.
    #[arg(long, env = "VMOPERATOR_CLUSTER_ID", value_name = "ID", value_parser = parse_cluster_id)]
    pub cluster_id: Option<String>,

    /// Namespaces to work in. Default: all of them. What is elsewhere is neither seen nor touched.
    #[arg(
        long,
        env = "VMOPERATOR_NAMESPACES",
        value_name = "NAMESPACE",
        value_delimiter = ',',
        value_parser = parse_namespace
    )]
    pub namespaces: Vec<String>,

    /// Address of /metrics and /debug; 0 switches them off.
    #[arg(
        long,
        env = "VMOPERATOR_METRICS_BIND_ADDRESS",
        value_name = "ADDRESS",
        default_value = "127.0.0.1:8080"
    )]
    pub metrics_bind_address: String,

    /// Serve metrics by TLS, to whom the API server allows them. Default: yes, unless the address is the loopback.
    #[arg(
        long,
        env = "VMOPERATOR_METRICS_SECURE",
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true"
    )]
    pub metrics_secure: Option<bool>,

    /// Folder with the certificate to serve metrics with; read again when it changes. Default: one is made, and its
    /// authority published in ConfigMap vmoperator-metrics-ca.
    #[arg(long, env = "VMOPERATOR_METRICS_CERT_PATH", value_name = "FOLDER")]
    pub metrics_cert_path: Option<PathBuf>,

    /// File of the certificate in that folder.
    #[arg(
        long,
        env = "VMOPERATOR_METRICS_CERT_NAME",
        value_name = "FILE",
        default_value = "tls.crt"
    )]
    pub metrics_cert_name: String,

    /// File of the private key in that folder.
    #[arg(
        long,
        env = "VMOPERATOR_METRICS_CERT_KEY",
        value_name = "FILE",
        default_value = "tls.key"
    )]
    pub metrics_cert_key: String,

    /// Address of /livez and /readyz; 0 switches them off.
    #[arg(
        long,
        env = "VMOPERATOR_HEALTH_PROBE_BIND_ADDRESS",
        value_name = "ADDRESS",
        default_value = ":8081"
    )]
    pub health_probe_bind_address: String,

    /// How many VirtualMachines are worked on at the same time.
    #[arg(
        long,
        env = "VMOPERATOR_CONCURRENCY",
        value_name = "NUMBER",
        default_value = "5"
    )]
    pub concurrency: NonZeroUsize,

    /// The longest pass over one VirtualMachine, a second or more: then it is dropped, and tried again. Shorter than the
    /// calls in it, slow answers are never seen.
    #[arg(
        long,
        env = "VMOPERATOR_PASS_LIMIT",
        value_name = "DURATION",
        default_value = "5m",
        value_parser = parse_pass_limit
    )]
    pub pass_limit: Duration,

    /// Admit providers at plain http endpoints: for development.
    #[arg(long, env = "VMOPERATOR_ALLOW_HTTP")]
    pub allow_http: bool,

    /// Admit endpoints beyond public addresses: a network, an address or a host pattern. May be repeated.
    #[arg(
        long,
        env = "VMOPERATOR_ENDPOINT_ALLOW",
        value_name = "CIDR|HOST",
        value_delimiter = ','
    )]
    pub endpoint_allow: Vec<Admission>,

    /// Tell others only those addresses of VMs that are in this network. May be repeated. Default: all but loopback,
    /// link-local and multicast addresses, which are never told.
    #[arg(
        long,
        env = "VMOPERATOR_INSTANCE_ADDRESS_ALLOW",
        value_name = "CIDR",
        value_delimiter = ','
    )]
    pub instance_address_allow: Vec<Network>,

    /// Watch the metadata of Secrets. Without it no right to list or watch Secrets is needed: those that VMs own are
    /// looked at one by one every ten minutes, and a changed API key is noticed when the old one is refused, or at the
    /// next poll of its provider.
    #[arg(
        long,
        env = "VMOPERATOR_WATCH_SECRETS",
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_value_t = true,
        default_missing_value = "true",
        action = ArgAction::Set
    )]
    pub watch_secrets: bool,

    /// How long a VM may be provisioning before that is called slow.
    #[arg(
        long,
        env = "VMOPERATOR_PROVISIONING_DEADLINE",
        value_name = "DURATION",
        default_value = "15m",
        value_parser = parse_duration
    )]
    pub provisioning_deadline: Duration,

    /// How long passes under way may take to finish on SIGTERM.
    #[arg(
        long,
        env = "VMOPERATOR_SHUTDOWN_GRACE",
        value_name = "DURATION",
        default_value = "25s",
        value_parser = parse_duration
    )]
    pub shutdown_grace: Duration,

    /// error, warn, info, debug, trace, off, or target=level pairs with commas between.
    #[arg(
        long,
        env = "VMOPERATOR_LOG_LEVEL",
        value_name = "LEVEL",
        default_value = "info"
    )]
    pub log_level: String,

    /// Form of log lines. Default: text on a terminal, else json.
    #[arg(long, env = "VMOPERATOR_LOG_FORMAT", value_name = "FORMAT")]
    pub log_format: Option<LogFormat>,
}

/// Forms of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// One JSON object a line.
    Json,
    /// For people.
    Text,
}

impl Settings {
    /// Which endpoints providers may have.
    #[must_use]
    pub fn guard(&self) -> Guard {
        Guard {
            allow_http: self.allow_http,
            admitted: self.endpoint_allow.clone(),
        }
    }

    /// The form of log lines.
    #[must_use]
    pub fn format(&self) -> Format {
        match self.log_format {
            Some(LogFormat::Json) => Format::Json,
            Some(LogFormat::Text) => Format::Text,
            None => Format::for_stderr(),
        }
    }
}

/// Reads `25s`, `15m`, `1h30m`.
fn parse_duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is no length of time: write it like 25s, 15m or 1h30m");
    let span: jiff::SignedDuration = text.parse().map_err(|_| wrong())?;
    Duration::try_from(span).map_err(|_| wrong())
}

/// A pass that may take no time could never end well.
fn parse_pass_limit(text: &str) -> Result<Duration, String> {
    let limit = parse_duration(text)?;
    if limit < Duration::from_secs(1) {
        return Err("a pass needs a second at least: write it like 30s or 5m".to_owned());
    }
    Ok(limit)
}

/// The id becomes a tag value at providers: at most 128 visible characters.
fn parse_cluster_id(text: &str) -> Result<String, String> {
    let fits = (1..=128).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
    if fits {
        Ok(text.to_owned())
    } else {
        Err("a cluster id has 1 to 128 visible ASCII characters and no blanks".to_owned())
    }
}

/// The name of a namespace: an empty one would stand for all of them.
fn parse_namespace(text: &str) -> Result<String, String> {
    let name = text.trim();
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let fits = (1..=63).contains(&name.len())
        && name.bytes().all(inner)
        && !name.starts_with('-')
        && !name.ends_with('-');
    if fits {
        Ok(name.to_owned())
    } else {
        Err(format!(
            "{name:?} is no name of a namespace: lower-case letters, digits and -, at most 63"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn flags_are_consistent() {
        Settings::command().debug_assert();
    }

    #[test]
    fn durations_are_read_as_kubernetes_users_write_them() {
        let cases = [
            ("25s", Some(25)),
            ("15m", Some(900)),
            ("1h30m", Some(5400)),
            ("-5s", None),
            ("5", None),
            ("", None),
        ];
        for (text, seconds) in cases {
            let read = parse_duration(text).ok().map(|d| d.as_secs());
            assert_eq!(read, seconds, "{text:?}");
        }
    }

    #[test]
    fn a_pass_without_time_is_refused() {
        assert_eq!(parse_pass_limit("90s"), Ok(Duration::from_secs(90)));
        for bad in ["0s", "999ms", "-5s", "soon"] {
            assert!(parse_pass_limit(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_cluster_id_with_blanks_or_without_characters_is_refused() {
        assert!(parse_cluster_id("7c1f-5d").is_ok());
        for bad in ["", "a b", "ä", &"x".repeat(129)] {
            assert!(parse_cluster_id(bad).is_err(), "{bad:?}");
        }
    }
}
