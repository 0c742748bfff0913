//! The test of the test: a violation of each rule is reported, and what only looks like one is not.

use super::{MARKS, MOST_LINES, tokenize, violations};

fn reports(path: &str, text: &str, expected: &[&str]) {
    let found = violations(path, text);
    assert_eq!(found.len(), expected.len(), "{path}: {text}\n{found:#?}");
    for (one, part) in found.iter().zip(expected) {
        assert!(one.contains(part), "{one:?} does not say {part:?}");
    }
}

#[test]
fn imports_from_a_floor_above_or_beside_are_reported() {
    let cases: [(&str, &str, &[&str]); 9] = [
        (
            "src/domain/key.rs",
            "use crate::api;",
            &["domain may not use crate::api"],
        ),
        (
            "src/api/mod.rs",
            "use crate::lifecycle::decide;",
            &["crate::lifecycle::decide"],
        ),
        (
            "src/lifecycle/due.rs",
            "pub use crate::provider::Provider;",
            &["crate::provider"],
        ),
        (
            "src/provider/mod.rs",
            "use crate::{api, domain};",
            &["crate::api"],
        ),
        (
            "src/lifecycle/due.rs",
            "use crate::{domain::{key::{Uid, Owner}, time}, runtime::{clock::Clock, queue}};",
            &["crate::runtime::clock::Clock", "crate::runtime::queue"],
        ),
        (
            "src/controller/mod.rs",
            "use crate::runtime::{clock, failpoint as point, queue::{self}};",
            &["crate::runtime::queue::self"],
        ),
        (
            "src/domain/key.rs",
            "fn f() { crate::runtime::x::y(); }",
            &["src/domain/key.rs:1"],
        ),
        (
            "src/domain/key.rs",
            "fn f(a: &crate::api::Phase) {}",
            &["crate::api::Phase"],
        ),
        ("src/domain/key.rs", "use crate as all;", &["crate::self"]),
    ];
    for (path, text, expected) in cases {
        reports(path, text, expected);
    }
    reports("src/domain/key.rs", "use crate::*;", &["crate::*"]);
    reports("src/newcomer.rs", "", &["stands on no floor"]);
    reports("src/newcomer/mod.rs", "", &["stands on no floor"]);
}

#[test]
fn what_the_table_allows_is_not_reported() {
    for (path, text) in [
        (
            "src/domain/key.rs",
            "use crate::domain::time; use super::quantity::{A, B};",
        ),
        (
            "src/domain/mod.rs",
            "pub(crate) fn f() {} pub(in crate::domain) fn g() {} pub(super) fn h() {}",
        ),
        (
            "src/controller/mod.rs",
            "use crate::{api, runtime::{clock::Clock, failpoint}};",
        ),
        (
            "src/operator.rs",
            "use crate::{telemetry, settings, controller::Reconciler};",
        ),
        (
            "src/lifecycle/due/tests.rs",
            "use crate::controller::x; use super::super::y;",
        ),
        ("src/main.rs", "use vmoperator::operator;"),
    ] {
        reports(path, text, &[]);
    }
}

#[test]
fn a_super_that_leaves_its_module_is_reported() {
    reports(
        "src/domain/mod.rs",
        "use super::api;",
        &["super leaves the module"],
    );
    reports(
        "src/settings.rs",
        "fn f() { super::api::g(); }",
        &["super leaves the module"],
    );
    reports(
        "src/domain/key.rs",
        "use super::super::api;",
        &["super::super"],
    );
    reports(
        "src/domain/key/more.rs",
        "use super::super::x;",
        &["super::super"],
    );
    reports("src/domain/mod.rs", "mod a { use super::b; }", &[]);
    reports(
        "src/domain/mod.rs",
        "mod a { use super::b; } use super::c;",
        &["leaves"],
    );
}

#[test]
fn what_waits_logs_or_reads_a_clock_has_no_place_in_a_pure_file() {
    let pure = [
        "src/domain/key.rs",
        "src/lifecycle/decide.rs",
        "src/runtime/schedule.rs",
        "src/runtime/schedule/lane.rs",
        "tui/src/update.rs",
        "mock-provider/src/world.rs",
        "mock-provider/src/world/ids.rs",
    ];
    for path in pure {
        for text in [
            "async fn f() {}",
            "fn f() { g().await }",
            "fn f() { tracing::info!(\"x\") }",
            "use tokio::time;",
            "use kube::Client;",
            "fn f() { std::time::Instant::now(); }",
            "use std::time::SystemTime;",
        ] {
            reports(path, text, &["in a pure file"]);
        }
    }
    reports(
        "src/domain/key.rs",
        "fn f() { fastrand::u8(..) }",
        &["fastrand"],
    );
    reports(
        "src/runtime/schedule.rs",
        "fn f() { fastrand::u8(..) }",
        &[],
    );
    for path in [
        "src/runtime/queue.rs",
        "tui/src/terminal.rs",
        "mock-provider/src/server.rs",
    ] {
        reports(path, "async fn f() { tokio::x().await }", &[]);
    }
    reports(
        "src/domain/key.rs",
        "use kube::core; fn f(i: Instant) {}",
        &[],
    );
}

#[test]
fn comments_strings_and_characters_are_no_code() {
    for text in [
        "// async tokio crate::api",
        "/// use crate::api;",
        "/* tokio /* nested */ async */",
        "const A: &str = \"async \\\" tokio\";",
        "const A: &str = r#\"tokio \" async\"#;",
        "const A: &[u8] = b\"tokio\";",
        "const A: char = '\"'; // tokio \"",
        "const A: [char; 2] = ['\\'', '{'];",
        "fn f<'a>(x: &'a str) -> &'a str { x }",
    ] {
        reports("src/domain/key.rs", text, &[]);
    }
    reports(
        "src/domain/key.rs",
        "const A: char = '\"'; use tokio;",
        &["tokio"],
    );
    reports(
        "src/domain/key.rs",
        "fn f<'a>() { r#\"\"#; tokio }",
        &["tokio"],
    );
    reports("src/domain/key.rs", "\"a\nb\"\n/*\n*/ tokio", &["key.rs:4"]);
    let texts: Vec<_> = tokenize("a::b 'x' c").iter().map(|one| one.text).collect();
    assert_eq!(texts, ["a", "::", "b", "c"]);
}

#[test]
fn long_files_lifted_lints_and_marks_of_unfinished_work_are_reported() {
    let long = "\n".repeat(MOST_LINES + 1);
    reports("cli/main.rs", &long, &["split it by meaning"]);
    reports("src/domain/key/tests.rs", &long, &["split it by meaning"]);
    reports("cli/main.rs", &"\n".repeat(MOST_LINES), &[]);
    reports(
        "cli/main.rs",
        "#[allow(dead_code)] fn f() {}",
        &["cli/main.rs:1: allow"],
    );
    reports(
        "cli/main.rs",
        "\n#![allow(dead_code)]",
        &["cli/main.rs:2: allow"],
    );
    reports("cli/main.rs", "#[expect(dead_code, reason = \"x\")]", &[]);
    reports("cli/main.rs", "// #[allow(dead_code)]", &[]);
    for mark in MARKS {
        reports("cli/main.rs", &format!("// {mark}: later"), &[mark]);
    }
}
