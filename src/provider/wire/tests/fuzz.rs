//! Any bytes as an answer of a provider.

use crate::fuzz::fuzz;
use crate::provider::wire::{capabilities, changes, clean, code, instance, is_id, page};

const VM: &[u8] = br#"{"id":"vm-1","name":"n","image":"i","cpu":2,"memory":"2Gi","phase":"Running",
    "tags":{"vmoperator/cluster":"c","vmoperator/uid":"u","vmoperator/incarnation":"3"},
    "addresses":[{"type":"InternalIP","address":"198.18.0.1"}],"createdAt":"2026-01-01T00:00:00Z","revision":"7"}"#;

#[test]
fn any_body_is_an_instance_that_may_be_shown_or_none() {
    let corpus: &[&[u8]] = &[VM, br#"{"id":"vm-1","phase":"Running"}"#, b"", b"<html>"];
    fuzz("instance", corpus, |input| match instance(input) {
        Ok(instance) => {
            assert!(is_id(instance.id.as_str()), "{:?}", instance.id);
            let message = instance.message.unwrap_or_default();
            assert_eq!(
                clean(&message, usize::MAX),
                message,
                "it would steer a terminal"
            );
            if instance.owner.is_some() {
                "owned"
            } else {
                "nobody's"
            }
        }
        Err(_) => "none",
    });
}

#[test]
fn any_body_is_a_page_or_none() {
    let corpus: &[&[u8]] = &[
        br#"{"items":[{"id":"vm-1","phase":"Running"}],"continue":"token"}"#,
        br#"{"items":[],"continue":""}"#,
        br#"{"items":[{"id":"vm-1","phase":"Running"},{"id":"vm-2","phase":"odd"}],"revision":"9"}"#,
        VM,
    ];
    fuzz("page", corpus, |input| match page(input) {
        Ok(page) if page.next.is_some() => "a page, and more",
        Ok(_) => "the last page",
        Err(_) => "none",
    });
}

#[test]
fn any_body_is_a_feed_of_changes_or_none() {
    let corpus: &[&[u8]] = &[
        br#"{"changes":[{"type":"Upsert","vm":{"id":"vm-1","phase":"Running"}}],"revision":"12"}"#,
        br#"{"changes":[{"type":"Deleted","vm":{"id":"vm-1","phase":"Deleting"}}],"revision":"13"}"#,
        br#"{"changes":[],"revision":"99999999999999999999999"}"#,
    ];
    fuzz("changes", corpus, |input| match changes(input) {
        Ok(_) => "changes",
        Err(_) => "none",
    });
}

#[test]
fn any_body_offers_capabilities_or_none_and_a_code_is_a_word() {
    let corpus: &[&[u8]] = &[
        br#"{"version":"1","account":"a","list":true,"tagFilter":true,"listLagSeconds":5,"idempotencyKeys":{"ttlSeconds":86400}}"#,
        br#"{"version":"1"}"#,
        br#"{"code":"QuotaExceeded","message":"no"}"#,
    ];
    fuzz("capabilities", corpus, |input| {
        let found = capabilities(input).is_ok();
        match code(input) {
            Some(code) => {
                assert!(
                    code.len() <= 64 && code.chars().all(|c| c.is_ascii_alphanumeric()),
                    "{code}"
                );
                "a code"
            }
            None if found => "capabilities",
            None => "none",
        }
    });
}
