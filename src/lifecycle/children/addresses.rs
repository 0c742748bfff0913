//! Which addresses of an instance are told to others.

use std::net::IpAddr;

use crate::domain::{Address, AddressType, Network};

/// Address families: each has its own EndpointSlice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    V4,
    V6,
}

impl Family {
    fn has(self, address: IpAddr) -> bool {
        match self {
            Self::V4 => address.is_ipv4(),
            Self::V6 => address.is_ipv6(),
        }
    }
}

/// The first usable address: the provider lists the preferred one first.
pub(super) fn first(admitted: &[Network], addresses: &[Address]) -> Option<IpAddr> {
    usable(admitted, addresses).next()
}

/// The first usable address of a family.
pub(super) fn first_of(
    admitted: &[Network],
    addresses: &[Address],
    family: Family,
) -> Option<IpAddr> {
    usable(admitted, addresses).find(|address| family.has(*address))
}

fn usable<'a>(
    admitted: &'a [Network],
    addresses: &'a [Address],
) -> impl Iterator<Item = IpAddr> + 'a {
    let ip = |address: &Address| match address.kind {
        AddressType::InternalIp | AddressType::ExternalIp => address
            .address
            .parse()
            .ok()
            .map(|ip: IpAddr| ip.to_canonical()),
        AddressType::Hostname | AddressType::Other(_) => None,
    };
    let within =
        |ip: &IpAddr| admitted.is_empty() || admitted.iter().any(|network| network.holds(*ip));
    addresses
        .iter()
        .filter_map(ip)
        .filter(|ip| !is_special(*ip))
        .filter(move |ip| within(ip))
}

/// Addresses that mean something else on the machine of whoever reads them. Whoever owns the provider chooses what it
/// answers, and must not lead a workload to its own node or to a metadata service.
fn is_special(address: IpAddr) -> bool {
    let of_either = address.is_unspecified() || address.is_loopback() || address.is_multicast();
    of_either
        || match address {
            IpAddr::V4(v4) => v4.is_link_local() || v4.is_broadcast() || v4.octets()[0] == 0,
            IpAddr::V6(v6) => v6.is_unicast_link_local(),
        }
}
