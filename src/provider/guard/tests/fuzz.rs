//! Any text as an endpoint.

use std::net::IpAddr;

use url::Url;

use super::{AddressClass, Guard, LITERALS, classify, guard};
use crate::fuzz::fuzz;

/// What a browser of the platform makes of a host that is an address.
fn address(endpoint: &Url) -> Option<IpAddr> {
    let host = endpoint.host_str()?;
    host.trim_start_matches('[')
        .trim_end_matches(']')
        .parse()
        .ok()
}

#[test]
fn no_text_passes_the_guard_and_names_an_inner_address() {
    let urls: Vec<String> = LITERALS
        .iter()
        .map(|host| format!("https://{host}/v1"))
        .collect();
    let mut corpus: Vec<&[u8]> = urls.iter().map(|url| url.as_bytes()).collect();
    corpus.push(b"https://cloud.example.com/v1");
    corpus.push(b"http://user:key@cloud.example.com:8443/?a#b");
    corpus.push(b"https://8.8.8.8:443");
    corpus.push(b"https://[2606:4700::1111]/");
    let strict = Guard {
        allow_http: false,
        ..guard(&[])
    };
    fuzz("endpoint", &corpus, |input| {
        let Ok(Ok(endpoint)) = std::str::from_utf8(input).map(Url::parse) else {
            return "no URL";
        };
        if strict.check_endpoint(&endpoint).is_err() {
            return "refused";
        }
        assert_eq!(endpoint.scheme(), "https");
        assert!(
            endpoint.username().is_empty() && endpoint.password().is_none(),
            "{endpoint}"
        );
        assert!(
            endpoint.query().is_none() && endpoint.fragment().is_none(),
            "{endpoint}"
        );
        match address(&endpoint) {
            Some(address) => {
                assert_eq!(classify(address), AddressClass::Public, "{endpoint}");
                "a public address"
            }
            None => "a name",
        }
    });
}
