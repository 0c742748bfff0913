//! Every command on a real terminal of twenty columns.

use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::manners::{CODES, Call, command, furnished};
use crate::pty::{Pty, until};
use crate::scene::{Scene, running};

/// Writes over the line of life.
const LIFE: &str = "\r\u{1b}[2K";
const COLUMNS: u16 = 20;

/// The same call with other variables than those that a terminal of the tests sets.
fn with(variables: &[&str], command: &Command) -> Command {
    let mut changed = Command::new("env");
    changed
        .args(variables)
        .arg(command.get_program())
        .args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => changed.env(name, value),
            None => changed.env_remove(name),
        };
    }
    changed
}

/// Runs it to its end; returns its exit code and all that it wrote.
fn shown(command: Command) -> (Option<i32>, String) {
    let mut pty = Pty::start(command, (COLUMNS, 24));
    let code = pty.end();
    // What it wrote last may be on its way still.
    let mut before = usize::MAX;
    until("all was read", || {
        let same = before == pty.written();
        before = pty.written();
        thread::sleep(Duration::from_millis(30));
        same
    });
    (code, pty.text())
}

fn ends_as_ever(call: &Call, code: Option<i32>, text: &str) {
    let usual = match call.code {
        Some(usual) => code == Some(usual),
        None => code.is_some_and(|code| CODES.contains(&code)),
    };
    assert!(usual, "{:?}: {code:?}\n{text}", call.words);
    assert!(!text.contains("panicked"), "{:?}: {text}", call.words);
}

/// What is left of a text without what a terminal is told on purpose: colours, and the line of life.
fn without_colour_and_life(text: &str) -> String {
    let text = text.replace(LIFE, "");
    let mut parts = text.split('\u{1b}');
    let mut rest = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part.strip_prefix('[').and_then(|part| part.split_once('m'));
        let colour = |digits: &str| {
            digits
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b';')
        };
        match code {
            Some((digits, tail)) if colour(digits) => rest.push_str(tail),
            Some(_) | None => rest.push_str(&format!("\u{1b}{part}")),
        }
    }
    rest
}

fn is_plain(call: &Call, text: &str) {
    let odd = text
        .chars()
        .find(|c| c.is_control() && !"\r\n\t".contains(*c));
    assert_eq!(odd, None, "{:?}: {text:?}", call.words);
}

#[test]
fn at_twenty_columns_every_command_ends_as_ever_and_no_line_of_life_wraps() {
    let (scene, calls) = furnished();
    for call in &calls {
        let (code, text) = shown(command(&scene, call));
        ends_as_ever(call, code, &text);
        is_plain(call, &without_colour_and_life(&text));
        for life in text.split(LIFE).skip(1) {
            let line = life.split(['\r', '\n']).next().unwrap_or_default();
            let ends = life.contains('\n');
            assert!(
                ends || line.chars().count() < usize::from(COLUMNS),
                "{:?}: {line:?}",
                call.words
            );
        }
    }
}

#[test]
fn on_a_dumb_terminal_in_an_odd_locale_nothing_but_text_is_written() {
    let (scene, calls) = furnished();
    for call in &calls {
        // A CI that says so gets colours by the habits of libraries, whatever its terminal is.
        let variables = ["TERM=dumb", "CI=true", "LC_ALL=ja_JP.eucJP", "LANG=C"];
        let (code, text) = shown(with(&variables, &command(&scene, call)));
        ends_as_ever(call, code, &text);
        is_plain(call, &text);
    }
}

#[test]
fn where_no_colour_is_wanted_a_terminal_gets_none() {
    let (scene, calls) = furnished();
    for call in &calls {
        let (code, text) = shown(with(&["NO_COLOR=1"], &command(&scene, call)));
        ends_as_ever(call, code, &text);
        is_plain(call, &text.replace(LIFE, ""));
    }
}

#[test]
fn a_window_that_is_closed_ends_what_goes_on_for_ever_and_nothing_spins() {
    let scene = Scene::new();
    scene.machine("a", &[]);
    scene.status("a", &running(1));
    for words in [
        &["get", "vm", "-w"][..],
        &["events", "-w"],
        &["logs", "vm", "a", "-f"],
    ] {
        // Nobody sends it a signal: its parent kept that from it.
        let mut pty = Pty::start(scene.command(words), (COLUMNS, 24));
        if words[0] == "get" {
            pty.wait_for("a ", 0);
        }
        pty.close();
        until("it has ended", || pty.process().0 == 'Z');
        let (_, ticks) = pty.process();
        // Two seconds of work at the usual hundred ticks a second: starting takes a tenth of that.
        assert!(ticks < 200, "{words:?}: {ticks} ticks of CPU time");
        let code = pty.end();
        assert!(matches!(code, Some(129 | 141 | 1)), "{words:?}: {code:?}");
    }
}

/// The dashboard's tests use the other parts of a terminal. Named here, they are no dead code.
const _: fn() = || {
    let _ = (Pty::stop_reading, Pty::send, Pty::signal, Pty::resize);
    let _ = (Pty::wait_for_drawn, Pty::is_raw);
};
