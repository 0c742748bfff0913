use super::*;
use crate::fixtures::{busy, told};

fn judged(text: &str) -> Verdict {
    Threshold::parse(text).unwrap().judge(busy().world())
}

#[test]
fn what_is_measured_is_compared() {
    for text in [
        "failed>0",
        "queue.ready>2",
        "vms<13",
        "notready>3",
        "p50.create>10ms",
        "p99 > 900 ms",
        "leaders>0",
        "vms>999 or failed>0",
    ] {
        assert!(
            matches!(judged(text), Verdict::Beyond(_)),
            "{text}: {:?}",
            judged(text)
        );
    }
    for text in [
        "failed>1",
        "queue.oldest>1m",
        "p99.create>2s",
        "errors>5",
        "leaders<1",
        "p99.delete>1ms",
    ] {
        assert_eq!(judged(text), Verdict::Within, "{text}");
    }
}

#[test]
fn what_was_not_measured_is_not_judged() {
    for text in ["p99>2s", "queue.ready>2", "failed>0", "leaders<1"] {
        let verdict = Threshold::parse(text).unwrap().judge(told(vec![]).world());
        assert!(
            matches!(verdict, Verdict::Unknown(_)),
            "{text}: {verdict:?}"
        );
    }
}

#[test]
fn what_cannot_be_understood_says_what_can_be_written() {
    for text in [
        "",
        "p99",
        "p99>",
        "p98>2s",
        "p99>2 apples",
        "p99=2",
        "queue.ready > -1",
        "failed>0 and vms>1",
    ] {
        let error = Threshold::parse(text).unwrap_err();
        assert!(error.contains("queue.oldest"), "{text}: {error}");
    }
}
