//! What an owned object holds, in our own words.

use std::fmt::Write as _;
use std::net::IpAddr;

use crate::api::virtual_machine::{Protocol, ServicePort};
use crate::domain::{InstanceId, fingerprint};

/// What an owned object holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A connection Secret.
    Connection {
        /// The provider's id of the instance.
        id: InstanceId,
        /// Name of the ProviderConfig.
        provider: String,
        /// Where it is reached; `None` while no usable address is known.
        address: Option<IpAddr>,
        /// The first port of the Service.
        port: u16,
    },
    /// A headless Service.
    Service {
        /// Its ports.
        ports: Vec<ServicePort>,
    },
    /// An EndpointSlice with one endpoint.
    Endpoints {
        /// Name of the Service.
        service: String,
        /// The Service's ports.
        ports: Vec<ServicePort>,
        /// The address of the instance.
        address: IpAddr,
        /// Whether it takes connections.
        ready: bool,
    },
}

impl Content {
    /// A fingerprint of what is written; of the form too, so that another version of the operator that writes the
    /// same in another form raises the number.
    #[must_use]
    pub fn mark(&self) -> String {
        let mut text = String::from("1\n");
        let mut add = |name: &str, value: &dyn std::fmt::Display| {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{name}={value}");
        };
        match self {
            Self::Connection {
                id,
                provider,
                address,
                port,
            } => {
                add("id", id);
                add("provider", provider);
                if let Some(address) = address {
                    add("address", address);
                }
                add("port", port);
            }
            Self::Service { ports } => add("ports", &lines(ports)),
            Self::Endpoints {
                service,
                ports,
                address,
                ready,
            } => {
                add("service", service);
                add("ports", &lines(ports));
                add("address", address);
                add("ready", ready);
            }
        }
        fingerprint(&text)
    }

    /// How many ports it has as a Service; 0 for other kinds.
    #[must_use]
    pub fn service_ports(&self) -> usize {
        match self {
            Self::Service { ports } => ports.len(),
            Self::Connection { .. } | Self::Endpoints { .. } => 0,
        }
    }
}

fn lines(ports: &[ServicePort]) -> String {
    let line = |port: &ServicePort| {
        format!(
            "{}/{}/{}",
            port.name,
            port.port,
            protocol_word(port.protocol)
        )
    };
    ports.iter().map(line).collect::<Vec<_>>().join(",")
}

/// The protocol in Kubernetes' word.
#[must_use]
pub fn protocol_word(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Tcp => "TCP",
        Protocol::Udp => "UDP",
        Protocol::Sctp => "SCTP",
    }
}
