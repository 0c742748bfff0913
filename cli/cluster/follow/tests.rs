use serde_json::json;

use super::*;
use crate::cluster::fake::{Asked, cluster, list, machine, status, watch};
use crate::cluster::kind::Kind;

fn follow(answers: Vec<(u16, String)>) -> (Follow, Asked) {
    let (cluster, asked) = cluster(answers);
    let collection = Collection::new(&cluster, Kind::VirtualMachine);
    (
        Follow::new(collection, Filter::default(), Form::Objects),
        asked,
    )
}

/// The next changes as `+name version`, `-name`, and words.
async fn told(follow: &mut Follow, count: usize) -> Vec<String> {
    let mut told = Vec::new();
    for _change in 0..count {
        told.push(match follow.next().await.unwrap() {
            Change::Present(item) => format!(
                "+{} {}",
                Object(&item.object).name(),
                Object(&item.object).version()
            ),
            Change::Gone(item) => format!("-{}", Object(&item.object).name()),
            Change::Listed => "listed".to_owned(),
            Change::Cut(_) => "cut".to_owned(),
            Change::Back => "back".to_owned(),
            Change::Columns(_) => "columns".to_owned(),
        });
    }
    told
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_ends_goes_on_where_it_was_even_behind_a_bookmark() {
    let (mut follow, asked) = follow(vec![
        list("5", &[machine("a", "1", "3")]),
        watch(&[
            ("MODIFIED", machine("a", "1", "6")),
            ("BOOKMARK", machine("", "", "9")),
        ]),
        watch(&[
            ("ADDED", machine("b", "2", "11")),
            ("DELETED", machine("a", "1", "12")),
        ]),
    ]);
    assert_eq!(
        told(&mut follow, 5).await,
        ["+a 3", "listed", "+a 6", "+b 11", "-a"]
    );
    let asked = asked.lock().unwrap();
    assert!(
        asked[1].contains("resourceVersion=5") && asked[1].contains("watch=true"),
        "{asked:?}"
    );
    assert!(asked[2].contains("resourceVersion=9"), "{asked:?}");
}

#[tokio::test(start_paused = true)]
async fn after_410_the_list_tells_only_what_is_new_and_what_is_gone() {
    for gone in [
        watch(&[("ERROR", status(410))]),
        (410, status(410).to_string()),
    ] {
        let (mut follow, _asked) = follow(vec![
            list(
                "5",
                &[
                    machine("a", "1", "1"),
                    machine("b", "2", "2"),
                    machine("c", "3", "3"),
                    machine("d", "4", "4"),
                ],
            ),
            gone,
            list(
                "50",
                &[
                    machine("a", "1", "1"),
                    machine("b", "2", "40"),
                    machine("c", "9", "41"),
                    machine("e", "5", "42"),
                ],
            ),
        ]);
        assert_eq!(told(&mut follow, 5).await.last().unwrap(), "listed");
        assert_eq!(
            told(&mut follow, 6).await,
            ["+b 40", "-c", "+c 41", "+e 42", "-d", "listed"]
        );
    }
}

#[tokio::test(start_paused = true)]
async fn trouble_is_told_once_and_borne_until_it_is_over_without_telling_anything_twice() {
    let (mut follow, _asked) = follow(vec![
        list("5", &[machine("a", "1", "1")]),
        (200, "{\"type\":\"MODI".to_owned()),
        (500, status(500).to_string()),
        (503, "not json".to_owned()),
        watch(&[
            ("ADDED", machine("a", "1", "1")),
            ("MODIFIED", machine("a", "1", "7")),
        ]),
    ]);
    assert_eq!(
        told(&mut follow, 5).await,
        ["+a 1", "listed", "cut", "back", "+a 7"]
    );
}

#[tokio::test(start_paused = true)]
async fn silence_beyond_what_the_server_may_keep_is_a_dropped_connection() {
    let (mut follow, _asked) = follow(vec![list("5", &[])]);
    assert_eq!(told(&mut follow, 2).await, ["listed", "cut"]);
    assert!(follow.is_cut());
}

#[tokio::test(start_paused = true)]
async fn a_first_list_that_fails_ends_it() {
    let (mut follow, _asked) = follow(vec![(403, status(403).to_string())]);
    assert_eq!(follow.next().await.unwrap_err().id, "VMC-FORBIDDEN");
    let (mut follow, _asked) = self::follow(vec![(200, "{}".to_owned())]);
    assert_eq!(follow.next().await.unwrap_err().id, "VMC-ANSWER");
}

#[test]
fn rows_of_a_table_become_items_and_a_server_without_tables_is_understood() {
    let table = json!({ "kind": "Table", "rows": [{ "cells": ["a", 1], "object": machine("a", "1", "1") }] });
    let rows = items(table, Form::Table);
    assert_eq!(
        (Object(&rows[0].object).name(), rows[0].cells.len()),
        ("a", 2)
    );
    let plain = items(json!({ "items": [machine("a", "1", "1")] }), Form::Table);
    assert_eq!(
        (Object(&plain[0].object).name(), plain[0].cells.len()),
        ("a", 0)
    );
    for odd in [
        json!([]),
        json!("x"),
        json!({ "rows": 1 }),
        json!({ "kind": "Table", "rows": [[], 3] }),
    ] {
        let _nothing_panics = items(odd, Form::Table);
    }
}

#[tokio::test(start_paused = true)]
async fn refusals_are_borne_for_a_while_and_then_end_it_with_their_reason() {
    let refusals = std::iter::repeat_n((403, status(403).to_string()), 30);
    let (mut follow, asked) = follow([list("5", &[])].into_iter().chain(refusals).collect());
    assert_eq!(told(&mut follow, 2).await, ["listed", "cut"]);
    assert_eq!(follow.next().await.unwrap_err().id, "VMC-FORBIDDEN");
    assert!((10..25).contains(&asked.lock().unwrap().len()));
}

#[tokio::test(start_paused = true)]
async fn a_long_outage_does_not_use_up_the_patience_with_refusals() {
    let outage = std::iter::repeat_n((503, status(503).to_string()), 30);
    let starting = std::iter::repeat_n((403, status(403).to_string()), 5);
    let answers = [list("5", &[])].into_iter().chain(outage).chain(starting);
    let (mut follow, _asked) = follow(
        answers
            .chain([watch(&[("ADDED", machine("a", "1", "6"))])])
            .collect(),
    );
    assert_eq!(
        told(&mut follow, 4).await,
        ["listed", "cut", "back", "+a 6"]
    );
}
