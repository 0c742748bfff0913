//! Endpoints against a trap: a server on loopback that must not be met unless it is admitted.

mod fuzz;
mod urls;

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use url::Url;

use super::{AddressClass, Admission, Guard, GuardError, Lookup, classify, system_lookup};
use crate::domain::{ErrorKind, InstanceId, ProviderError};
use crate::provider::Provider;
use crate::provider::http::{BuildError, HttpProvider, Options};
use crate::provider::testing::{Server, options, vm};

use urls::{LITERALS, NAMED, TRICKS};

/// What became of a try to talk to an endpoint.
#[derive(Debug, PartialEq)]
enum Fate {
    /// There is no client for it.
    NotBuilt(GuardError),
    /// The text is no URL at all.
    NoUrl,
    Called(Result<(), ProviderError>),
}

impl Fate {
    fn is_refused_by_the_guard(&self) -> bool {
        match self {
            Self::NotBuilt(_) | Self::NoUrl => true,
            Self::Called(Ok(())) => false,
            Self::Called(Err(error)) => error.kind == ErrorKind::EndpointNotAllowed,
        }
    }
}

fn guard(admitted: &[&str]) -> Guard {
    Guard {
        allow_http: true,
        admitted: admitted.iter().map(|text| text.parse().unwrap()).collect(),
    }
}

async fn talk(endpoint: &str, guard: Guard, lookup: Lookup) -> Fate {
    let Ok(endpoint) = Url::parse(endpoint) else {
        return Fate::NoUrl;
    };
    let options = Options {
        guard,
        timeout: Duration::from_secs(5),
        ..options(endpoint)
    };
    match HttpProvider::with_lookup(options, lookup) {
        Err(BuildError::Endpoint(error)) => Fate::NotBuilt(error),
        Err(error) => panic!("{error:?}"),
        Ok(provider) => Fate::Called(provider.get(&InstanceId::new("vm-1")).await.map(|_| ())),
    }
}

/// Names of a hostile DNS.
fn hostile_dns() -> Lookup {
    Arc::new(|host| {
        let addresses: &[&str] = match host.as_str() {
            "to-loopback.test" | "to-loopback.test." => &["127.0.0.1"],
            "to-loopback6.test" => &["::1"],
            "to-mapped.test" => &["::ffff:127.0.0.1"],
            "to-metadata.test" => &["169.254.169.254"],
            "to-private.test" => &["10.0.0.1", "192.168.0.1", "172.16.0.1"],
            "to-ula.test" => &["fd00::1"],
            "to-nat64.test" => &["64:ff9b::7f00:1"],
            "to-nothing.test" => &[],
            "to-zero.test" => &["0.0.0.0"],
            other => panic!("nobody should ask for {other}"),
        };
        let addresses = addresses.iter().map(|text| text.parse().unwrap()).collect();
        Box::pin(async move { Ok(addresses) })
    })
}

async fn trap() -> (Server, u16) {
    let server = Server::always(200, "", &vm("vm-1", "c", "u")).await;
    let port = server.address.port();
    (server, port)
}

