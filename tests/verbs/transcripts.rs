//! What the docs show is what happens: the console blocks of a page, run one after the other.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::sandbox::Sandbox;

/// A command and the lines that the page shows for it.
struct Shown {
    command: String,
    lines: Vec<String>,
}

fn shown(page: &str) -> Vec<Shown> {
    let mut all: Vec<Shown> = Vec::new();
    let mut inside = false;
    for line in page.lines() {
        match line.strip_prefix("$ ") {
            _ if line.starts_with("```") => inside = line == "```console",
            _ if !inside => {}
            Some(command) => all.push(Shown {
                command: command.to_owned(),
                lines: Vec::new(),
            }),
            None => all
                .last_mut()
                .expect("a command before its output")
                .lines
                .push(line.to_owned()),
        }
    }
    all
}

/// Whether a line is as shown; `…` in it stands for any text.
fn is_like(line: &str, shown: &str) -> bool {
    let mut parts = shown.split('…').map(str::trim_end);
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = line.strip_prefix(first) else {
        return false;
    };
    if !shown.contains('…') {
        return rest.trim_end().is_empty();
    }
    for part in parts {
        let part = part.trim_start();
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

/// Whether lines are as shown; a line `…` stands for any lines, also none.
fn are_like(lines: &[&str], shown: &[String]) -> bool {
    match shown.split_first() {
        None => lines.is_empty(),
        Some((first, rest)) if first == "…" => {
            (0..=lines.len()).any(|skip| are_like(&lines[skip..], rest))
        }
        Some((first, rest)) => lines
            .split_first()
            .is_some_and(|(line, more)| is_like(line, first) && are_like(more, rest)),
    }
}

#[test]
fn the_first_steps_in_the_docs_do_what_they_show() {
    let sandbox = Sandbox::new();
    let page =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/first-steps.md")).unwrap();
    let work = tempfile::tempdir().unwrap();
    let vmctl = Path::new(env!("CARGO_BIN_EXE_vmctl"))
        .parent()
        .unwrap()
        .display()
        .to_string();
    let steps = shown(&page);
    assert!(steps.len() > 8, "the page shows something");
    for step in steps {
        let mut shell = Command::new("sh");
        shell
            .arg("-c")
            .arg(format!("{{ {}\n}} 2>&1", step.command))
            .current_dir(work.path());
        shell.env(
            "PATH",
            format!("{vmctl}:{}", std::env::var("PATH").unwrap()),
        );
        shell
            .env("XDG_STATE_HOME", sandbox.state_home())
            .env("VMCTL_RUNTIME", "embedded")
            .env_remove("VMCTL_ENV");
        let output = shell.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            are_like(&lines, &step.lines),
            "$ {}\n{text}\nshown:\n{}",
            step.command,
            step.lines.join("\n")
        );
    }
    assert_eq!(
        sandbox.processes(),
        Vec::<u32>::new(),
        "the page ends with vmctl down"
    );
}

#[test]
fn an_ellipsis_stands_for_text_and_lines() {
    assert!(is_like("web-1   Running   True", "web-1 … Running … True"));
    assert!(!is_like("web-1   Failed", "web-1 … Running"));
    assert!(!is_like("web-1 x", "web-1"));
    let shown = ["a", "…", "z"].map(str::to_owned);
    assert!(are_like(&["a", "z"], &shown) && are_like(&["a", "b", "c", "z"], &shown));
    assert!(!are_like(&["a", "b"], &shown));
}
