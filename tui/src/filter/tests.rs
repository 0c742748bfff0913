use super::*;
use crate::fixtures::{NOON, after, machine};
use crate::message::Operation;

fn holds(text: &str) -> bool {
    let mut one = machine(12, "Failed");
    one.labels.insert("app".to_owned(), "Web".to_owned());
    one.created = after(-600);
    one.operation = Some(Operation {
        attempts: 3,
        reason: "QuotaExceeded".to_owned(),
        ..Operation::default()
    });
    Filter::parse(text).holds(&one, NOON)
}

#[test]
fn every_word_must_hold() {
    for text in [
        "",
        "web",
        "WEB-12",
        "web failed",
        "quota",
        "!nginx",
        "phase=Failed",
        "phase=running,failed",
        "ready=no",
        "ns=team-a",
        "app=web",
        "label:app=web",
        "reason=QuotaExceeded",
        "age>5m",
        "age<1h",
        "tries>2",
        "cpu<3",
        "198.18",
        "!phase=Running web",
    ] {
        assert!(holds(text), "{text}");
    }
    for text in [
        "nginx",
        "!web",
        "phase=Running",
        "web nginx",
        "app=db",
        "nolabel=x",
        "age>1h",
        "tries>3",
        "cpu>2",
    ] {
        assert!(!holds(text), "{text}");
    }
}

#[test]
fn nothing_that_can_be_typed_is_wrong() {
    for text in [
        "=", "!", "!!", ">", "age>", "age>x", "phase=", "=x", "ß", "日本", "!=",
    ] {
        let _ = holds(text);
    }
}

#[test]
fn numbers_have_units_of_time() {
    for (text, value) in [
        ("2", 2.0),
        ("1.5s", 1.5),
        ("250ms", 0.25),
        ("5m", 300.0),
        ("1h", 3600.0),
    ] {
        assert_eq!(number(text), Some(value), "{text}");
    }
    for text in ["", "s", "-1", "1e3", "NaN", "inf", "5x"] {
        assert_eq!(number(text), None, "{text}");
    }
}
