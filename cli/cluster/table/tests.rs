use serde_json::json;

use super::*;

fn table(wide: bool, namespaces: bool) -> Table {
    let definitions = json!({ "columnDefinitions": [
        { "name": "Name", "priority": 0 }, { "name": "Phase" }, { "name": "CPU", "priority": 0 },
        { "name": "Message", "priority": 1 }] });
    let mut table = Table::new(wide, namespaces);
    table.set_columns(columns(&definitions));
    table
}

fn row(phase: &str, message: &str) -> Vec<Value> {
    vec![json!("a"), json!(phase), json!(2), json!(message)]
}

#[test]
fn columns_are_as_wide_as_their_widest_cell_and_the_last_is_not_filled_up() {
    let rows = [
        row("Running", "m"),
        vec![json!("b"), Value::Null, json!(16), Value::Null],
    ];
    let rows = rows.iter().map(|row| ("default", row.as_slice()));
    let lines = table(false, false).lines(rows);
    assert_eq!(
        lines,
        [
            "NAME   PHASE     CPU",
            "a      Running   2",
            "b                16"
        ]
    );
}

#[test]
fn wide_shows_every_column_and_all_namespaces_have_theirs() {
    let row = row("", "why");
    let lines = table(true, true).lines([("default", row.as_slice())]);
    assert_eq!(lines[0], "NAMESPACE   NAME   PHASE   CPU   MESSAGE");
    assert_eq!(lines[1], "default     a              2     why");
}

#[test]
fn rows_that_come_later_stay_in_line_without_another_header() {
    let mut table = table(false, false);
    let (long, short) = (row("Provisioning", ""), row("Running", ""));
    assert_eq!(table.lines([("", long.as_slice())]).len(), 2);
    assert_eq!(
        table.lines([("", short.as_slice())]),
        ["a      Running        2"]
    );
    table.set_columns(table.columns.clone());
    assert_eq!(table.lines([("", short.as_slice())]).len(), 1);
    assert_eq!(table.lines(std::iter::empty()), Vec::<String>::new());
}

#[test]
fn a_cell_cannot_break_its_line_or_drive_the_terminal() {
    let row = row("", "\u{1b}[2Jred\tx\nsecond line");
    let lines = table(true, false).lines([("", row.as_slice())]);
    assert!(lines[1].ends_with("\u{fffd}[2Jred x..."), "{}", lines[1]);
}
