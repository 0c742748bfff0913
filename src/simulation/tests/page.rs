//! Tables of docs/proof.md that come from runs. `UPDATE_PROOF=1` writes them.

use std::fs;
use std::path::Path;
use std::sync::Mutex;

/// Several tests write the one page.
static PAGE: Mutex<()> = Mutex::new(());

/// The lines between the two marks of a table, with what is before and after.
fn parts<'a>(page: &'a str, table: &str) -> Option<(&'a str, &'a str, &'a str)> {
    let (begin, end) = (
        format!("<!-- begin: {table} -->\n"),
        format!("<!-- end: {table} -->"),
    );
    let from = page.find(&begin)? + begin.len();
    let to = from + page[from..].find(&end)?;
    Some((&page[..from], &page[from..to], &page[to..]))
}

/// Holds the lines of a table of the page against those of this run; `agrees` says whether a line of the page still
/// tells what this run came to.
pub(super) fn holds(table: &str, lines: &[String], agrees: impl Fn(&str, &str) -> bool) {
    let guard = PAGE.lock().unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/proof.md");
    let page = fs::read_to_string(&path).unwrap();
    let (before, told, after) =
        parts(&page, table).unwrap_or_else(|| panic!("docs/proof.md has no table: {table}"));
    // The first two lines name the columns.
    let head: String = told
        .lines()
        .take(2)
        .map(|line| format!("{line}\n"))
        .collect();
    if std::env::var_os("UPDATE_PROOF").is_some() {
        let rows: String = lines.iter().map(|line| format!("{line}\n")).collect();
        fs::write(&path, format!("{before}{head}{rows}{after}")).unwrap();
        return;
    }
    drop(guard);
    let told: Vec<&str> = told.lines().skip(2).collect();
    let same = told.len() == lines.len()
        && told
            .iter()
            .zip(lines)
            .all(|(told, found)| agrees(told, found));
    assert!(
        same,
        "docs/proof.md does not say this of {table}; UPDATE_PROOF=1 writes it:\n{}\nit says:\n{}",
        lines.join("\n"),
        told.join("\n")
    );
}
