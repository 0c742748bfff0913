//! Pages that are made from the command line itself, and the rules that hold for every command's help.

use std::fmt::Write;
use std::path::Path;

use clap::{Command, CommandFactory, Parser};

use super::Args;

/// Columns of the help in the page.
const COLUMNS: usize = 100;

/// Holds that a page is as it should be; with `UPDATE_DOCS=1` it is written instead.
pub(crate) fn compare(file: &str, wanted: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, wanted).unwrap();
    }
    let present = std::fs::read_to_string(&path).unwrap_or_default();
    let differ = present
        .lines()
        .zip(wanted.lines())
        .position(|(a, b)| a != b);
    assert!(
        present == wanted,
        "{file} differs at line {differ:?}; UPDATE_DOCS=1 cargo test --bin vmctl docs"
    );
}

/// Every command that the help shows, parents before children.
fn commands() -> Vec<Command> {
    let mut root = Args::command().term_width(COLUMNS);
    root.build();
    let mut all = Vec::new();
    let mut open = vec![root];
    while let Some(command) = open.pop() {
        let mut below: Vec<Command> = command
            .get_subcommands()
            .filter(|one| !one.is_hide_set())
            .cloned()
            .collect();
        below.reverse();
        open.extend(below);
        all.push(command);
    }
    all
}

fn name(command: &Command) -> String {
    command
        .get_bin_name()
        .unwrap_or(command.get_name())
        .to_owned()
}

fn help(command: &Command) -> String {
    let text = command
        .clone()
        .term_width(COLUMNS)
        .render_long_help()
        .to_string();
    text.lines()
        .map(str::trim_end)
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn the_page_of_commands_is_their_help() {
    let mut page = String::from(
        "# Commands of vmctl\n\nMade from the help of every command by `UPDATE_DOCS=1 cargo test --bin vmctl docs`. Change the source, not this \
         file.\n",
    );
    for command in commands() {
        let _ = write!(
            page,
            "\n## {}\n\n```text\n{}\n```\n",
            name(&command),
            help(&command).trim_end()
        );
    }
    compare("docs/reference/commands.md", &page);
}

/// The lines of the examples: everything between `Examples:` and the next empty line.
fn examples(command: &Command) -> Vec<String> {
    let text = help(command);
    let lines = text
        .lines()
        .skip(1)
        .take_while(|line| line.starts_with("  "));
    lines.map(|line| line.trim().to_owned()).collect()
}

#[test]
fn the_help_of_every_command_begins_with_examples_that_are_understood() {
    for command in commands() {
        let name = name(&command);
        assert!(
            help(&command).starts_with("Examples:\n"),
            "{name}: the help must begin with examples"
        );
        let examples = examples(&command);
        assert!(!examples.is_empty(), "{name}");
        for example in examples {
            for words in calls(&example) {
                let parsed = Args::try_parse_from(&words);
                let shown = parsed.as_ref().is_err_and(|error| !error.use_stderr());
                assert!(
                    parsed.is_ok() || shown,
                    "{name}: {example}: {words:?}: {}",
                    parsed.unwrap_err()
                );
            }
        }
    }
}

/// The calls of vmctl in a line of a shell.
fn calls(line: &str) -> Vec<Vec<String>> {
    let ends = |word: &str| matches!(word, "|" | ">" | "&&" | ";" | "<" | "#");
    let line = line
        .replace("$(", " $( ")
        .replace("<(", " $( ")
        .replace(['(', ')', '"'], " ");
    let words: Vec<String> = quoted_words(&line);
    let mut calls = Vec::new();
    for (at, word) in words.iter().enumerate() {
        if word == "vmctl" {
            calls.push(
                words[at..]
                    .iter()
                    .take_while(|word| !ends(word))
                    .cloned()
                    .collect(),
            );
        }
    }
    calls
}

/// Words, where single quotes keep blanks together.
fn quoted_words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '\'' => quoted = !quoted,
            c if c.is_whitespace() && !quoted => words.push(String::new()),
            c => words.last_mut().unwrap().push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}
