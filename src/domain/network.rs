//! Networks of IP addresses.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// Why a text is no network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no network: write 10.0.0.0/8 or fd00::/8, without bits beyond the prefix")]
pub struct NetworkError(String);

/// A network: an address and how many of its leading bits count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    prefix: u8,
}

impl Network {
    /// Reads `ADDRESS/PREFIX` or `ADDRESS`. `None` for anything else, also for bits set beyond the prefix,
    /// because then one of the two is a mistake.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address.parse().ok()?, Some(prefix)),
            None => (text.parse().ok()?, None),
        };
        let width = width(address);
        let prefix = match prefix {
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                digits.parse().ok().filter(|prefix| *prefix <= width)?
            }
            Some(_) => return None,
            None => width,
        };
        let network = Self { address, prefix };
        (network.masked(address) == bits(address)).then_some(network)
    }

    /// Whether the address is in this network.
    #[must_use]
    pub fn holds(self, address: IpAddr) -> bool {
        width(address) == width(self.address) && self.masked(address) == bits(self.address)
    }

    fn masked(self, address: IpAddr) -> u128 {
        let beyond = u32::from(width(address).saturating_sub(self.prefix));
        let mask = u128::MAX.checked_shl(beyond).unwrap_or(0);
        bits(address) & mask
    }
}

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        Self::parse(text).ok_or_else(|| NetworkError(text.chars().take(100).collect()))
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

fn width(address: IpAddr) -> u8 {
    match address {
        IpAddr::V4(_) => 32,
        IpAddr::V6(_) => 128,
    }
}

fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u32::from(address).into(),
        IpAddr::V6(address) => address.into(),
    }
}
