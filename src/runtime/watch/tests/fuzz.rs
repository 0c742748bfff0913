//! Any JSON as an object of the API server.

use crate::api::{FINALIZER, ProviderConfig, VirtualMachine};
use crate::controller::kube::view_of;
use crate::domain::ClusterId;
use crate::fuzz::fuzz;
use crate::runtime::watch::{Arrival, Object};

#[test]
fn any_object_is_one_that_can_be_deleted_whatever_else_is_in_it() {
    let corpus: &[&[u8]] = &[
        br#"{"apiVersion":"compute.example.com/v1","kind":"VirtualMachine","metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"7","generation":2,"finalizers":["compute.example.com/vm"],"annotations":{"compute.example.com/create":"{}","compute.example.com/paused":"true"}},"spec":{"image":"i","cpu":2,"memory":"4Gi","providerRef":"default"},"status":{"id":"vm-1","incarnation":1,"phase":"Running","conditions":[]}}"#,
        br#"{"metadata":{"name":"a","uid":"u"},"spec":{"cpu":"two"},"status":{"id":7}}"#,
        br#"{"metadata":{"finalizers":[1]},"spec":[],"status":{"incarnation":18446744073709551615}}"#,
        br#"{"metadata":null}"#,
    ];
    fuzz("virtual machine", corpus, |input| {
        let Ok(arrival) = serde_json::from_slice::<Arrival<VirtualMachine>>(input) else {
            return "no JSON";
        };
        let object: Object<VirtualMachine> = arrival.into();
        let view = view_of(&object, &ClusterId::new("c"));
        assert_eq!(
            view.object.finalizer,
            view.finalizers.iter().any(|f| f == FINALIZER)
        );
        assert_eq!(
            view.object.spec.is_some(),
            matches!(object, Object::Sound(_))
        );
        match object {
            Object::Sound(_) => "sound",
            Object::Broken(broken) => {
                assert!(broken.error.chars().count() <= 300);
                "broken"
            }
        }
    });
}

#[test]
fn any_provider_config_is_one_or_is_told_to_be_broken() {
    let corpus: &[&[u8]] = &[
        br#"{"apiVersion":"compute.example.com/v1","kind":"ProviderConfig","metadata":{"name":"default"},"spec":{"endpoint":"https://cloud.example.com","credentialsSecretRef":{"name":"s"}},"status":{}}"#,
        br#"{"metadata":{},"spec":{"endpoint":7}}"#,
    ];
    fuzz(
        "provider config",
        corpus,
        |input| match serde_json::from_slice::<Arrival<ProviderConfig>>(input) {
            Ok(Arrival::Sound(_)) => "sound",
            Ok(Arrival::Broken(_)) => "broken",
            Err(_) => "no JSON",
        },
    );
}
