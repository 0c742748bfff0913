use super::*;

#[test]
fn json_is_set_and_escaped_as_kubectl_does_it() {
    let value = json!({ "b": [], "a": { "x": "1 < 2 > 0 & \u{2028}ä\u{9b}\t" }, "c": {}, "d": [1, true, null] });
    let text = json(&value, false).unwrap();
    assert_eq!(
        text,
        "{\n    \"a\": {\n        \"x\": \"1 \\u003c 2 \\u003e 0 \\u0026 \\u2028ä\u{9b}\\t\"\n    },\n    \"b\": [],\n    \
         \"c\": {},\n    \"d\": [\n        1,\n        true,\n        null\n    ]\n}"
    );
    let safe = json(&value, true).unwrap();
    assert!(!safe.contains('\u{9b}') && safe.contains("\\u009b"));
    assert_eq!(serde_json::from_str::<Value>(&safe).unwrap(), value);
}

#[test]
fn yaml_reads_back_as_what_it_was() {
    let words = [
        "true",
        "no",
        "~",
        "",
        " ",
        "4Gi",
        "1e3",
        "0x10",
        "2026-01-01",
        "- a",
        "a: b",
        "#",
        "'",
        "\"",
        "\\",
        "{}",
        "|\n",
        "two\nlines\n\n",
        "\t",
        "\u{1b}[2J",
        "ä\u{2028}",
        "null",
        "!tag",
        "&a",
        "*a",
        "%",
        "@",
        "`",
        "=",
        "?",
    ];
    for word in words {
        let value = json!({ "metadata": { word: word, "list": [word, {}, []] } });
        // Whoever prints it ends the last line.
        let text = yaml(&value).unwrap() + "\n";
        let read: Value = serde_saphyr::from_str(&text)
            .unwrap_or_else(|error| panic!("{word:?}: {error}\n{text}"));
        assert_eq!(read, value, "{word:?}\n{text}");
        assert!(!text.contains('\u{1b}'), "{word:?}");
    }
}

#[test]
fn who_owns_a_field_is_not_shown() {
    let object = json!({ "metadata": { "name": "a", "managedFields": [{}] } });
    assert_eq!(shown(object), json!({ "metadata": { "name": "a" } }));
    assert_eq!(shown(json!({ "kind": "List" }))["kind"], "List");
}
