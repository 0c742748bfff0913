//! The floors of the house, held by a test: who may use whom, what the pure core never touches, how long a file may be.
//!
//! Reads the sources as text with a small tokenizer that knows comments and strings; no parser, so that it costs
//! nothing to build. `snippets` feeds it a violation of each rule.

mod cases;
mod scripts;
mod snippets;
mod tokens;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use tokens::{Token, tokenize};

/// Each module at the top of the library, and what of the crate it may use besides itself.
const FLOORS: &[(&str, &[&str])] = &[
    ("domain", &[]),
    ("api", &["domain"]),
    ("lifecycle", &["api", "domain"]),
    ("provider", &["domain"]),
    ("runtime", &["domain"]),
    (
        "controller",
        &[
            "api",
            "domain",
            "lifecycle",
            "provider",
            "runtime::clock",
            "runtime::failpoint",
            // What the watch delivers, sound or not, is what `KubeCluster` reads and writes too: one decoder.
            "runtime::watch",
        ],
    ),
    (
        "telemetry",
        &[
            "api",
            "domain",
            "lifecycle",
            "provider",
            "runtime",
            "controller",
        ],
    ),
    (
        "settings",
        &[
            "api",
            "domain",
            "lifecycle",
            "provider",
            "runtime",
            "controller",
            // A flag chooses how lines look; the enum lives where lines are written.
            "telemetry::log::Format",
        ],
    ),
    ("operator", EVERYTHING_BELOW),
    // Test only: the loop in a world that it cannot tell from the real one.
    ("simulation", EVERYTHING_BELOW),
    // Test only: changes bytes for whoever has a target.
    ("fuzz", &[]),
];

const EVERYTHING_BELOW: &[&str] = &[
    "api",
    "domain",
    "lifecycle",
    "provider",
    "runtime",
    "controller",
    "telemetry",
    "settings",
];

/// Folders and files without client, clock, waiting, randomness or log; and what of the list is lifted, and why.
const PURE: &[(&str, &[&str])] = &[
    ("src/domain", &[]),
    ("src/lifecycle", &[]),
    // Back-off is jittered by a generator that the caller seeds.
    ("src/runtime/schedule", &["fastrand"]),
    ("src/provider/inventory/index", &[]),
    ("tui/src", &[]),
    // Latency and jitter are drawn from a generator that the caller seeds: the same seed is the same cloud.
    ("mock-provider/src/world", &["fastrand"]),
];

/// The one place of the terminal interface that talks to a terminal.
const IMPURE: &[&str] = &["tui/src/terminal"];

/// Words that have no place in a pure file.
const FORBIDDEN: &[&[&str]] = &[
    &["async"],
    &[".", "await"],
    &["tracing"],
    &["tokio"],
    &["kube", "::", "Client"],
    &["Instant", "::", "now"],
    &["SystemTime"],
    &["fastrand"],
];

/// Files longer than [`MOST_LINES`], each with its reason.
const LONG_FILES: &[(&str, &str)] = &[];

const MOST_LINES: usize = 400;

/// Marks of unfinished work, written so that this file does not bear them.
const MARKS: [&str; 2] = [concat!("TO", "DO"), concat!("FIX", "ME")];

/// What is wrong in one file, a sentence each.
fn violations(path: &str, text: &str) -> Vec<String> {
    let tokens = tokenize(text);
    let mut found = house_rules(path, text, &tokens);
    if !is_test(path) {
        found.extend(floor_rules(path, &tokens));
        found.extend(pure_rules(path, &tokens));
    }
    found
}

/// Tests see what they like; they are no part of the product.
fn is_test(path: &str) -> bool {
    let parts = path.trim_end_matches(".rs").split('/');
    let mut parts = parts.map(|part| matches!(part, "tests" | "fixtures" | "architecture"));
    parts.any(|test| test)
}

