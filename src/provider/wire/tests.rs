mod fuzz;

use proptest::prelude::*;

use super::{WireError, capabilities, clean, code, depth, instance, is_id, page};
use crate::domain::quantity::Quantity;
use crate::domain::{AddressType, Incarnation, InstancePhase};

const VM: &str = r#"{"id":"vm-000001","name":"n","image":"ubuntu-24.04","cpu":2,"memory":"2Gi",
    "phase":"Running","tags":{"vmoperator/cluster":"c","vmoperator/uid":"u","vmoperator/incarnation":"3"},
    "addresses":[{"type":"InternalIP","address":"198.18.0.1"}],
    "createdAt":"2026-01-01T00:00:00Z","revision":"7","later":{"unknown":[1]}}"#;

#[test]
fn a_vm_is_read_and_unknown_fields_are_ignored() {
    let vm = instance(VM.as_bytes()).unwrap();
    assert_eq!(vm.id.as_str(), "vm-000001");
    assert_eq!(vm.memory, Quantity::parse("2048Mi").unwrap());
    assert_eq!(vm.phase, InstancePhase::Running);
    assert_eq!(vm.addresses[0].kind, AddressType::InternalIp);
    assert_eq!(vm.created_at, "2026-01-01T00:00:00Z");
    let owner = vm.owner.unwrap();
    assert_eq!((owner.cluster.as_str(), owner.uid.as_str()), ("c", "u"));
    assert_eq!(owner.incarnation, Incarnation::new(3).unwrap());
}

