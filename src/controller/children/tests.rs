use k8s_openapi::api::core::v1::{Secret, Service};
use serde_json::{Value, json};

use super::*;
use crate::domain::Uid;

const NOW: Moment = Moment::from_secs(100);

fn uid() -> Uid {
    Uid::new("u-1")
}

fn present(version: u32) -> Present {
    Present {
        held: Held {
            uid: Uid::new("child"),
            version: version.to_string(),
        },
        mark: "m".to_owned(),
        intact: true,
        ports: 0,
        going: false,
    }
}

fn listed() -> ChildIndex {
    let index = ChildIndex::default();
    for kind in OwnedKind::ALL {
        index.listed(kind);
    }
    index
}

/// The version of the Service that is known at a moment.
fn known(index: &ChildIndex, now: Moment) -> Option<String> {
    let children = index.of(&uid(), now).expect("listed");
    let service = children.get(ChildKind::Service);
    service.map(|present| present.held.version.clone())
}

#[test]
fn nothing_is_known_before_each_watch_has_listed() {
    let index = ChildIndex::default();
    for kind in OwnedKind::ALL {
        assert_eq!(index.of(&uid(), NOW), None);
        index.listed(kind);
    }
    assert_eq!(index.of(&uid(), NOW), Some(Children::default()));
}

#[test]
fn our_own_answer_counts_until_the_watch_is_as_new_and_is_no_news_then() {
    let index = listed();
    index.arrived(&uid(), ChildKind::Service, present(3));
    index.answered(&uid(), ChildKind::Service, present(7), NOW);
    assert!(
        !index.arrived(&uid(), ChildKind::Service, present(5)),
        "an older version"
    );
    assert_eq!(known(&index, NOW).as_deref(), Some("7"));
    assert!(
        !index.arrived(&uid(), ChildKind::Service, present(7)),
        "the answer itself"
    );
    let much_later = NOW + Duration::from_secs(999);
    assert_eq!(known(&index, much_later).as_deref(), Some("7"));
    assert!(
        index.arrived(&uid(), ChildKind::Service, present(9)),
        "somebody else's write"
    );
}

#[test]
fn an_answer_that_the_watch_overtook_says_nothing() {
    let index = listed();
    index.arrived(&uid(), ChildKind::Service, present(9));
    index.answered(&uid(), ChildKind::Service, present(7), NOW);
    assert_eq!(known(&index, NOW).as_deref(), Some("9"));
    index.answered(&uid(), ChildKind::Service, present(9), NOW);
    let much_later = NOW + Duration::from_secs(999);
    assert_eq!(
        known(&index, much_later).as_deref(),
        Some("9"),
        "confirmed before"
    );
}

#[test]
fn an_answer_that_the_watch_never_confirms_counts_for_five_seconds() {
    let index = listed();
    index.answered(&uid(), ChildKind::Service, present(7), NOW);
    assert_eq!(
        known(&index, NOW + Duration::from_secs(4)).as_deref(),
        Some("7")
    );
    assert_eq!(known(&index, NOW + Duration::from_secs(5)), None);
}

#[test]
fn the_end_of_an_older_one_is_not_the_end_of_this_one() {
    let index = listed();
    index.answered(&uid(), ChildKind::Service, present(7), NOW);
    let mut other = present(8);
    other.held.uid = Uid::new("before");
    index.vanished(&uid(), ChildKind::Service, &other.held);
    index.vanished(&uid(), ChildKind::Service, &present(5).held);
    assert_eq!(known(&index, NOW).as_deref(), Some("7"));
    index.vanished(&uid(), ChildKind::Service, &present(8).held);
    assert_eq!(known(&index, NOW), None);
    assert!(index.lock().owners.is_empty(), "nothing is kept of it");
}

/// Metadata of a Secret as the API server keeps them after our create.
fn secret() -> Value {
    json!({
        "metadata": {
            "name": "web-connection", "namespace": "team", "uid": "s-1", "resourceVersion": "5",
            "annotations": { "compute.example.com/applied": "mark" },
            "labels": { "app.kubernetes.io/managed-by": "vmoperator" },
            "ownerReferences": [{
                "apiVersion": "compute.example.com/v1", "kind": "VirtualMachine",
                "name": "web", "uid": "u-1", "controller": true,
            }],
            "managedFields": [{
                "manager": "vmoperator", "operation": "Update", "apiVersion": "v1",
                "fieldsType": "FieldsV1",
                "fieldsV1": {
                    "f:data": { ".": {}, "f:address": {}, "f:id": {}, "f:port": {}, "f:provider": {} },
                    "f:metadata": {
                        "f:annotations": { ".": {}, "f:compute.example.com/applied": {} },
                        "f:labels": { ".": {}, "f:app.kubernetes.io/managed-by": {} },
                        "f:ownerReferences": { ".": {}, "k:{\"uid\":\"u-1\"}": {} },
                    },
                    "f:type": {},
                },
            }],
        },
    })
}

fn service() -> Value {
    let mut service = secret();
    service["metadata"]["name"] = json!("web");
    let ours = &mut service["metadata"]["managedFields"][0]["fieldsV1"];
    ours["f:data"].take();
    let port = json!({ ".": {}, "f:name": {}, "f:port": {}, "f:protocol": {}, "f:targetPort": {} });
    ours["f:spec"] = json!({
        "f:clusterIP": {}, "f:type": {},
        "f:ports": {
            ".": {},
            "k:{\"port\":22,\"protocol\":\"TCP\"}": port,
            "k:{\"port\":80,\"protocol\":\"TCP\"}": port,
        },
    });
    service
}

fn read<K: ::kube::Resource<DynamicType = ()>>(object: &Value) -> Found {
    serde_json::from_value::<Trace<K>>(object.clone())
        .unwrap()
        .found()
        .clone()
}

