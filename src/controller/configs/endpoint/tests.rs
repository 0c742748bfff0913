use super::*;
use crate::api::ProviderConfigSpec;

fn config(before: &str, now: &str, confirmed: Option<&str>) -> ProviderConfig {
    let spec: ProviderConfigSpec =
        serde_json::from_value(serde_json::json!({ "endpoint": now })).unwrap();
    let mut config = ProviderConfig::new("default", spec);
    config.status = Some(api::ProviderConfigStatus {
        endpoint: Some(before.to_owned()),
        ..Default::default()
    });
    config.metadata.annotations = confirmed.map(|host| {
        let key = api::CONFIRM_ENDPOINT_ANNOTATION.to_owned();
        std::collections::BTreeMap::from([(key, host.to_owned())])
    });
    config
}

#[test]
fn another_host_holds_a_config_in_use_until_it_is_confirmed_by_name() {
    let (old, new) = ("https://a.example.com/v1", "https://b.example.com/v1");
    let reason = |config: &ProviderConfig, used| moved(config, used).map(|p| p.reason);
    let changed = Some(Reason::EndpointChanged);
    assert_eq!(reason(&config(old, new, None), true), changed);
    assert_eq!(
        reason(&config(old, new, None), false),
        None,
        "nobody uses it"
    );
    assert_eq!(
        reason(&config(old, new, Some("a.example.com")), true),
        changed
    );
    assert_eq!(
        reason(&config(old, new, Some("B.example.com ")), true),
        None
    );
    assert!(!is_where_it_was(&config(old, new, None)));
    let message = moved(&config(old, new, None), true).unwrap().message;
    assert!(
        message.contains("confirm-endpoint: \"b.example.com\""),
        "{message}"
    );
}

#[test]
fn scheme_port_path_and_case_may_change() {
    let old = "https://a.example.com/v1";
    for new in ["http://a.example.com:8080/v2/", "https://A.EXAMPLE.com"] {
        assert_eq!(moved(&config(old, new, None), true), None, "{new}");
        assert!(is_where_it_was(&config(old, new, None)));
    }
}

#[test]
fn a_config_that_never_worked_may_be_corrected() {
    let mut fresh = config("", "https://b.example.com", None);
    fresh.status = None;
    assert_eq!(moved(&fresh, true), None);
}
