//! Any bytes as the annotation that the operator goes by.

use crate::domain::{ClusterId, Intent, Uid};
use crate::fuzz::fuzz;
use crate::lifecycle::IntentState;

#[test]
fn any_annotation_is_an_intent_that_is_written_as_it_is_read_or_none() {
    let corpus: &[&[u8]] = &[
        br#"{"v":1,"cluster":"c","uid":"u","incarnation":1,"account":null,"generation":1,"spec":{"name":"n","image":"i","cpu":1,"memory":"1Gi","tags":{}}}"#,
        br#"{"v":1,"cluster":"c","uid":"u","incarnation":4294967295,"by":"p","spec":{}}"#,
        br#"{"v":2,"cluster":"c","uid":"u","incarnation":1,"spec":{}}"#,
        br#"{"v":1,"cluster":"other","uid":"u","incarnation":1,"spec":[]}"#,
        br#"{"v":1,"cluster":"c","uid":"u","incarnation":0,"spec":null}"#,
        b"{}",
    ];
    fuzz("intent", corpus, |input| {
        let Ok(text) = std::str::from_utf8(input) else {
            return "no text";
        };
        if let Ok(intent) = Intent::parse(text) {
            assert_eq!(Intent::parse(&intent.to_annotation()).unwrap(), intent);
            assert!(intent.key().as_str().is_ascii());
        }
        match IntentState::judge(Some(text), &ClusterId::new("c"), &Uid::new("u")) {
            IntentState::Valid(intent) => {
                // What is taken for ours names our uid and cluster.
                assert_eq!(
                    (intent.owner.uid.as_str(), intent.owner.cluster.as_str()),
                    ("u", "c")
                );
                "valid"
            }
            IntentState::OtherCluster(_) => "another cluster's",
            IntentState::Missing => "none",
        }
    });
}
