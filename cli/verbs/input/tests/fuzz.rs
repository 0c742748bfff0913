//! Any bytes as a file of objects.

use super::parsed;
use crate::fuzz::fuzz;

#[test]
fn any_file_is_objects_with_a_kind_or_is_refused_in_words() {
    let corpus: &[&[u8]] = &[
        b"# first\n---\napiVersion: v1\nkind: A\nmetadata: {name: a}\ntext: |\n  ---\n---\n",
        br#"{"apiVersion":"v1","kind":"A","metadata":{"name":"a"}} {"apiVersion":"v1","kind":"List","items":[]}"#,
        b"a: &a [1]\nb: [*a, *a]\n",
        b"kind: [",
    ];
    fuzz("file", corpus, |input| {
        let text = String::from_utf8_lossy(input);
        match parsed("file", &text) {
            Ok(documents) => {
                assert!(documents.iter().all(|one| one.object["kind"].is_string()));
                if documents.is_empty() {
                    "none"
                } else {
                    "objects"
                }
            }
            Err(_) => "refused",
        }
    });
}
