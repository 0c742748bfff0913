//! Rules of the scripts.

use std::path::Path;

/// A program whose reader goes at the first match: it fails where it prints on, and under `pipefail` the line fails
/// with it, now and then.
const GOES_EARLY: &str = "grep -q";

/// Lines of a script in which a pipe ends in a reader that goes before the writer has finished.
fn left_early(path: &str, text: &str) -> Vec<String> {
    let lines = text.lines().enumerate();
    let code = lines.filter(|(_, line)| !line.trim_start().starts_with('#'));
    code.filter(|(_, line)| {
        let mut readers = line.split(" | ").skip(1);
        readers.any(|reader| reader.trim_start().starts_with(GOES_EARLY))
    })
    .map(|(number, line)| format!("{path}:{}: {}", number + 1, line.trim()))
    .collect()
}

/// Shell scripts: those that say so in their first line.
fn scripts(root: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for folder in ["scripts", "scripts/bench", ".ci"] {
        for entry in std::fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let Ok(text) = std::fs::read_to_string(&path) else {
                continue;
            };
            let first = text.lines().next().unwrap_or_default();
            if first.starts_with("#!") && first.ends_with("sh") {
                found.push((path.display().to_string(), text));
            }
        }
    }
    found
}

#[test]
fn no_script_leaves_a_program_that_still_prints() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let scripts = scripts(root);
    assert!(scripts.len() >= 10, "only {} scripts found", scripts.len());
    let found: Vec<_> = scripts
        .iter()
        .flat_map(|(path, text)| left_early(path, text))
        .collect();
    assert!(
        found.is_empty(),
        "print into a file or a word, and search that:\n{}",
        found.join("\n")
    );
    let wrong = "set -euo pipefail\nvmctl describe vm a | grep -q ' 201 ' || no\n# a | grep -q b\n";
    assert_eq!(left_early("x", wrong).len(), 1);
}
