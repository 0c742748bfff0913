//! What goes wrong between us and the API server, and how the watch goes on.

use super::fake::{self, Answer, Line, object};
use super::{SECOND, Stage};

#[tokio::test(start_paused = true)]
async fn an_expired_version_lists_again_and_finds_what_changed_in_the_gap() {
    for gone in [Answer::watch(vec![Line::error(410)]), Answer::Refuse(410)] {
        let mut reborn = object("reborn", 21);
        reborn["metadata"]["uid"] = "another".into();
        let stage = Stage::start(vec![
            Answer::page(
                vec![object("gone", 1), object("reborn", 2), object("same", 3)],
                3,
                None,
            ),
            gone,
            Answer::page(vec![object("new", 20), reborn, object("same", 3)], 30, None),
        ]);
        let told = stage.after(2 * SECOND).await;
        let at = told
            .iter()
            .position(|line| line.ends_with("failed Some(410)"))
            .unwrap();
        let expected = [
            "listing again",
            "added new@20",
            "wake default/new Changed",
            "removed reborn@2",
            "added reborn@21",
            "wake default/reborn Changed",
            "removed gone@1",
            "wake default/gone Changed",
            "listed",
        ];
        assert_eq!(told[at + 1..], expected);
        assert_eq!(stage.status.lists(), 2);
        assert!(
            stage
                .server
                .requests()
                .last()
                .unwrap()
                .contains("resourceVersion=30")
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_ends_is_resumed_from_the_last_version_or_bookmark() {
    let stage = Stage::start(vec![
        Answer::page(vec![object("a", 1)], 1, None),
        Answer::watch(vec![Line::event("MODIFIED", object("a", 7)), Line::End]),
        Answer::watch(vec![Line::bookmark(9), Line::After(50), Line::End]),
    ]);
    stage.after(60 * SECOND).await;
    let from: Vec<String> = stage.server.requests()[1..]
        .iter()
        .map(|request| fake::version_of(request))
        .collect();
    assert_eq!(from, ["1", "7", "9"]);
    assert_eq!(stage.status.lists(), 1);
}

#[tokio::test(start_paused = true)]
async fn while_lists_fail_the_pause_grows() {
    let stage = Stage::start((0..1000).map(|_| Answer::Refuse(503)).collect());
    let told = stage.after(600 * SECOND).await;
    assert!(
        (20..=32).contains(&told.len()),
        "{} lists in ten minutes",
        told.len()
    );
    assert_eq!(told[0], "list failed Some(503)");
    assert_eq!(stage.status.failure().unwrap().code, Some(503));
    assert!(
        stage.now().since(stage.status.last_beat()) <= 31 * SECOND,
        "failing is turning"
    );
    assert!(stage.now().since(stage.status.last_heard()) >= 599 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_list_that_works_does_not_reset_the_pause_of_a_watch_that_does_not() {
    let mut answers = Vec::new();
    for _ in 0..200 {
        answers.push(Answer::page(vec![object("a", 1)], 1, None));
        answers.extend((0..12).map(|_| Answer::Refuse(403)));
    }
    let stage = Stage::start(answers);
    let told = stage.after(600 * SECOND).await;
    let refused = told
        .iter()
        .filter(|line| *line == "watch failed Some(403)")
        .count();
    assert!(
        (20..=32).contains(&refused),
        "{refused} watches in ten minutes"
    );
    assert_eq!(
        stage.status.lists(),
        1 + refused as u64 / 12,
        "twelve refusals list again"
    );
}

#[tokio::test(start_paused = true)]
async fn a_proxy_that_ends_every_watch_at_once_is_not_asked_in_a_tight_loop() {
    let mut answers = vec![Answer::page(vec![], 1, None)];
    answers.extend((0..1000).map(|_| Answer::watch(vec![Line::End])));
    let stage = Stage::start(answers);
    stage.after(600 * SECOND).await;
    let requests = stage.server.requests().len();
    assert!(
        (20..=33).contains(&requests),
        "{requests} requests in ten minutes"
    );
}

#[tokio::test(start_paused = true)]
async fn the_pause_is_short_again_after_the_first_event() {
    let mut answers = vec![Answer::page(vec![], 1, None)];
    answers.extend((0..10).map(|_| Answer::Refuse(500)));
    answers.push(Answer::watch(vec![
        Line::event("ADDED", object("a", 2)),
        Line::error(500),
    ]));
    answers.push(Answer::watch(vec![Line::event("ADDED", object("b", 3))]));
    let stage = Stage::start(answers);
    while stage.store.is_empty() {
        stage.after(SECOND / 10).await;
    }
    stage.after(SECOND).await;
    assert_eq!(stage.store.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_dead_connection_is_noticed_within_a_minute_even_after_events() {
    let stage = Stage::start(vec![
        Answer::page(vec![], 1, None),
        Answer::watch(vec![
            Line::After(40),
            Line::event("ADDED", object("a", 2)),
            Line::Hang,
        ]),
        Answer::watch(vec![Line::event("ADDED", object("b", 3))]),
    ]);
    stage.after(62 * SECOND).await;
    assert_eq!(stage.versions(), ["a@2", "b@3"]);
}

#[tokio::test(start_paused = true)]
async fn a_quiet_kind_does_not_look_dead() {
    let mut answers = vec![Answer::page(vec![], 1, None)];
    answers.extend((0..100).map(|_| Answer::watch(vec![Line::After(50), Line::End])));
    let stage = Stage::start(answers);
    for _ in 0..60 {
        stage.after(60 * SECOND).await;
        assert!(stage.now().since(stage.status.last_beat()) <= 60 * SECOND);
        assert!(stage.now().since(stage.status.last_heard()) <= 60 * SECOND);
    }
    assert_eq!(stage.status.failure(), None);
}

#[tokio::test(start_paused = true)]
async fn an_api_server_that_does_not_answer_a_list_is_asked_again() {
    let stage = Stage::start(vec![
        Answer::Hang,
        Answer::page(vec![object("a", 1)], 1, None),
    ]);
    let told = stage.after(32 * SECOND).await;
    assert_eq!(told[0], "list failed None");
    assert!(stage.store.is_listed());
}

#[tokio::test(start_paused = true)]
async fn a_line_that_is_no_event_breaks_one_watch_and_not_the_loop() {
    let stage = Stage::start(vec![
        Answer::page(vec![], 1, None),
        Answer::watch(vec![Line::Raw("<html>"), Line::Hang]),
        Answer::watch(vec![Line::event("ADDED", object("a", 2))]),
    ]);
    stage.after(3 * SECOND).await;
    assert_eq!(stage.versions(), ["a@2"]);
}

#[tokio::test(start_paused = true)]
async fn a_list_that_fails_half_way_removes_nothing() {
    let stage = Stage::start(vec![
        Answer::page(vec![object("a", 1), object("b", 2)], 2, None),
        Answer::Refuse(410),
        Answer::page(vec![object("b", 2)], 9, Some("more")),
        Answer::Refuse(410),
        Answer::page(vec![object("a", 1)], 9, Some("more")),
        Answer::page(vec![object("b", 2)], 9, None),
    ]);
    let told = stage.after(20 * SECOND).await;
    assert!(
        !told.iter().any(|line| line.starts_with("removed")),
        "{told:?}"
    );
    assert_eq!(stage.status.lists(), 2);
}
