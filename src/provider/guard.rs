//! Which endpoints this operator may talk to.
//!
//! Whoever writes a ProviderConfig chooses where the operator connects from inside the cluster. So an address is
//! refused unless it is public or admitted by whoever runs the operator; and it is checked when connecting,
//! because a name may resolve to something else then than it did before.

mod address;
mod resolver;

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use url::{Host, Url};

pub use address::AddressClass;
use address::{canonical, classify};
pub(super) use resolver::{GuardedResolver, ResolveError, system_lookup};
pub use resolver::{Lookup, LookupFuture};

use crate::domain::Network;

/// Longest endpoint that is taken, in bytes; the bound of the API field.
const MAX_URL: usize = 2048;

/// What `--allow-http` and `--endpoint-allow` say. The default admits https to public addresses alone.
#[derive(Clone, Debug, Default)]
pub struct Guard {
    /// Plain http is admitted too.
    pub allow_http: bool,
    /// What is admitted beyond public addresses.
    pub admitted: Vec<Admission>,
}

/// One `--endpoint-allow`: a network (`10.0.0.0/8`, `fd00::/8`), an address, or a host pattern (`localhost`,
/// `mock.default.svc`, `*.cloud.internal`).
///
/// A network admits every address in it. A host pattern admits what the name resolves to as long as that is
/// public, private or loopback; link-local addresses, and with them the metadata services of clouds, are
/// admitted by a network alone, because whoever answers for the name must not choose them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admission(Rule);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Rule {
    Network(Network),
    /// The name itself, lower case.
    Host(String),
    /// Every name below this one, lower case, without `*.`.
    Below(String),
}

/// Why a text is neither a network nor a host pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is neither a network (10.0.0.0/8), an address nor a host pattern (localhost, *.cloud.internal)"
)]
pub struct AdmissionError(String);

/// Why an endpoint is refused. Quotes no part of the URL but scheme, host and address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GuardError {
    /// Neither http nor https.
    #[error("the endpoint has scheme {0}: only https and, where it is allowed, http are")]
    Scheme(String),
    /// Plain http without `--allow-http`.
    #[error("the endpoint is plain http: use https, or start the operator with --allow-http")]
    Http,
    /// User or password in the URL: they would end up in logs.
    #[error("the endpoint has a user or a password in it: put the key into the Secret")]
    UserInfo,
    /// Paths of the API are appended, so nothing may follow the path.
    #[error("the endpoint has a query or a fragment: leave away what follows ? or #")]
    Query,
    /// Longer than the API field may be.
    #[error("the endpoint is longer than {MAX_URL} bytes")]
    TooLong,
    /// Nothing to connect to.
    #[error("the endpoint has no host")]
    NoHost,
    /// The address is none of the admitted ones.
    #[error(
        "{host} is at a {class} address, {address}: only public addresses are allowed; \
         whoever runs the operator can admit more with --endpoint-allow"
    )]
    Address {
        /// The host as the endpoint names it.
        host: String,
        /// The address that was refused.
        address: IpAddr,
        /// What kind of address it is.
        class: AddressClass,
    },
}

impl Guard {
    /// Checks everything about an endpoint that can be known without resolving its name.
    ///
    /// # Errors
    /// [`GuardError`] says what is not allowed.
    pub fn check_endpoint(&self, endpoint: &Url) -> Result<(), GuardError> {
        if endpoint.as_str().len() > MAX_URL {
            return Err(GuardError::TooLong);
        }
        match endpoint.scheme() {
            "https" => {}
            "http" if self.allow_http => {}
            "http" => return Err(GuardError::Http),
            other => return Err(GuardError::Scheme(other.to_owned())),
        }
        if !endpoint.username().is_empty() || endpoint.password().is_some() {
            return Err(GuardError::UserInfo);
        }
        if endpoint.query().is_some() || endpoint.fragment().is_some() {
            return Err(GuardError::Query);
        }
        match endpoint.host() {
            None | Some(Host::Domain("")) => Err(GuardError::NoHost),
            Some(Host::Domain(_)) => Ok(()),
            Some(Host::Ipv4(address)) => self.check_address(&address.to_string(), address.into()),
            Some(Host::Ipv6(address)) => self.check_address(&address.to_string(), address.into()),
        }
    }

    /// Checks an address that `host` resolved to.
    ///
    /// # Errors
    /// [`GuardError::Address`] where it is neither public nor admitted.
    pub fn check_address(&self, host: &str, address: IpAddr) -> Result<(), GuardError> {
        let class = classify(address);
        let admitted = class == AddressClass::Public
            || self.admitted.iter().any(|Admission(rule)| match rule {
                Rule::Network(network) => network.holds(canonical(address)),
                Rule::Host(name) => class.may_be_admitted_by_name() && plain(host) == *name,
                Rule::Below(name) => {
                    class.may_be_admitted_by_name()
                        && plain(host)
                            .strip_suffix(name.as_str())
                            .is_some_and(|front| front.len() > 1 && front.ends_with('.'))
                }
            });
        if admitted {
            return Ok(());
        }
        Err(GuardError::Address {
            host: host.to_owned(),
            address,
            class,
        })
    }
}

impl FromStr for Admission {
    type Err = AdmissionError;

    fn from_str(text: &str) -> Result<Self, AdmissionError> {
        let error = || AdmissionError(text.chars().take(100).collect());
        if let Some(network) = Network::parse(text) {
            return Ok(Self(Rule::Network(network)));
        }
        let (below, name) = match text.strip_prefix("*.") {
            Some(name) => (true, name),
            None => (false, text),
        };
        // The URL parser is asked, so that a pattern is written as it will be compared (case, punycode), and
        // so that 0x7f.1 is not taken for a name.
        match Host::parse(name) {
            Ok(Host::Domain(host)) if !host.contains(['*', '/', ':']) => {
                let host = plain(&host);
                match (host.is_empty(), below) {
                    (true, _) => Err(error()),
                    (false, true) => Ok(Self(Rule::Below(host))),
                    (false, false) => Ok(Self(Rule::Host(host))),
                }
            }
            Ok(Host::Domain(_) | Host::Ipv4(_) | Host::Ipv6(_)) | Err(_) => Err(error()),
        }
    }
}

impl fmt::Display for Admission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Rule::Network(network) => network.fmt(f),
            Rule::Host(name) => f.write_str(name),
            Rule::Below(name) => write!(f, "*.{name}"),
        }
    }
}

/// A host name as it is compared: lower case, without the dot that ends a full name.
fn plain(host: &str) -> String {
    host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase()
}

#[cfg(test)]
mod tests;
