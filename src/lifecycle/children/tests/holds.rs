//! What is told of an instance, and how it is marked.

use super::*;

#[test]
fn only_addresses_that_mean_the_same_everywhere_are_told() {
    let never = [
        "127.0.0.1",
        "0.0.0.0",
        "0.1.2.3",
        "169.254.169.254",
        "224.0.0.1",
        "239.1.1.1",
        "255.255.255.255",
        "::1",
        "::",
        "fe80::1",
        "ff02::1",
        "::ffff:127.0.0.1",
        "::ffff:169.254.1.1",
        "no address",
        "",
        "10.0.0.1:80",
    ];
    for address in never {
        let list = ips(&[address, "10.0.0.9"]);
        assert_eq!(
            first(&[], &list),
            Some("10.0.0.9".parse().unwrap()),
            "{address}"
        );
        assert_eq!(first(&[], &list[..1]), None, "{address}");
    }
    let mapped = first(&[], &ips(&["::ffff:10.0.0.1"]));
    assert_eq!(
        mapped,
        Some("10.0.0.1".parse().unwrap()),
        "an IPv4 address in its plain form"
    );
    let mut named = ips(&["10.0.0.1"]);
    named[0].kind = AddressType::Hostname;
    assert_eq!(first(&[], &named), None, "names are left out");
}

#[test]
fn the_operator_s_networks_limit_what_is_told() {
    let admitted = ["10.0.0.0/8", "2001:db8::/32", "127.0.0.0/8"].map(|text| text.parse().unwrap());
    let list = ips(&[
        "198.18.0.1",
        "127.0.0.1",
        "10.1.2.3",
        "2001:db9::1",
        "2001:db8::1",
    ]);
    let of = |family| first_of(&admitted, &list, family).map(|ip| ip.to_string());
    assert_eq!(
        of(Family::V4).as_deref(),
        Some("10.1.2.3"),
        "loopback stays out, admitted or not"
    );
    assert_eq!(of(Family::V6).as_deref(), Some("2001:db8::1"));
    let mut case = Case::with(|case| {
        case.policy.instance_addresses = vec!["192.0.2.0/24".parse::<Network>().unwrap()];
    });
    assert_eq!(
        case.settle(),
        creates(&ALL[..2]),
        "no endpoints, and the Secret without address"
    );
    assert_eq!(case.ready().0, "True/Running");
}

#[test]
fn marks_differ_where_contents_do() {
    let port = |name: &str, port, protocol| ServicePort {
        name: name.to_owned(),
        port,
        protocol,
    };
    let one = |ports| Content::Service { ports };
    let slice = |address: &str, ready| Content::Endpoints {
        service: "web".to_owned(),
        ports: vec![port("a", 1, Protocol::Tcp)],
        address: address.parse().unwrap(),
        ready,
    };
    let all = [
        one(vec![port("a", 1, Protocol::Tcp)]),
        one(vec![port("a", 1, Protocol::Udp)]),
        one(vec![port("b", 1, Protocol::Tcp)]),
        one(vec![port("a", 2, Protocol::Tcp)]),
        one(vec![
            port("a", 1, Protocol::Tcp),
            port("b", 2, Protocol::Tcp),
        ]),
        slice("10.0.0.1", true),
        slice("10.0.0.1", false),
        slice("10.0.0.2", true),
    ];
    let marks: std::collections::BTreeSet<_> = all.iter().map(Content::mark).collect();
    assert_eq!(marks.len(), all.len());
    // Written into every cluster: a change of form must be meant.
    assert_eq!(all[0].mark(), "a276l7yfna3zc4zaogfemmpydm");
}