#[test]
fn a_basic_provider_needs_to_tell_id_and_phase_alone() {
    let vm = instance(br#"{"id":"vm-1","phase":"Booting"}"#).unwrap();
    assert_eq!(vm.phase, InstancePhase::Other("Booting".to_owned()));
    assert_eq!(vm.owner, None);
    assert_eq!(vm.memory.bytes(), Ok(0));
}

#[test]
fn an_instance_without_both_owner_tags_has_no_owner() {
    for tags in [
        r#"{}"#,
        r#"{"vmoperator/cluster":"c"}"#,
        r#"{"vmoperator/uid":"u"}"#,
        r#"{"vmoperator/cluster":"","vmoperator/uid":"u"}"#,
        "null",
    ] {
        let text = format!(r#"{{"id":"a","phase":"Running","tags":{tags}}}"#);
        assert_eq!(instance(text.as_bytes()).unwrap().owner, None, "{tags}");
    }
}

#[test]
fn an_unreadable_incarnation_counts_as_the_first() {
    for number in ["", "0", "-1", "x", "99999999999"] {
        let text = format!(
            r#"{{"id":"a","phase":"Running","tags":{{"vmoperator/cluster":"c","vmoperator/uid":"u","vmoperator/incarnation":"{number}"}}}}"#
        );
        let vm = instance(text.as_bytes()).unwrap();
        assert_eq!(vm.incarnation(), Incarnation::FIRST, "{number}");
    }
}

#[test]
fn what_is_not_a_vm_is_told_apart() {
    let check = |text: &str, error| assert_eq!(instance(text.as_bytes()), Err(error), "{text}");
    check("", WireError::NotTheShape);
    check("<html>", WireError::NotTheShape);
    check("null", WireError::NotTheShape);
    check("[]", WireError::NotTheShape);
    check(r#"{"phase":"Running"}"#, WireError::NotTheShape);
    check(r#"{"id":7,"phase":"Running"}"#, WireError::NotTheShape);
    check(r#"{"id":"a"}"#, WireError::NotTheShape);
    check(
        r#"{"id":"a","phase":"Running","cpu":-1}"#,
        WireError::NotTheShape,
    );
    check(
        r#"{"id":"a","phase":"Running","cpu":"2"}"#,
        WireError::NotTheShape,
    );
    check(
        r#"{"id":"a","id":"b","phase":"Running"}"#,
        WireError::NotTheShape,
    );
    check(r#"{"id":"a","phase":"Running"} x"#, WireError::NotTheShape);
    check(r#"{"id":"a","phase":"Running""#, WireError::NotTheShape);
    check(r#"{"id":"","phase":"Running"}"#, WireError::Id);
    check(r#"{"id":"..","phase":"Running"}"#, WireError::Id);
    check(r#"{"id":"a b","phase":"Running"}"#, WireError::Id);
    check(
        r#"{"id":"a","phase":"Running","memory":"much"}"#,
        WireError::Memory,
    );
}

#[test]
fn one_bad_item_spoils_the_page() {
    let good = page(br#"{"items":[{"id":"a","phase":"Running"}],"continue":"","revision":"1"}"#);
    assert_eq!(
        good.map(|page| (page.items.len(), page.next)),
        Ok((1, None))
    );
    let bad =
        page(br#"{"items":[{"id":"a","phase":"Running"},{"id":"\u0007","phase":"Running"}]}"#);
    assert_eq!(bad.err(), Some(WireError::Id));
    assert_eq!(
        page(br#"{"continue":""}"#).err(),
        Some(WireError::NotTheShape)
    );
    assert_eq!(page(br#"[]"#).err(), Some(WireError::NotTheShape));
}

#[test]
fn capabilities_need_a_version_and_default_to_nothing() {
    assert_eq!(capabilities(b"{}"), Err(WireError::NotTheShape));
    let least = capabilities(br#"{"version":"1"}"#).unwrap();
    assert_eq!(least, crate::domain::Capabilities::default());
    let full = capabilities(
        br#"{"version":"1","account":"acc-1","list":true,"tagFilter":true,"listLagSeconds":5,"changes":true,
            "idempotencyKeys":{"ttlSeconds":86400},"power":true,"resize":["stopped"],"deleteIsAsync":true}"#,
    )
    .unwrap();
    assert!(full.safe_create() && full.tag_filter && full.delete_is_async);
    assert_eq!(full.account.as_deref(), Some("acc-1"));
    assert_eq!(full.list_lag.as_secs(), 5);
    assert_eq!(full.key_lifetime.map(|life| life.as_secs()), Some(86_400));
    let no_life =
        capabilities(br#"{"version":"1","list":true,"idempotencyKeys":{"ttlSeconds":0}}"#);
    assert!(!no_life.unwrap().safe_create());
}

#[test]
fn a_code_is_a_word_or_nothing() {
    let of = |code: &str| {
        super::code(
            serde_json::json!({ "code": code, "message": "m" })
                .to_string()
                .as_bytes(),
        )
    };
    assert_eq!(of("QuotaExceeded").as_deref(), Some("QuotaExceeded"));
    assert_eq!(of(""), None);
    assert_eq!(of("a\u{1b}[31m"), None);
    assert_eq!(of("two words"), None);
    assert_eq!(of(&"a".repeat(65)), None);
    assert_eq!(code(b"<html>"), None);
    assert_eq!(code(br#"{"code":5}"#), None);
}

#[test]
fn ids_are_visible_ascii_and_no_step_in_a_path() {
    for good in [
        "vm-000001",
        "a",
        "a/b",
        "...",
        "%2e",
        "x?y#z",
        &"a".repeat(253),
    ] {
        assert!(is_id(good), "{good}");
    }
    for bad in ["", ".", "..", "a b", "a\n", "ä", "a\0", &"a".repeat(254)] {
        assert!(!is_id(bad), "{bad}");
    }
}

#[test]
fn text_for_people_loses_what_steers_a_terminal() {
    assert_eq!(clean("a\u{1b}[31mb\r\n\u{202e}c\u{9b}d", 100), "a[31mbcd");
    assert_eq!(clean("äöü", 2), "äö");
    let long = format!(
        r#"{{"id":"a","phase":"Failed","message":"{}"}}"#,
        "m".repeat(5000)
    );
    assert_eq!(
        instance(long.as_bytes())
            .unwrap()
            .message
            .map(|text| text.len()),
        Some(1024)
    );
}

#[test]
fn deep_nesting_is_refused_before_parsing() {
    assert_eq!(depth(br#"{"a":"[[[[\"[[","b":[1]}"#), 2);
    let bomb = format!(
        r#"{{"id":"a","phase":"Running","x":{}{}}}"#,
        "[".repeat(40),
        "]".repeat(40)
    );
    assert_eq!(instance(bomb.as_bytes()), Err(WireError::TooDeep));
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(bytes: Vec<u8>) {
        let _ = instance(&bytes);
        let _ = page(&bytes);
        let _ = capabilities(&bytes);
        let _ = code(&bytes);
    }

    #[test]
    fn cleaned_text_is_short_and_without_control_characters(text: String, max in 0usize..64) {
        let cleaned = clean(&text, max);
        prop_assert!(cleaned.chars().count() <= max);
        prop_assert!(!cleaned.chars().any(char::is_control));
    }
}
