//! Options that cannot be used.

use std::time::Duration;

use url::Url;

use crate::provider::guard::GuardError;
use crate::provider::http::{BuildError, HttpProvider, Options};
use crate::provider::testing::options;

fn refused(change: impl FnOnce(&mut Options)) -> BuildError {
    let mut options = options(Url::parse("https://cloud.example.com/api").unwrap());
    change(&mut options);
    match HttpProvider::new(options) {
        Ok(_) => panic!("options were taken"),
        Err(error) => error,
    }
}

#[tokio::test]
async fn each_option_that_cannot_be_used_is_named() {
    let error = refused(|options| options.timeout = Duration::ZERO);
    assert!(matches!(error, BuildError::Timeout));
    for bundle in [
        "",
        "no pem",
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
    ] {
        let error = refused(|options| options.ca_bundle = Some(bundle.to_owned()));
        assert!(matches!(error, BuildError::CaBundle), "{bundle}: {error:?}");
    }
    for name in [
        "",
        "10.0.0.1",
        "0x7f.1",
        "[::1]",
        "a b",
        "a/b",
        "2130706433",
    ] {
        let error = refused(|options| options.server_name = Some(name.to_owned()));
        assert!(
            matches!(error, BuildError::ServerName(_)),
            "{name}: {error:?}"
        );
    }
    let error = refused(|options| {
        options.endpoint = Url::parse("http://cloud.example.com").unwrap();
        options.server_name = Some("a.example.com".to_owned());
    });
    assert!(matches!(error, BuildError::TlsWithoutHttps));
    let error = refused(|options| options.endpoint = Url::parse("ftp://a.example.com").unwrap());
    assert!(matches!(error, BuildError::Endpoint(GuardError::Scheme(_))));
}

#[tokio::test]
async fn usual_options_are_taken() {
    let options = options(Url::parse("https://cloud.example.com/api").unwrap());
    assert!(HttpProvider::new(options).is_ok());
}