#[test]
fn what_stands_in_the_book_as_ours_is_intact() {
    let found = read::<Secret>(&secret());
    assert!(found.present.intact);
    assert_eq!(found.present.mark, "mark");
    let owner = found.owner.unwrap();
    assert_eq!(
        (owner.key.to_string(), owner.uid),
        ("team/web".to_owned(), uid())
    );
    let found = read::<Service>(&service());
    assert!(found.present.intact);
    assert_eq!(found.present.ports, 2);
}

#[test]
fn each_field_that_left_our_page_is_an_edit() {
    let fields = [
        "/f:data/f:id",
        "/f:data/f:provider",
        "/f:data/f:address",
        "/f:data/f:port",
        "/f:metadata/f:annotations/f:compute.example.com~1applied",
        "/f:metadata/f:labels/f:app.kubernetes.io~1managed-by",
        "/f:metadata/f:ownerReferences/k:{\"uid\":\"u-1\"}",
    ];
    for field in fields {
        let mut edited = secret();
        let page = &mut edited["metadata"]["managedFields"][0]["fieldsV1"];
        let (parent, name) = field.rsplit_once('/').unwrap();
        let parent = page.pointer_mut(parent).unwrap().as_object_mut().unwrap();
        parent.remove(&name.replace("~1", "/")).unwrap();
        assert!(!read::<Secret>(&edited).present.intact, "{field}");
    }
    let mut cleared = secret();
    cleared["metadata"]["managedFields"].take();
    assert!(!read::<Secret>(&cleared).present.intact, "no book at all");
}

#[test]
fn what_others_add_is_theirs_but_for_the_spec_of_a_service() {
    let others = |object: &mut Value, fields: Value| {
        let pages = object["metadata"]["managedFields"].as_array_mut().unwrap();
        pages.push(json!({ "manager": "somebody", "operation": "Update", "fieldsV1": fields }));
    };
    let mut added = secret();
    let label = json!({ "f:data": { "f:more": {} }, "f:metadata": { "f:labels": { "f:x": {} } } });
    others(&mut added, label);
    assert!(read::<Secret>(&added).present.intact);
    let mut added = service();
    others(
        &mut added,
        json!({ "f:metadata": { "f:annotations": { "f:x": {} } } }),
    );
    assert!(read::<Service>(&added).present.intact);
    others(
        &mut added,
        json!({ "f:spec": { "f:externalTrafficPolicy": {} } }),
    );
    assert!(
        read::<Service>(&added).present.intact,
        "a field that we do not write"
    );
    others(&mut added, json!({ "f:spec": { "f:selector": {} } }));
    assert!(!read::<Service>(&added).present.intact);
    let mut renamed = service();
    let ports = &mut renamed["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]["f:ports"];
    ports["k:{\"port\":22,\"protocol\":\"TCP\"}"]
        .as_object_mut()
        .unwrap()
        .remove("f:name");
    assert_eq!(read::<Service>(&renamed).present.ports, 1);
}

#[test]
fn an_object_is_ours_by_its_controller_and_its_name_alone() {
    type Change = fn(&mut Value);
    let not_ours: [(&str, Change); 4] = [
        ("no owner", |m| drop(m["ownerReferences"].take())),
        ("no controller", |m| {
            m["ownerReferences"][0]["controller"] = json!(false)
        }),
        ("another kind", |m| {
            m["ownerReferences"][0]["kind"] = json!("Deployment")
        }),
        ("another group", |m| {
            m["ownerReferences"][0]["apiVersion"] = json!("kubevirt.io/v1")
        }),
    ];
    for (what, change) in not_ours {
        let mut object = secret();
        change(&mut object["metadata"]);
        assert_eq!(read::<Secret>(&object).owner, None, "{what}");
    }
    let kinds = [
        (
            OwnedKind::Secret,
            "web-connection",
            Some(ChildKind::Connection),
        ),
        (OwnedKind::Secret, "web", None),
        (OwnedKind::Service, "web", Some(ChildKind::Service)),
        (OwnedKind::EndpointSlice, "web-ipv4", Some(ChildKind::Ipv4)),
        (OwnedKind::EndpointSlice, "web-ipv6", Some(ChildKind::Ipv6)),
        (OwnedKind::EndpointSlice, "web-x7k2p", None),
    ];
    for (kind, name, expected) in kinds {
        assert_eq!(kind.child("web", name), expected, "{kind:?} {name}");
    }
}

#[test]
fn where_secrets_are_not_watched_each_is_looked_at_and_what_was_seen_counts_until_the_next_look() {
    let index = ChildIndex::default();
    index.leave_secrets_unwatched();
    index.listed(OwnedKind::Service);
    index.listed(OwnedKind::EndpointSlice);
    let secret = |now| {
        let children = index.of(&uid(), now)?;
        Some(children.get(ChildKind::Connection).is_some())
    };
    assert!(index.look_is_due(&uid(), NOW));
    assert_eq!(secret(NOW), None, "absence is not known before a look");
    index.looked(&uid(), None, NOW);
    assert_eq!(secret(NOW), Some(false));
    // No watch confirms our own write: it counts all the same.
    index.answered(&uid(), ChildKind::Connection, present(7), NOW);
    let later = NOW + Duration::from_mins(10);
    assert!(!index.look_is_due(&uid(), NOW + Duration::from_mins(9)));
    assert_eq!(secret(later), Some(true));
    assert!(index.look_is_due(&uid(), later));
    index.looked(&uid(), None, later);
    assert_eq!(secret(later), Some(false), "it was removed by hand");
    index.forget(&uid());
    assert!(index.look_is_due(&uid(), later));
    // Where they are watched nobody looks.
    assert!(!listed().look_is_due(&uid(), NOW));
}
