//! Answers that are lost, spoilt or lie.

use serde_json::{Value, json};

use crate::e2e::cloud::prompt;
use crate::scene::{Scene, rules};

/// What is asked while VMs come and go.
const ALL: [&str; 4] = ["create", "get", "list", "delete"];

/// Each kind of call is answered like this a few times.
fn answered_with(effect: Value) {
    let scene = Scene::new(prompt());
    scene.afflict(&rules(&ALL, 3, &effect));
    scene.struck();
    scene.neighbour_goes_on();
    scene.everyone_says_why();
    scene.recovers();
    scene.ends();
}

#[test]
fn an_answer_that_is_lost_after_applying() {
    answered_with(json!({ "kind": "dropAfter" }));
}

#[test]
fn an_error_500_after_applying() {
    answered_with(json!({ "kind": "status", "status": 500, "code": "Internal", "applied": true }));
}

#[test]
fn an_html_page_in_place_of_an_answer() {
    answered_with(json!({ "kind": "html" }));
}

#[test]
fn a_truncated_answer() {
    answered_with(json!({ "kind": "truncated" }));
}

#[test]
fn an_answer_of_64_mib() {
    let scene = Scene::new(prompt());
    scene.afflict(&rules(&ALL, 1, &json!({ "kind": "huge" })));
    scene.struck();
    scene.neighbour_goes_on();
    scene.everyone_says_why();
    scene.recovers();
    scene.ends();
}

#[test]
fn an_answer_that_drips_in_byte_by_byte() {
    answered_with(json!({ "kind": "slowDrip", "milliseconds": 100 }));
}

#[test]
fn an_answer_about_another_id() {
    let scene = Scene::new(prompt());
    // A DELETE has no id in its answer.
    scene.afflict(&rules(
        &["create", "get", "list"],
        3,
        &json!({ "kind": "wrongId" }),
    ));
    scene.struck();
    scene.neighbour_goes_on();
    scene.everyone_says_why();
    scene.recovers();
    scene.ends();
}
