//! Finds: pages, filters, and providers that do not keep their word.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::domain::{ErrorKind, Instance, ProviderError};
use crate::provider::Provider;
use crate::provider::testing::{Asked, Server, Step, answer, owner, vm};

const FILTERS: &str = r#"{"version":"1","list":true,"tagFilter":true}"#;
const LISTS: &str = r#"{"version":"1","list":true}"#;

fn page(items: &[String], next: &str) -> Vec<u8> {
    let items = items.join(",");
    answer(
        200,
        "",
        &format!(r#"{{"items":[{items}],"continue":"{next}","revision":"9"}}"#),
    )
}

/// A server that can what `abilities` say and answers lists with `pages`.
async fn server(
    abilities: &'static str,
    pages: impl Fn(&Asked) -> Vec<u8> + Send + Sync + 'static,
) -> Server {
    Server::start(move |asked| {
        vec![Step::Bytes(match asked.target.as_str() {
            "/capabilities" => answer(200, "", abilities),
            _ => pages(asked),
        })]
    })
    .await
}

fn ours(id: &str) -> String {
    vm(id, "cluster-1", "uid-1")
}

fn ids(found: Result<Vec<Instance>, ProviderError>) -> Vec<String> {
    let found = found.unwrap();
    found.iter().map(|vm| vm.id.as_str().to_owned()).collect()
}

#[tokio::test]
async fn a_provider_that_filters_is_asked_for_cluster_and_uid() {
    let server = server(FILTERS, |_| page(&[ours("vm-1")], "")).await;
    assert_eq!(ids(server.provider().find(&owner()).await), ["vm-1"]);
    let asked = server.asked();
    assert_eq!(
        asked[1].target,
        "/vms?limit=500&tag=vmoperator%2Fcluster%3Dcluster-1&tag=vmoperator%2Fuid%3Duid-1"
    );
}

#[tokio::test]
async fn a_provider_that_lists_alone_is_filtered_here() {
    let server = server(LISTS, |_| page(&[ours("vm-1"), vm("vm-2", "x", "y")], "")).await;
    let provider = server.provider();
    assert_eq!(ids(provider.find(&owner()).await), ["vm-1"]);
    assert_eq!(ids(provider.find(&owner()).await), ["vm-1"]);
    let targets: Vec<_> = server
        .asked()
        .into_iter()
        .map(|asked| asked.target)
        .collect();
    // What it can is asked once.
    assert_eq!(
        targets,
        ["/capabilities", "/vms?limit=500", "/vms?limit=500"]
    );
}

#[tokio::test]
async fn instances_of_others_are_left_out_though_the_provider_said_it_filters() {
    let server = server(FILTERS, |_| {
        let untagged = r#"{"id":"vm-5","phase":"Running"}"#.to_owned();
        page(
            &[
                vm("vm-1", "cluster-1", "uid-2"),
                vm("vm-2", "cluster-2", "uid-1"),
                ours("vm-3"),
                vm("vm-4", "CLUSTER-1", "uid-1"),
                untagged,
            ],
            "",
        )
    })
    .await;
    assert_eq!(ids(server.provider().find(&owner()).await), ["vm-3"]);
}

#[tokio::test]
async fn all_pages_are_read_and_an_instance_met_twice_is_one() {
    let server = server(FILTERS, |asked| {
        match asked.target.split("continue=").nth(1) {
            None => page(&[ours("vm-1"), ours("vm-2")], "t&=1"),
            Some("t%26%3D1") => page(&[ours("vm-2")], "t2"),
            Some("t2") => page(&[ours("vm-3")], ""),
            Some(other) => answer(500, "", other),
        }
    })
    .await;
    assert_eq!(
        ids(server.provider().find(&owner()).await),
        ["vm-1", "vm-2", "vm-3"]
    );
}

#[tokio::test]
async fn an_expired_token_starts_the_list_again_once() {
    let turn = AtomicUsize::new(0);
    let expired = || answer(410, "", r#"{"code":"ContinueExpired"}"#);
    let server_once = server(FILTERS, move |_| {
        match turn.fetch_add(1, Ordering::SeqCst) {
            0 => page(&[ours("vm-1")], "t"),
            1 => expired(),
            2 => page(&[ours("vm-2")], "t"),
            _ => page(&[ours("vm-3")], ""),
        }
    })
    .await;
    // The first, broken-off round counts for nothing.
    assert_eq!(
        ids(server_once.provider().find(&owner()).await),
        ["vm-2", "vm-3"]
    );

    let always = server(FILTERS, move |asked| {
        if asked.target.contains("continue") {
            expired()
        } else {
            page(&[ours("vm-1")], "t")
        }
    })
    .await;
    let error = always.provider().find(&owner()).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Expired);
    assert_eq!(always.asked().len(), 5);
}

#[tokio::test]
async fn a_list_that_goes_in_circles_is_malformed() {
    let circle = server(FILTERS, |asked| {
        let next = if asked.target.contains("continue=a") {
            "b"
        } else {
            "a"
        };
        page(&[ours("vm-1")], next)
    })
    .await;
    let error = circle.provider().find(&owner()).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Malformed);
    assert_eq!(circle.asked().len(), 4);
}

#[tokio::test]
async fn a_list_without_end_is_left() {
    let turn = AtomicUsize::new(0);
    let endless = server(FILTERS, move |_| {
        page(&[], &turn.fetch_add(1, Ordering::SeqCst).to_string())
    })
    .await;
    let error = endless.provider().find(&owner()).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Malformed);
    assert_eq!(endless.asked().len(), 1001);
}

#[tokio::test]
async fn a_failure_on_a_later_page_is_never_a_part_of_the_list() {
    let server = server(FILTERS, |asked| {
        if asked.target.contains("continue") {
            answer(503, "retry-after: 3\r\n", "")
        } else {
            page(&[ours("vm-1")], "t")
        }
    })
    .await;
    let error = server.provider().find(&owner()).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unavailable);
}

#[tokio::test]
async fn no_list_at_all_never_looks_like_an_empty_one() {
    let basic = Server::always(404, "", "404 page not found").await;
    let error = basic.provider().find(&owner()).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Malformed);
    assert_eq!(basic.asked().len(), 1);

    let lost = server(FILTERS, |_| answer(404, "", r#"{"code":"NotFound"}"#)).await;
    let error = lost.provider().find(&owner()).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Malformed);
}
