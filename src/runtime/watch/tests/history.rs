//! An API server whose data were restored while it was away.

use super::fake::{self, Answer, Line, object};
use super::{SECOND, Stage};

/// Everything as it was told from the first `listing again` on.
fn since_the_list(told: &[String]) -> &[String] {
    let at = told.iter().position(|line| line == "listing again");
    &told[at.expect("it listed again")..]
}

#[tokio::test(start_paused = true)]
async fn a_version_that_the_server_has_not_reached_is_not_waited_for() {
    let stage = Stage::start(vec![
        Answer::page(vec![object("made-since", 8), object("same", 3)], 9, None),
        Answer::watch(vec![Line::error(500)]),
        Answer::Future,
        Answer::page(vec![object("deleted-since", 2), object("same", 3)], 5, None),
        Answer::watch(vec![Line::event("MODIFIED", object("same", 6)), Line::Hang]),
    ]);
    let told = stage.after(5 * SECOND).await;
    let expected = [
        "listing again",
        "went back",
        "added deleted-since@2",
        "wake default/deleted-since Changed",
        // Of another history, whatever its version is.
        "changed same@3 to same@3",
        "wake default/same Changed",
        "removed made-since@8",
        "wake default/made-since Changed",
        "listed",
        "changed same@3 to same@6",
    ];
    assert_eq!(since_the_list(&told), expected);
    let requests = stage.server.requests();
    assert!(requests[2].contains("limit=1"), "{requests:?}");
    assert_eq!(fake::version_of(requests.last().unwrap()), "5");
}

#[tokio::test(start_paused = true)]
async fn a_list_that_is_older_than_the_one_before_is_told_whatever_caused_it() {
    let mut answers = vec![Answer::page(vec![object("a", 8)], 9, None)];
    answers.extend((0..12).map(|_| Answer::Refuse(503)));
    // Fails half-way: what was told of it stays true for the next one.
    answers.push(Answer::page(vec![object("a", 2)], 5, Some("more")));
    answers.push(Answer::Refuse(500));
    answers.push(Answer::page(vec![object("a", 2)], 20, None));
    answers.push(Answer::watch(vec![Line::error(410)]));
    answers.push(Answer::page(vec![], 30, None));
    let stage = Stage::start(answers);
    let told = stage.after(600 * SECOND).await;
    let expected = [
        "listing again",
        "went back",
        "changed a@8 to a@2",
        "wake default/a Changed",
        "list failed Some(500)",
        "listing again",
        "changed a@2 to a@2",
        "wake default/a Changed",
        "listed",
        "stream failed Some(410)",
        "listing again",
        "removed a@2",
        "wake default/a Changed",
        "listed",
    ];
    assert_eq!(since_the_list(&told)[..expected.len()], expected);
}

#[tokio::test(start_paused = true)]
async fn after_a_failure_the_version_is_asked_for_once_and_the_watch_goes_on_without_a_list() {
    let stage = Stage::start(vec![
        Answer::page(vec![], 1, None),
        Answer::watch(vec![Line::event("ADDED", object("a", 2)), Line::error(500)]),
        Answer::watch(vec![
            Line::event("ADDED", object("b", 3)),
            Line::After(55),
            Line::End,
        ]),
        Answer::watch(vec![Line::event("ADDED", object("c", 4)), Line::Hang]),
    ]);
    stage.after(62 * SECOND).await;
    assert_eq!(stage.versions(), ["a@2", "b@3", "c@4"]);
    assert_eq!(stage.status.lists(), 1);
    assert_eq!(stage.server.questions(), 1);
}