#[tokio::test]
async fn no_way_of_writing_an_inner_address_reaches_it() {
    let (trap, port) = trap().await;
    let hosts = LITERALS.iter().chain(NAMED);
    let urls = hosts.map(|host| format!("http://{host}:{port}"));
    let urls = urls.chain(
        TRICKS
            .iter()
            .map(|url| url.replace("127.0.0.1", &format!("127.0.0.1:{port}"))),
    );
    let urls: Vec<String> = urls.collect();
    assert!(urls.len() >= 40);
    for url in urls {
        let fate = talk(&url, guard(&[]), hostile_dns()).await;
        assert!(fate.is_refused_by_the_guard(), "{url}: {fate:?}");
    }
    assert_eq!(trap.connections.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn the_same_trap_is_reached_when_it_is_admitted() {
    let (trap, port) = trap().await;
    let cases = [
        ("127.0.0.1", "127.0.0.0/8"),
        ("127.0.0.1", "127.0.0.1"),
        ("2130706433", "127.0.0.0/8"),
        ("[::ffff:127.0.0.1]", "127.0.0.0/8"),
        ("to-loopback.test", "127.0.0.0/8"),
        ("to-loopback.test", "to-loopback.test"),
        ("To-Loopback.TEST", "to-loopback.test."),
        ("to-loopback.test.", "TO-loopback.test"),
        ("to-loopback.test", "*.test"),
        ("to-mapped.test", "127.0.0.1/32"),
    ];
    for (number, (host, admitted)) in cases.into_iter().enumerate() {
        let url = format!("http://{host}:{port}");
        let fate = talk(&url, guard(&[admitted]), hostile_dns()).await;
        assert_eq!(fate, Fate::Called(Ok(())), "{url} {admitted}");
        assert_eq!(trap.connections.load(Ordering::SeqCst), number + 1);
    }
}

#[tokio::test]
async fn the_systems_name_of_loopback_is_refused_and_admitted_like_any() {
    let (trap, port) = trap().await;
    for name in ["localhost", "LOCALHOST", "localhost."] {
        let url = format!("http://{name}:{port}");
        let fate = talk(&url, guard(&[]), system_lookup()).await;
        assert!(!matches!(fate, Fate::Called(Ok(()))), "{url}: {fate:?}");
    }
    assert_eq!(trap.connections.load(Ordering::SeqCst), 0);
    let url = format!("http://localhost:{port}");
    let fate = talk(&url, guard(&["localhost"]), system_lookup()).await;
    assert_eq!(fate, Fate::Called(Ok(())));
}

#[tokio::test]
async fn a_host_pattern_admits_no_metadata_service() {
    for name in ["to-metadata.test", "to-zero.test"] {
        let url = format!("http://{name}");
        let fate = talk(&url, guard(&["*.test", name]), hostile_dns()).await;
        assert!(fate.is_refused_by_the_guard(), "{url}: {fate:?}");
    }
    let guard = guard(&["*.test"]);
    let address = |text: &str| text.parse::<IpAddr>().unwrap();
    assert!(guard.check_address("a.test", address("10.0.0.1")).is_ok());
    assert!(guard.check_address("a.b.test", address("10.0.0.1")).is_ok());
    for other in ["test", "atest", ".test", "a.test.evil", "a.tes"] {
        assert!(
            guard.check_address(other, address("10.0.0.1")).is_err(),
            "{other}"
        );
    }
}

#[tokio::test]
async fn a_name_that_changes_its_address_is_checked_at_each_connection() {
    let (trap, port) = trap().await;
    let turn = Arc::new(AtomicUsize::new(0));
    let counted = turn.clone();
    // Admitted at first (as when the object is checked), the trap afterwards.
    let rebinding: Lookup = Arc::new(move |_| {
        let address = match counted.fetch_add(1, Ordering::SeqCst) {
            0 => "127.0.0.1",
            _ => "127.0.0.2",
        };
        let address: IpAddr = address.parse().unwrap();
        Box::pin(async move { Ok(vec![address]) })
    });
    let options = Options {
        guard: guard(&["127.0.0.1"]),
        ..options(Url::parse(&format!("http://rebind.test:{port}")).unwrap())
    };
    let provider = HttpProvider::with_lookup(options, rebinding).unwrap();
    let id = InstanceId::new("vm-1");
    assert!(provider.get(&id).await.is_ok());
    let error = provider.get(&id).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::EndpointNotAllowed);
    assert!(!error.may_have_happened());
    assert_eq!(turn.load(Ordering::SeqCst), 2);
    assert_eq!(trap.connections.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn of_several_addresses_the_admitted_ones_are_used() {
    let (_trap, port) = trap().await;
    let mixed: Lookup = Arc::new(|_| {
        let all = ["169.254.169.254", "127.0.0.1", "10.0.0.1"];
        let all = all.iter().map(|text| text.parse().unwrap()).collect();
        Box::pin(async move { Ok(all) })
    });
    let url = format!("http://mixed.test:{port}");
    let fate = talk(&url, guard(&["127.0.0.1"]), mixed).await;
    assert_eq!(fate, Fate::Called(Ok(())));
}

#[tokio::test]
async fn a_name_without_address_is_unreachable_and_not_forbidden() {
    let fate = talk("http://to-nothing.test", guard(&[]), hostile_dns()).await;
    let Fate::Called(Err(error)) = fate else {
        panic!("{fate:?}")
    };
    assert_eq!(error.kind, ErrorKind::Unavailable);
    assert_eq!(error.code.as_deref(), Some("NameNotResolved"));
    let failing: Lookup = Arc::new(|_| Box::pin(async { Err(std::io::Error::other("no DNS")) }));
    let Fate::Called(Err(error)) = talk("http://some.test", guard(&[]), failing).await else {
        panic!()
    };
    assert_eq!(error.code.as_deref(), Some("NameNotResolved"));
}

#[test]
fn plain_http_needs_the_flag_and_messages_quote_no_secret() {
    let check = |url: &str, allow_http| {
        let guard = Guard {
            allow_http,
            admitted: Vec::new(),
        };
        guard.check_endpoint(&Url::parse(url).unwrap())
    };
    assert_eq!(check("http://cloud.example.com", true), Ok(()));
    assert_eq!(
        check("http://cloud.example.com", false),
        Err(GuardError::Http)
    );
    assert_eq!(check("https://cloud.example.com/a/b", false), Ok(()));
    assert_eq!(
        check("https://u:canary@cloud.example.com", false),
        Err(GuardError::UserInfo)
    );
    assert_eq!(
        check("https://cloud.example.com?canary", false),
        Err(GuardError::Query)
    );
    assert_eq!(
        check("https://cloud.example.com#canary", false),
        Err(GuardError::Query)
    );
    let long = format!("https://cloud.example.com/{}", "a".repeat(2048));
    assert_eq!(check(&long, false), Err(GuardError::TooLong));
    let error = check("https://10.1.2.3", false).unwrap_err();
    assert_eq!(
        error.to_string(),
        "10.1.2.3 is at a private address, 10.1.2.3: only public addresses are allowed; \
         whoever runs the operator can admit more with --endpoint-allow"
    );
}

#[test]
fn public_addresses_are_public() {
    for public in [
        "1.1.1.1",
        "8.8.8.8",
        "172.15.0.1",
        "172.32.0.1",
        "100.63.255.255",
        "100.128.0.1",
        "192.0.1.1",
        "198.17.0.1",
        "198.20.0.1",
        "223.255.255.255",
        "169.253.0.1",
        "11.0.0.1",
        "2606:4700::1111",
        "2a00:1450::1",
        "2001:4860:4860::8888",
        "64:ff9b::808:808",
        "::ffff:8.8.8.8",
    ] {
        assert_eq!(
            classify(public.parse().unwrap()),
            AddressClass::Public,
            "{public}"
        );
    }
}

#[test]
fn admissions_are_read_strictly_and_written_back() {
    for (text, written) in [
        ("10.0.0.0/8", "10.0.0.0/8"),
        ("10.1.2.3", "10.1.2.3/32"),
        ("0.0.0.0/0", "0.0.0.0/0"),
        ("fd00::/8", "fd00::/8"),
        ("::1", "::1/128"),
        ("LocalHost", "localhost"),
        ("*.Cloud.internal.", "*.cloud.internal"),
    ] {
        assert_eq!(text.parse::<Admission>().unwrap().to_string(), written);
    }
    for bad in [
        "",
        "*",
        "*.",
        ".",
        "10.0.0.0/33",
        "10.0.0.1/8",
        "10.0.0.0/",
        "10.0.0.0/-1",
        "10.0.0.0/+8",
        "10.0.0/8",
        "fd00::/129",
        "a b",
        "http://a",
        "a/b",
        "a:80",
        "*.*.a",
        "a.*",
        "0x7f.1",
        "[::1]",
        "2130706433",
    ] {
        let error = bad.parse::<Admission>();
        assert!(error.is_err(), "{bad}: {error:?}");
    }
}

#[test]
fn a_network_holds_its_own_family_alone() {
    let guard = guard(&["0.0.0.0/0"]);
    let check = |text: &str| guard.check_address("h", text.parse().unwrap()).is_ok();
    assert!(check("169.254.169.254") && check("10.0.0.1") && check("::ffff:10.0.0.1"));
    assert!(!check("fd00::1") && !check("::1") && !check("64:ff9b::a00:1"));
}
