//! What kind of address an address is.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Kinds of address, as far as they decide whether an endpoint may be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressClass {
    /// Routed on the internet.
    Public,
    /// This machine.
    Loopback,
    /// RFC 1918, shared address space (RFC 6598), unique local IPv6.
    Private,
    /// 169.254.0.0/16 and fe80::/10: where most clouds have their metadata service.
    LinkLocal,
    /// A metadata or platform service of a cloud outside the link-local range.
    Metadata,
    /// 0.0.0.0/8 and ::, which many systems take for this machine.
    Unspecified,
    /// Multicast and broadcast.
    Multicast,
    /// Set aside for documentation, benchmarks, tunnels or the future.
    Reserved,
}

impl AddressClass {
    /// Whether a host pattern is enough to admit such an address.
    pub(super) fn may_be_admitted_by_name(self) -> bool {
        match self {
            Self::Public | Self::Loopback | Self::Private => true,
            Self::LinkLocal
            | Self::Metadata
            | Self::Unspecified
            | Self::Multicast
            | Self::Reserved => false,
        }
    }
}

impl fmt::Display for AddressClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Public => "public",
            Self::Loopback => "loopback",
            Self::Private => "private",
            Self::LinkLocal => "link-local",
            Self::Metadata => "metadata",
            Self::Unspecified => "unspecified",
            Self::Multicast => "multicast",
            Self::Reserved => "reserved",
        })
    }
}

/// The address without the IPv6 coat in which the kernel takes an IPv4 address.
pub(super) fn canonical(address: IpAddr) -> IpAddr {
    address.to_canonical()
}

/// The kind of an address; for forms that carry an IPv4 address, the kind of that one.
pub(super) fn classify(address: IpAddr) -> AddressClass {
    match canonical(address) {
        IpAddr::V4(address) => classify_v4(address),
        IpAddr::V6(address) => classify_v6(address),
    }
}

fn classify_v4(address: Ipv4Addr) -> AddressClass {
    match address.octets() {
        // Alibaba and Azure keep theirs outside the link-local range.
        [100, 100, 100, 200] | [168, 63, 129, 16] | [192, 0, 0, 192] => AddressClass::Metadata,
        [0, ..] => AddressClass::Unspecified,
        [127, ..] => AddressClass::Loopback,
        [169, 254, ..] => AddressClass::LinkLocal,
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] | [100, 64..=127, ..] => {
            AddressClass::Private
        }
        [224..=239, ..] | [255, 255, 255, 255] => AddressClass::Multicast,
        [192, 0, 0 | 2, _]
        | [192, 88, 99, _]
        | [198, 18..=19, ..]
        | [198, 51, 100, _]
        | [203, 0, 113, _]
        | [240..=255, ..] => AddressClass::Reserved,
        _ => AddressClass::Public,
    }
}

fn classify_v6(address: Ipv6Addr) -> AddressClass {
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => AddressClass::Unspecified,
        [0, 0, 0, 0, 0, 0, 0, 1] => AddressClass::Loopback,
        // The metadata services of AWS and Google.
        [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254 | 0x23] | [0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254] => {
            AddressClass::Metadata
        }
        // The compatible form was given up: nothing public is behind it.
        [0, 0, 0, 0, 0, 0, high, low] => match classify_v4(embedded(high, low)) {
            AddressClass::Public => AddressClass::Reserved,
            other => other,
        },
        // NAT64 and 6to4 lead to the IPv4 address within.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => {
            classify_v4(embedded(high, low))
        }
        [0xfe80..=0xfebf, ..] => AddressClass::LinkLocal,
        [0xfc00..=0xfdff, ..] | [0xfec0..=0xfeff, ..] => AddressClass::Private,
        [0xff00..=0xffff, ..] => AddressClass::Multicast,
        // What is not handed out as global unicast, and within it protocol assignments (Teredo among them)
        // and documentation.
        [0x2001, 0..=0x1ff, ..] | [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => {
            AddressClass::Reserved
        }
        [0x2000..=0x3fff, ..] => AddressClass::Public,
        _ => AddressClass::Reserved,
    }
}

fn embedded(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from((u32::from(high) << 16) | u32::from(low))
}
