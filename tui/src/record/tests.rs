use super::*;
use crate::fixtures::{Counted, NOON, machine};
use crate::keys::Key;
use crate::message::{Health, Source};

fn there_and_back(message: Message) {
    let line = Line::Fact(Replay { at: NOON, message });
    let text = write_line(&line).unwrap();
    assert!(!text.contains('\n'));
    assert_eq!(read_line(&text).unwrap(), line);
}

#[test]
fn facts_come_back_as_they_were() {
    there_and_back(Message::Tick { now: NOON });
    there_and_back(Message::Machines {
        list: vec![machine(1, "Running"), machine(2, "")],
    });
    there_and_back(Message::Listed);
    there_and_back(Message::Source {
        source: Source::Metrics("a".to_owned()),
        health: Health::Lost {
            why: "gone\nfar away".to_owned(),
        },
        at: NOON,
    });
    let counted = Counted {
        start: 1.0,
        leading: true,
        ready: 1.0,
        passes: 1.0,
        errors: 0.0,
        creates: [1.0; 3],
    };
    there_and_back(Message::Scrape {
        replica: "a".to_owned(),
        at: NOON,
        text: counted.text(),
    });
}

#[test]
fn what_the_user_did_is_not_recorded() {
    let message = Message::Key { key: Key::Enter };
    assert_eq!(write_line(&Line::Fact(Replay { at: NOON, message })), None);
}

#[test]
fn the_first_line_tells_the_version() {
    assert_eq!(
        read_line(&write_line(&Line::Head).unwrap()).unwrap(),
        Line::Head
    );
    let later = read_line(r#"{"recording":"vmctl dash","version":2}"#).unwrap_err();
    assert!(later.to_string().contains("version 2"));
    assert!(read_line("nonsense").is_err());
}
