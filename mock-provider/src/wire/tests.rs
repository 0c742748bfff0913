//! Shapes.

use serde_json::{Value, json};

use super::canonical::digest;
use super::query::decode;
use crate::world::Digest;

fn of(text: &str) -> Digest {
    digest(&serde_json::from_str::<Value>(text).unwrap())
}

#[test]
fn bodies_are_equal_when_they_say_the_same() {
    let same = [
        (r#"{"a":1,"b":2}"#, r#" { "b" : 2 , "a" : 1 } "#),
        ("2", "2.0"),
        ("2", "2e0"),
        ("0", "-0.0"),
        (r#""é""#, r#""\u00e9""#),
        (
            r#"{"a":{"c":[1,{"y":1,"x":2}],"b":0}}"#,
            r#"{"a":{"b":0,"c":[1.0,{"x":2,"y":1}]}}"#,
        ),
    ];
    for (left, right) in same {
        assert_eq!(of(left), of(right), "{left} {right}");
    }
}

#[test]
fn bodies_differ_when_they_say_something_else() {
    let all = [
        "1",
        "2",
        "1.5",
        "\"1\"",
        "true",
        "false",
        "null",
        "[]",
        "{}",
        "[1,2]",
        "[2,1]",
        "[[1],2]",
        "[1,[2]]",
        "\"\"",
        r#"{"a":1}"#,
        r#"{"a":"1"}"#,
        r#"{"a":null}"#,
        r#"{"a":{"b":1}}"#,
        r#"{"a":1,"b":1}"#,
        r#""a\",\"b""#,
        "9007199254740993",
        "9007199254740992",
        "18446744073709551615",
        "-1",
        "1e300",
    ];
    for (index, left) in all.iter().enumerate() {
        for right in &all[index + 1..] {
            assert_ne!(of(left), of(right), "{left} {right}");
        }
    }
}

#[test]
fn a_digest_is_the_same_in_every_version() {
    // Digests are saved: another value here would make a restart refuse every key.
    assert_eq!(
        of(r#"{"image":"a","cpu":2}"#),
        Digest(0xa4ebc78aa26c2d2cc6169621ef0b255f)
    );
}

#[test]
fn the_hash_is_fnv_1a_as_published() {
    let published = Digest(0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
    assert_eq!(super::canonical::boil(b'a', b""), published);
}

#[test]
fn a_body_that_is_no_json_equals_none_that_is() {
    assert_ne!(super::canonical::digest_raw(b"1"), digest(&json!(1)));
    assert_ne!(
        super::canonical::digest_raw(b"{"),
        super::canonical::digest_raw(b"[")
    );
}

#[test]
fn path_segments_decode_or_do_not() {
    for (segment, text) in [
        ("vm-1", Some("vm-1")),
        ("%76m%2D1", Some("vm-1")),
        ("%2f", Some("/")),
        ("%C3%A9", Some("é")),
    ] {
        assert_eq!(decode(segment).as_deref(), text);
    }
    for segment in ["%", "%2", "%zz", "%ff", "%+1"] {
        assert_eq!(decode(segment), None, "{segment}");
    }
}
