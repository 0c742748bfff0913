use super::*;
use crate::fixtures::{machine, told};
use crate::message::Message;

fn names(column: Column, turned: bool) -> Vec<String> {
    let phases = ["Running", "Failed", "Provisioning"];
    let list = (1..4)
        .map(|number| machine(number, phases[number % 3]))
        .collect();
    let model = told(vec![Message::Machines { list }]);
    let rows = arranged(
        model.world(),
        &Filter::default(),
        None,
        Sort { column, turned },
    );
    rows.iter().map(|row| row.name.clone()).collect()
}

#[test]
fn rows_are_sorted_by_what_the_column_means() {
    assert_eq!(names(Column::Name, false), ["web-1", "web-2", "web-3"]);
    assert_eq!(names(Column::Name, true), ["web-3", "web-2", "web-1"]);
    assert_eq!(names(Column::Phase, false), ["web-3", "web-2", "web-1"]);
    assert_eq!(names(Column::Age, false), ["web-1", "web-2", "web-3"]);
}

#[test]
fn every_column_gives_an_order_without_ties() {
    for column in Column::ALL {
        let sort = Sort {
            column,
            turned: false,
        };
        assert_ne!(
            sort.compare(&machine(1, "Running"), &machine(2, "Running")),
            Ordering::Equal,
            "{column:?}"
        );
    }
}

#[test]
fn memory_is_sorted_as_an_amount() {
    assert!(
        bytes("512Mi") < bytes("1Gi") && bytes("1Gi") < bytes("2Ti") && bytes("1G") < bytes("1Gi")
    );
    assert_eq!(bytes("nonsense"), 0.0);
}