fn house_rules(path: &str, text: &str, tokens: &[Token<'_>]) -> Vec<String> {
    let mut found = Vec::new();
    let lines = text.lines().count();
    if lines > MOST_LINES && !LONG_FILES.iter().any(|(file, _)| *file == path) {
        found.push(format!(
            "{path} has {lines} lines: split it by meaning, {MOST_LINES} is the bound"
        ));
    }
    for (number, line) in text.lines().enumerate() {
        for mark in MARKS.into_iter().filter(|mark| line.contains(mark)) {
            found.push(format!(
                "{path}:{}: {mark}: do it or open an issue",
                number + 1
            ));
        }
    }
    for (at, _) in tokens
        .iter()
        .enumerate()
        .filter(|(_, token)| token.text == "#")
    {
        let inner = usize::from(tokens.get(at + 1).is_some_and(|next| next.text == "!"));
        if follows(tokens, at + 1 + inner, &["[", "allow", "("]) {
            let line = tokens[at].line;
            found.push(format!("{path}:{line}: allow: write expect with a reason"));
        }
    }
    found
}

/// The module at the top of the library that a file belongs to, and how deep the file lies in it.
fn place(path: &str) -> Option<(&str, usize)> {
    let inside = path.strip_prefix("src/")?.strip_suffix(".rs")?;
    let parts: Vec<&str> = inside.split('/').collect();
    let (floor, rest) = parts.split_first()?;
    let depth = rest.iter().filter(|part| **part != "mod").count();
    (!matches!(*floor, "lib" | "main")).then_some((*floor, depth))
}

fn floor_rules(path: &str, tokens: &[Token<'_>]) -> Vec<String> {
    let Some((floor, depth)) = place(path) else {
        return Vec::new();
    };
    let Some((_, allowed)) = FLOORS.iter().find(|(name, _)| *name == floor) else {
        return vec![format!(
            "{path}: module {floor} stands on no floor: add it to the table"
        )];
    };
    let mut found = escapes(path, depth, tokens);
    for (line, used) in paths_from_crate(tokens) {
        let fits = |one: &str| used == one || used.starts_with(&format!("{one}::"));
        if !fits(floor) && !allowed.iter().any(|one| fits(one)) {
            found.push(format!("{path}:{line}: {floor} may not use crate::{used}"));
        }
    }
    found
}

/// `super` that leaves the module at the top of the library, and every `super::super`.
fn escapes(path: &str, depth: usize, tokens: &[Token<'_>]) -> Vec<String> {
    let mut found = Vec::new();
    let mut braces = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match token.text {
            "{" => braces.push(at >= 2 && tokens[at - 2].text == "mod"),
            "}" => drop(braces.pop()),
            // A visibility imports nothing.
            "super" if at > 0 && follows(tokens, at - 1, &["(", "super", ")"]) => {}
            "super" => {
                let inline = braces.iter().filter(|module| **module).count();
                if follows(tokens, at, &["super", "::", "super"]) {
                    let line = token.line;
                    found.push(format!(
                        "{path}:{line}: super::super: say the path from the crate"
                    ));
                } else if depth + inline == 0 {
                    let line = token.line;
                    found.push(format!("{path}:{line}: super leaves the module"));
                }
            }
            _ => {}
        }
    }
    found
}

/// Every path that begins with `crate::`, in imports and in code, groups taken apart.
fn paths_from_crate(tokens: &[Token<'_>]) -> BTreeSet<(usize, String)> {
    let mut paths = BTreeSet::new();
    for (at, token) in tokens.iter().enumerate() {
        let visibility = at > 0 && tokens[at - 1].text == "(" && !follows(tokens, at + 1, &["::"]);
        if token.text == "crate" && !visibility {
            if follows(tokens, at + 1, &["::"]) {
                take_apart(tokens, at + 2, String::new(), &mut paths);
            } else {
                paths.insert((token.line, "self".to_owned()));
            }
        }
    }
    paths
}

/// Reads the path or group that begins at `at`; gives the place after it.
fn take_apart(
    tokens: &[Token<'_>],
    mut at: usize,
    mut path: String,
    paths: &mut BTreeSet<(usize, String)>,
) -> usize {
    while let Some(token) = tokens.get(at) {
        if token.text == "{" {
            at += 1;
            while tokens.get(at).is_some_and(|token| token.text != "}") {
                let before = at;
                at = take_apart(tokens, at, path.clone(), paths);
                at += usize::from(tokens.get(at).is_some_and(|token| token.text == ","));
                at = at.max(before + 1);
            }
            return at + 1;
        }
        if !path.is_empty() {
            path.push_str("::");
        }
        path.push_str(token.text);
        at += 1;
        if !follows(tokens, at, &["::"]) {
            paths.insert((token.line, path));
            // An import under another name.
            return if follows(tokens, at, &["as"]) {
                at + 2
            } else {
                at
            };
        }
        at += 1;
    }
    at
}

fn pure_rules(path: &str, tokens: &[Token<'_>]) -> Vec<String> {
    let within = |folder: &str| {
        path.strip_prefix(folder)
            .is_some_and(|rest| rest.starts_with('/') || rest == ".rs")
    };
    let Some((_, lifted)) = PURE.iter().find(|(folder, _)| within(folder)) else {
        return Vec::new();
    };
    if IMPURE.iter().any(|folder| within(folder)) {
        return Vec::new();
    }
    let words = FORBIDDEN.iter().filter(|words| !lifted.contains(&words[0]));
    let hits = words.flat_map(|words| {
        let places = (0..tokens.len()).filter(|at| follows(tokens, *at, words));
        places.map(|at| {
            format!(
                "{path}:{}: {} in a pure file",
                tokens[at].line,
                words.concat()
            )
        })
    });
    hits.collect()
}

/// Whether these tokens stand at this place.
fn follows(tokens: &[Token<'_>], at: usize, expected: &[&str]) -> bool {
    let there = tokens.get(at..at + expected.len());
    there.is_some_and(|there| {
        there
            .iter()
            .map(|token| token.text)
            .eq(expected.iter().copied())
    })
}

fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            into.push(path);
        }
    }
}

#[test]
fn every_source_keeps_to_its_floor_and_to_the_rules_of_the_house() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for folder in ["src", "cli", "tui/src", "mock-provider/src"] {
        sources(&root.join(folder), &mut files);
    }
    assert!(files.len() > 50, "only {} sources found", files.len());
    files.sort();
    let mut found = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let path = file.strip_prefix(root).unwrap().to_string_lossy();
        found.extend(violations(&path, &text));
    }
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn the_list_of_long_files_names_long_files_alone() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (file, reason) in LONG_FILES {
        let text = std::fs::read_to_string(root.join(file)).unwrap_or_default();
        let lines = text.lines().count();
        assert!(lines > MOST_LINES, "{file} has {lines} lines: take it off");
        assert!(reason.len() > 20, "{file}: {reason:?} is no reason");
    }
}
