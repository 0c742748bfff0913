mod fuzz;

use super::*;

fn intent() -> Intent {
    let owner = Owner {
        cluster: ClusterId::new("c-1"),
        uid: Uid::new("u-1"),
    };
    let spec = InstanceSpec {
        image: "ubuntu \"22.04\" {}}".to_owned(),
        cpu: 2,
        memory: "4Gi".to_owned(),
    };
    let key = ObjectKey::new("team-a", "web-1");
    Intent {
        by: None,
        body: CreateBody::new(&spec, &key, &owner, Incarnation::FIRST),
        owner,
        incarnation: Incarnation::FIRST,
        account: Some("acct}}".to_owned()),
        generation: 3,
    }
}

#[test]
fn an_intent_survives_its_annotation_to_the_byte() {
    let before = intent();
    let after = Intent::parse(&before.to_annotation()).unwrap();
    assert_eq!(before, after);
    assert_eq!(
        before.body.as_str().as_bytes(),
        after.body.as_str().as_bytes()
    );
}

#[test]
fn a_body_written_by_another_version_is_posted_as_it_stands() {
    let text = r#"{"v":1,"cluster":"c","uid":"u","incarnation":2,"spec":{"z":1, "a": [2 ,3]}}"#;
    let read = Intent::parse(text).unwrap();
    assert_eq!(read.body.as_str(), r#"{"z":1, "a": [2 ,3]}"#);
    assert_eq!(Intent::parse(&read.to_annotation()).unwrap(), read);
}

#[test]
fn what_is_not_an_intent_is_refused_and_never_panics() {
    let bad = [
        "",
        "{}",
        "null",
        "[1]",
        r#"{"v":2,"cluster":"c","uid":"u","incarnation":1,"spec":{}}"#,
        r#"{"v":1,"cluster":"c","uid":"u","incarnation":0,"spec":{}}"#,
        r#"{"v":1,"cluster":"c","uid":"u","incarnation":-1,"spec":{}}"#,
        r#"{"v":1,"cluster":"c","uid":"u","incarnation":1}"#,
    ];
    for text in bad {
        assert!(Intent::parse(text).is_err(), "{text}");
    }
}

#[test]
fn the_body_carries_owner_tags_and_the_users_words() {
    let body: serde_json::Value = serde_json::from_str(intent().body.as_str()).unwrap();
    assert_eq!(body["name"], "team-a-web-1");
    assert_eq!(body["cpu"], 2);
    assert_eq!(body["memory"], "4Gi");
    assert_eq!(body["tags"]["vmoperator/uid"], "u-1");
    assert_eq!(body["tags"]["vmoperator/incarnation"], "1");
}
