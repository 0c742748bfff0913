//! The pages that an inventory reads, and the change feed.

use std::time::Duration;

use crate::domain::{ErrorKind, Operation};
use crate::provider::http::HttpProvider;
use crate::provider::testing::{Server, Step, answer, options, vm};
use crate::provider::{Page, Provider};

fn changes(list: &str, revision: &str) -> String {
    format!(r#"{{"changes":[{list}],"revision":{revision}}}"#)
}

#[tokio::test]
async fn a_page_is_asked_for_by_its_token_and_tells_its_revision() {
    let body = format!(
        r#"{{"items":[{}],"continue":"n&x","revision":"41"}}"#,
        vm("vm-1", "c", "u")
    );
    let server = Server::always(200, "", &body).await;
    let provider = server.provider();
    let Page {
        items,
        next,
        revision,
    } = provider.page(None).await.unwrap();
    assert_eq!((items.len(), items[0].revision), (1, Some(1)));
    assert_eq!((next.as_deref(), revision), (Some("n&x"), Some(41)));
    provider.page(next.as_deref()).await.unwrap();
    let targets: Vec<String> = server
        .asked()
        .into_iter()
        .map(|asked| asked.target)
        .collect();
    assert_eq!(targets, ["/vms?limit=500", "/vms?limit=500&continue=n%26x"]);
}

#[tokio::test]
async fn the_feed_is_asked_after_a_revision_and_gives_what_is_there_and_what_is_gone() {
    let list = format!(
        r#"{{"type":"Upsert","vm":{}}},{{"type":"Deleted","vm":{}}}"#,
        vm("vm-1", "c", "u"),
        vm("vm-2", "c", "u")
    );
    let server = Server::always(200, "", &changes(&list, r#""43""#)).await;
    let wait = Duration::from_secs(30);
    let found = server.provider().changes(40, wait).await.unwrap();
    assert_eq!(found.upserts[0].id.as_str(), "vm-1");
    assert_eq!(found.deletions[0].as_str(), "vm-2");
    assert_eq!(found.revision, 43);
    let asked = server.asked();
    assert_eq!(asked[0].target, "/vms/changes?since=40&timeout=30");
}

#[tokio::test]
async fn an_answer_that_could_hide_a_change_is_malformed() {
    let vm = vm("vm-1", "c", "u");
    let bodies = [
        changes(&format!(r#"{{"type":"Renamed","vm":{vm}}}"#), r#""43""#),
        changes(r#"{"type":"Deleted","vm":{"phase":"Running"}}"#, r#""43""#),
        changes("", r#""abc""#),
        changes("", "43"),
        r#"{"revision":"43"}"#.to_owned(),
        r#"{"changes":[]}"#.to_owned(),
    ];
    for body in bodies {
        let server = Server::always(200, "", &body).await;
        let error = server
            .provider()
            .changes(1, Duration::ZERO)
            .await
            .unwrap_err();
        assert_eq!(error.kind, ErrorKind::Malformed, "{body}");
    }
}

#[tokio::test]
async fn refusals_of_the_feed_follow_the_table_and_none_is_about_a_vm() {
    let cases = [
        (410, "RevisionExpired", ErrorKind::Expired),
        (429, "RateLimited", ErrorKind::RateLimited),
        (401, "Unauthenticated", ErrorKind::Unauthorized),
        (404, "NotFound", ErrorKind::Malformed),
        (500, "Internal", ErrorKind::Unavailable),
    ];
    for (status, code, kind) in cases {
        let server = Server::always(status, "", &format!(r#"{{"code":"{code}"}}"#)).await;
        let error = server
            .provider()
            .changes(1, Duration::ZERO)
            .await
            .unwrap_err();
        assert_eq!((error.kind, error.operation), (kind, Operation::Changes));
    }
}

#[tokio::test]
async fn the_time_out_of_calls_does_not_end_a_poll_of_the_feed() {
    let body = answer(200, "", &changes("", r#""7""#));
    let server = Server::start(move |_| {
        vec![
            Step::Wait(Duration::from_millis(1500)),
            Step::Bytes(body.clone()),
        ]
    })
    .await;
    let mut options = options(server.url(""));
    options.timeout = Duration::from_millis(500);
    let provider = HttpProvider::new(options).unwrap();
    let error = provider.page(None).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::TimedOut);
    let found = provider.changes(7, Duration::from_secs(1)).await.unwrap();
    assert_eq!((found.upserts.len(), found.revision), (0, 7));
}
