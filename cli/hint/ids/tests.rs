use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use super::*;
use crate::doctor;
use crate::hint::Exit;

/// Ids in the source, outside this list.
fn used(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            used(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs")
            && !path.ends_with("hint/ids.rs")
            && !folder.ends_with("hint/ids")
        {
            let text = fs::read_to_string(&path).unwrap();
            for part in text.split("\"VMC-").skip(1) {
                let end = part.find(|c: char| !c.is_ascii_uppercase() && c != '-');
                let id = &part[..end.unwrap_or(part.len())];
                if !id.is_empty() && part[id.len()..].starts_with('"') {
                    found.insert(format!("VMC-{id}"));
                }
            }
        }
    }
}

#[test]
fn every_id_that_is_used_is_in_the_list_and_no_other() {
    let mut found = BTreeSet::new();
    used(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("cli"),
        &mut found,
    );
    let listed: BTreeSet<String> = all().map(|entry| entry.id.to_owned()).collect();
    let missing: Vec<_> = found.difference(&listed).collect();
    assert!(missing.is_empty(), "add to cli/hint/ids/: {missing:?}");
    let unused: Vec<_> = listed.difference(&found).collect();
    assert!(unused.is_empty(), "no longer used: {unused:?}");
    let ids: Vec<&str> = all().map(|entry| entry.id).collect();
    assert!(ids.is_sorted(), "by id");
}

#[test]
fn an_id_is_found_as_people_write_it() {
    assert_eq!(find("vmc-locked").unwrap().id, "VMC-LOCKED");
    assert!(find("nothing").is_none());
}

fn page() -> String {
    let mut text = String::from(
        "# Errors of vmctl\n\nMade from `cli/hint/ids/` and `cli/doctor/id.rs` by `UPDATE_DOCS=1 cargo test --bin vmctl docs`. \
         Change those, not this file.\n\nEvery failure is told as `error [ID]: cause`, followed by `what to do: …`. \
         `vmctl explain ID` prints the same here as on the command line.\n\n## Exit codes\n\n| code | meaning |\n|---|---|\n| 0 | success |\n",
    );
    let codes = [
        (Exit::Failure, "failure that has no code of its own"),
        (Exit::Usage, "the command line or an input is wrong"),
        (
            Exit::NotReady,
            "a wait ran out, or what was asked about is not ready",
        ),
        (Exit::NotFound, "no such environment or object"),
        (
            Exit::Conflict,
            "refused because of a conflict, or for safety",
        ),
        (
            Exit::Environment,
            "the environment, or the machine below it, is not as it must be",
        ),
        (Exit::Unreachable, "the API server cannot be reached"),
        (Exit::HungUp, "ended by a hang-up of the terminal"),
        (Exit::Interrupted, "ended by Ctrl-C"),
        (Exit::ClosedPipe, "the reader of the output has gone"),
        (Exit::Terminated, "ended by SIGTERM"),
    ];
    for (exit, meaning) in codes {
        let _ = writeln!(text, "| {} | {meaning} |", exit.code());
    }
    text.push_str("\n## Ids\n\n| id | meaning | what helps |\n|---|---|---|\n");
    for entry in all() {
        let _ = writeln!(
            text,
            "| `{}` | {} | {} |",
            entry.id, entry.meaning, entry.help
        );
    }
    text.push_str("\n## Checks of `vmctl doctor`\n\n| id | what is looked at |\n|---|---|\n");
    for (id, meaning) in doctor::id::Id::ALL {
        let _ = writeln!(text, "| `{}` | {} |", id.as_str(), meaning.trim());
    }
    text
}

#[test]
fn the_page_in_the_docs_is_this_list() {
    crate::args::docs::compare("docs/reference/errors.md", &page());
}
