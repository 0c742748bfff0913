//! The page of public cases and the fault matrix name tests that exist.

use std::fs;
use std::path::Path;

/// Names of tests by the file that precedes them, wherever both stand in backquotes.
fn named(page: &str) -> Vec<(String, String)> {
    let mut file = None;
    let mut found = Vec::new();
    for word in page.split('`').skip(1).step_by(2) {
        if word.ends_with(".rs") {
            file = Some(word.to_owned());
        } else if let Some(file) = file.take() {
            found.push((file, word.to_owned()));
        }
    }
    found
}

fn missing(root: &Path, page: &str) -> Vec<String> {
    let is_there = |(file, test): &(String, String)| {
        let text = fs::read_to_string(root.join(file)).unwrap_or_default();
        text.contains(&format!("fn {test}("))
    };
    let absent = named(page).into_iter().filter(|test| !is_there(test));
    absent
        .map(|(file, test)| format!("{file} {test}"))
        .collect()
}

#[test]
fn every_test_that_the_page_of_cases_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("docs/cases.md")).unwrap();
    assert_eq!(missing(root, &page), Vec::<String>::new());
    // Every case of the list has a row, and the page was understood.
    let numbers = (1..=12).chain([16, 17, 21, 22, 23, 24, 27, 30]);
    let rows = numbers.map(|number| number.to_string());
    for row in rows.chain((1..=9).map(|number| format!("R{number}"))) {
        assert!(page.contains(&format!("\n| {row} |")), "no row {row}");
    }
    assert!(named(&page).len() > 40, "{}", named(&page).len());
}

#[test]
fn every_test_that_the_page_of_command_line_cases_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("docs/vmctl-cases.md")).unwrap();
    assert_eq!(missing(root, &page), Vec::<String>::new());
    let rows = page.lines().filter(|line| line.starts_with("| ")).skip(1);
    let bare: Vec<&str> = rows.filter(|line| named(line).is_empty()).collect();
    assert!(bare.is_empty(), "rows without a test: {bare:?}");
    assert!(named(&page).len() > 25, "{}", named(&page).len());
}

#[test]
fn every_row_of_the_fault_matrix_is_there_and_names_tests_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("docs/fault-matrix.md")).unwrap();
    assert_eq!(missing(root, &page), Vec::<String>::new());
    for (group, rows) in [("A", 16), ("B", 18), ("C", 22), ("D", 10), ("E", 14)] {
        for row in (1..=rows).map(|number| format!("{group}{number}")) {
            let line = page
                .lines()
                .find(|line| line.starts_with(&format!("| {row} |")));
            let line = line.unwrap_or_else(|| panic!("no row {row}"));
            assert!(
                !named(line).is_empty() || line.contains("**none**"),
                "{row} neither names a test nor says that there is none"
            );
        }
    }
    assert!(named(&page).len() > 100, "{}", named(&page).len());
}

#[test]
fn a_test_that_is_not_there_is_reported() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = "`src/architecture/cases.rs` `no_such_test` · `no/file.rs` `a_test`";
    let expected = [
        "src/architecture/cases.rs no_such_test",
        "no/file.rs a_test",
    ];
    assert_eq!(missing(root, page), expected);
}
