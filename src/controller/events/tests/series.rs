//! Which events become a series, by hand.

use super::*;
use crate::controller::events::series::{Book, Repeat, Step};
use crate::domain::Moment;

fn at(secs: u64) -> Moment {
    Moment::from_secs(10_000 + secs)
}

fn stopped(second: i64) -> Told {
    told("web-1", Reason::Stopped, "instance i-1 is Stopped", second)
}

fn name_of(step: Step) -> String {
    match step {
        Step::Create(name) => name,
        other => panic!("no new event but {other:?}"),
    }
}

fn repeat(name: &str, count: i32, second: i64) -> Repeat {
    Repeat {
        event: ObjectKey::new("team-a", name),
        count,
        last: stopped(second).at,
    }
}

#[test]
fn the_second_is_written_at_once_and_more_are_collected_for_a_minute() {
    let mut book = Book::default();
    let name = name_of(book.take(&stopped(0), at(0)));
    assert_eq!(
        book.take(&stopped(1), at(1)),
        Step::Repeat(repeat(&name, 2, 1))
    );
    for second in 2..40 {
        let again = stopped(i64::try_from(second).unwrap());
        assert_eq!(book.take(&again, at(second)), Step::Collected);
    }
    assert_eq!(book.due(), Some(at(61)));
    assert_eq!(book.next(at(60)), None);
    let (_, written) = book.next(at(61)).unwrap();
    assert_eq!(written, repeat(&name, 40, 39));
    assert_eq!((book.due(), book.next(at(900))), (None, None));
    // Slower than a minute, each is written as it comes.
    assert_eq!(
        book.take(&stopped(130), at(130)),
        Step::Repeat(repeat(&name, 41, 130))
    );
}

#[test]
fn after_ten_quiet_minutes_it_is_a_new_event() {
    let mut book = Book::default();
    let first = name_of(book.take(&stopped(0), at(0)));
    let second = name_of(book.take(&stopped(601), at(601)));
    assert!(first < second, "{first} {second}: names sort by time");
}

#[test]
fn another_reason_note_or_object_is_another_event() {
    let mut book = Book::default();
    let all = [
        stopped(0),
        told("web-1", Reason::Stopped, "instance i-2 is Stopped", 0),
        told(
            "web-1",
            Reason::InstanceFailed,
            "instance i-1 is Stopped",
            0,
        ),
        told("web-2", Reason::Stopped, "instance i-1 is Stopped", 0),
    ];
    let names = all.map(|told| name_of(book.take(&told, at(0))));
    let different: std::collections::HashSet<_> = names.iter().collect();
    assert_eq!(different.len(), 4, "{names:?}");
}

#[test]
fn what_could_not_be_written_is_a_new_event_the_next_time() {
    let mut book = Book::default();
    name_of(book.take(&stopped(0), at(0)));
    book.take(&stopped(1), at(1));
    book.take(&stopped(2), at(2));
    book.forget(&crate::controller::events::series::Key::of(&stopped(0)));
    assert_eq!(book.due(), None, "nothing waits for a series that is gone");
    name_of(book.take(&stopped(3), at(3)));
}

#[test]
fn one_object_has_twenty_new_events_and_then_one_in_three_minutes() {
    let mut book = Book::default();
    let note = |number: u32| told("web-1", Reason::Stopped, &format!("{number}"), 0);
    for number in 0..20 {
        name_of(book.take(&note(number), at(0)));
    }
    assert_eq!(book.take(&note(20), at(179)), Step::Limited);
    name_of(book.take(&note(21), at(180)));
    assert_eq!(book.take(&note(22), at(180)), Step::Limited);
    // Others are not concerned.
    name_of(book.take(&told("web-2", Reason::Stopped, "x", 0), at(180)));
    // After an hour it has them all again.
    for number in 30..50 {
        name_of(book.take(&note(number), at(4_000)));
    }
}

#[test]
fn memory_is_bounded_whatever_the_number_of_objects() {
    let mut book = Book::default();
    for number in 0..10_000 {
        let one = told(&format!("vm-{number}"), Reason::Created, "exists", 0);
        name_of(book.take(&one, at(0)));
        assert!(book.remembered() <= 2 * 4096, "{}", book.remembered());
    }
}

#[test]
fn names_are_names_whatever_the_object_is_called() {
    let mut book = Book::default();
    let long = format!("{}.-{}", "a".repeat(198), "b".repeat(53));
    let name = name_of(book.take(&told(&long, Reason::Usable, "x", 0), at(0)));
    assert!(name.len() <= 253 && !name.contains("-.") && !name.contains(".."));
    let mut config = told("web-1", Reason::Usable, "x", 0);
    config.about.kind = Kind::ProviderConfig;
    let name = name_of(book.take(&config, at(0)));
    assert!(name.starts_with("web-1.providerconfig."), "{name}");
}
